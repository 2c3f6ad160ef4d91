"""The fenced blocks of a page, and what its comments say about them."""

from __future__ import annotations

import re
import textwrap
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
GENERATED = {"commands", "settings", "operators"}

_FENCE = re.compile(r"^( *)(```+)(\w*)(.*)$")
_TITLE = re.compile(r'title="([^"]+)"')
_COMMENT = re.compile(r"<!-- (.*) -->$")
_FILES_OF = "with the files of "
_IN_A_TABLE = re.compile(r"^\| `((?:openmps|pytest|\w+=\S+) [^`]+)` \|", re.M)


@dataclass(frozen=True)
class Block:
    page: Path
    line: int  # of its first line of text
    language: str
    title: str  # the name of the file that it shows
    text: str
    comment: str  # the HTML comment on the line before it

    @property
    def place(self) -> str:
        return f"{self.page.relative_to(ROOT)}:{self.line}"

    @property
    def is_run(self) -> bool:
        return not self.comment.startswith("not run: ")


@dataclass(frozen=True)
class Page:
    path: Path
    blocks: list[Block]
    borrowed: list[Block]  # the files of another page, by a comment

    @property
    def name(self) -> str:
        return str(self.path.relative_to(ROOT))


def read_page(path: Path) -> Page:
    text = path.read_text("utf-8")
    borrowed = []
    for name in re.findall(rf"<!-- {_FILES_OF}(\S+) -->", text):
        borrowed += [block for block in _blocks(ROOT / name) if block.title]
    return Page(path, _blocks(path), borrowed)


def commands_in_tables(page: Page) -> list[str]:
    """Commands that stand as code in the first column of a table."""
    return _IN_A_TABLE.findall(page.path.read_text("utf-8"))


def _blocks(path: Path) -> list[Block]:
    lines = path.read_text("utf-8").splitlines()
    blocks = []
    at = 0
    while at < len(lines):
        fence = _FENCE.match(lines[at])
        if not fence:
            at += 1
            continue
        indent, marks, language, rest = fence.groups()
        end = next(i for i in range(at + 1, len(lines)) if lines[i] == indent + marks)
        title = _TITLE.search(rest)
        text = textwrap.dedent("\n".join(lines[at + 1 : end])) + "\n"
        comment = _COMMENT.match(lines[at - 1].strip()) if at else None
        blocks.append(
            Block(
                path,
                at + 2,
                language,
                title[1] if title else "",
                text,
                comment[1] if comment else "",
            )
        )
        at = end + 1
    return blocks
