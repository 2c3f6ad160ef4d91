"""Workers over a small test file of ours, in which everything goes wrong that can."""

from __future__ import annotations

import dataclasses
import os
import signal
import tempfile
import time
from pathlib import Path

import pytest

from . import running
from .process import Suite, SuiteUnusable, Worker
from .results import Outcome, Result
from .running import run_cases
from .worker import is_younger

FILE = """
import os, signal, subprocess, sys, tempfile, time, unittest

print("imported")

class TestAll(unittest.TestCase):
    ready = False

    @classmethod
    def setUpClass(cls): cls.ready = True

    def test_a_pass(self): self.assertTrue(self.ready)
    def test_b_fail(self): self.assertEqual(1, 2, "told")
    @unittest.expectedFailure
    def test_c_expected(self): raise KeyError("as on a Mac")
    @unittest.expectedFailure
    def test_d_unexpected(self): pass
    @unittest.skip("for a reason")
    def test_e_skip(self): pass
    def test_e_skip_in_it(self): self.skipTest("found a reason")
    def test_f_part(self):
        with self.subTest(1): self.skipTest("only this part")
        with self.subTest(2): raise OSError("in a part")
    def test_g_part_skipped(self):
        with self.subTest(1): self.skipTest("only this part")
    def test_h_abort(self):
        print("last words", flush=True)
        os.abort()
    def test_i_exit(self): os._exit(3)
    def test_j_hang(self):
        child = subprocess.Popen(["sleep", "1000"])
        open("child", "w").write(str(child.pid))
        time.sleep(1000)
    def test_k_memory(self):
        kept = []
        for _ in range(40):
            kept.append(b"x" * (16 << 20))
        time.sleep(0.5)
    def test_l_killed(self): os.kill(os.getpid(), signal.SIGKILL)
    def test_m_unseen(self):
        self.assertNotIn(os.environ["TESTS"], sys.path)
        self.assertEqual(sys.path[0], os.path.dirname(__file__))
        self.assertEqual(os.environ["PYTHONPATH"], os.environ["EXPECTED_PATH"])
        self.assertEqual(sys.argv, [__file__])
        self.assertEqual(os.getcwd(), os.path.dirname(__file__))
    def test_n_process(self): raise RuntimeError(str(os.getpid()))
    def test_o_process(self): raise RuntimeError(str(os.getpid()))
    def test_p_scratch(self):
        folder = tempfile.mkdtemp()
        raise RuntimeError(os.path.dirname(os.path.dirname(folder)))
"""

CAP = 300 << 20


@pytest.fixture
def suite(tmp_path: Path) -> Suite:
    file = tmp_path / "suite" / "test_small.py"
    file.parent.mkdir()
    file.write_text(FILE)
    import openmps

    source = str(Path(openmps.__file__).parents[1])
    variables = {**os.environ, "PYTHONPATH": source, "EXPECTED_PATH": source}
    variables["TESTS"] = str(Path(__file__).parents[1])
    return Suite(file, tmp_path, variables, seconds=5)


def results_of(suite: Suite, *parts: str, alone: bool = False) -> dict[str, Result]:
    worker = Worker(suite, 1, CAP)
    cases = [c for c in worker.load() if not parts or any(part in c.name for part in parts)]
    results: dict[str, Result] = {}
    run_cases(suite, cases, [worker], lambda r: results.update({r.name: r}), alone=alone)
    return {name.rpartition("test_")[2]: result for name, result in results.items()}


def test_every_case_has_its_outcome_and_the_next_one_is_run(suite: Suite) -> None:
    results = results_of(suite)
    assert {name: result.outcome for name, result in sorted(results.items())} == {
        "a_pass": Outcome.PASSED,
        "b_fail": Outcome.FAILED,
        "c_expected": Outcome.EXPECTED_FAILURE,
        "d_unexpected": Outcome.UNEXPECTED_SUCCESS,
        "e_skip": Outcome.SKIPPED,
        "e_skip_in_it": Outcome.SKIPPED,
        "f_part": Outcome.FAILED,
        "g_part_skipped": Outcome.PASSED,
        "h_abort": Outcome.CRASHED,
        "i_exit": Outcome.CRASHED,
        "j_hang": Outcome.HUNG,
        "k_memory": Outcome.PASSED,  # the second time, with the machine's memory
        "l_killed": Outcome.MEMORY,
        "m_unseen": Outcome.PASSED,
        "n_process": Outcome.FAILED,
        "o_process": Outcome.FAILED,
        "p_scratch": Outcome.FAILED,
    }
    assert {name: result.error for name, result in results.items() if result.error} == {
        "b_fail": "AssertionError: 1 != 2 : told",
        "c_expected": "KeyError: 'as on a Mac'",
        "e_skip": "for a reason",
        "e_skip_in_it": "found a reason",
        "f_part": "OSError: in a part",
        "h_abort": "SIGABRT at test_small.py:28 test_h_abort (last words)",
        "i_exit": "exit status 3",
        "j_hang": "over 5 s at test_small.py:33 test_j_hang",
        "l_killed": "killed from outside: no memory was left",
        "n_process": results["n_process"].error,
        "o_process": results["n_process"].error,  # the same process
        "p_scratch": f"RuntimeError: {tempfile.gettempdir()}",
    }
    assert results["e_skip"].marked
    assert not results["e_skip_in_it"].marked
    assert results["a_pass"].peak_mb > 5
    assert results["k_memory"].peak_mb > 640
    assert_gone(int((suite.file.parent / "child").read_text()))


def assert_gone(process: int) -> None:
    stat = Path(f"/proc/{process}/stat")
    for _ in range(100):
        try:
            state = stat.read_text().rpartition(")")[2].split()[0]
        except (FileNotFoundError, ProcessLookupError):
            return
        if state == "Z":  # ended; nobody has asked for its status
            return
        time.sleep(0.05)
    pytest.fail(f"process {process}, which a killed test had started, still runs")


def test_too_large_for_the_machine(suite: Suite, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(running, "available_bytes", lambda: CAP)
    result = results_of(suite, "k_memory")["k_memory"]
    assert result.outcome is Outcome.MEMORY
    assert result.error.endswith("over the cap of 0.2 GiB")


def test_alone_each_case_has_a_process(suite: Suite) -> None:
    results = results_of(suite, "process", alone=True)
    assert results["n_process"].error != results["o_process"].error


def test_several_workers_share_the_cases(suite: Suite) -> None:
    workers = [Worker(suite, n, CAP) for n in (1, 2, 3)]
    cases = [case for case in workers[0].load() if "j_hang" not in case.name]
    names: list[str] = []
    run_cases(suite, cases, workers, lambda r: names.append(r.name), alone=False)
    assert sorted(names) == [case.name for case in cases]


def test_a_file_that_cannot_be_imported(suite: Suite) -> None:
    suite.file.write_text("from unittest import what_is_not_there")
    with pytest.raises(SuiteUnusable) as caught:
        Worker(suite, 1, CAP).load()
    assert "ImportError: cannot import name 'what_is_not_there'" in caught.value.found


def test_a_file_that_ends_the_process(suite: Suite) -> None:
    suite.file.write_text("import os; os.abort()")
    with pytest.raises(SuiteUnusable) as caught:
        Worker(suite, 1, CAP).load()
    assert caught.value.found == "SIGABRT at test_small.py:1 <module>"


def test_a_worker_that_is_killed_while_it_loads_gets_another_chance(suite: Suite) -> None:
    mark = suite.file.parent / "killed"
    kill = "import os; open('killed', 'a').write('x'); os.kill(os.getpid(), 9)"
    suite.file.write_text(f"import os\nif not os.path.exists('killed'):\n  {kill}\n{FILE}")
    assert results_of(suite, "a_pass")["a_pass"].outcome is Outcome.PASSED
    suite.file.write_text(kill)
    with pytest.raises(SuiteUnusable, match="killed from outside"):
        Worker(suite, 1, CAP).load()
    assert mark.read_text() == "xxxx"


def test_an_error_of_the_runner_ends_the_run(suite: Suite) -> None:
    worker = Worker(suite, 1, CAP)
    cases = worker.load()

    def keep(_: Result) -> None:
        raise ZeroDivisionError("the disk is full")

    with pytest.raises(ZeroDivisionError):
        run_cases(suite, cases, [worker], keep, alone=False)


def test_an_interruption_ends_what_runs_and_blames_no_case(suite: Suite) -> None:
    suite = dataclasses.replace(suite, seconds=500)
    worker = Worker(suite, 1, CAP)
    cases = [case for case in worker.load() if "a_pass" in case.name or "j_hang" in case.name]
    kept: list[Result] = []

    def keep(result: Result) -> None:
        kept.append(result)
        os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        run_cases(suite, cases, [worker], keep, alone=False)
    assert [result.outcome for result in kept] == [Outcome.PASSED]
    assert worker.held_bytes() == 0


def test_nothing_is_left_in_the_folder_for_temporary_files(
    suite: Suite, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(scratch))
    assert (
        results_of(suite, "p_scratch", "h_abort")["p_scratch"].error == f"RuntimeError: {scratch}"
    )
    assert list(scratch.iterdir()) == []


TABLE = """
- func: new_on_macs(Tensor self) -> Tensor
  dispatch:
    CPU: new_on_macs
    MPS: new_on_macs_mps

- func: still_missing(Tensor self) -> Tensor
  dispatch:
    CPU: still_missing
"""


@pytest.mark.parametrize(
    ("operator", "table", "expected"),
    [
        ("aten::new_on_macs", TABLE, True),
        ("aten::still_missing", TABLE, False),
        ("aten::unheard_of", TABLE, False),
        ("aten::new_on_macs", "", False),
    ],
)
def test_an_operator_is_younger_if_the_checkout_has_it_for_macs(
    operator: str, table: str, expected: bool
) -> None:
    missing = f"NotImplementedError: The operator '{operator}' is not currently implemented for the"
    assert is_younger(f"{missing} MPS device.", table) is expected
    assert not is_younger("RuntimeError: something else", table)
