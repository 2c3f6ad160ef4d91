"""Runs the libraries that people use, and programs of theirs as they are, on openmps' device."""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import tempfile
from dataclasses import asdict
from pathlib import Path

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from upstream import processor

from .cases import CASES, Case
from .running import Outcome, run_case


def main() -> int:
    options = _options()
    chosen = [case for case in CASES if not options.k or options.k in case.name]
    if not chosen:
        names = ", ".join(case.name for case in CASES)
        print(f"no program is called like {options.k!r}; there are: {names}", file=sys.stderr)
        return 2
    for folder, what in (
        (options.folder, "name the one that holds checkouts"),
        (options.json and options.json.absolute().parent, "make it first, for --json"),
    ):
        if folder and not folder.is_dir():
            print(f"no folder {folder}: {what}", file=sys.stderr)
            return 2
    outcomes = _run_all(chosen, options)
    Console(width=None if sys.stdout.isatty() else 160).print(_table(outcomes))
    if options.json:
        options.json.write_text(json.dumps([asdict(outcome) for outcome in outcomes], indent=1))
    if len(outcomes) < len(chosen):
        print(f"interrupted: {len(chosen) - len(outcomes)} were not run", file=sys.stderr)
        return 130
    return 0 if all(outcome.good for outcome in outcomes) else 1


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="scripts/ecosystem",
        description=__doc__,
        epilog="FOLDER holds checkouts called transformers, examples (of pytorch), nanoGPT, "
        "minGPT, pytorch-image-models, and ultralytics if pip's is not to be taken. They are "
        "copied before anything runs. Exit status: 0 if all passed, 1 if not, also where a "
        "checkout is missing, 2 if nothing could be run, 130 if interrupted. "
        "Example: scripts/ecosystem ~/checkouts -k run_glue",
    )
    parser.add_argument("folder", type=Path, metavar="FOLDER")
    parser.add_argument("-k", default="", metavar="TEXT", help="only programs with this in a name")
    parser.add_argument("--seconds", type=float, default=600, help="that one may take")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the outcomes there")
    parser.add_argument("--keep", type=Path, metavar="DIR", help="keep logs and results there")
    return parser.parse_args()


def _run_all(chosen: list[Case], options: argparse.Namespace) -> list[Outcome]:
    variables = processor.variables()
    folder = options.keep or Path(tempfile.mkdtemp(prefix="openmps-ecosystem-"))
    outcomes = []
    try:
        for number, case in enumerate(chosen, 1):
            print(f"[{number}/{len(chosen)}] {case.name}", file=sys.stderr, flush=True)
            work = (folder / f"{number:02}").resolve()
            shutil.rmtree(work, ignore_errors=True)
            outcomes.append(
                run_case(case, options.folder.resolve(), work, variables, options.seconds)
            )
    except KeyboardInterrupt:
        pass  # what was run is told
    finally:
        if not options.keep:
            shutil.rmtree(folder, ignore_errors=True)
    return outcomes


def _table(outcomes: list[Outcome]) -> Table:
    table = Table(
        "program", "version", "result", "seconds", "operators on mps", "on the CPU instead", "why"
    )
    for outcome in outcomes:
        style = "green" if outcome.good else "red"
        table.add_row(
            escape(outcome.case),
            outcome.version,
            f"[{style}]{outcome.result}[/]",
            f"{outcome.seconds:.0f}" if outcome.seconds else "",
            f"{outcome.did.operators:,}" if outcome.did.operators else "",
            ", ".join(outcome.did.fallbacks),
            escape(outcome.why),
        )
    return table


if __name__ == "__main__":
    sys.exit(main())
