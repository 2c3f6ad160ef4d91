"""What a folder of pytest's logs says, in a page: why tests were skipped, failing tests, files that
died, totals.

    python tests/logs.py FOLDER

scripts/gpu writes a log for each file, ENGINE-FILE.log, with the exit status as its last line.
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from pathlib import Path
from typing import NamedTuple

COUNT = re.compile(r"(\d+) (passed|failed|skipped|xfailed|xpassed|error)s?\b")
TOTAL = re.compile(r"^(?:=+ )?\d+ \w+.* in [\d.]+s")
SKIPPED = re.compile(r"^SKIPPED \[(\d+)\] \S+: (.+)")
STATUS = re.compile(r"^exit status (\d+)$")
NO_TESTS = 5  # pytest's status when a file, or a shard of it, has none
DIED_LINES = 15


class Log(NamedTuple):
    name: str
    counts: Counter[str]
    skips: Counter[str]  # by their reason
    failures: list[str]  # pytest's own lines: FAILED path::test - reason
    ending: list[str]  # the last lines, where pytest did not come to its end

    @property
    def good(self) -> bool:
        return not (self.failures or self.ending)


def read(name: str, text: str) -> Log:
    lines = text.rstrip().splitlines()
    status = STATUS.match(lines[-1]) if lines else None
    code = int(status[1]) if status else None
    counts: Counter[str] = Counter()
    for line in lines:
        if TOTAL.match(line):
            counts = Counter({word: int(number) for number, word in COUNT.findall(line)})
    skips: Counter[str] = Counter()
    for line in lines:
        if skipped := SKIPPED.match(line):
            skips[skipped[2]] += int(skipped[1])
    failures = [line for line in lines if line.startswith(("FAILED ", "ERROR "))]
    ended = code in (0, NO_TESTS) or (code == 1 and bool(failures))
    return Log(name, counts, skips, failures, [] if ended else lines[-DIED_LINES:] or ["(nothing)"])


def totals(engine: str, logs: list[Log]) -> str:
    counts = sum((log.counts for log in logs), Counter())
    words = [f"{counts[word]} {word}" for word in counts if counts[word]]
    died = sum(bool(log.ending) for log in logs)
    if died:
        words.append(f"{died} file{'s' if died > 1 else ''} died")
    return f"tests on {engine}: {', '.join(sorted(words, key=lambda w: w.split()[1]))}"


def report(logs: list[Log]) -> list[str]:
    skips = sum((log.skips for log in logs), Counter())
    lines = [f"{count:4} skipped: {reason}"[:240] for reason, count in skips.most_common()]
    for log in logs:
        if log.good:
            continue
        lines.append(f"-- {log.name}")
        lines += [line[:240] for line in log.failures]
        lines += [f"   | {line[:240]}" for line in log.ending]
    engines = sorted({log.name.split("-")[0] for log in logs})
    lines += [totals(e, [log for log in logs if log.name.startswith(f"{e}-")]) for e in engines]
    return lines


def main() -> None:
    paths = sorted(Path(sys.argv[1]).glob("*.log"))
    logs = [read(path.stem, path.read_text(errors="replace")) for path in paths]
    print("\n".join(report(logs)) if logs else "tests on no engine: nothing was run")
    sys.exit(not logs or not all(log.good for log in logs))


if __name__ == "__main__":
    main()
