"""A check's report for the terminal: the verdict first, then what hurts, the most costly first."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table
from rich.text import Text

_MOST_ROWS = 8
_MOST_LINES = 3


def print_report(report: dict[str, Any], console: Console) -> None:
    console.rule(f"openmps check: {escape(' '.join(report['command']))}", align="left")
    _print_verdict(report, console)
    _print_operators(report, console, "missing", "Missing on a Mac (ran on the CPU here)")
    for key, title in (
        ("float64", "float64 on mps (a Mac raises TypeError at the first)"),
        ("refused", "Refused by a Mac"),
        ("limits", "Beyond Metal's limits"),
    ):
        _print_findings(report[key], console, title)
    _print_operators(report, console, "fallback", "Falls back to the CPU")
    _print_findings(report["syncs"], console, "Waits for the device", unit="waits")
    _print_copies(report, console)
    _print_memory(report, console)
    _print_shaders(report, console)
    _print_slowest(report, console)


def print_ledger(report: dict[str, Any], console: Console) -> None:
    """Of `openmps run --ledger`."""
    console.rule("openmps: ledger", align="left")
    _print_operators(report, console, "missing", "Missing on a Mac")
    _print_operators(report, console, "fallback", "Fell back to the CPU")
    _print_findings(report["syncs"], console, "Waited for the device", unit="waits")
    _print_copies(report, console)
    _print_memory(report, console)
    _print_slowest(report, console)


def size(number: float) -> str:
    for unit in ("bytes", "KiB", "MiB"):
        if number < 1024:
            return f"{number:.0f} {unit}" if unit == "bytes" else f"{number:.1f} {unit}"
        number /= 1024
    return f"{number:.2f} GiB"


def duration(seconds: float) -> str:
    if seconds >= 1:
        return f"{seconds:.2f} s"
    return f"{seconds * 1e3:.1f} ms" if seconds >= 1e-3 else f"{seconds * 1e6:.0f} us"


def counted(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def place(line: dict[str, Any]) -> str:
    return f"{line['file']}:{line['line']}" if line["line"] else str(line["file"])


def ending(report: dict[str, Any]) -> str:
    """How it ended, where that is worth a sentence; or nothing."""
    ended = report["ended"]
    how = ended["signal"] or (f"exit status {ended['exit_code']}" if ended["exit_code"] else "")
    if not how and not ended["error"]:
        return ""
    told = f" ({ended['error'].splitlines()[0]})" if ended["error"] else ""
    return (
        f"The program ended with {how or 'exit status 0'}{told}; this is what was seen until then."
    )


def _print_verdict(report: dict[str, Any], console: Console) -> None:
    verdict = report["verdict"]
    word, style = {True: ("yes", "green"), False: ("no", "red"), None: ("unknown", "yellow")}[
        verdict["works"]
    ]
    console.print(f"Works on a Mac ({escape(report['mac'])}): [bold {style}]{word}[/]")
    for reason in verdict["because"]:
        console.print(f"  - {escape(reason)}", soft_wrap=True)
    told = ending(report)
    if told:
        console.print(f"[yellow]{escape(told)}[/]")
    counts = {status: 0 for status in ("native", "fallback", "missing")}
    for operator in report["operators"]:
        counts[operator["status"]] += 1
    calls = sum(operator["count"] for operator in report["operators"])
    console.print(
        f"{counted(calls, 'call')} of {counted(len(report['operators']), 'operator')}: "
        f"{counts['native']} native, "
        f"{counts['fallback']} fallback, {counts['missing']} missing; "
        f"{duration(report['seconds'])} on {report['engine'] or 'no engine'}"
    )
    if report["failed_on"]:
        console.print(f"[red]--fail-on: found {', '.join(report['failed_on'])}[/]")


def _print_operators(report: dict[str, Any], console: Console, status: str, title: str) -> None:
    _print_findings([o for o in report["operators"] if o["status"] == status], console, title)


def _table(title: str, *columns: str) -> Table:
    # One line, however narrow the table below it is.
    heading = Text(title, style="bold", no_wrap=True, overflow="ignore")
    table = Table(title=heading, title_justify="left", title_style="", box=None, pad_edge=False)
    for column in columns:
        is_text = column in ("what", "where", "line")
        table.add_column(
            column, justify="left" if is_text else "right", overflow="fold", header_style="dim"
        )
    return table


def _print_findings(
    findings: list[dict[str, Any]], console: Console, title: str, unit: str = "calls"
) -> None:
    if not findings:
        return
    columns: dict[str, Callable[[dict[str, Any]], str]] = {
        "what": lambda f: escape(f["name"] + (f": {f['detail']}" if f.get("detail") else "")),
        unit: lambda f: str(f["count"]),
        "time": lambda f: duration(f["seconds"]) if f["seconds"] else "",
        "bytes": lambda f: size(f["bytes"]) if f["bytes"] else "",
        "where": lambda f: escape(_places(f["lines"])),
    }
    rows = [{name: text(f) for name, text in columns.items()} for f in findings[:_MOST_ROWS]]
    filled = [name for name in columns if any(row[name] for row in rows)]
    table = _table(title, *filled)
    for row in rows:
        table.add_row(*(row[name] for name in filled))
    console.print()
    console.print(table)
    _print_rest(findings, console)


def _places(lines: list[dict[str, Any]]) -> str:
    shown = [
        place(line) + (f" ({line['count']}x)" if line["count"] > 1 else "")
        for line in lines[:_MOST_LINES]
    ]
    if len(lines) > _MOST_LINES:
        shown.append(f"and {len(lines) - _MOST_LINES} more")
    return ", ".join(shown)


def _print_rest(rows: list[Any], console: Console) -> None:
    if len(rows) > _MOST_ROWS:
        console.print(f"[dim]and {len(rows) - _MOST_ROWS} more: see --json or --html[/]")


def _print_copies(report: dict[str, Any], console: Console) -> None:
    _print_findings(report["copies"], console, "Copies between the CPU and mps", unit="copies")


def _print_memory(report: dict[str, Any], console: Console) -> None:
    memory = report["memory"]
    if not memory["peak_bytes"]:
        return
    reached = memory["peak_reached_at"]
    at = f", reached at {place(reached)}" if reached else ""
    console.print()
    console.print(
        f"[bold]Memory[/]: {size(memory['peak_bytes'])} in use at the peak{escape(at)}; "
        f"{memory['fits']}",
        soft_wrap=True,
    )
    unfit = [mac["name"] for mac in memory["macs"] if not mac["fits"]]
    if unfit:
        console.print(f"[yellow]Does not fit: {', '.join(unfit)}[/]")
    tight = [m["name"] for m in memory["macs"] if m["fits"] and not m["comfortably"]]
    if tight:
        console.print(f"[yellow]Fits, but would make macOS swap: {', '.join(tight)}[/]")
    unsure = [m["name"] for m in memory["macs"] if not m["certain"]]
    if unsure:
        console.print(
            f"[yellow]Fits if the allocator can free enough of what it keeps: "
            f"{', '.join(unsure)}[/]"
        )
    table = _table("", "line", "at the peak", "largest buffer")
    held = [line for line in memory["lines"] if line["bytes_at_peak"]]
    for line in held[:_MOST_ROWS]:
        table.add_row(escape(place(line)), size(line["bytes_at_peak"]), size(line["largest_bytes"]))
    console.print(table)
    _print_rest(held, console)


def _print_shaders(report: dict[str, Any], console: Console) -> None:
    for shader in report["shaders"]:
        where = _places(shader["lines"])
        console.print(f"[bold]Shader[/] compiled at {escape(where)}: {escape(shader['name'])}")


def _print_slowest(report: dict[str, Any], console: Console) -> None:
    native = [operator for operator in report["operators"] if operator["status"] == "native"]
    _print_findings(native[:_MOST_ROWS], console, "Operators that took longest here")
