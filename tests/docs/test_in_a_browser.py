"""The built site in a real browser: every page, link and button, without a word in the console."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from .pages import GENERATED, ROOT

NAV = ".md-sidebar--primary a.md-nav__link[href]:not([href^='#'])"


def quiet(page: Any, address: str) -> bool:
    """Nothing failed, and nothing came from another machine."""
    elsewhere = [url for url in page.requested if not url.startswith((address, "data:", "blob:"))]
    assert (page.complaints, elsewhere) == ([], [])
    return True


def texts(page: Any, selector: str) -> list[str]:
    found: list[str] = page.ask(
        f"[...document.querySelectorAll({json.dumps(selector)})].map(each => each.innerText.trim())"
    )
    return found


def test_every_page_is_reached_by_clicks(browser: Any, address: str) -> None:
    page = browser.open(f"{address}/index.html", width=1400)
    names = texts(page, NAV)
    assert len(names) == len(set(names)), names
    seen = {}
    for name in names:
        page.follow(NAV, texts(page, NAV).index(name))
        assert texts(page, "article h1"), name
        assert page.ask("document.documentElement.scrollWidth <= innerWidth"), name
        seen[page.ask("location.pathname")] = name
    sources = {path.stem for path in (ROOT / "docs").glob("*.md")} | GENERATED
    assert {Path(path).stem for path in seen} == sources
    assert quiet(page, address)


def test_every_page_fits_a_telephone(browser: Any, address: str, site: Path) -> None:
    page = browser.open(f"{address}/index.html", width=390, height=800)
    for file in sorted(site.glob("*.html")):
        page.go(f"{address}/{file.name}")
        assert page.ask("document.documentElement.scrollWidth <= innerWidth"), file.name
    assert quiet(page, address)


def test_links_in_the_text_lead_somewhere(browser: Any, address: str) -> None:
    page = browser.open(f"{address}/index.html", width=1400)
    links = "article a[href]:not(.headerlink)"
    assert len(texts(page, links)) >= 7
    for index in range(len(texts(page, links))):
        page.go(f"{address}/index.html")
        target = page.ask(f"document.querySelectorAll({json.dumps(links)})[{index}].href")
        if "#" in target:
            page.click(links, index)
            page.wait_for("scrollY > 0")
        else:
            page.follow(links, index)
        assert page.ask("location.href") == target
    assert quiet(page, address)


def test_search_finds_a_page(browser: Any, address: str) -> None:
    page = browser.open(f"{address}/index.html", width=1400)
    page.click(".md-search__input")
    page.type("watermark")
    result = ".md-search-result__link"
    found = f"[...document.querySelectorAll('{result}')].map(each => each.href)"
    page.wait_for(f"{found}.some(link => link.includes('settings.html'))")
    page.follow(result)
    assert "watermark" in page.ask("document.body.innerText").lower()
    assert quiet(page, address)


@pytest.mark.parametrize("dark", [False, True])
def test_light_and_dark(browser: Any, address: str, dark: bool) -> None:
    page = browser.open(f"{address}/index.html", width=1400, dark=dark)
    scheme = "document.body.dataset.mdColorScheme"
    schemes = ["slate", "default"] if dark else ["default", "slate"]
    assert page.ask(scheme) == schemes[0]
    before = page.ask("getComputedStyle(document.body).backgroundColor")
    page.click(f"label[title='{'Light' if dark else 'Dark'}']")
    page.wait_for(f"{scheme} === '{schemes[1]}'")
    assert page.ask("getComputedStyle(document.body).backgroundColor") != before
    page.go(f"{address}/metal.html")
    assert page.ask(scheme) == schemes[1], "the choice is remembered"
    assert quiet(page, address)


def test_code_is_copied(browser: Any, address: str) -> None:
    page = browser.open(f"{address}/metal.html", width=1400)
    page.wait_for("document.querySelectorAll('.md-code__button, .md-clipboard').length > 0")
    # What is written to the clipboard: a headless browser has none of its own to be read.
    page.ask(
        "window.copied = ''; document.addEventListener('copy', event => {"
        " copied = String(getSelection()) || document.activeElement.value }, true);"
        " navigator.clipboard.writeText = async text => { copied = text }; 0"
    )
    page.click(".md-code__button[data-md-type='copy'], .md-clipboard")
    copied = page.wait_for("copied")
    assert copied.startswith("import torch\n")
    assert copied.rstrip().endswith("device='mps:0')")
    assert quiet(page, address)


def test_tabs_switch(browser: Any, address: str) -> None:
    page = browser.open(f"{address}/index.html", width=1400)
    labels = texts(page, ".tabbed-labels label")
    assert labels == ["Command line", "Variable", "From Python", "pytest"]
    for index, shown in enumerate(["openmps run", "OPENMPS=1", "openmps.activate", "--mps"]):
        page.click(".tabbed-labels label", index)
        page.wait_for(
            "[...document.querySelectorAll('.tabbed-block')].filter(each => each.offsetHeight)"
            f".map(each => each.innerText).join().includes({json.dumps(shown)})"
        )
    assert quiet(page, address)


def test_operators_are_found_as_one_types(browser: Any, address: str) -> None:
    page = browser.open(f"{address}/operators.html", width=1400)
    rows = "#operators tbody tr"
    assert len(texts(page, rows)) == 100
    page.click("#operators button")
    assert len(texts(page, rows)) > 3000
    page.click("#operators input")
    page.type("aten::heaviside")
    assert texts(page, "#operators tbody tr td:first-child") == [
        "heaviside",
        "heaviside.out",
        "heaviside_",
    ]
    assert texts(page, "#operators .told") == ["3 operators"]
    page.ask(
        "(choice => { choice.value = 'falls back'; choice.dispatchEvent(new Event('change')) })"
        "(document.querySelector('#operators select'))"
    )
    assert texts(page, "#operators .told") == ["0 operators"]
    assert quiet(page, address)
