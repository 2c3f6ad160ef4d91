"""Tables, differences and JSON of results."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field

from .results import Outcome, Result
from .verdicts import Verdict, cause, verdict

REQUIRED_SHARE = 0.99


@dataclass
class Tally:
    verdicts: Counter[Verdict] = field(default_factory=Counter)
    outcomes: Counter[Outcome] = field(default_factory=Counter)
    seconds: float = 0.0

    def add(self, result: Result) -> None:
        self.verdicts[verdict(result)] += 1
        self.outcomes[result.outcome] += 1
        self.seconds += result.seconds

    @property
    def counted(self) -> int:
        return self.verdicts[Verdict.AGREES] + self.verdicts[Verdict.DIFFERS]

    @property
    def share(self) -> float:
        return self.verdicts[Verdict.AGREES] / self.counted if self.counted else 0.0

    @property
    def percent(self) -> str:
        """Cut, not rounded: 98.996 is not 99.00."""
        return f"{int(self.share * 10000) / 100:.2f}" if self.counted else "-"


def tally(results: Iterable[Result]) -> tuple[dict[str, Tally], Tally]:
    """By class, and of all."""
    groups: dict[str, Tally] = {}
    whole = Tally()
    for result in results:
        groups.setdefault(result.group, Tally()).add(result)
        whole.add(result)
    return groups, whole


def good_enough(whole: Tally) -> bool:
    return whole.share >= REQUIRED_SHARE and not whole.outcomes[Outcome.CRASHED]


def table(results: Sequence[Result], *, by_class: bool = True) -> str:
    groups, whole = tally(results)
    if not by_class:
        groups = {}
    width = max(len(name) for name in [*groups, "class"]) + 2
    head = f"{'class':<{width}}{'cases':>7}{'agree':>7}{'differ':>7}{'listed':>7}{'%':>8}{'s':>8}"
    lines = [head]
    for name, group in [*sorted(groups.items()), ("all", whole)]:
        counts = "".join(f"{group.verdicts[v]:>7}" for v in Verdict)
        lines.append(
            f"{name:<{width}}{group.verdicts.total():>7}{counts}"
            f"{group.percent:>8}{group.seconds:>8.0f}"
        )
    outcomes = ", ".join(f"{count} {o.value}" for o, count in whole.outcomes.most_common())
    lines += ["", f"outcomes: {outcomes or 'none'}"]
    return "\n".join(lines)


def differences(results: Iterable[Result]) -> str:
    """A line each: what differs first, then what is listed."""
    lines = []
    for wanted in (Verdict.DIFFERS, Verdict.LISTED):
        lines += [
            f"{wanted.value:<7} {result.name}: {cause(result)}"
            for result in sorted(results, key=lambda result: result.name)
            if verdict(result) is wanted
        ]
    return "\n".join(lines)


def as_json(results: Sequence[Result], conditions: dict[str, str]) -> dict[str, object]:
    groups, whole = tally(results)
    return {
        "conditions": conditions,
        "all": _figures(whole),
        "classes": {name: _figures(group) for name, group in sorted(groups.items())},
        "cases": [
            {**asdict(r), "outcome": r.outcome.value, "verdict": verdict(r).value}
            for r in sorted(results, key=lambda result: result.name)
        ],
    }


def _figures(group: Tally) -> dict[str, object]:
    return {
        **{v.value: group.verdicts[v] for v in Verdict},
        "share": group.share,
        "outcomes": {o.value: count for o, count in group.outcomes.items()},
        "seconds": round(group.seconds, 1),
    }
