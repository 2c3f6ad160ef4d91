"""What a program did on the device, of what its processes recorded."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Record:
    # How many operators ran on mps, and the names of those that ran on the CPU instead.
    operators: int = 0
    fallbacks: tuple[str, ...] = ()


NOTHING = Record()


def read(folder: Path) -> Record:
    counts: Counter[tuple[str, str]] = Counter()
    for file in folder.glob("*.json"):
        for kind, name, _, _, count, *_ in json.loads(file.read_text("utf-8"))["events"]:
            counts[kind, name] += count
    return Record(
        operators=sum(count for (kind, _), count in counts.items() if kind == "native"),
        fallbacks=tuple(sorted({name for kind, name in counts if kind == "fallback"})),
    )
