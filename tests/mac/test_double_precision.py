"""float64 and complex128 do not exist on a Mac, at any door."""

from __future__ import annotations

from pathlib import Path

import numpy
import pytest
import torch

from .texts import NO_DOUBLE

DOUBLES = [torch.float64, torch.complex128]
SINGLE = torch.ones(2, device="mps")
WHOLE = torch.ones(2, dtype=torch.int64, device="mps")
ON_CPU = torch.ones(2, dtype=torch.float64)
SCALAR = torch.tensor(1.5, dtype=torch.float64)

FACTORIES = {
    "empty": lambda dtype: torch.empty(2, dtype=dtype, device="mps"),
    "empty_strided": lambda dtype: torch.empty_strided((2,), (1,), dtype=dtype, device="mps"),
    "empty_permuted": lambda dtype: torch.empty_permuted((2,), (0,), dtype=dtype, device="mps"),
    "empty_like": lambda dtype: torch.empty_like(SINGLE, dtype=dtype),
    "zeros": lambda dtype: torch.zeros(2, dtype=dtype, device="mps"),
    "ones": lambda dtype: torch.ones(2, dtype=dtype, device="mps"),
    "full": lambda dtype: torch.full((2,), 1.0, dtype=dtype, device="mps"),
    "eye": lambda dtype: torch.eye(2, dtype=dtype, device="mps"),
    "linspace": lambda dtype: torch.linspace(0, 1, 2, dtype=dtype, device="mps"),
    "randn": lambda dtype: torch.randn(2, dtype=dtype, device="mps"),
    "tensor": lambda dtype: torch.tensor([1.0], dtype=dtype, device="mps"),
    "scalar_tensor": lambda dtype: torch.scalar_tensor(1.0, dtype=dtype, device="mps"),
    "new_ones": lambda dtype: SINGLE.new_ones(2, dtype=dtype),
    "nothing": lambda dtype: torch.empty(0, dtype=dtype, device="mps"),
}
CONVERSIONS = {
    "double": lambda: SINGLE.double(),
    "cdouble": lambda: SINGLE.cdouble(),
    "to dtype": lambda: SINGLE.to(torch.float64),
    "type": lambda: SINGLE.type(torch.float64),
    "to mps": lambda: ON_CPU.to("mps"),
    "mps": lambda: torch.Tensor.mps(ON_CPU) if hasattr(torch.Tensor, "mps") else ON_CPU.to("mps"),
    "scalar to mps": lambda: SCALAR.to("mps"),
    "like its dtype and device": lambda: ON_CPU.to(device="mps", dtype=torch.complex128),
    "from_numpy": lambda: torch.from_numpy(numpy.ones(2)).to("mps"),
    "tensor of numpy": lambda: torch.tensor(numpy.ones(2), device="mps"),
    "as_tensor of numpy": lambda: torch.as_tensor(numpy.ones(2), device="mps"),
    "asarray of numpy": lambda: torch.asarray(numpy.ones(2), device="mps"),
    "tensor of a numpy number": lambda: torch.tensor(numpy.float64(1), device="mps"),
    "module to mps": lambda: torch.nn.Linear(2, 2).double().to("mps"),
    "module on mps": lambda: torch.nn.Linear(2, 2, device="mps").double(),
    "sum": lambda: SINGLE.sum(dtype=torch.float64),
    "cumsum": lambda: SINGLE.cumsum(0, dtype=torch.float64),
    "softmax": lambda: SINGLE.softmax(0, dtype=torch.float64),
    "float_power": lambda: torch.float_power(SINGLE, 2),
}


@pytest.mark.parametrize("dtype", DOUBLES, ids=str)
@pytest.mark.parametrize("factory", FACTORIES)
def test_nothing_is_made_in_double_precision(factory: str, dtype: torch.dtype) -> None:
    with pytest.raises(TypeError) as refused:
        FACTORIES[factory](dtype)
    assert str(refused.value) == NO_DOUBLE


@pytest.mark.parametrize("conversion", CONVERSIONS)
def test_nothing_becomes_double_precision(conversion: str) -> None:
    with pytest.raises(TypeError) as refused:
        CONVERSIONS[conversion]()
    assert str(refused.value) == NO_DOUBLE


def test_a_default_of_float64_breaks_factories() -> None:
    torch.set_default_dtype(torch.float64)
    try:
        for make in (torch.ones, torch.rand, torch.zeros):
            with pytest.raises(TypeError) as refused:
                make(2, device="mps")
            assert str(refused.value) == NO_DOUBLE
        with pytest.raises(TypeError) as refused:
            torch.tensor([1.0], device="mps")
        assert str(refused.value) == NO_DOUBLE
        assert torch.ones(2, device="mps", dtype=torch.float32).tolist() == [1.0, 1.0]
    finally:
        torch.set_default_dtype(torch.float32)


def test_a_checkpoint_in_float64_does_not_load(tmp_path: Path) -> None:
    torch.save({"weight": ON_CPU}, tmp_path / "double.pt")
    with pytest.raises(TypeError) as refused:
        torch.load(tmp_path / "double.pt", map_location="mps")
    assert str(refused.value) == NO_DOUBLE


def test_numbers_without_a_dtype_are_float32() -> None:
    assert torch.tensor([1.0], device="mps").dtype == torch.float32
    assert torch.tensor(1.0 + 2j, device="mps").dtype == torch.complex64
    assert torch.as_tensor(numpy.ones(2, numpy.float32), device="mps").dtype == torch.float32


def test_leaving_for_the_cpu_may_give_doubles() -> None:
    assert SINGLE.to("cpu", torch.float64).dtype == torch.float64
    assert SINGLE.type_as(ON_CPU).device.type == "cpu"


def test_doubles_may_be_copied_into_floats() -> None:
    third = torch.tensor([1 / 3], dtype=torch.float64)
    into = torch.zeros(1, device="mps")
    into.copy_(third)
    assert into.item() == numpy.float32(1 / 3)


def test_python_numbers_are_floats() -> None:
    assert (SINGLE + 1.5).dtype == torch.float32
    assert (WHOLE + 1.5).dtype == torch.float32
    assert (WHOLE + 1.5).tolist() == [2.5, 2.5]
    assert (SINGLE * (1 + 2j)).dtype == torch.complex64
    assert torch.where(SINGLE > 0, 1.5, 0.0).dtype == torch.float32


def test_a_double_number_on_the_cpu_is_narrowed_beside_floats() -> None:
    assert (SINGLE + SCALAR).dtype == torch.float32
    assert (SCALAR * SINGLE).tolist() == [1.5, 1.5]
    assert SINGLE.clone().mul_(SCALAR).tolist() == [1.5, 1.5]


@pytest.mark.parametrize("operation", [torch.add, torch.mul, torch.pow, torch.maximum])
def test_a_double_number_on_the_cpu_wins_over_integers_and_is_refused(operation) -> None:
    with pytest.raises(TypeError) as refused:
        operation(WHOLE, SCALAR)
    assert str(refused.value) == NO_DOUBLE


def test_the_plus_sign_turns_a_type_error_into_pythons_own() -> None:
    with pytest.raises(TypeError) as refused:
        WHOLE + SCALAR
    assert str(refused.value) == "unsupported operand type(s) for +: 'Tensor' and 'Tensor'"


def test_a_view_as_double_exists_but_nothing_can_be_done_with_it() -> None:
    view = torch.zeros(2, 2, device="mps").view(torch.float64)
    assert (view.dtype, view.shape) == (torch.float64, (2, 1))
    with pytest.raises(TypeError) as refused:
        view.clone()
    assert str(refused.value) == NO_DOUBLE


def test_gradients_do_not_become_double() -> None:
    single = torch.ones(2, device="mps", requires_grad=True)
    (single.cpu().double() * 2).sum().backward()
    assert single.grad.dtype == torch.float32
    assert single.grad.tolist() == [2.0, 2.0]
    with pytest.raises(TypeError) as refused:
        torch.autograd.grad(
            (single * 2).sum(), single, torch.ones((), dtype=torch.float64).to("mps")
        )
    assert str(refused.value) == NO_DOUBLE
    with pytest.raises(TypeError) as refused:
        torch.autograd.gradcheck(torch.sin, (single.double(),))
    assert str(refused.value) == NO_DOUBLE


def test_everything_works_after_a_refusal() -> None:
    for _ in range(3):
        with pytest.raises(TypeError):
            SINGLE.double()
    assert (SINGLE + 1).tolist() == [2.0, 2.0]
