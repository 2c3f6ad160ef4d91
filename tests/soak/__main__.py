"""Training, memory, graphs, compiled code, shaders, errors, interrupts and threads in one process,
for an hour, and whether it ends as it began: files, threads, tensors, the Mac's figures, memory."""

from __future__ import annotations

import argparse
import signal
import sys
import time
from collections import Counter

import openmps

from .figures import Figures, growth, heading, line, look, open_files
from .works import WORKS, run_quietly

_WARM_UP = 5  # rounds after which everything was used once, and caches are full


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="scripts/soak",
        description=__doc__,
        epilog="Exit status: 0 if nothing grew, 1 if anything did.",
    )
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--rounds", type=int, help="between two looks, instead of --minutes")
    parser.add_argument("--looks", type=int, default=30, help="how often figures are taken")
    parser.add_argument("--works", nargs="+", choices=WORKS, default=list(WORKS))
    options = parser.parse_args()
    if options.minutes <= 0 or options.looks < 2 or (options.rounds or 1) < 1:
        parser.error("--minutes must be more than 0, --rounds at least 1, --looks at least 2")
    # A shell starts what runs in the background with interrupts ignored: the work that is to be
    # interrupted would go on for ever.
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    openmps.activate()
    began = time.monotonic()
    for _ in range(_WARM_UP):
        a_round = time.monotonic()
        _round(options.works)
    took = time.monotonic() - a_round
    left = options.minutes * 60 - (time.monotonic() - began)
    rounds = options.rounds or max(1, int(left / took / (options.looks - 1)))
    print(f"{(options.looks - 1) * rounds} rounds of {', '.join(options.works)}", flush=True)
    files = open_files()
    print(f"{'round':>7} {heading()}")
    seen: list[Figures] = [look()]
    print(f"{0:7} {line(seen[0])}", flush=True)
    for number in range(1, options.looks):
        for _ in range(rounds):
            _round(options.works)
        seen.append(look())
        print(f"{number * rounds:7} {line(seen[-1])}", flush=True)
    grown = growth(seen, rounds * (options.looks - 1), options.works)
    print("\n".join(["", *grown] if grown else ["", "nothing grew"]))
    if (left_open := Counter(open_files()) - Counter(files)) and grown:
        print(f"left open: {', '.join(left_open)}")
    return 1 if grown else 0


def _round(works: list[str]) -> None:
    for name in works:
        run_quietly(WORKS[name])


if __name__ == "__main__":
    sys.exit(main())
