"""The pictures of the README: what `openmps check` says of docs/check.md's program.

python -m docs.screenshots [FOLDER]
"""

from __future__ import annotations

import io
import subprocess
import sys
import tempfile
from pathlib import Path

from rich.console import Console
from rich.terminal_theme import MONOKAI
from rich.text import Text

from browser.chromium import HOW_TO_GET_IT, Browser, find_chromium, open_browser

from .pages import ROOT, read_page
from .shell import reader_environment

COLUMNS = 100
MOST_BYTES = 200_000
COMMAND = "openmps check --html report.html train.py"

_TERMINAL = """<!doctype html><meta charset="utf-8"><style>
body {{ display: inline-block; margin: 0; background: #f6f7f9; }}
figure {{ margin: 18px; background: {background}; border-radius: 10px; color: {foreground};
  box-shadow: 0 4px 18px #0004; padding: 14px 20px 18px; width: fit-content; }}
i {{ display: inline-block; width: 12px; height: 12px; border-radius: 50%; margin: 0 7px 10px 0; }}
pre {{ font: 14px/1.38 ui-monospace, "DejaVu Sans Mono", monospace; margin: 0; }}
</style><figure><i style="background:#ff5f57"></i><i style="background:#febc2e"></i><i
style="background:#28c840"></i><pre>{code}</pre></figure>"""


def run_check(folder: Path) -> str:
    """Runs the page's program; returns what a terminal would show. The page lies in the folder."""
    blocks = read_page(ROOT / "docs" / "check.md").blocks
    (folder / "train.py").write_text(next(b.text for b in blocks if b.title == "train.py"))
    environment = reader_environment(folder / "bin")
    environment |= {"FORCE_COLOR": "1", "COLUMNS": str(COLUMNS), "TERM": "xterm-256color"}
    done = subprocess.run(
        ["bash", "-c", COMMAND + " 2>&1"],
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return f"$ {COMMAND}\n{done.stdout}"


def terminal_page(told: str) -> str:
    console = Console(record=True, width=COLUMNS, file=io.StringIO(), force_terminal=True)
    console.print(Text.from_ansi(told), soft_wrap=True)
    return console.export_html(theme=MONOKAI, code_format=_TERMINAL, inline_styles=True)


def shorten(told: str, rows: int) -> str:
    """The beginning, up to the end of a table."""
    kept = told.splitlines()[:rows]
    while kept and kept[-1].strip():
        kept.pop()
    return "\n".join(kept).rstrip()


def save(browser: Browser, url: str, file: Path, height: int, selector: str = "") -> None:
    page = browser.open(url, width=1100, height=height)
    picture = page.screenshot(selector)
    if page.complaints or len(picture) > MOST_BYTES:
        raise SystemExit(f"{file.name}: {len(picture)} bytes, {page.complaints}")
    file.write_bytes(picture)
    print(f"{file}: {len(picture)} bytes")


def main() -> None:
    program = find_chromium()
    if not program:
        raise SystemExit(HOW_TO_GET_IT)
    images = Path(sys.argv[1]) if sys.argv[1:] else ROOT / "docs" / "images"
    images.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as name, open_browser(program) as browser:
        folder = Path(name)
        told = run_check(folder)
        terminal = folder / "terminal.html"
        terminal.write_text(terminal_page(shorten(told, 48)))
        save(browser, (folder / "report.html").as_uri(), images / "report.png", height=1560)
        save(browser, terminal.as_uri(), images / "terminal.png", height=900, selector="body")


if __name__ == "__main__":
    main()
