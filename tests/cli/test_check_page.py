"""The HTML report in a real browser: nothing in it fails, and whatever can be clicked works."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from html import unescape
from pathlib import Path
from typing import Any

import pytest

from openmps.cli.check_html import as_html
from openmps.cli.check_report import make_report
from openmps.mac.chips import parse_mac

BROWSER = os.environ.get("CHROMIUM") or next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), ""
)
GIB = 1 << 30

# Before the page's own scripts, and after them.
WATCH = """<script>
const told = [];
addEventListener("error", event => told.push(String(event.message)));
for (const name of ["error", "warn"]) console[name] = (...words) => told.push(words.join(" "));
</script>"""
CLICK = """<script>
const seen = {sections: [...document.querySelectorAll("h2")].map(h => h.textContent)};
seen.charts = document.querySelectorAll("svg").length;
seen.before = document.documentElement.dataset.theme;
document.querySelector(".theme").click();
seen.after = document.documentElement.dataset.theme;
seen.sorted = {};
for (const part of document.querySelectorAll("section")) {
  const sorted = seen.sorted[part.querySelector("h2").textContent] = {};
  for (const button of part.querySelectorAll("th button")) {
    sorted[button.textContent] = [1, 2].map(() => {
      button.click();
      const column = [...button.closest("tr").children].indexOf(button.closest("th"));
      return [...part.querySelectorAll("tbody tr")].map(row => row.children[column].textContent);
    });
  }
}
seen.wide = document.documentElement.scrollWidth > innerWidth;
seen.told = told;
document.body.append(Object.assign(document.createElement("pre"),
  {id: "seen", textContent: JSON.stringify(seen)}));
</script>"""


def ledger(**more: Any) -> dict[str, Any]:
    """A program that has done a bit of everything."""
    events = [
        ("native", "aten::mm", "", 1, 20, 0, 9_000_000),
        ("native", "aten::add.Tensor", "", 2, 100, 0, 3_000_000),
        ("fallback", "aten::mode", "", 2, 2, 4096, 500_000),
        ("missing", "aten::heaviside.out", "", 1, 3, 65536, 700_000),
        ("refused", "aten::conv3d", "not <b>this</b> dtype", 2, 1, 0, 0),
        ("float64", "float64", "", 1, 2, 0, 0),
        ("limit", "dimensions", "17", 2, 1, 0, 0),
        ("sync", "aten::_local_scalar_dense", "", 0, 7, 28, 5_000),
        ("to_device", "aten::copy_", "", 1, 1, 1 << 20, 80_000),
        ("to_host", "aten::copy_", "", 1, 3, 1 << 10, 9_000),
        ("shader", "one, two", "", 2, 1, 0, 0),
    ]
    return {
        "engine": "cpu",
        "error": "",
        "ns": 2_000_000_000,
        "lines": [("train.py", "<module>", 3), ("models/net.py", "forward", 41)],
        "events": events,
        "memory": [(0, GIB, GIB), (10**9, 12 * GIB, 13 * GIB), (2 * 10**9, 2 * GIB, 13 * GIB)],
        "held": [(1, 9 * GIB, 2 * GIB), (2, 3 * GIB, 3 * GIB)],
        "peak_live": 12 * GIB,
        "peak_reserved": 13 * GIB,
        "peak_line": 2,
        **more,
    }


def look(tmp_path: Path, report: dict[str, Any]) -> dict[str, Any]:
    page = as_html(report).replace("<head>", "<head>" + WATCH, 1)
    file = tmp_path / "report.html"
    file.write_text(page.replace("</body>", CLICK + "</body>"))
    command = [BROWSER, "--headless", "--no-sandbox", "--disable-gpu", "--dump-dom"]
    command += [f"--user-data-dir={tmp_path / 'profile'}", file.as_uri()]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    (seen,) = re.findall(r'<pre id="seen">(.*?)</pre>', done.stdout, re.S)
    found: dict[str, Any] = json.loads(unescape(seen))
    return found


needs_browser = pytest.mark.skipif(not BROWSER, reason="no Chromium here; CHROMIUM may name one")
MAC = parse_mac("M1 8GB", "26.0")


@needs_browser
def test_everything_is_there_and_can_be_clicked(tmp_path: Path) -> None:
    seen = look(tmp_path, make_report(["train.py"], 0, [ledger()], MAC, []))
    assert seen["told"] == []
    assert seen["sections"] == [
        "Memory over time",
        "Memory by line",
        "Time per operator",
        "What fallbacks cost",
        "float64",
        "Refused by a Mac",
        "Beyond Metal's limits",
        "Waits for the device",
        "Copies between the CPU and mps",
        "Shaders compiled",
        "Every operator",
    ]
    assert seen["charts"] == 3
    assert {seen["before"], seen["after"]} == {"light", "dark"}
    assert not seen["wide"]
    calls = seen["sorted"]["Every operator"]["calls"]
    assert calls == [["100", "20", "3", "2"], ["2", "3", "20", "100"]]  # as numbers
    names = seen["sorted"]["Every operator"]["operator"]
    assert names[0] == sorted(names[0]) == names[1][::-1]
    assert seen["sorted"]["Memory by line"]["at the peak"][0] == ["9.00 GiB", "3.00 GiB"]
    assert seen["sorted"]["Refused by a Mac"]["what"][0] == ["aten::conv3d: not <b>this</b> dtype"]


@needs_browser
def test_a_program_that_did_nothing_has_a_page(tmp_path: Path) -> None:
    seen = look(tmp_path, make_report(["nothing.py"], -15, [], MAC, []))
    assert (seen["told"], seen["sections"]) == ([], [])
