"""Runs a project's own tests on the CPU and on mps, and tells where mps differs."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from openmps.errors import OpenmpsError

from .comparing import Verdict, compare, report, tally
from .projects import PROJECTS, project
from .running import Run

_ROOT = Path(__file__).resolve().parents[2]
REQUIRED_SHARE = 0.995


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="scripts/downstream",
        description=__doc__,
        epilog="Exit status: 0 if at least 99.5 % of what counts agrees and nothing crashed, 1 if "
        "not, 2 if nothing could be run. What a Mac refuses, what fails on the CPU too, and what "
        "the project itself skips on mps is told and not counted. An interrupted run goes on "
        "where it stopped.",
    )
    parser.add_argument("project", help=f"one of {', '.join(PROJECTS)}")
    parser.add_argument("checkout", type=Path, help="of the project's repository")
    parser.add_argument("tests", nargs="*", help="files, or arguments of pytest behind a --")
    parser.add_argument(
        "--python",
        type=Path,
        default=Path(sys.executable),
        help="of an environment with what the tests import (default: .venv's)",
    )
    parser.add_argument("--seconds", type=float, default=300, help="that a test may take")
    parser.add_argument(
        "--results",
        type=Path,
        default=_ROOT / ".downstream",
        metavar="FOLDER",
        help="where outcomes are kept (default: .downstream)",
    )
    parser.add_argument("--fresh", action="store_true", help="forget earlier outcomes")
    options = parser.parse_args()
    try:
        return _main(options)
    except OpenmpsError as error:
        print(error, file=sys.stderr)
        return 2


def _main(options: argparse.Namespace) -> int:
    chosen = project(options.project)
    if not options.checkout.is_dir():
        raise OpenmpsError(
            f"no checkout of {chosen.name}",
            found=f"no folder {options.checkout}",
            next_step="name the folder that holds its repository",
        )
    run = Run(chosen, options.checkout.resolve(), options.python, options.tests, options.seconds)
    told = []
    for device in ("cpu", "mps"):
        results = options.results.resolve() / f"{chosen.name}.{device}.jsonl"
        if options.fresh:
            results.unlink(missing_ok=True)
        told.append(run.on(device, results))
    compared = compare(*told)
    print(report(compared))
    crashed = any(one.verdict is Verdict.DIFFERS and one.mps.what == "crashed" for one in compared)
    return 0 if tally(compared).share >= REQUIRED_SHARE and not crashed else 1


if __name__ == "__main__":
    sys.exit(main())
