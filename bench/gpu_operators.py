"""What every operator of PyTorch's database costs on mps over cuda; prints the outliers.

    scripts/gpu bench gpu_operators
    python bench/gpu_operators.py --only add,softmax --seconds 60

Goal: at most 1.1 of cuda's time on large arguments, 1 microsecond over it on small ones, for each
operator that a call is made of. Small calls: host time, in bursts that the queue of launches has
room for. Large ones: until the card has finished.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Sequence
from dataclasses import asdict

from gpu_report import keep
from openmps.bench.measure import Pair
from operator_cases import VARIANTS
from operator_sweep import Effort, NoSample, Refused, Sweep
from operator_verdicts import EXCEPTIONS, LIMITS, Report
from operators import arguments, chosen, rows_of, show, tell_progress
from sides import CaseFailed, Side, in_turn, serve

TITLE = "Every operator: those too slow on mps over cuda, of all"
ELEMENTS = 1 << 22
MOST_S = 0.004  # of one large call
SECONDS = 150.0
CONFIRM_S = 60.0  # of those, for what seemed too slow
BURST = 50
MOST_RESTARTS = 3
EFFORTS = (Effort(0.0005, 0.002, 2), Effort(0.002, 0.006, 7))


class OnDevice:
    """In a worker: all operators, one of them open."""

    def __init__(self, name: str, device: str) -> None:
        import torch

        from operator_samples import operators

        warnings.simplefilter("ignore")
        self._torch = torch
        self._device = device
        self._wait = torch.get_device_module(device).synchronize
        self._operators = operators()

    def names(self) -> list[str]:
        return list(self._operators)

    def plan(self, name: str) -> list[object] | None:
        """Of the large sample, as long as it takes on this device."""
        from operator_samples import Sample, plan

        op = self._operators[name]

        def seconds(sample: Sample) -> float:
            copy = sample.on(self._device)
            if op.factory:
                copy.kwargs["device"] = self._device
            spent = []
            for _ in range(3):
                self._wait()
                begin = time.perf_counter()
                op.call(copy.input, *copy.args, **copy.kwargs)
                self._wait()
                spent.append(time.perf_counter() - begin)
            return min(spent)

        found = plan(op, ELEMENTS, seconds, MOST_S)
        return None if found is None else [found.small, found.large, found.factor]

    def build(self, name: str, how: list[int], variants: list[str]) -> dict[str, object] | str:
        """By variant, the operators of a call and the boxed ones; or the refusal."""
        from operator_cases import calls, is_refusal, kernels_in, leaves_in
        from operator_samples import Plan

        self._calls = {}
        try:
            self._calls = calls(self._operators[name], Plan(*how), self._device, variants)
        except (RuntimeError, TypeError) as error:
            if self._device == "mps" and is_refusal(error):
                return "refused"
            raise
        found: dict[str, object] = {}
        for variant, call in self._calls.items():
            found[variant] = kernels_in(call) if self._device == "mps" else (leaves_in(call), [])
        self._wait()
        return found

    def small(self, variant: str, calls: int) -> float:
        return min(self._burst(variant, calls) for _ in range(3))

    def large(self, variant: str, calls: int) -> float:
        return self._burst(variant, calls, wait=True)

    def _burst(self, variant: str, calls: int, *, wait: bool = False) -> float:
        call = self._calls[variant]
        self._wait()
        begin = time.perf_counter()
        for _ in range(calls):
            call()
        if wait:
            self._wait()
        spent = time.perf_counter() - begin
        self._wait()
        return spent / calls


class TwoProcesses:
    """`cuda`, and `mps` on the CUDA engine; both anew when a card's error has ended one."""

    def __init__(
        self, variants: Sequence[str] = VARIANTS, base: str = "cuda", engine: str = "cuda"
    ) -> None:
        self._variants = list(variants)
        self._base, self._engine = base, engine
        self._plans: dict[str, list[int] | None] = {}
        self._restarts = 0
        self._start()

    def _start(self) -> None:
        self._sides = tuple(Side(__file__, d, self._engine) for d in (self._base, "mps"))
        for side in self._sides:
            side.tell("open", "all")
        for side in self._sides:
            side.hear()
            side.stay_on(1)

    def close(self) -> None:
        for side in self._sides:
            side.close()

    def names(self) -> list[str]:
        return list(self._sides[0].ask("names"))

    def open(self, name: str) -> dict[str, tuple[int, tuple[str, ...]]]:
        try:
            return self._open(name)
        except SystemExit as failure:
            if not (self._is_lost(failure) and self._restarts < MOST_RESTARTS):
                raise
            self._restarts += 1
            for side in self._sides:
                side.end()
            self._start()
            raise RuntimeError(str(failure).strip().splitlines()[-1]) from None

    @staticmethod
    def _is_lost(failure: SystemExit) -> bool:
        words = str(failure)
        return not isinstance(failure, CaseFailed) or "CUDA error" in words or "cuFFT" in words

    def _open(self, name: str) -> dict[str, tuple[int, tuple[str, ...]]]:
        cuda, _ = self._sides
        if name not in self._plans:
            self._plans[name] = cuda.ask("plan", name)
        plan = self._plans[name]
        if plan is None:
            raise NoSample(name)
        for side in self._sides:
            side.tell("build", name, plan, self._variants)
        answers, failures = [], []
        for side in self._sides:  # every answer must be heard
            try:
                answers.append(side.hear())
            except CaseFailed as failure:
                failures.append(failure)
        if failures:
            raise failures[0]
        base, other = answers
        if other == "refused":
            raise Refused(name)
        return {
            variant: (min(base[variant][0], other[variant][0]), tuple(other[variant][1]))
            for variant in base
            if variant in other
        }

    def base_seconds(self, variant: str) -> float:
        return float(self._sides[0].ask(self._how(variant), variant, 1))

    def measure(self, variant: str, calls: int, rounds: int) -> Pair:
        if not variant.startswith("large"):
            calls = min(calls, BURST)
        return in_turn(
            *self._sides,
            calls=calls,
            rounds=rounds,
            command=self._how(variant),
            arguments=(variant,),
        )

    @staticmethod
    def _how(variant: str) -> str:
        return "large" if variant.startswith("large") else "small"


def main() -> None:
    parser = arguments()
    parser.add_argument("--serve", metavar="DEVICE", help="for the worker processes")
    options = parser.parse_args()
    if options.serve:
        serve(options.serve, OnDevice)
        return
    seconds = options.seconds or SECONDS
    begin = time.monotonic()
    measurer = TwoProcesses(options.variants.split(","))
    names = chosen(options, measurer.names())
    stop_at = begin + seconds - min(CONFIRM_S, seconds / 3)
    sweep = Sweep(measurer, LIMITS["cuda"], EFFORTS, stop_at)
    sweep.run(names, tell_progress(len(names)))
    print(f"all operators once: {time.monotonic() - begin:.0f} s")
    sweep.stop_at = begin + seconds
    sweep.confirm(tell_progress(0))
    measurer.close()
    report = Report(sweep.figures, LIMITS["cuda"], EXCEPTIONS["cuda"])
    print(TITLE)
    show(sweep, report)
    figures = [asdict(figure) for figure in report.figures]
    keep("gpu_operators", TITLE, rows_of(report), figures=figures)


if __name__ == "__main__":
    main()
