"""The kernels that look at operators' arguments on a GPU (device/guards.metal), on any engine."""

from __future__ import annotations

import struct

import pytest
import torch

from openmps.device import builtin_kernels

LOWEST, HIGHEST = -(2**63), 2**63 - 1


@pytest.fixture(scope="module")
def guards():
    return torch.mps.compile_shader((builtin_kernels.FOLDER / "guards.metal").read_text())


def on_mps(values, dtype=torch.long) -> torch.Tensor:
    return torch.tensor(values, dtype=dtype, device="mps")


def words(
    before: str, after: str = "", between: str = "", *, with_number: bool = True
) -> torch.Tensor:
    texts = [text.encode() for text in (before, between, after)]
    packed = struct.pack("80s40s100sII", *texts, with_number, bool(between))
    return torch.frombuffer(bytearray(packed), dtype=torch.uint8).to("mps")


def fits() -> torch.Tensor:
    """The word that says whether all indices fit, while they do."""
    return torch.zeros(1, dtype=torch.int, device="mps")


def told() -> str:
    with pytest.raises(torch.AcceleratorError) as failed:
        torch.mps.synchronize()
    return str(failed.value)


@pytest.mark.parametrize("dtype", [torch.int, torch.long])
def test_an_index_out_of_bounds_is_reported_and_becomes_the_nearest(guards, dtype) -> None:
    index = on_mps([0, 7, 2], dtype)
    mended = torch.empty_like(index)
    kernel = getattr(guards, f"guard_index_{'int' if dtype is torch.int else 'long'}")
    bounds = on_mps([0, 3, 0, 0, 0])
    misfit = fits()
    kernel(index, mended, bounds, words("index ", " of 3"), misfit, error_buf_idx=5)
    assert told() == "index 7 of 3"
    assert misfit.item() == 1
    assert mended.tolist() == [0, 2, 2]


@pytest.mark.parametrize("number", [-1, LOWEST, HIGHEST, 1234567890123456789])
def test_numbers_of_any_size_are_told(guards, number: int) -> None:
    index = on_mps([number])
    mended = torch.empty_like(index)
    guards.guard_index_long(
        index, mended, on_mps([0, 3, 0, 0, 0]), words("<", ">"), fits(), error_buf_idx=5
    )
    assert told() == f"<{number}>"
    assert mended.item() == (0 if number < 0 else 2)


def test_the_place_is_told_where_it_is_wanted(guards) -> None:
    index = on_mps([0, 1, 9])
    mended = torch.empty_like(index)
    says = words("Index ", ", range 0 to 3", " is out of bounds: ")
    guards.guard_index_long(index, mended, on_mps([0, 3, 0, 0, 0]), says, fits(), error_buf_idx=5)
    assert told() == "Index 2 is out of bounds: 9, range 0 to 3"


def test_what_is_fine_exempt_or_quiet_is_not_reported(guards) -> None:
    index = on_mps([-3, 2, -100, 3, 4])
    mended = torch.empty_like(index)
    bounds = on_mps([-3, 3, -100, 3, 5])  # fine below 3, quiet at 3 and 4
    misfit = fits()
    guards.guard_index_long(index, mended, bounds, words("index "), misfit, error_buf_idx=5)
    torch.mps.synchronize()
    assert misfit.item() == 1
    assert mended.tolist() == [-3, 2, -100, 2, 2]


def test_more_faults_than_reports_have_room(guards) -> None:
    index = torch.full((10_000,), 9, device="mps")
    mended = torch.empty_like(index)
    guards.guard_index_long(
        index, mended, on_mps([0, 3, 0, 0, 0]), words("index "), fits(), error_buf_idx=5
    )
    assert told() == "index 9"
    assert mended.eq(2).all()


def test_probabilities(guards) -> None:
    values = on_mps([0.0, 1.0, 0.5], torch.float)
    mended = torch.empty_like(values)
    says = words("not in [0, 1]", with_number=False)
    guards.guard_probability(values, mended, says, error_buf_idx=3)
    torch.mps.synchronize()
    assert mended.tolist() == [0.0, 1.0, 0.5]
    wrong = on_mps([-0.5, 1.5, float("nan")], torch.float)
    guards.guard_probability(wrong, mended, says, error_buf_idx=3)
    assert told() == "not in [0, 1]"
    assert mended.tolist() == [0.0, 1.0, 0.0]


@pytest.mark.parametrize("text", ["", "no rain", "x" * 249])
def test_assertions(guards, text: str) -> None:
    assertion = torch.zeros(250, dtype=torch.uint8)
    assertion[: len(text)] = torch.tensor(list(text.encode()), dtype=torch.uint8)
    guards.guard_assertion(on_mps([True], torch.bool), assertion.to("mps"), error_buf_idx=2)
    torch.mps.synchronize()
    guards.guard_assertion(on_mps([False], torch.bool), assertion.to("mps"), error_buf_idx=2)
    assert told() == text
