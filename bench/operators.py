"""What every operator of PyTorch's database costs on mps over the CPU, small and large, forward and
backward; prints those that cost too much.

    scripts/bench operators
    python bench/operators.py --only add,softmax --seconds 60

Goal: at most 1.1 of the CPU's time on large arguments, 0.6 microseconds over it on small ones (1
for an operator with a boxed kernel), for each operator that a call is made of.
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from collections.abc import Callable, Collection, Sequence
from dataclasses import asdict

import torch

import openmps
from gpu_report import Row, keep
from openmps.bench.machine import keep_memory
from openmps.bench.measure import Pair, alternate
from operator_cases import VARIANTS, Call, calls, is_refusal, kernels_in, leaves_in
from operator_samples import Operator, Plan, Sample, operators, plan
from operator_sweep import Effort, NoSample, Refused, Sweep
from operator_verdicts import EXCEPTIONS, LIMITS, Report

TITLE = "Every operator: those too slow on mps, of all"
ELEMENTS = 1 << 19
MOST_S = 0.01  # of one large call
EFFORTS = (Effort(0.0007, 0.003, 3), Effort(0.002, 0.006, 9), Effort(0.004, 0.02, 21))


def seconds_of(op: Operator, sample: Sample) -> float:
    """The fastest of three calls: the first has everything to load."""
    copy = sample.on("cpu")
    spent = []
    for _ in range(3):
        begin = time.perf_counter()
        op.call(copy.input, *copy.args, **copy.kwargs)
        spent.append(time.perf_counter() - begin)
    return min(spent)


class InOneProcess:
    """The CPU, and mps on the CPU engine."""

    def __init__(self, variants: Sequence[str] = VARIANTS) -> None:
        self.variants = variants
        self.operators = operators()
        self.plans: dict[str, Plan | None] = {}
        self.base: dict[str, Call] = {}
        self.mps: dict[str, Call] = {}

    def open(self, name: str) -> dict[str, tuple[int, tuple[str, ...]]]:
        op = self.operators[name]
        if name not in self.plans:
            large = any(variant.startswith("large") for variant in self.variants)
            most = ELEMENTS if large else 0
            self.plans[name] = plan(op, most, lambda s: seconds_of(op, s), MOST_S)
        found = self.plans[name]
        if found is None:
            raise NoSample(name)
        self.base = calls(op, found, "cpu", self.variants)
        try:
            self.mps = calls(op, found, "mps", self.base)
        except (RuntimeError, TypeError) as error:
            if not is_refusal(error):
                raise
            raise Refused(name) from None
        found = {}
        for variant in VARIANTS:
            if variant in self.base and variant in self.mps:
                kernels, boxed = kernels_in(self.mps[variant])
                found[variant] = min(kernels, leaves_in(self.base[variant])), tuple(boxed)
        return found

    def base_seconds(self, variant: str) -> float:
        call, spent = self.base[variant], []
        for _ in range(3):
            begin = time.perf_counter()
            call()
            spent.append(time.perf_counter() - begin)
        return min(spent)

    def measure(self, variant: str, calls: int, rounds: int) -> Pair:
        return alternate(self.base[variant], self.mps[variant], calls=calls, rounds=rounds)


def show(sweep: Sweep, report: Report) -> None:
    for line in report.lines():
        print(line)
    print(
        f"\n{len(sweep.refused)} operators are left out that a Mac refuses, "
        f"{len(sweep.without_sample)} without arguments that the CPU takes"
    )
    for name, why in sweep.broken.items():
        print(f"not measured: {name}: {why}")
    if sweep.not_reached:
        print(f"not reached in time: {len(sweep.not_reached)}, from {sweep.not_reached[0]} on")
    if sweep.not_confirmed:
        print(f"not measured a second time: {sweep.not_confirmed} of those too slow")


def rows_of(report: Report) -> list[Row]:
    return [
        Row(f"{variant}: too slow, of {count}", count, within, "operators",
            count - within - excepted, goal=0, at_most=True)
        for variant, count, within, excepted in report.by_variant()
    ]  # fmt: skip


def arguments() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser()
    parser.add_argument("--only", metavar="NAMES", help="these, separated by commas")
    parser.add_argument("--variants", default=",".join(VARIANTS), help="default: %(default)s")
    parser.add_argument("--seconds", type=float, help="leave out what is not reached by then")
    return parser


def chosen(options: argparse.Namespace, every: Collection[str]) -> list[str]:
    if not options.only:
        return list(every)
    names = options.only.split(",")
    unknown = [name for name in names if name not in every]
    if unknown:
        raise SystemExit(f"the database has no {', '.join(unknown)}")
    return names


def tell_progress(total: int) -> Callable[[str], None]:
    """On a terminal, where it is."""
    done = 0

    def progress(name: str) -> None:
        nonlocal done
        done += 1
        if sys.stderr.isatty():
            print(f"\r{done}/{total} {name:50}", end="", file=sys.stderr, flush=True)

    return progress


def main() -> None:
    options = arguments().parse_args()
    keep_memory()
    openmps.activate(engine="cpu")
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    measurer = InOneProcess(options.variants.split(","))
    names = chosen(options, measurer.operators)
    stop_at = time.monotonic() + (options.seconds or 3600)
    sweep = Sweep(measurer, LIMITS["cpu"], EFFORTS, stop_at)
    sweep.run(names, tell_progress(len(names)))
    sweep.confirm(tell_progress(0))
    report = Report(sweep.figures, LIMITS["cpu"], EXCEPTIONS["cpu"])
    print(TITLE)
    show(sweep, report)
    figures = [asdict(figure) for figure in report.figures]
    keep("operators", TITLE, rows_of(report), figures=figures)


if __name__ == "__main__":
    main()
