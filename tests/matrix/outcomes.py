"""What came out for each pair: read from a junit file, and kept for the table."""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree as xml
from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from pathlib import Path

from .pairs import parts

KEPT = Path(__file__).with_name("outcomes.json")  # those that the table shows


@dataclass
class Outcome:
    torch: str
    python: str
    build: str = ""  # cpu, or cu130; nothing where there is no environment
    suite: str = "whole"  # or small
    passed: int = 0
    skipped: int = 0
    failed: list[str] = field(default_factory=list)
    differs: dict[str, int] = field(default_factory=dict)  # why tests were skipped for a release
    problem: str = ""  # if there was no run
    seconds: int = 0

    @property
    def good(self) -> bool:
        return not (self.problem or self.failed)


def read_junit(file: Path, outcome: Outcome) -> None:
    """Counts the tests of `file`; of the skipped ones it keeps the reasons that name a release."""
    reasons: Counter[str] = Counter()
    for case in xml.parse(file).getroot().iter("testcase"):
        skip = case.find("skipped")
        if case.find("failure") is not None or case.find("error") is not None:
            name = f"{case.get('classname', '').replace('.', '/')}::{case.get('name', '')}"
            if name not in outcome.failed:  # one that fails and cannot be cleaned up is there twice
                outcome.failed.append(name)
        elif skip is not None and skip.get("type") != "pytest.xfail":
            outcome.skipped += 1
            reason = skip.get("message", "")
            if re.search(r"\b(torch|Python) \d", reason):
                reasons[re.sub(r"^torch \d+\.\d+\.\d+(\+\w+)? ", "", reason)] += 1
        else:
            outcome.passed += 1
    outcome.differs = dict(sorted(reasons.items()))


def merge(known: Iterable[Outcome], new: Iterable[Outcome]) -> list[Outcome]:
    """What the table is to show: a small run does not replace a whole one, nor nothing a run."""
    kept = {(each.torch, each.python, each.build): each for each in known}
    for each in new:
        same_pair = [key for key in kept if key[:2] == (each.torch, each.python)]
        if each.build:
            before = kept.get((each.torch, each.python, each.build))
            if before and not before.problem and (before.suite, each.suite) == ("whole", "small"):
                continue
            kept.pop((each.torch, each.python, ""), None)
        elif any(key[2] for key in same_pair):
            continue
        kept[each.torch, each.python, each.build] = each
    return sorted(
        kept.values(), key=lambda each: (parts(each.torch), parts(each.python), each.build)
    )


def load(file: Path) -> list[Outcome]:
    return [Outcome(**each) for each in json.loads(file.read_text())] if file.exists() else []


def save(outcomes: Iterable[Outcome], file: Path) -> None:
    file.write_text(json.dumps([asdict(each) for each in outcomes], indent=1) + "\n")
