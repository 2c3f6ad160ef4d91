"""A benchmark's rows for the terminal: a table, bars, and what changed since an earlier run."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from openmps.bench.chart import MODES, Speedup
from openmps.bench.report import Change, Earlier, Row
from openmps.cli.check_text import duration

_LONGEST_BAR = 48
_COLOURS = {"training": "blue", "evaluation": "magenta"}


def print_rows(rows: Sequence[Row], console: Console) -> None:
    table = _table("benchmark", "size", "cpu", "mps", "cpu", "mps", "", "speed-up")
    above = ""
    for row in rows:
        case = row.case
        name, above = ("" if case.name == above else case.name), case.name
        if row.measured:
            times = duration(row.cpu_s), duration(row.mps_s)
            rates = _rate(case.work / row.cpu_s), _rate(case.work / row.mps_s)
            figures = (*times, *rates, case.unit, f"{row.speedup:.2f}x")
        else:
            figures = ("",) * 6
        table.add_row(escape(name), case.size, *figures, style="red" if row.failed else None)
    console.print(table)
    for row in rows:
        if row.failed:
            told = f"{row.case.name}, {row.case.size}: {row.failed}"
            console.print(f"[red]{escape(told)}[/]", soft_wrap=True)
        elif not row.is_steady:
            told = (
                f"{row.case.name}, {row.case.size}: unsteady: the rounds differ, and the speed-up "
                f"may be off by {row.spread:.0%}"
            )
            console.print(f"[yellow]{escape(told)}[/]", soft_wrap=True)


def _table(*columns: str) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in columns:
        is_text = column in ("benchmark", "size", "")
        table.add_column(column, justify="left" if is_text else "right", no_wrap=True)
    return table


def _rate(number: float) -> str:
    return f"{number:.0f}" if number >= 100 else f"{number:.3g}"


def print_bars(speedups: Sequence[Speedup], console: Console) -> None:
    """The chart of PyTorch's announcement, lying down."""
    if not speedups:
        return
    console.print()
    console.print("[bold]Speed-up over the CPU[/]")
    highest = max(max(speedup.training, speedup.evaluation) for speedup in speedups)
    widest = max(len(speedup.model) for speedup in speedups)
    room = max(8, min(_LONGEST_BAR, console.width - widest - 22))
    sign = "█" if "utf" in console.encoding.lower() else "#"
    for speedup in speedups:
        for mode in MODES:
            value = getattr(speedup, mode)
            name = speedup.model if mode == MODES[0] else ""
            bar = sign * max(1, round(room * value / highest))
            console.print(
                f"{escape(name):{widest}}  {mode:10} [{_COLOURS[mode]}]{bar}[/] {value:.2f}x"
            )


def print_changes(
    changes: Sequence[Change], earlier: Earlier, tolerance: float, console: Console
) -> None:
    console.print()
    console.print(f"[bold]Now over before[/] ({escape(earlier.about)}); above 1 is faster now")
    table = _table("benchmark", "size", "cpu", "mps", "speed-up")
    for change in changes:
        slower = change.is_slower(tolerance)
        figures = (f"{ratio:.2f}" for ratio in (change.cpu, change.mps, change.speedup))
        case = change.now.case
        table.add_row(escape(case.name), case.size, *figures, style="red" if slower else None)
    console.print(table)
    count = sum(change.is_slower(tolerance) for change in changes)
    told = f"{count} of {len(changes)} slower by more than {tolerance:.0%} (by their speed-up)"
    console.print(f"[red]{told}[/]" if count else f"[green]{told}[/]")
