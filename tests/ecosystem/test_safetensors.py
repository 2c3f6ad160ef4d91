"""safetensors: from the device, to the device, and slices of a file."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

pytest.importorskip("safetensors", reason="scripts/setup ecosystem")

from safetensors import safe_open
from safetensors.torch import load_file, save_file

DTYPES = [torch.float32, torch.float16, torch.bfloat16, torch.int64, torch.uint8, torch.bool]


@pytest.mark.parametrize("device", ["mps", "mps:0"])
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_tensors_come_back_as_they_went(tmp_path: Path, dtype: torch.dtype, device: str) -> None:
    there = torch.arange(-6, 6).reshape(3, 4).to(dtype)
    save_file({"weight": there.to("mps"), "none": there.to("mps")[:0]}, tmp_path / "file")
    found = load_file(tmp_path / "file", device=device)
    assert found["weight"].device == torch.device("mps:0")
    assert found["weight"].dtype == dtype
    assert torch.equal(found["weight"].cpu(), there)
    assert found["none"].shape == (0, 4)


def test_a_slice_of_a_file_is_loaded_alone(tmp_path: Path) -> None:
    save_file({"weight": torch.arange(12.0, device="mps").reshape(3, 4)}, tmp_path / "file")
    with safe_open(tmp_path / "file", framework="pt", device="mps") as file:
        part = file.get_slice("weight")[1:, ::1]
    assert part.device.type == "mps"
    assert part.tolist() == [[4, 5, 6, 7], [8, 9, 10, 11]]
