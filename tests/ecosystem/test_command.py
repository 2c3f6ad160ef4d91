"""scripts/ecosystem says what happened, and leaves checkouts as they are."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from .cases import CASES, Case
from .running import Outcome, run_case

TESTS = Path(__file__).parents[1]


@pytest.fixture
def checkouts(tmp_path: Path) -> Path:
    part = tmp_path / "checkouts" / "library" / "part"
    part.mkdir(parents=True)
    (part / "main.py").write_text("import sys\nsize = 50000\nprint('loss', size, *sys.argv[1:])\n")
    return tmp_path / "checkouts"


CASE = Case("case", "main.py", (r"^loss \d",), checkout="library", part="part", file="main.py")


def run(case: Case, checkouts: Path, seconds: float = 60) -> Outcome:
    return run_case(case, checkouts, checkouts.parent / "work", {}, seconds)


def test_a_program_that_prints_what_it_must_passed(checkouts: Path) -> None:
    outcome = run(CASE, checkouts)
    assert (outcome.result, outcome.why) == ("passed", "")
    assert outcome.seconds > 0


def test_sizes_change_in_the_copy_alone(checkouts: Path) -> None:
    small = replace(CASE, sizes=(("50000", "8"),), prints=(r"^loss 8$",))
    assert run(small, checkouts).good
    assert "50000" in (checkouts / "library" / "part" / "main.py").read_text()


def test_sizes_that_are_not_there_are_told(checkouts: Path) -> None:
    outcome = run(replace(CASE, sizes=(("123", "8"),)), checkouts)
    assert outcome.why == "ValueError: main.py has no 123, which was to become 8"


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("print('nothing')", r"did not print ^loss \d"),
        ("raise SystemExit(3)", "exit status 3: nothing was printed"),
        ("raise ValueError('bad')", "exit status 1: ValueError: bad"),
        ("import time; time.sleep(60)", "still running after 1 s"),
    ],
)
def test_a_failure_says_why(checkouts: Path, text: str, why: str) -> None:
    (checkouts / "library" / "part" / "main.py").write_text(text)
    outcome = run(CASE, checkouts, seconds=1 if "sleep" in text else 60)
    assert (outcome.result, outcome.why) == ("failed", why)


@pytest.mark.parametrize(("there", "result"), [("50001", "passed"), ("60000", "failed")])
def test_a_number_is_compared_with_the_cpus(checkouts: Path, there: str, result: str) -> None:
    (checkouts / "library" / "part" / "main.py").write_text(
        f"import sys\nprint('loss', {there} if 'cpu' in sys.argv else 50000)\n"
    )
    outcome = run(replace(CASE, on_cpu="cpu", same=r"loss (\d+)"), checkouts)
    assert outcome.result == result
    assert outcome.why == ("" if outcome.good else "50000.0 on mps, 60000.0 on the CPU")


def test_a_missing_checkout_is_no_success(checkouts: Path) -> None:
    outcome = run(replace(CASE, checkout="absent"), checkouts)
    assert outcome.result == "missing"
    assert not outcome.good
    assert str(checkouts / "absent") in outcome.why


def command(*arguments: str) -> subprocess.CompletedProcess[str]:
    paths = [str(TESTS), str(TESTS.parent / "src")]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
    return subprocess.run(
        [sys.executable, "-m", "ecosystem", *arguments],
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
    )


def test_the_command_is_good_only_if_all_passed(tmp_path: Path) -> None:
    done = command(str(tmp_path), "-k", "nanoGPT", "--json", str(tmp_path / "out.json"))
    assert done.returncode == 1
    assert "missing" in done.stdout
    assert '"result": "missing"' in (tmp_path / "out.json").read_text()


def test_bad_arguments_are_told(tmp_path: Path) -> None:
    none = command(str(tmp_path), "-k", "no such program")
    assert none.returncode == 2
    assert "there are: transformers" in none.stderr
    absent = command(str(tmp_path / "absent"))
    assert absent.returncode == 2
    assert "no folder" in absent.stderr


PROMISED = """
transformers accelerate lightning safetensors timm diffusers keras sentence-transformers
torch-geometric stable-baselines3 ultralytics run_glue.py examples/mnist
examples/word_language_model examples/imagenet examples/dcgan nanoGPT minGPT
"""


def test_every_program_of_the_list_is_there() -> None:
    assert set(PROMISED.split()) <= {case.name.split()[0] for case in CASES}
