"""The site as it is built: pages, links, and what is made from the code."""

from __future__ import annotations

import csv
import json
import re
import shutil
from collections import Counter
from html import unescape
from pathlib import Path

import pytest
import torch
import typer
from torch.torch_version import TorchVersion

from openmps import pytest_plugin, settings
from openmps.cli.main import app
from openmps.device.core import find_torch
from openmps.device.rules import installed_operators
from openmps.mac.operators import Status

from .pages import GENERATED, ROOT
from .site import build_site

SOURCES = ROOT / "src" / "openmps"
OPERATORS = installed_operators(find_torch().folder).dense


def rows(page: Path) -> list[list[str]]:
    """The cells of every table."""
    text = page.read_text("utf-8")
    cells = re.compile(r"<td[^>]*>(.*?)</td>", re.S)
    return [
        [unescape(re.sub("<[^>]+>", "", cell)) for cell in cells.findall(row)]
        for row in re.findall(r"<tr>(.*?)</tr>", text, re.S)
    ]


def test_every_page_of_docs_is_there(site: Path) -> None:
    named = {path.stem for path in (ROOT / "docs").glob("*.md")} | GENERATED
    assert {page.stem for page in site.glob("*.html")} == named | {"404"}


def test_nothing_comes_from_elsewhere(site: Path) -> None:
    loads = re.compile(r'(?:<script[^>]* src|<link[^>]* href|<img[^>]* src)="(?!data:)([^"]+)"')
    for page in site.glob("*.html"):
        for target in loads.findall(page.read_text("utf-8")):
            assert not re.match(r"(?:\w+:)?//", target), f"{page.name} loads {target}"


@pytest.mark.parametrize(
    ("file", "text", "told"),
    [
        ("metal.md", "[nowhere](nowhere.md)\n", "nowhere.md"),
        ("metal.md", "[no such heading](ci.md#nowhere)\n", "#nowhere"),
        ("unlisted.md", "a page that no menu has\n", "unlisted.md"),
    ],
)
def test_a_broken_page_fails_the_build(
    site: Path, tmp_path: Path, file: str, text: str, told: str
) -> None:
    shutil.copytree(ROOT / "docs", tmp_path / "docs")
    shutil.copy(ROOT / "mkdocs.yml", tmp_path)
    with (tmp_path / "docs" / file).open("a") as page:
        page.write(text)
    built = build_site(tmp_path / "site", tmp_path)
    assert built.returncode != 0
    assert told in built.stderr
    assert "1 warnings in strict mode" in built.stdout + built.stderr


def test_all_settings_are_on_their_page(site: Path) -> None:
    found = {row[0]: row[1:] for row in rows(site / "settings.html") if row}
    for setting in settings.ALL:
        assert found[setting.variable][0] == (setting.default or "none")
        assert found[setting.variable][1] == setting.meaning.replace("`", "")


def test_all_commands_are_on_their_page(site: Path) -> None:
    page = site / "commands.html"
    headings = re.findall(r'<h2 id="[^"]+">openmps (\w+)<', page.read_text("utf-8"))
    commands = typer.main.get_command(app).commands  # type: ignore[attr-defined]
    assert headings == list(commands)
    told = {row[0]: row[1] for row in rows(page) if row}
    for command in commands.values():
        for parameter in command.params:
            if parameter.param_type_name == "option":
                assert ", ".join(parameter.opts) in told
    assert told["--fail-on"].startswith("Exit with status 3 if there is any of: missing")


def test_the_guides_name_every_option() -> None:
    for name, page in (("check", "check.md"), ("metal", "metal.md")):
        text = (ROOT / "docs" / page).read_text("utf-8")
        commands = typer.main.get_command(app).commands  # type: ignore[attr-defined]
        for parameter in commands[name].params:
            if parameter.param_type_name == "option":
                assert any(option in text for option in parameter.opts), (page, parameter.opts)
    parser = pytest.Parser(_ispytest=True)
    pytest_plugin.pytest_addoption(parser)
    text = (ROOT / "docs" / "ci.md").read_text("utf-8")
    (group,) = [each for each in parser._groups if each.name == "openmps"]
    assert len(group.options) == 4
    for option in group.options:
        assert f"| `{option.names()[0]}" in text, option.names()


def test_variables_of_pytorch_on_the_page_are_those_that_are_read(site: Path) -> None:
    listed = {row[0] for row in rows(site / "settings.html") if row}
    reads = re.compile(
        r'(?:getenv\(|environ\.get\(|ratio_from\(|forced\(|Variable = )"((?:PYTORCH|MTL)_\w+)"'
    )
    read = set()
    for source in [*SOURCES.rglob("*.cpp"), *SOURCES.rglob("*.py"), *SOURCES.rglob("*.h")]:
        read |= set(reads.findall(source.read_text("utf-8")))
    assert read == {name for name in listed if not name.startswith("OPENMPS")}


def test_all_operators_are_on_their_page(site: Path) -> None:
    script = (site / "assets" / "operators.js").read_text("utf-8")
    data = json.loads(re.match(r"const OPERATORS = (\{.*\});\n", script)[1])  # type: ignore[index]
    assert list(data) == [status.value for status in Status]
    found = {}
    for status, names in data.items():
        for name in names.split():
            found[name.split("|")[0]] = status
    wanted = {name.removeprefix("aten::"): each.status.value for name, each in OPERATORS.items()}
    assert found == wanted
    counts = Counter(each.status.value for each in OPERATORS.values())
    shown = {row[0]: int(row[1]) for row in rows(site / "operators.html") if row}
    assert shown == {status.value: counts[status.value] for status in Status}
    assert len(script) < 100_000


def native_since() -> dict[str, str]:
    text = (ROOT / "docs" / "site" / "native_since.csv").read_text()
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    return {row["operator"]: row["torch"] for row in csv.DictReader(lines)}


@pytest.mark.parametrize(("operator", "first"), native_since().items())
def test_since_agrees_with_the_installed_torch(operator: str, first: str) -> None:
    has = operator in OPERATORS and OPERATORS[operator].status is Status.NATIVE
    assert has == (TorchVersion(torch.__version__) >= first)
