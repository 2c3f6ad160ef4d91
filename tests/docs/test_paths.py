"""The files and folders that the pages for contributors name are there."""

from __future__ import annotations

import re
from itertools import chain

import pytest

from .pages import ROOT

PAGES = ("CONTRIBUTING.md", "docs/architecture.md", "docs/decisions.md", "docs/engines.md")
ROOTS = (ROOT, ROOT / "src" / "openmps")
_PATH = re.compile(r"`((?:[\w.*-]+/)+(?:[\w.*-]+\.[\w*]+)?)`")


@pytest.mark.parametrize("page", PAGES)
def test_paths_on_a_page_exist(page: str) -> None:
    named = set(_PATH.findall((ROOT / page).read_text("utf-8")))
    named = {path for path in named if "NAME" not in path and not path.startswith("build/")}
    assert named
    missing = [
        path
        for path in sorted(named)
        if not any(chain.from_iterable(root.glob(path.rstrip("/")) for root in ROOTS))
    ]
    assert missing == []
