"""Runs cases of a test file, as a process of its own that may crash, hang or be killed.

    python -m upstream.worker TEST_FILE QUESTIONS ANSWERS SECONDS [MACOS]

Reads names of cases from one file descriptor, a line each, and writes a line of JSON for each to
the other; first of all a line with the names of all cases. What the tests print goes to stdout and
stderr, which hold the running case's output only.
"""

from __future__ import annotations

import ctypes
import faulthandler
import importlib.util
import json
import os
import re
import signal
import sys
import time
import unittest
import warnings
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from openmps.mac.operators import Status, read_operators

from . import memory
from .mac_stubs import pretend
from .results import Outcome
from .suites import OWN, is_generic, make_all_for_mps, says_nothing_of_macs


def main() -> None:
    file, questions, answers, seconds, *macos = sys.argv[1:]
    _leave_no_traces(int(questions), int(answers), file)
    _die_with_parent()
    memory.kill_this_one_first()
    faulthandler.enable(file=2, all_threads=False)
    with os.fdopen(int(questions)) as asked, os.fdopen(int(answers), "w") as told:
        try:
            cases = _load(Path(file), macos[0] if macos else "")
        except BaseException as error:
            _tell(told, {"refused": last_line(error)})
            raise
        _tell(told, {"cases": sorted(cases), "ops": sorted(_ops())})
        for line in asked:
            _tell(told, _run(cases[line.rstrip("\n")], float(seconds)))
    # No exit handlers: threads that a test left behind must not hold the process.
    os._exit(0)


def _die_with_parent() -> None:
    """A parent that is killed cannot end its workers, and a hanging one would stay for ever."""
    pr_set_pdeathsig = 1
    ctypes.CDLL(None).prctl(pr_set_pdeathsig, signal.SIGKILL)


def _leave_no_traces(questions: int, answers: int, file: str) -> None:
    """The suite, and the processes that it starts, must not see how it is run."""
    for descriptor in (questions, answers):
        os.set_inheritable(descriptor, False)
    ours = str(Path(__file__).resolve().parents[1])
    folder = str(Path(file).parent)
    sys.path[:] = [folder, *(path for path in sys.path[1:] if path != ours)]
    sys.argv[:] = [file]
    os.chdir(folder)
    inherited = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    os.environ["PYTHONPATH"] = os.pathsep.join(path for path in inherited if path != ours)


def _load(file: Path, macos: str) -> dict[str, unittest.TestCase]:
    if macos:
        _require_device()
        pretend(macos)
    of_macs_only = file.stem == OWN or not macos
    if not of_macs_only:
        make_all_for_mps()
    spec = importlib.util.spec_from_file_location(file.stem, file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[file.stem] = module
    spec.loader.exec_module(module)
    found = _flatten(unittest.defaultTestLoader.loadTestsFromModule(module))
    return {case.id().partition(".")[2]: case for case in found if of_macs_only or is_generic(case)}


def _require_device() -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        import torch
    if not torch.backends.mps.is_available():
        raise RuntimeError("; ".join(str(warning.message) for warning in caught) or "no mps device")


def _flatten(suite: unittest.TestSuite) -> Iterator[unittest.TestCase]:
    for member in suite:
        if isinstance(member, unittest.TestSuite):
            yield from _flatten(member)
        else:
            yield member


def _ops() -> set[str]:
    database = sys.modules.get("torch.testing._internal.common_methods_invocations")
    return {op.formatted_name for op in database.op_db} if database else set()


def _run(case: unittest.TestCase, seconds: float) -> dict[str, object]:
    for output in (1, 2):
        os.ftruncate(output, 0)
    memory.reset_peak()
    # A new instance: what one run leaves on it must not meet the next.
    fresh = type(case)(case._testMethodName)
    result = unittest.TestResult()
    faulthandler.dump_traceback_later(seconds, file=2)
    began = time.monotonic()
    with warnings.catch_warnings():
        warnings.simplefilter("default")
        # A suite, since that calls setUpClass and tearDownClass.
        unittest.TestSuite([fresh]).run(result)
    took = time.monotonic() - began
    faulthandler.cancel_dump_traceback_later()
    outcome, error = read_outcome(result)
    late = _late_error()
    return {
        "outcome": outcome.value,
        "error": error,
        "seconds": round(took, 3),
        "peak_mb": memory.peak_bytes() >> 20,
        "marked": _is_marked(fresh),
        "unsaid": says_nothing_of_macs(fresh),
        "younger": is_younger(error, native_functions()),
        "late": late,
    }


@cache
def native_functions() -> str:
    """The suite's own table of operators, of the checkout in whose test/ this process runs."""
    for folder in Path.cwd().parents:
        table = folder / "aten" / "src" / "ATen" / "native" / "native_functions.yaml"
        if table.is_file():
            return table.read_text()
    return ""


def is_younger(error: str, native_functions: str) -> bool:
    """Whether an operator is missing that Macs have in the torch whose table this is."""
    missing = re.search(r"operator '([\w:.]+)' is not currently implemented for the MPS", error)
    if missing is None or not native_functions:
        return False
    operator = read_operators(native_functions).dense.get(missing[1])
    return operator is not None and operator.status is Status.NATIVE


def _late_error() -> str:
    """What the device reports when somebody waits for it: it must not meet the next case."""
    torch = sys.modules.get("torch")
    if torch is None or not torch.backends.mps.is_available():
        return ""
    try:
        torch.mps.synchronize()
    except torch.AcceleratorError as error:
        return last_line(error)
    return ""


def _is_marked(case: unittest.TestCase) -> bool:
    """Whether a decorator of unittest says that it is to be skipped."""
    method = getattr(case, case._testMethodName)
    return any(getattr(thing, "__unittest_skip__", False) for thing in (type(case), method))


def read_outcome(result: unittest.TestResult) -> tuple[Outcome, str]:
    for problems, outcome in (
        ([*result.errors, *result.failures], Outcome.FAILED),
        (result.expectedFailures, Outcome.EXPECTED_FAILURE),
    ):
        if problems:
            return outcome, telling_line(problems[0][1])
    if result.unexpectedSuccesses:
        return Outcome.UNEXPECTED_SUCCESS, ""
    # A skipped part of a case (subTest) does not make the case a skipped one.
    skips = [reason for test, reason in result.skipped if not hasattr(test, "test_case")]
    if skips:
        return Outcome.SKIPPED, skips[0]
    return Outcome.PASSED, ""


def telling_line(traceback: str) -> str:
    """The line that names the exception. PyTorch's tests add how to run them again, after it."""
    lines = traceback.splitlines()
    starts = [at for at, line in enumerate(lines) if line.startswith("  File ")]
    tail = lines[starts[-1] + 1 :] if starts else lines
    named = [line for line in tail if line and not line.startswith(" ")]
    return (named or [line for line in lines if line.strip()] or [""])[0][:500]


def last_line(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}".strip()


def _tell(stream: object, answer: dict[str, object]) -> None:
    print(json.dumps(answer), file=stream, flush=True)  # type: ignore[call-overload]


if __name__ == "__main__":
    main()
