"""The checks of the pages can fail."""

from __future__ import annotations

from pathlib import Path

import pytest

from .pages import read_page
from .run_blocks import run_block
from .shell import Command, agrees, commands_of, reader_environment, run_commands

OUTPUT = "a table\nname   count\nmm        12  train.py:3\n\nend of it\n"


@pytest.mark.parametrize(
    ("shown", "does"),
    [
        (OUTPUT, True),
        ("a table\nname count\nmm 12 train.py:3\n\nend of it\n", True),
        ("a table\n...\nend of it\n", True),
        ("a table\nname   count\nmm  ...  train.py:3\n...\n", True),
        ("a table\n", False),
        ("a table\n...\nend\n", False),
        ("a table\nname   count\nmm        13  train.py:3\n\nend of it\n", False),
        ("name   count\n...\n", False),
        ("", False),
    ],
)
def test_output_is_compared(shown: str, does: bool) -> None:
    assert agrees(shown, OUTPUT) is does


def test_commands_have_the_status_that_the_page_shows(tmp_path: Path) -> None:
    console = commands_of(
        "console", "$ false\n$ echo $?\n1\n$ echo two; exit_ 2\ntwo\n$ echo $?\n2\n"
    )
    assert [command.status for command in console] == [1, 0, 2, 0]
    assert [command.shown for command in console] == ["", "1\n", "two\n", "2\n"]
    lines = commands_of("sh", "# first\ntrue  # fine\nfalse  # exit status 1\n")
    assert [command.status for command in lines] == [0, 1]
    results = run_commands(
        [Command("false", "", 1), Command("echo $?", "", 0), Command("printf here >&2", "", 0)],
        tmp_path,
        reader_environment(tmp_path / "bin"),
    )
    assert [each.output.strip() for each in results] == ["", "1", "here"]
    assert [each.status for each in results] == [1, 0, 0]


def test_what_a_block_prints_is_compared() -> None:
    run_block("page.md", 7, "x = 2\nprint(x)  # 2\n", {})
    with pytest.raises(AssertionError, match=r"page.md:8 prints '2', and the page says '3'"):
        run_block("page.md", 7, "x = 2\nprint(x)  # 3\n", {})


def test_blocks_of_a_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(f"{read_page.__module__}.ROOT", tmp_path)
    page = tmp_path / "page.md"
    page.write_text(
        'text\n\n```python title="a.py" linenums="1"\nx = 1\n```\n\n'
        "<!-- not run: needs the network -->\n```sh\npip install .\n```\n\n"
        '=== "tab"\n\n    ```console\n    $ true\n    ```\n\n```\n─▶\n```\n'
    )
    found = [(b.language, b.title, b.text, b.line, b.is_run) for b in read_page(page).blocks]
    assert found == [
        ("python", "a.py", "x = 1\n", 4, True),
        ("sh", "", "pip install .\n", 9, False),
        ("console", "", "$ true\n", 15, True),
        ("", "", "─▶\n", 19, True),
    ]
