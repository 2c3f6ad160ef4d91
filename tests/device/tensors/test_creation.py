from __future__ import annotations

import pytest
import torch

from ..agreement import assert_matches

DTYPES = [
    torch.bool, torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64,
    torch.float16, torch.bfloat16, torch.float32, torch.complex64,
]  # fmt: skip

FACTORIES = {
    "tensor": lambda **kw: torch.tensor([[1, 0], [1, 1]], **kw),
    "as_tensor": lambda **kw: torch.as_tensor([1, 0, 1], **kw),
    "scalar_tensor": lambda **kw: torch.scalar_tensor(1, **kw),
    "zeros": lambda **kw: torch.zeros(2, 3, **kw),
    "ones": lambda **kw: torch.ones(2, 3, **kw),
    "full": lambda **kw: torch.full((2, 3), 1, **kw),
    "eye": lambda **kw: torch.eye(3, 4, **kw),
    "zero_sized": lambda **kw: torch.zeros(2, 0, 3, **kw),
}
NUMERIC = {
    "arange": lambda **kw: torch.arange(2, 12, 3, **kw),
    "linspace": lambda **kw: torch.linspace(0, 10, 5, **kw),
    "tril_indices": lambda **kw: torch.tril_indices(3, 3, **kw),
    "triu_indices": lambda **kw: torch.triu_indices(3, 3, **kw),
    "hann_window": lambda **kw: torch.hann_window(8, **kw),
    "range_of_floats": lambda **kw: torch.arange(0.0, 1.0, 0.3, **kw),
    "vander": lambda **kw: torch.vander(torch.arange(3, **kw)),
    "full_default": lambda **kw: torch.full((2,), 7, **kw),
    "complex": lambda **kw: torch.complex(torch.ones(2, **kw), torch.zeros(2, **kw)),
    "strided": lambda **kw: torch.empty_strided((2, 3), (1, 2), **kw).zero_(),
    "permuted": lambda **kw: torch.empty_permuted((2, 3, 4), (2, 0, 1), **kw).zero_(),
    "channels_last": lambda **kw: torch.empty(
        2, 3, 4, 5, memory_format=torch.channels_last, **kw
    ).zero_(),
    "requires_grad": lambda **kw: torch.ones(3, requires_grad=True, **kw),
    "nested_lists": lambda **kw: torch.tensor([[1.5], [2]], **kw),
    "zero_dim": lambda **kw: torch.tensor(3.5, **kw),
    "empty_list": lambda **kw: torch.tensor([], **kw),
}
LIKE = {
    "zeros_like": torch.zeros_like,
    "ones_like": torch.ones_like,
    "full_like": lambda t: torch.full_like(t, 3),
    "empty_like": lambda t: torch.empty_like(t).zero_(),
    "new_zeros": lambda t: t.new_zeros(2, 2),
    "new_ones": lambda t: t.new_ones(2, 2),
    "new_full": lambda t: t.new_full((2, 2), 5),
    "new_tensor": lambda t: t.new_tensor([1, 2]),
    "new_empty": lambda t: t.new_empty(3).zero_(),
    "new_empty_strided": lambda t: t.new_empty_strided((2, 2), (1, 2)).zero_(),
    "type_as": lambda t: torch.ones(2).type_as(t),
    "clone": torch.clone,
    "diag": lambda t: torch.diag(t[0]),
    "meshgrid": lambda t: torch.meshgrid(t[0], t[1], indexing="ij"),
}


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", FACTORIES)
def test_factories_of_every_dtype(name, dtype):
    make = FACTORIES[name]
    assert_matches(make(dtype=dtype, device="mps"), make(dtype=dtype))


@pytest.mark.parametrize("name", NUMERIC)
def test_factories_with_their_default_dtype(name):
    assert_matches(NUMERIC[name](device="mps"), NUMERIC[name]())


@pytest.mark.parametrize("name", LIKE)
def test_tensors_made_after_another_one(name):
    expected = torch.arange(6.0).view(3, 2).t()
    tensor = torch.arange(6.0, device="mps").view(3, 2).t()
    assert_matches(LIKE[name](tensor), LIKE[name](expected))


@pytest.mark.parametrize("device", ["mps", "mps:0", torch.device("mps"), torch.device("mps", 0)])
def test_every_name_of_the_device(device):
    tensor = torch.ones(2, device=device)
    assert tensor.device == torch.device("mps:0")
    assert tensor.is_mps
    assert not tensor.is_cpu
    assert not tensor.is_cuda
    assert tensor.get_device() == 0
    assert_matches(tensor, torch.ones(2))


@pytest.mark.parametrize("make", [torch.empty, torch.ones, torch.rand, torch.tensor])
def test_a_second_device_is_the_first(make):
    assert make(2, device="mps:1").device == torch.device("mps:0")


def test_moving_to_a_second_device_leads_to_the_first():
    assert torch.ones(2).to("mps:1").device == torch.device("mps:0")


def test_a_factory_that_a_mac_lacks_falls_back(fallback):
    with fallback("aten::logspace.out"):
        made = torch.logspace(0, 1, 3, device="mps")
    assert_matches(made, torch.logspace(0, 1, 3))


def test_double_like_a_like_on_another_device():
    tensor = torch.ones(2, device="mps")
    assert torch.zeros_like(tensor, device="cpu").device.type == "cpu"
    assert_matches(torch.zeros_like(torch.ones(2), device="mps"), torch.zeros(2))
    assert_matches(torch.ones(2).new_full((2,), 3, device="mps"), torch.full((2,), 3.0))


def test_repr_names_the_device():
    assert repr(torch.arange(2, device="mps")) == "tensor([0, 1], device='mps:0')"
    assert "device='mps:0', grad_fn=<MulBackward0>" in repr(
        torch.ones(1, device="mps", requires_grad=True) * 2
    )


def test_formatting_a_number():
    assert f"{torch.tensor(1.5, device='mps'):.2f}" == "1.50"


def test_tensor_type_names():
    tensor = torch.ones(2, device="mps")
    assert tensor.type() == "torch.mps.FloatTensor"
    assert isinstance(tensor, torch.Tensor)


def test_huge_tensors_are_refused_without_harm():
    with pytest.raises(RuntimeError):
        torch.empty(1 << 50, device="mps")
    assert_matches(torch.ones(2, device="mps"), torch.ones(2))


def test_negative_sizes_raise():
    with pytest.raises(RuntimeError, match="negative dimension"):
        torch.empty(-1, device="mps")


def test_modules_are_made_on_mps():
    module = torch.nn.Linear(3, 2, device="mps", dtype=torch.bfloat16)
    assert {p.device.type for p in module.parameters()} == {"mps"}
    assert {p.dtype for p in module.parameters()} == {torch.bfloat16}
    moved = torch.nn.Linear(3, 2).to("mps", torch.float16)
    assert {(p.device.type, p.dtype) for p in moved.parameters()} == {("mps", torch.float16)}


def test_modules_leave_the_meta_device():
    module = torch.nn.Linear(3, 2, device="meta").to_empty(device="mps")
    torch.nn.init.ones_(module.weight)
    assert_matches(module.weight, torch.nn.Parameter(torch.ones(2, 3)))


def test_from_file_like_views_of_bytes():
    data = torch.frombuffer(bytearray(b"\x01\x02\x03"), dtype=torch.uint8)
    assert_matches(data.to("mps"), data)


def test_cartesian_products_and_blocks():
    a, b = torch.arange(3.0), torch.arange(2.0)
    assert_matches(torch.cartesian_prod(a.to("mps"), b.to("mps")), torch.cartesian_prod(a, b))
    assert_matches(torch.block_diag(a.to("mps"), b.to("mps")), torch.block_diag(a, b))
