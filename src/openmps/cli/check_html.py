"""A check's report as one web page, which needs nothing from anywhere else."""

from __future__ import annotations

import json
from html import escape
from pathlib import Path
from typing import Any

_PAGE = Path(__file__).with_name("check_page.html")


def as_html(report: dict[str, Any]) -> str:
    # In a script element only "<" could end the data.
    data = json.dumps(report).replace("<", "\\u003c")
    title = escape("openmps check: " + " ".join(report["command"]))
    # The data last: what it contains is not to be replaced.
    return _PAGE.read_text("utf-8").replace("{{title}}", title, 1).replace("{{report}}", data, 1)
