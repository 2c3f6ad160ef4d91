"""Runs the device, mac, shader and cli tests with other releases of torch and of Python."""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
from dataclasses import asdict
from pathlib import Path

from .outcomes import KEPT, Outcome, load, merge, save
from .pairs import NoIndex, NoSuchRelease, choose, interpreters, wheels, whole_ones
from .running import FOLDER, ROOT, NotMade, run_pair
from .table import write

PAGE = ROOT / "docs" / "compatibility.md"
NO_WHEEL = "torch has no wheel for it"
NO_PYTHON = "no such Python where the matrix ran"


def main() -> int:
    options = _options()
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # what was started ends, too
    if options.collect:
        remember([each for file in sorted(options.collect.rglob("*.json")) for each in load(file)])
        return 0
    try:
        found = wheels(options.python, options.install_within)
        pairs, without = choose(found, options.torch)
    except NoIndex as error:
        print(f"scripts/matrix: nothing was run: {error}", file=sys.stderr)
        return 2 if options.install_within is None else 0
    except NoSuchRelease as error:
        print(f"scripts/matrix: {error}", file=sys.stderr)
        return 2
    if options.list:
        print(json.dumps([asdict(pair) for pair in pairs]))
        return 0
    there = interpreters(found)
    left_out = [Outcome(pair.torch, pair.python, problem=NO_WHEEL) for pair in without]
    left_out += [
        Outcome(pair.torch, pair.python, problem=NO_PYTHON)
        for pair in pairs
        if pair.python not in there
    ]
    for each in left_out:
        print(f"left out: torch {each.torch}, Python {each.python}: {each.problem}", flush=True)
    pairs = [pair for pair in pairs if pair.python in there]
    if not pairs:
        print("scripts/matrix: no pair is left to run", file=sys.stderr)
        return 2
    outcomes, all_good = left_out, True
    whole = whole_ones(pairs)
    for number, pair in enumerate(pairs, 1):
        suite = options.suite or ("whole" if pair in whole else "small")
        print(f"[{number} of {len(pairs)}] {pair.name}, {suite} ...", end=" ", flush=True)
        try:
            outcome = run_pair(
                pair,
                there[pair.python],
                suite=suite,
                workers=options.workers,
                keep=options.keep,
                install_s=options.install_within,
            )
        except NotMade as error:
            print(error, flush=True)
            all_good = all_good and error.away and options.install_within is not None
            outcomes.append(Outcome(pair.torch, pair.python, problem=str(error)))
            continue
        print(told(outcome), flush=True)
        for name in outcome.failed:
            print(f"  failed: {name}", flush=True)
        all_good = all_good and outcome.good
        outcomes.append(outcome)
        save([outcome], FOLDER / f"python{pair.python}-torch{pair.torch}.json")
        if options.table:
            remember(outcomes)
    print(f"logs: {FOLDER.relative_to(ROOT)}")
    return 0 if all_good else 1


def remember(outcomes: list[Outcome]) -> None:
    kept = merge(load(KEPT), outcomes)
    save(kept, KEPT)
    write(kept, PAGE)


def told(outcome: Outcome) -> str:
    counts = f"{outcome.passed} passed, {outcome.skipped} skipped, {len(outcome.failed)} failed"
    return f"{outcome.build}: {outcome.problem or counts} ({outcome.seconds} s)"


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="scripts/matrix",
        description=__doc__
        + " Without --whole or --small, each release of torch gets all of them with one Python, in "
        "turn, and a small part of them with the others.",
        epilog="Exit status: 0 if every test passed, 1 if not, 2 if there is nothing to run. An "
        "environment takes up to 7 GB while it is in use: most builds of torch bring CUDA. Which "
        "builds there are is pip's business: PIP_EXTRA_INDEX_URL names an index with others.",
    )
    add = parser.add_argument
    add("--torch", nargs="+", default=[], help="2.15, 2.12.0, newest (default: each minor release)")
    add("--python", nargs="+", default=[], help="3.12 (default: all that torch has wheels for)")
    suite = parser.add_mutually_exclusive_group()
    for name, meaning in (("whole", "all those tests"), ("small", "a few of each kind")):
        suite.add_argument(
            f"--{name}", dest="suite", action="store_const", const=name, help=meaning
        )
    add("--workers", type=int, default=min(4, os.cpu_count() or 1), help="tests at a time")
    add("--keep", action="store_true", help="leave the environments for a look afterwards")
    add("--install-within", type=float, metavar="SECONDS", help="leave out, as if it were fine, an "
        "environment that the package index does not give in this time")  # fmt: skip
    add("--no-table", dest="table", action="store_false", help="change no file but the logs")
    add("--list", action="store_true", help="print the pairs as JSON and run nothing")
    add("--collect", type=Path, metavar="FOLDER", help="run nothing: write the table from what "
        "other runs left in build/matrix, copied into FOLDER")  # fmt: skip
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
