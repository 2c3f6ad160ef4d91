"""Runs PyTorch's own tests on openmps' device and tells where it is no Mac."""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from importlib import metadata
from pathlib import Path

from openmps.errors import OpenmpsError
from openmps.mac.chips import Mac, parse_mac

from . import processor
from .cases import Case, select
from .mac_stubs import environment, write_sysctl
from .memory import available_bytes
from .process import Suite, Worker
from .progress import Progress
from .report import as_json, differences, good_enough, table, tally
from .results import Result, ResultsFile
from .running import run_cases
from .suites import GENERIC, OWN
from .verdicts import Verdict, verdict

_ROOT = Path(__file__).resolve().parents[2]
_SOURCE = _ROOT / "src"
_GIB = 1 << 30
_INTERRUPTED = 130


def main() -> int:
    options = _options()
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        return _main(options)
    except OpenmpsError as error:
        print(error, file=sys.stderr)
        return 2


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="scripts/upstream",
        description=__doc__,
        epilog="Exit status: 0 if at least 99 % of the counted cases agree and none crashed the "
        "worker, 1 if not, 2 if nothing could be run, 130 if interrupted. An interrupted run goes "
        "on where it stopped when it is started again.",
    )
    add = parser.add_argument
    add("pytorch", type=Path, help="a checkout of PyTorch, of the installed torch's release")
    add(
        "--suites",
        nargs="+",
        default=[OWN],
        metavar="NAME",
        help=f"files below test/, without their ending (default: {OWN}); 'generic' stands for "
        f"those with tests for every device: {', '.join(GENERIC)}",
    )
    add(
        "-k",
        action="append",
        default=[],
        metavar="PATTERN",
        dest="patterns",
        help="only cases whose Class.method contains this, or matches it if it has a *; repeatable",
    )
    add(
        "--every",
        type=_positive(int),
        default=1,
        metavar="N",
        help="only each N-th case of each class",
    )
    add("--workers", type=_positive(int), default=1, metavar="N")
    add("--mac", default="M4 16GB", help="the Mac to be (default: %(default)s)")
    add("--macos", default="15.5", help="and its macOS (default: %(default)s)")
    add(
        "--seconds",
        type=_positive(float),
        default=300,
        help="a case may take (default: %(default)s)",
    )
    add(
        "--memory",
        type=_positive(float),
        metavar="GB",
        help="a worker may hold before its case is run again alone, with 85 %% of what the machine "
        "has free (default: half of what is free, shared by the workers, at most 8)",
    )
    add("--alone", action="store_true", help="each case in a new process (some 15 s each)")
    add(
        "--results",
        type=Path,
        default=_ROOT / ".upstream",
        metavar="FOLDER",
        help="where results are kept, a file for each suite (default: .upstream)",
    )
    add("--fresh", action="store_true", help="forget earlier results")
    add("--rerun", choices=("failed", "listed", "all"), help="run these again, and nothing new")
    add("--only-report", action="store_true", help="run nothing, report what is kept")
    add("--json", type=Path, metavar="FILE", help="write figures and cases there, by suite")
    add("--list-differences", action="store_true", help="a line for each case that does not agree")
    return parser.parse_args()


def _positive(kind: Callable[[str], float]) -> Callable[[str], float]:
    def read(text: str) -> float:
        try:
            value = kind(text)
        except ValueError:
            value = 0
        if not value > 0:
            raise argparse.ArgumentTypeError(f"must be more than 0, found {text}")
        return value

    return read


def _main(options: argparse.Namespace) -> int:
    names = [n for name in options.suites for n in (GENERIC if name == "generic" else [name])]
    files = {name: _test_file(options.pytorch, name) for name in dict.fromkeys(names)}
    mac = parse_mac(options.mac, options.macos)
    told: dict[str, object] = {}
    everything: list[Result] = []
    interrupted = False
    for name, file in files.items():
        conditions = {
            "suite": hashlib.sha256(file.read_bytes()).hexdigest()[:16],
            "torch": metadata.version("torch"),
            "mac": str(mac),
        }
        path = options.results / f"{name.replace('/', '.')}.jsonl"
        kept = ResultsFile(path, conditions, fresh=options.fresh)
        chosen, interrupted = _of_suite(options, file, mac, kept)
        results = [kept.results[case.name] for case in chosen if case.name in kept.results]
        _report(options, name, results)
        told[name] = as_json(results, conditions)
        everything += results
        if interrupted:
            break
    if len(files) > 1:
        print(f"\nall {len(files)} suites\n{table(everything, by_class=False)}")
    _warn_of_older(everything)
    if options.json:
        _write(options.json, told)
    if interrupted:
        return _INTERRUPTED
    return 0 if good_enough(tally(everything)[1]) else 1


def _of_suite(
    options: argparse.Namespace, file: Path, mac: Mac, kept: ResultsFile
) -> tuple[list[Case], bool]:
    """The chosen cases, and whether the run was interrupted."""
    known = [Case(name) for name in kept.results]
    try:
        if options.only_report:
            return select(known, options.patterns), False
        folder = Path(tempfile.mkdtemp(prefix="openmps-upstream-"))
        try:
            write_sysctl(folder, mac)
            return _run(options, file, folder, kept), False
        except KeyboardInterrupt:
            known = [Case(name) for name in kept.results]
            return select(known, options.patterns), True
        finally:
            shutil.rmtree(folder, ignore_errors=True)
    finally:
        kept.close()


def _test_file(pytorch: Path, name: str) -> Path:
    file = (pytorch / "test" / f"{name}.py").resolve()
    if not file.is_file():
        raise OpenmpsError(
            "no test suite there",
            found=f"no file {file}",
            next_step="name a checkout of PyTorch, of the installed torch's release",
        )
    return file


def _run(options: argparse.Namespace, file: Path, folder: Path, kept: ResultsFile) -> list[Case]:
    """All chosen cases, also those that need not be run again."""
    logs = options.results.resolve()
    variables = environment(options.mac, options.macos, folder, _SOURCE) | processor.variables()
    suite = Suite(file, logs, variables, options.macos, options.seconds)
    free = available_bytes() / _GIB
    memory_gb = options.memory or min(8.0, free / 2 / options.workers)
    workers = [Worker(suite, n + 1, int(memory_gb * _GIB)) for n in range(options.workers)]
    print(f"loading {file}", file=sys.stderr, flush=True)
    began = time.monotonic()
    try:
        chosen = select(workers[0].load(), options.patterns, options.every)
    except BaseException:
        workers[0].stop()
        raise
    todo = [case for case in chosen if _is_due(options.rerun, kept.results.get(case.name))]
    print(
        f"loaded in {time.monotonic() - began:.0f} s; {len(chosen)} cases chosen, {len(todo)} to "
        f"run, {options.workers} at a time, each within {options.seconds:g} s and "
        f"{memory_gb:.1f} GiB of memory",
        file=sys.stderr,
        flush=True,
    )
    if not chosen:
        workers[0].stop()
        raise OpenmpsError(
            "no case was chosen",
            found=" ".join(f"-k {pattern}" for pattern in options.patterns),
            next_step="choose by a part of Class.method",
        )
    source = _digest(_SOURCE)
    with Progress(len(todo)) as progress:

        def keep(result: Result) -> None:
            kept.add(result.with_source(source))
            progress.tell(result)

        run_cases(suite, todo, workers, keep, alone=options.alone)
    return chosen


def _is_due(rerun: str | None, earlier: Result | None) -> bool:
    if rerun is None or earlier is None:
        return rerun is None and earlier is None
    wanted = {"failed": {Verdict.DIFFERS}, "listed": {Verdict.LISTED}, "all": set(Verdict)}
    return verdict(earlier) in wanted[rerun]


def _digest(folder: Path) -> str:
    digest = hashlib.sha256()
    for file in sorted(folder.rglob("*")):
        if file.is_file() and "__pycache__" not in file.parts:
            digest.update(str(file.relative_to(folder)).encode() + b"\0" + file.read_bytes())
    return digest.hexdigest()[:12]


def _report(options: argparse.Namespace, suite: str, results: Sequence[Result]) -> None:
    if len(options.suites) > 1 or options.suites != [OWN]:
        print(f"\n{suite}")
    if options.list_differences and results:
        print(differences(results), end="\n\n")
    print(table(results), flush=True)


def _warn_of_older(results: Sequence[Result]) -> None:
    source = _digest(_SOURCE)
    older = sum(result.source != source for result in results)
    if older:
        print(f"{older} of these results were taken with other sources of openmps (--rerun all)")


def _write(file: Path, told: dict[str, object]) -> None:
    temporary = file.with_name(f"{file.name}.{os.getpid()}")
    temporary.write_text(json.dumps(told, indent=1) + "\n")
    temporary.replace(file)


if __name__ == "__main__":
    sys.exit(main())
