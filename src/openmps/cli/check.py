"""`openmps check`: runs a program once and says whether it works on a Mac, and what will hurt."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

from rich.console import Console

from openmps import settings
from openmps.cli.check_html import as_html
from openmps.cli.check_report import make_report, parse_fail_on
from openmps.cli.check_text import print_ledger, print_report
from openmps.cli.recorded import run_recorded
from openmps.cli.run import prepare
from openmps.errors import OpenmpsError
from openmps.mac.chips import parse_mac

# A program that succeeds, and in which --fail-on has found something.
FOUND = 3


def check_program(
    command: list[str],
    *,
    mac: str,
    macos: str,
    engine: str,
    json_file: Path | None,
    html_file: Path | None,
    fail_on: str,
) -> None:
    names = parse_fail_on(fail_on)
    for file in (json_file, html_file):
        _check_writable(file)
    environment = prepare(command, mac=mac, macos=macos, engine=engine, name="check")
    chosen = parse_mac(settings.MAC.read(), settings.MACOS.read())
    ran = run_recorded(command, environment, find_all=True)
    report = make_report(command, ran.status, ran.ledgers, chosen, names)
    print_report(report, _console())
    if json_file:
        _write(json_file, json.dumps(report, indent=2) + "\n")
    if html_file:
        _write(html_file, as_html(report))
    if report["failed_on"] and ran.status == 0:
        ran.status = FOUND
    ran.end_alike()


def run_with_ledger(command: list[str], environment: dict[str, str]) -> None:
    """`openmps run --ledger`: as strict as a Mac, with the short table at the end."""
    ran = run_recorded(command, environment, find_all=False)
    mac = parse_mac(settings.MAC.read(), settings.MACOS.read())
    print_ledger(make_report(command, ran.status, ran.ledgers, mac, []), _console())
    ran.end_alike()


def _console() -> Console:
    """On stderr: stdout is the program's own."""
    return Console(stderr=True, highlight=False)


def _check_writable(file: Path | None) -> None:
    """Before a program runs for an hour."""
    if file is None:
        return
    folder = file.absolute().parent
    if file.is_dir() or not folder.is_dir() or not os.access(folder, os.W_OK):
        raise OpenmpsError(
            "the report cannot be written there",
            found=str(file),
            next_step="name a file in a folder that exists and that you may write to",
        )


def _write(file: Path, text: str) -> None:
    try:
        file.write_text(text, encoding="utf-8")
    except OSError as failure:
        print(f"openmps: the report could not be written: {failure}", file=sys.stderr)
