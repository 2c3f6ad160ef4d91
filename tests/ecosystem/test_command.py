"""scripts/ecosystem says what happened, and leaves checkouts as they are."""

from __future__ import annotations

import os
import re
import shutil
import signal
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


CASE = Case(
    "case",
    ("main.py",),
    (r"^loss \d",),
    checkout="library",
    part="part",
    file="main.py",
    uses_mps=False,
)
PROGRAM = """
import os
os.environ["PYTORCH_ENABLE_MPS_FALLBACK"] = "1"
import torch
x = torch.arange(6.0, device="{device}").relu()
print('loss', len(torch.linalg.eigvals(x.diag())))
"""


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


def test_commands_run_one_after_another_until_one_fails(checkouts: Path) -> None:
    two = replace(CASE, commands=("main.py a", "main.py {work}"), prints=("50000 a", "50000 /"))
    assert run(two, checkouts).good
    shutil.rmtree(checkouts.parent / "work")
    outcome = run(replace(CASE, commands=("-c raise(SystemExit(4))", "main.py")), checkouts)
    assert outcome.why == "exit status 4: nothing was printed"


def test_a_program_that_only_says_it_ran_did_not_pass(checkouts: Path) -> None:
    (checkouts / "library" / "part" / "main.py").write_text(PROGRAM.format(device="cpu"))
    outcome = run(replace(CASE, uses_mps=True), checkouts)
    assert (outcome.result, outcome.why) == ("failed", "ran nothing on mps")
    assert outcome.did.operators == 0


def test_operators_are_counted_and_those_on_the_cpu_named(checkouts: Path) -> None:
    (checkouts / "library" / "part" / "main.py").write_text(PROGRAM.format(device="mps"))
    outcome = run(replace(CASE, uses_mps=True), checkouts)
    assert outcome.good, outcome.why
    assert outcome.did.operators > 0
    assert outcome.did.fallbacks == ("aten::_linalg_eigvals",)


def test_a_checkout_of_a_library_is_taken_instead_of_the_installed_one(checkouts: Path) -> None:
    program = checkouts / "program.py"
    program.write_text("import pytest; print('from', pytest.__file__)")
    case = Case("case", (str(program),), package="pytest", source="pytest", uses_mps=False)
    installed = run(replace(case, prints=("from .*site-packages",)), checkouts)
    assert (installed.result, installed.version) == ("passed", pytest.__version__)
    shutil.rmtree(checkouts.parent / "work")
    (checkouts / "pytest" / "pytest").mkdir(parents=True)
    (checkouts / "pytest" / "pytest" / "__init__.py").touch()
    ours = run(replace(case, prints=("from .*/source/pytest/__init__.py",)), checkouts)
    assert (ours.result, ours.version) == ("passed", "checkout")
    assert not list((checkouts / "pytest").rglob("__pycache__"))


def test_a_checkouts_commit_is_told(checkouts: Path) -> None:
    assert run(CASE, checkouts).version == ""
    shutil.rmtree(checkouts.parent / "work")
    for command in ("init -q", "add .", "-c user.name=a -c user.email=a commit -q -m first"):
        subprocess.run(["git", *command.split()], cwd=checkouts / "library", check=True)
    assert re.fullmatch(r"[0-9a-f]{7,} of \d{4}-\d\d-\d\d", run(CASE, checkouts).version)


def test_a_missing_checkout_is_no_success(checkouts: Path) -> None:
    outcome = run(replace(CASE, checkout="absent"), checkouts)
    assert outcome.result == "missing"
    assert not outcome.good
    assert str(checkouts / "absent") in outcome.why


def environment() -> dict[str, str]:
    paths = [str(TESTS), str(TESTS.parent / "src")]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}


def command(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "ecosystem", *arguments],
        env=environment(),
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


def test_a_report_that_cannot_be_written_is_told_before_anything_runs(tmp_path: Path) -> None:
    done = command(str(tmp_path), "-k", "nanoGPT", "--json", str(tmp_path / "absent" / "out.json"))
    assert done.returncode == 2
    assert done.stderr == f"no folder {tmp_path / 'absent'}: make it first, for --json\n"


@pytest.mark.parametrize("arguments", [[], ["absent"]], ids=str)
def test_the_script_looks_before_it_installs(tmp_path: Path, arguments: list[str]) -> None:
    script = TESTS.parent / "scripts" / "ecosystem"
    done = subprocess.run(
        [script, *arguments], cwd=tmp_path, capture_output=True, text=True, timeout=60
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        f"no folder {arguments[0] if arguments else 'given'}: "
        "name the one that holds checkouts, scripts/ecosystem FOLDER\n"
    )


def test_what_was_run_before_an_interruption_is_told(checkouts: Path) -> None:
    adder = checkouts / "minGPT" / "projects" / "adder"
    adder.mkdir(parents=True)
    (adder / "adder.py").write_text("import time; time.sleep(60)")
    process = subprocess.Popen(
        [sys.executable, "-m", "ecosystem", str(checkouts), "-k", "GPT"],
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stderr is not None
    for line in process.stderr:
        if line.startswith("[3/3] minGPT"):
            process.send_signal(signal.SIGINT)
            break
    out, told = process.communicate(timeout=60)
    assert process.returncode == 130
    assert told == "interrupted: 1 were not run\n"
    assert "nanoGPT --compile=False" in out


PROMISED = """
transformers accelerate lightning safetensors timm diffusers keras sentence-transformers
torch-geometric stable-baselines3 ultralytics run_glue.py examples/mnist
examples/word_language_model examples/imagenet examples/dcgan nanoGPT minGPT
"""


def test_every_program_of_the_list_is_there() -> None:
    assert set(PROMISED.split()) <= {case.name.split()[0] for case in CASES}
