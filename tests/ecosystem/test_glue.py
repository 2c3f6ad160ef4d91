"""transformers' Trainer, as run_glue.py uses it: picks mps by itself, learns, agrees with the CPU.

scripts/ecosystem runs the published script itself.
"""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest

for needed in ("transformers", "accelerate", "datasets", "evaluate", "sklearn"):
    pytest.importorskip(needed, reason=f"needs {needed}: scripts/setup ecosystem")

from . import glue  # noqa: E402

PROGRAM = Path(__file__).parent / "glue_program.py"


def train(program, folder: Path, *more: str) -> dict[str, float | str]:
    """The published command line, and what it told."""
    glue.prepare(folder)
    arguments = [*glue.PUBLISHED.split(), str(folder / "out"), *more]
    printed = program(str(PROGRAM), *arguments, **glue.environment(folder))
    (line,) = [line for line in printed.splitlines() if line.startswith("RESULT ")]
    return dict(json.loads(line.removeprefix("RESULT ")))


def test_the_trainer_picks_mps_learns_and_agrees_with_the_cpu(program, tmp_path: Path) -> None:
    here = train(program, tmp_path)
    assert here["device"] == "mps"
    assert here["before"] == 0.5
    assert here["eval_accuracy"] > 0.9
    for made in ("google-bert", "glue", "nyu-mll", "hf", "out"):
        (tmp_path / made).rename(tmp_path / f"{made}-before")
    there = train(program, tmp_path, "--use_cpu")
    assert there["device"] == "cpu"
    # Three epochs at that rate take a few hundredths off the loss.
    assert here["train_loss"] == pytest.approx(there["train_loss"], rel=1e-5)
    assert here["eval_loss"] == pytest.approx(there["eval_loss"], rel=1e-5)
    assert here["eval_loss"] < here["train_loss"] < math.log(2)


@pytest.mark.parametrize(
    "more",
    [
        ("--fp16", "--gradient_checkpointing"),
        ("--bf16", "--dataloader_num_workers", "2"),
    ],
    ids=["fp16 with gradient checkpointing", "bf16 with two workers"],
)
def test_the_trainer_learns_with_less_precision_and_memory(
    program, tmp_path: Path, more: tuple[str, ...]
) -> None:
    found = train(program, tmp_path, *more)
    assert found["device"] == "mps"
    assert found["before"] == 0.5
    assert found["eval_accuracy"] > 0.9
