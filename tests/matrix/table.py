"""The table in docs/compatibility.md, between two marks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from .outcomes import Outcome

BEGIN, END = "<!-- scripts/matrix writes what follows -->", "<!-- up to here -->"


def table(outcomes: Iterable[Outcome]) -> str:
    lines = [
        "| torch | build | Python | tests | passed | skipped | failed |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    differs: dict[str, dict[str, int]] = {}
    failures = []
    for each in outcomes:
        if each.problem:
            cells = (f"not run: {each.problem}", "", "", "")
        else:
            cells = (each.suite, f"{each.passed}", f"{each.skipped}", f"{len(each.failed)}")
        lines.append(f"| {' | '.join((each.torch, each.build, each.python, *cells))} |")
        failures += [
            f"- torch {each.torch} with Python {each.python} fails `{name}`" for name in each.failed
        ]
        reasons = differs.setdefault(each.torch, {})
        for reason, count in each.differs.items():
            reasons[reason] = max(count, reasons.get(reason, 0))
    lines += ["", "What differs, by the tests that a release skips (and how many they are):", ""]
    for release, reasons in differs.items():
        if reasons:
            lines.append(f"- torch {release}")
            lines += [f"    - {reason} ({count})" for reason, count in _grouped(reasons)]
    if failures:
        lines += ["", *failures]
    return "\n".join(lines)


def _grouped(reasons: Mapping[str, int]) -> list[tuple[str, int]]:
    """One line for all operators of which the same is said."""
    grouped: dict[str, tuple[set[str], int]] = {}
    for reason, count in reasons.items():
        said, kernel, operators = reason.partition(" mps kernel for ")
        names, before = grouped.setdefault(f"{said}{kernel}", (set(), 0))
        names.update(f"`{name}`" for name in operators.split(", ") if name)
        grouped[f"{said}{kernel}"] = names, before + count
    return sorted((said + ", ".join(sorted(names)), n) for said, (names, n) in grouped.items())


def write(outcomes: Iterable[Outcome], page: Path) -> None:
    before, begin, rest = page.read_text().partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"{page} has no place for the table: {BEGIN} and {END}")
    page.write_text(f"{before}{BEGIN}\n\n{table(outcomes)}\n\n{END}{after}")
