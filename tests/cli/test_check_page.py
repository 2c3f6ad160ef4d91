"""The HTML report in a real browser: nothing in it fails, and whatever can be clicked works."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from openmps.cli.check_html import as_html
from openmps.cli.check_report import make_report
from openmps.mac.chips import parse_mac

GIB = 1 << 30


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


def open_page(browser: Any, tmp_path: Path, report: dict[str, Any], **options: Any) -> Any:
    file = tmp_path / "report.html"
    file.write_text(as_html(report))
    return browser.open(file.as_uri(), **options)


def texts(page: Any, selector: str) -> list[str]:
    found: list[str] = page.ask(
        f"[...document.querySelectorAll({json.dumps(selector)})].map(each => each.textContent)"
    )
    return found


def sort_by(page: Any, section: str, column: str) -> list[str]:
    """The column's cells after a click on its head."""
    part = f"section:nth-of-type({texts(page, 'h2').index(section) + 1})"
    heads = texts(page, f"{part} th button")
    page.click(f"{part} th button", heads.index(column))
    return texts(page, f"{part} tbody td:nth-child({heads.index(column) + 1})")


MAC = parse_mac("M1 8GB", "26.0")


def test_everything_is_there_and_can_be_clicked(browser: Any, tmp_path: Path) -> None:
    page = open_page(browser, tmp_path, make_report(["train.py"], 0, [ledger()], MAC, []))
    assert texts(page, "h2") == [
        "What fallbacks cost",
        "float64",
        "Refused by a Mac",
        "Beyond Metal's limits",
        "Waits for the device",
        "Memory over time",
        "Memory by line",
        "Time per operator",
        "Copies between the CPU and mps",
        "Shaders compiled",
        "Every operator",
    ]
    assert len(texts(page, "svg")) == 3
    assert page.ask("document.documentElement.scrollWidth <= innerWidth")
    assert sort_by(page, "Every operator", "calls") == ["100", "20", "3", "2"]  # as numbers
    assert sort_by(page, "Every operator", "calls") == ["2", "3", "20", "100"]
    names = sort_by(page, "Every operator", "operator")
    assert names == sorted(names)
    assert sort_by(page, "Every operator", "operator") == names[::-1]
    assert sort_by(page, "Memory by line", "at the peak") == ["9.00 GiB", "3.00 GiB"]
    refused = sort_by(page, "Refused by a Mac", "what")
    assert refused == ["aten::conv3d: not <b>this</b> dtype"]
    for index in range(len(texts(page, "th button"))):
        page.click("th button", index)
    assert page.complaints == []
    assert page.requested == [page.ask("location.href")]  # it needs nothing from anywhere else


@pytest.mark.parametrize(
    ("dark", "themes"), [(False, ["light", "dark"]), (True, ["dark", "light"])]
)
def test_the_theme_is_the_readers_and_can_be_changed(
    browser: Any, tmp_path: Path, dark: bool, themes: list[str]
) -> None:
    report = make_report(["train.py"], 0, [ledger()], MAC, [])
    page = open_page(browser, tmp_path, report, dark=dark)
    seen = [page.ask("document.documentElement.dataset.theme")]
    background = page.ask("getComputedStyle(document.body).backgroundColor")
    page.click(".theme")
    seen.append(page.ask("document.documentElement.dataset.theme"))
    assert seen == themes
    assert page.ask("getComputedStyle(document.body).backgroundColor") != background
    assert page.complaints == []


def test_macs_are_listed_at_once_where_some_do_not_fit(browser: Any, tmp_path: Path) -> None:
    small = ledger(
        memory=[(0, 0, 0), (10**9, 1 << 20, 1 << 20)], peak_live=1 << 20, peak_reserved=1 << 20
    )
    for spent, is_open in ((ledger(), True), (small, False)):
        page = open_page(browser, tmp_path, make_report(["train.py"], 0, [spent], MAC, []))
        assert page.ask("document.querySelector('details').open") is is_open
        page.click("summary")
        assert page.ask("document.querySelector('details').open") is not is_open
        assert ("M1 8GB" in texts(page, ".mac.unfit")) is is_open
        assert page.complaints == []


def test_the_plot_of_memory_begins_where_there_is_something_to_see(
    browser: Any, tmp_path: Path
) -> None:
    second = 10**9
    memory = [(0, 1 << 10, GIB), (8 * second, GIB, GIB), (10 * second, 2 * GIB, 2 * GIB)]
    late = ledger(memory=memory, ns=10 * second, peak_live=2 * GIB, peak_reserved=2 * GIB)
    page = open_page(browser, tmp_path, make_report(["train.py"], 0, [late], MAC, []))
    plot = "svg[aria-label='memory over time'] text"
    assert texts(page, plot)[-2:] == ["7.94 s", "10.00 s"]
    assert texts(page, plot)[:3] == ["0 bytes", "2.00 GiB", "4.00 GiB"]
    assert page.complaints == []


def test_a_program_that_did_nothing_has_a_page(browser: Any, tmp_path: Path) -> None:
    page = open_page(browser, tmp_path, make_report(["nothing.py"], -15, [], MAC, []))
    assert (page.complaints, texts(page, "h2")) == ([], [])
    assert "SIGTERM" in page.ask("document.body.innerText")
