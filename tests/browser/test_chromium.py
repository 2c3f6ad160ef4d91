"""The browser's driver: it hears what a console would show, and scripts/browser never fails."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(
    ("body", "complaint"),
    [
        ("<script>console.error('so it', 'is')</script>", "console.error: so it is"),
        ("<script>nowhere()</script>", "ReferenceError: nowhere is not defined"),
        ("<script>Promise.reject(new Error('late'))</script>", "Error: late"),
        ("<img src='missing.png'>", "missing.png: net::ERR_FILE_NOT_FOUND"),
    ],
)
def test_a_page_that_fails_is_heard(
    browser: Any, tmp_path: Path, body: str, complaint: str
) -> None:
    file = tmp_path / "page.html"
    file.write_text(f"<!doctype html><title>page</title>{body}")
    page = browser.open(file.as_uri())
    assert any(complaint in each for each in page.complaints), page.complaints
    file.write_text("<!doctype html><title>page</title>")
    assert browser.open(file.as_uri()).complaints == []


def run_script(folder: Path, apt_get: str) -> subprocess.CompletedProcess[str]:
    """scripts/browser where there is no browser and apt-get does as told."""
    for name in ("bash", "id", "mktemp", "rm", "tail", "timeout"):
        found = shutil.which(name)
        assert found is not None
        (folder / name).symlink_to(found)
    if apt_get:
        (folder / "apt-get").write_text(f"#!/bin/bash\n{apt_get}\n")
        (folder / "apt-get").chmod(0o755)
    return subprocess.run(
        ["/bin/bash", str(ROOT / "scripts" / "browser")],
        env={"PATH": str(folder), "TMPDIR": str(folder)},
        capture_output=True,
        text=True,
        timeout=60,
    )


@pytest.mark.parametrize(
    ("apt_get", "told"),
    [
        ("", "there is no apt-get to install it with"),
        ("echo no network >&2; exit 100", "apt-get update: no network"),
        ('[ "$1" = update ] || { echo no such package; exit 100; }', "no such package"),
        ("exit 0", "installed Chromium"),
    ],
)
def test_installing_a_browser_never_fails(tmp_path: Path, apt_get: str, told: str) -> None:
    if apt_get and os.getuid() != 0:
        told = "installing it takes root"
    done = run_script(tmp_path, apt_get)
    assert done.returncode == 0
    assert told in done.stdout + done.stderr
