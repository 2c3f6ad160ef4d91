"""`openmps check`: runs a program once and says whether it works on a Mac, and what will hurt."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from rich.console import Console

from openmps import settings
from openmps.cli.check_html import as_html
from openmps.cli.check_report import make_report, parse_fail_on
from openmps.cli.check_text import print_ledger, print_report
from openmps.cli.output import STDOUT, check_writable, unless_nobody_reads, write
from openmps.cli.recorded import Ran, run_recorded
from openmps.cli.run import prepare
from openmps.mac.chips import parse_mac

# Of a program that succeeds, where --fail-on has found something or the report is lost.
FOUND = 3
NOT_WRITTEN = 2


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
    check_writable(json_file, html_file)
    environment = prepare(command, mac=mac, macos=macos, engine=engine, name="check")
    chosen = parse_mac(settings.MAC.read(), settings.MACOS.read())
    ran = run_recorded(command, environment, find_all=True)
    report = make_report(command, ran.status, ran.ledgers, chosen, names)
    written = _write(json_file, as_json(report))
    written = _write(html_file, as_html(report)) and written
    with unless_nobody_reads():
        print_report(report, _console())
    if report["failed_on"] and ran.status == 0:
        ran.status = FOUND
    _end(ran, written)


def run_with_ledger(
    command: list[str], environment: dict[str, str], json_file: Path | None
) -> None:
    """`openmps run --ledger`: as strict as a Mac, with the short table at the end."""
    ran = run_recorded(command, environment, find_all=False)
    mac = parse_mac(settings.MAC.read(), settings.MACOS.read())
    report = make_report(command, ran.status, ran.ledgers, mac, [])
    written = _write(json_file, as_json(report))
    with unless_nobody_reads():
        print_ledger(report, _console())
    _end(ran, written)


def _write(file: Path | None, text: str) -> bool:
    """True, too, for a pipe that nobody reads any more."""
    return write(file, text) or file == STDOUT


def _end(ran: Ran, written: bool) -> None:
    if not written and ran.status == 0:
        ran.status = NOT_WRITTEN
    ran.end_alike()


def as_json(report: dict[str, Any]) -> str:
    return json.dumps(report, indent=2) + "\n"


def _console() -> Console:
    """On stderr: stdout is the program's own."""
    return Console(stderr=True, highlight=False)
