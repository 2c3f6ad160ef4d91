"""A small fixed share of scripts/fuzz-device, and that it would find and shrink a defect."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
import torch

from . import observe
from .check import check, check_traced
from .compare import Difference
from .generate import generate
from .program import Input, Program, Step, Var
from .shrink import shrink

pytestmark = pytest.mark.cpu_engine("bit for bit with the CPU is a promise of the CPU engine")

PROGRAMS = 1500
SLICES = 10


def told(program: Program, found: Difference | None) -> str:
    return "" if found is None else f"{program.name}: {found.text}\n{program}"


@pytest.fixture(autouse=True)
def one_thread():
    """Sums of the same terms, in the same order."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.mark.parametrize("number", range(SLICES))
def test_random_programs_give_the_bits_of_the_cpu(number: int) -> None:
    size = PROGRAMS // SLICES
    for seed in range(number * size, (number + 1) * size):
        program = generate(seed)
        found = check(program, strict=True)
        assert found is None, told(program, found)


@pytest.mark.parametrize(("way", "programs"), [("fake", 400), ("symbolic", 30), ("export", 3)])
def test_what_is_predicted_of_random_programs_comes_true(way: str, programs: int) -> None:
    for seed in range(programs):
        program = generate(seed)
        found = check_traced(program, way)
        assert found is None, told(program, found)


def test_a_program_is_made_again_from_its_seed() -> None:
    for seed in range(50):
        assert str(generate(seed)) == str(generate(seed))
    assert len({str(generate(seed)) for seed in range(50)}) > 45


A, B, C, D = (Var(number) for number in range(4))
LONG = Program(
    (Input(A, torch.arange(6.0).view(2, 3), requires_grad=True), Input(B, torch.ones(3))),
    (
        Step("torch.sin", (A,), {}, (C,)),
        Step("torch.add", (A, B), {"alpha": 2}, (D,)),
        Step("torch.Tensor.mul_", (C, 2), {}, (Var(4),)),
        Step("torch.cumsum", (D, 1), {}, (Var(5),)),
        Step("torch.neg", (Var(5),), {}, (Var(6),)),
    ),
)


@pytest.mark.parametrize(
    ("broken", "what"),
    [
        (lambda made: made + 1e-6, "bits"),
        (lambda made: made.t().contiguous().t(), "stride"),
        (lambda made: made.half(), "dtype"),
        (lambda made: made[:1], "size"),
    ],
)
def test_a_defect_is_found_and_shrunk_to_a_line(broken, what, monkeypatch) -> None:
    """cumsum on mps as if it were wrong."""
    call = observe.call

    def with_defect(step, variables):
        made = call(step, variables)
        return broken(made) if "cumsum" in step.function and made.is_mps else made

    monkeypatch.setattr(observe, "call", with_defect)
    found = check(LONG, strict=True)
    assert found is not None
    assert found.what == what
    smaller, found = shrink(LONG, found, lambda program: check(program, strict=True))
    assert [step.function for step in smaller.steps] == ["torch.cumsum"]
    assert len(str(smaller).splitlines()) == 2


def test_an_error_of_mps_alone_is_a_difference(monkeypatch) -> None:
    call = observe.call

    def refuse(step, variables):
        if "cumsum" in step.function and variables[A].is_mps:
            raise RuntimeError("something else")
        return call(step, variables)

    monkeypatch.setattr(observe, "call", refuse)
    found = check(LONG, strict=True)
    assert found is not None
    assert (found.step, found.what) == (3, "raises")


def test_aliases_and_what_is_written_through_them_are_seen() -> None:
    program = Program(
        (Input(A, torch.zeros(2, 2)),),
        (
            Step("torch.select", (A, 0, 1), {}, (B,)),
            Step("torch.Tensor.add_", (B, 1), {}, (C,)),
        ),
    )
    for device in ("cpu", "mps"):
        outcome = observe.run(program, device)
        assert outcome.after[0][0][0].alias == A
        assert outcome.end[A].version == 1
        assert outcome.end[A].bits.tolist() == [[0, 0], [1, 1]]


@pytest.mark.slow
def test_the_command_counts_and_tells_of_a_process_that_dies(tmp_path: Path) -> None:
    def fuzz(*arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "fuzz_device", *arguments]
        import os

        environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[1]), **variables}
        return subprocess.run(command, capture_output=True, text=True, env=environment, check=False)

    fine = fuzz("20", "--ways", "run", "threads", "--workers", "1")
    assert fine.returncode == 0, fine.stdout + fine.stderr
    assert "21 programs in" in fine.stdout
    assert "0 differences that nothing explains" in fine.stdout

    (tmp_path / "sitecustomize.py").write_text(
        "import sys\n"
        "if 'fuzz_device.worker' in ' '.join(sys.orig_argv):\n"
        "    import atexit, os, threading\n"
        "    threading.Timer(0, lambda: os.abort()).start()\n"
    )
    paths = f"{Path(__file__).parents[1]}:{tmp_path}"
    dies = fuzz("1", "--ways", "run", "--workers", "1", PYTHONPATH=paths)
    assert dies.returncode == 1
    assert "the process died" in dies.stdout
