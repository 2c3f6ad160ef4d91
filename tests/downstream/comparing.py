"""Whether a test ends on mps as it does on the CPU, but for what a Mac refuses."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum

from upstream.verdicts import is_a_refusal_of_macs

from .running import Outcome


class Verdict(str, Enum):
    AGREES = "agree"
    DIFFERS = "differ"
    REFUSED = "refused"  # as on a Mac, in its words, where the CPU goes on
    BROKEN = "broken"  # fails on the CPU, too
    SKIPPED = "skipped"


@dataclass(frozen=True)
class Compared:
    test: str
    verdict: Verdict
    cpu: Outcome
    mps: Outcome


_DEVICE = re.compile(r"(?<![A-Za-z0-9])(?:cpu|mps)(?::0)?(?![A-Za-z0-9])")
_FAILURES = ("failed", "crashed")
# What PyTorch says on every device but the CPU.
_ON_ANY_GPU = re.compile(r"Expected all tensors to be on the same device, but found at least two")


def compare(cpu: Mapping[str, Outcome], mps: Mapping[str, Outcome]) -> list[Compared]:
    """Tests are paired by their names, but for the device in them."""
    on_cpu = {_DEVICE.sub("DEVICE", name): outcome for name, outcome in cpu.items()}
    missing = Outcome("missing", "there is no such test on this device")
    pairs = {_DEVICE.sub("DEVICE", name): outcome for name, outcome in mps.items()}
    return [
        Compared(name, _verdict(one, other), one, other)
        for name in sorted({*on_cpu, *pairs})
        for one, other in [(on_cpu.get(name, missing), pairs.get(name, missing))]
    ]


def _verdict(cpu: Outcome, mps: Outcome) -> Verdict:
    if mps.what == "crashed":
        return Verdict.DIFFERS
    if mps.what == "skipped":
        return Verdict.SKIPPED
    if cpu.what in _FAILURES and mps.what in _FAILURES:
        return Verdict.BROKEN
    refused = is_a_refusal_of_macs(mps.error) or _ON_ANY_GPU.search(mps.error)
    if mps.what == "failed" and refused:
        return Verdict.REFUSED
    if mps.what in ("passed", "expected failure"):
        return Verdict.AGREES
    return Verdict.DIFFERS


@dataclass(frozen=True)
class Tally:
    counts: Counter[Verdict]

    @property
    def counted(self) -> int:
        return self.counts[Verdict.AGREES] + self.counts[Verdict.DIFFERS]

    @property
    def share(self) -> float:
        return self.counts[Verdict.AGREES] / self.counted if self.counted else 0.0


def tally(compared: list[Compared]) -> Tally:
    return Tally(Counter(one.verdict for one in compared))


def report(compared: list[Compared]) -> str:
    """Each test that does not agree, then the counts."""
    lines = []
    for wanted in (Verdict.DIFFERS, Verdict.REFUSED, Verdict.BROKEN):
        lines += [
            f"{wanted.value:<8} {one.test}: {' '.join(one.mps.error.split())[:300] or one.mps.what}"
            for one in compared
            if one.verdict is wanted
        ]
    whole = tally(compared)
    counts = ", ".join(f"{whole.counts[verdict]} {verdict.value}" for verdict in Verdict)
    percent = int(whole.share * 10000) / 100  # cut, not rounded
    return "\n".join([*lines, f"{len(compared)} tests: {counts}; {percent:.2f} % agree"])
