"""accelerate: the loop of its guide, with state saved and loaded; the batch-size finder."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

accelerate = pytest.importorskip("accelerate", reason="scripts/setup ecosystem")

from accelerate.state import AcceleratorState, PartialState  # noqa: E402
from accelerate.utils import find_executable_batch_size  # noqa: E402

GIB = 1 << 30


@pytest.fixture(autouse=True)
def new_state() -> Iterator[None]:
    yield
    AcceleratorState._reset_state(True)
    PartialState._reset_state()


def build(precision: str = "no"):
    accelerator = accelerate.Accelerator(mixed_precision=precision)
    torch.manual_seed(0)
    x = torch.randn(64, 8)
    data = DataLoader(TensorDataset(x, x.sum(1, keepdim=True)), batch_size=16)
    model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 1))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    return accelerator, *accelerator.prepare(model, optimizer, data)


def epoch(accelerator, model, optimizer, data) -> float:
    total = 0.0
    for x, y in data:
        assert x.device.type == "mps"
        loss = nn.functional.mse_loss(model(x), y)
        optimizer.zero_grad()
        accelerator.backward(loss)
        optimizer.step()
        total += loss.item()
    return total


@pytest.mark.parametrize("precision", ["no", "fp16"])
def test_a_loop_goes_on_from_its_saved_state(tmp_path: Path, precision: str) -> None:
    made = build(precision)
    accelerator = made[0]
    assert accelerator.device.type == "mps"
    first = epoch(*made)
    accelerator.save_state(str(tmp_path))
    second, third = epoch(*made), epoch(*made)
    assert third < first
    accelerator.load_state(str(tmp_path))
    assert epoch(*made) == second
    assert epoch(*made) == third


def test_the_batch_size_finder_shrinks_on_our_out_of_memory_error() -> None:
    tried = []

    @find_executable_batch_size(starting_batch_size=64)
    def train(batch_size: int) -> int:
        tried.append(batch_size)
        rows = [torch.empty(GIB, dtype=torch.uint8, device="mps") for _ in range(batch_size)]
        return len(rows)

    found = train()
    assert tried[0] == 64
    assert tried == sorted(tried, reverse=True)
    assert len(tried) > 2
    # A Mac may use 1.7 times what it recommends.
    limit = 1.7 * torch.mps.recommended_max_memory() / GIB
    assert found == tried[-1] <= limit < tried[-2]
