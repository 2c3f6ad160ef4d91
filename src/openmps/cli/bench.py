"""`openmps bench`: the guides' benchmarks on mps and on the CPU, in one run, in turn."""

from __future__ import annotations

import json
import math
import os
import platform
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

import openmps
from openmps import settings
from openmps.bench.chart import draw
from openmps.bench.machine import available_bytes, keep_memory, processor
from openmps.bench.probe import probe
from openmps.bench.report import (
    SCHEMA,
    Change,
    Earlier,
    Row,
    changes,
    read_earlier,
    speedups,
)
from openmps.bench.subjects import (
    DEFAULT,
    MODELS,
    PRODUCTS,
    QUICK,
    Case,
    Effort,
    check_fits,
    model_cases,
    parse_only,
    product_cases,
)
from openmps.cli.bench_text import print_bars, print_changes, print_rows
from openmps.cli.output import STDOUT, check_writable, write
from openmps.cli.run import check_device
from openmps.errors import OpenmpsError

_INTERRUPTED = 130  # as a shell shows it
_LONGEST_CHIP = 32


@dataclass
class Outcome:
    about: dict[str, Any]
    rows: list[Row] = field(default_factory=list)
    interrupted: bool = False


def run_benchmarks(
    *,
    mac: str,
    macos: str,
    engine: str,
    only: str,
    quick: bool,
    batch: int | None,
    json_file: Path | None,
    chart_file: Path | None,
    compare: Path | None,
    tolerance: float,
) -> int:
    """The exit status: 0, 1 where something is slower than before or failed, or 130."""
    subjects = parse_only(only)
    effort = QUICK if quick else DEFAULT
    _check_options(subjects, batch, chart_file, tolerance)
    check_writable(json_file, chart_file)
    earlier = read_earlier(compare) if compare else None
    if earlier:
        _check_in_common(earlier, subjects)
    _choose(mac, macos, engine)
    # With --json - standard output is for other programs.
    console = Console(stderr=STDOUT in (json_file, chart_file), highlight=False)
    errors = Console(stderr=True)
    begin = time.monotonic()
    with errors.status("measuring the CPU, to choose sizes"):
        cpu = probe()
    os.environ.update(cpu.environment)
    keep_memory()
    about = _activate()
    mac_name, limit = _mac()
    free = available_bytes()
    if earlier:
        cases = [case for case in earlier.rows if case.subject in subjects]
    else:
        cases = _cases(subjects, cpu.flops, min(free, 2 * limit), effort, batch)
    check_fits(cases, free, mac_name, limit)
    outcome = _measure_all(cases, effort, errors, about)
    about["seconds"] = round(time.monotonic() - begin, 1)
    changed = changes(outcome.rows, earlier) if earlier else []
    _print(outcome, console)
    if earlier:
        print_changes(changed, earlier, tolerance, console)
    report = _as_json(outcome, changed, tolerance)
    written = write(json_file, json.dumps(report, indent=2) + "\n")
    written = _write_chart(chart_file, outcome) and written
    if outcome.interrupted:
        return _INTERRUPTED
    slower = any(change.is_slower(tolerance) for change in changed)
    failed = any(row.failed for row in outcome.rows)
    return 1 if slower or failed or not written else 0


def _check_options(
    subjects: Sequence[str], batch: int | None, chart_file: Path | None, tolerance: float
) -> None:
    if batch is not None and batch < 1:
        raise OpenmpsError("--batch must be at least 1", found=str(batch), next_step="leave it out")
    if not 0 <= tolerance < 1:
        raise OpenmpsError(
            "--tolerance must be from 0 to 1",
            found=str(tolerance),
            next_step="0.1 allows a tenth",
        )
    if chart_file and not any(subject in MODELS for subject in subjects):
        raise OpenmpsError(
            "--chart draws models, and --only names none",
            found=", ".join(subjects),
            next_step=f"add one of {', '.join(MODELS)} to --only, or leave --chart out",
        )


def _choose(mac: str, macos: str, engine: str) -> None:
    for setting, given in (
        (settings.MAC, mac),
        (settings.MACOS, macos),
        (settings.ENGINE, engine.lower()),
    ):
        if given:
            os.environ[setting.variable] = given
    os.environ[settings.ACTIVE.variable] = "0"  # not by torch's plug-in, which only warns
    check_device()


def _activate() -> dict[str, Any]:
    """Gives this process the device; what the report says about it."""
    openmps.activate()
    import torch

    from openmps.device.activation import active

    chosen = active()
    return {
        "schema": SCHEMA,
        "openmps": openmps.__version__,
        "torch": torch.__version__,
        "python": platform.python_version(),
        "processor": processor(),
        "threads": torch.get_num_threads(),
        # On a Mac openmps steps aside, and this measures the native device.
        "mac": str(chosen.mac) if chosen else platform.machine(),
        "engine": chosen.engine if chosen else "native",
    }


def _check_in_common(earlier: Earlier, subjects: Sequence[str]) -> None:
    theirs = {case.subject for case in earlier.rows}
    if not theirs.intersection(subjects):
        raise OpenmpsError(
            "--compare: the earlier run has nothing of what --only names",
            found=f"it has {', '.join(sorted(theirs))}",
            next_step="leave --only out",
        )


def _mac() -> tuple[str, float]:
    """The chosen Mac's name, and what it gives to programs. A real one sees to that itself."""
    from openmps.device.activation import active

    chosen = active()
    return (chosen.mac.name, chosen.mac.high_watermark_bytes) if chosen else ("", math.inf)


def _cases(
    subjects: Sequence[str],
    flops: dict[str, float],
    free: float,
    effort: Effort,
    batch: int | None,
) -> list[Case]:
    cases = list(product_cases(flops, effort)) if PRODUCTS in subjects else []
    for name in subjects:
        if name in MODELS:
            cases += model_cases(MODELS[name], flops["float32"], free, effort, batch)
    return cases


def _measure_all(
    cases: Sequence[Case], effort: Effort, console: Console, about: dict[str, Any]
) -> Outcome:
    outcome = Outcome(about)
    try:
        with _progress(cases, console) as after_round:
            for row in _measured(cases, effort, after_round):
                outcome.rows.append(row)
    except KeyboardInterrupt:
        outcome.interrupted = True
    return outcome


def _measured(
    cases: Sequence[Case], effort: Effort, after_round: Callable[[Case, float], None]
) -> Iterator[Row]:
    from openmps.bench.work import Work, close_work, measure, open_work

    work: Work | None = None
    above: Case | None = None
    for case in cases:
        # A model is built once for both of its modes.
        if above is None or case.subject == PRODUCTS or above._replace(mode=case.mode) != case:
            work = None
            close_work()
        above = case
        after_round(case, 0.0)
        try:
            work = work or open_work(case)
            yield measure(case, work, effort, lambda part, case=case: after_round(case, part))  # type: ignore[misc]
        except (RuntimeError, MemoryError) as error:
            lines = str(error).strip().splitlines()
            yield Row.without_figures(case, f"{type(error).__name__}: {lines[0] if lines else ''}")


@contextmanager
def _progress(cases: Sequence[Case], console: Console) -> Iterator[Callable[[Case, float], None]]:
    """A bar where somebody looks, and nothing elsewhere. Drawn between rounds, not during them."""
    columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    shown = Progress(
        *columns,
        console=console,
        transient=True,
        auto_refresh=False,
        disable=not console.is_terminal,
    )
    with shown as progress:
        task = progress.add_task("", total=len(cases))

        def after_round(case: Case, part: float) -> None:
            name = f"{case.name}, {case.size}"
            progress.update(task, advance=part, description=name, refresh=True)

        yield after_round


def _print(outcome: Outcome, console: Console) -> None:
    about = outcome.about
    console.print(
        f"mps ({about['mac']}; engine {about['engine']}) and the CPU ({about['processor']}, "
        f"{_threads(about)}) in turn; torch {about['torch']}",
        markup=False,
        soft_wrap=True,
    )
    if not console.is_terminal:
        console.width = max(console.width, 120)  # no figure is cut off: what reads it may be grep
    print_rows(outcome.rows, console)
    print_bars(speedups(outcome.rows), console)
    if outcome.interrupted:
        console.print("[yellow]Interrupted; this is what was measured until then.[/]")


def _as_json(outcome: Outcome, changed: Sequence[Change], tolerance: float) -> dict[str, Any]:
    return {
        **outcome.about,
        "interrupted": outcome.interrupted,
        "rows": [row.as_json() for row in outcome.rows],
        "changes": [change.as_json(tolerance) for change in changed],
    }


def _write_chart(file: Path | None, outcome: Outcome) -> bool:
    drawn = speedups(outcome.rows)
    if file is None or not drawn:
        return file is None
    return write(file, draw(drawn, *_chart_texts(outcome.about)))


def _chart_texts(about: dict[str, Any]) -> tuple[str, str]:
    """Title and note; both must fit the picture."""
    where = "an NVIDIA GPU" if about["engine"] == "cuda" else f"the {about['engine']} engine"
    chip = about["processor"]
    chip = chip if len(chip) <= _LONGEST_CHIP else f"{chip[: _LONGEST_CHIP - 3]}..."
    note = f"Items per second in fp32, over {_threads(about)} of {chip}."
    return f"mps on {where}: speed-up over the CPU", note


def _threads(about: dict[str, Any]) -> str:
    return f"{about['threads']} thread{'' if about['threads'] == 1 else 's'}"
