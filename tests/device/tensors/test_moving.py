from __future__ import annotations

import pytest
import torch

from ..agreement import assert_matches

DTYPES = [
    torch.bool, torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64,
    torch.float16, torch.bfloat16, torch.float32, torch.complex64,
]  # fmt: skip


def assert_on_cpu(actual, expected):
    assert actual.device.type == "cpu"
    torch.testing.assert_close(actual, expected, rtol=0, atol=0)


@pytest.mark.parametrize("dtype", DTYPES)
def test_round_trip_keeps_every_dtype(dtype):
    expected = torch.arange(6).view(2, 3).to(dtype)
    moved = expected.to("mps")
    assert_matches(moved, expected)
    assert_on_cpu(moved.to("cpu"), expected)
    assert_on_cpu(moved.cpu(), expected)


@pytest.mark.parametrize("dtype", DTYPES)
def test_device_and_dtype_at_once(dtype):
    source = torch.arange(6.0)
    assert_matches(source.to("mps", dtype), source.to(dtype))
    assert_matches(source.to(device="mps", dtype=dtype), source.to(dtype))
    assert_on_cpu(source.to("mps").to("cpu", dtype), source.to(dtype))


@pytest.mark.parametrize("dtype", DTYPES)
def test_dtype_changes_on_mps(dtype):
    source = torch.arange(6.0)
    assert_matches(source.to("mps").to(dtype), source.to(dtype))
    assert_matches(source.to("mps").type(dtype), source.type(dtype))


# A shape, and what is cast of a tensor of that shape.
CASTS = {
    "dense": ((2, 3, 4), lambda t: t),
    "channels_last": ((2, 3, 4, 5), lambda t: t.contiguous(memory_format=torch.channels_last)),
    "transposed": ((3, 4), lambda t: t.t()),
    "with_gaps": ((4, 6), lambda t: t[:, ::2]),
    "expanded": ((3, 1), lambda t: t.expand(3, 4)),
    "a_number": ((), lambda t: t),
    "empty": ((0, 3), lambda t: t),
    "seven_dimensions": ((1, 2, 1, 2, 1, 2, 3), lambda t: t.transpose(1, 6)),
}


@pytest.mark.parametrize("name", CASTS)
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32])
@pytest.mark.parametrize("start", [torch.bfloat16, torch.float32])
def test_casts_keep_the_layout_that_they_keep_on_the_cpu(name, dtype, start):
    shape, view = CASTS[name]
    whole = torch.randn(shape, dtype=start)
    source, on_mps = view(whole), view(whole.to("mps"))
    assert_matches(on_mps.to(dtype, copy=True), source.to(dtype, copy=True))
    by_rows = {"memory_format": torch.contiguous_format}
    assert_matches(on_mps.to(dtype, **by_rows), source.to(dtype, **by_rows))


def test_a_cast_passes_gradients_and_counts_its_bytes():
    weight = torch.ones(1 << 20, device="mps", requires_grad=True)
    torch.mps.empty_cache()  # a free buffer that is a little larger would do, too
    before = torch.mps.current_allocated_memory()
    cast = weight.to(torch.bfloat16)
    assert torch.mps.current_allocated_memory() - before == 2 << 20
    (cast * 3).sum().backward()
    assert_matches(weight.grad, torch.full((1 << 20,), 3.0))
    with torch.inference_mode():
        assert weight.half().is_inference()


def test_a_cast_for_a_profiler_is_a_copy():
    source = torch.ones(4, device="mps")
    with torch.profiler.profile(acc_events=True) as profile:
        source.to(torch.float16)
    names = [event.name for event in profile.events()]
    assert "aten::_to_copy" in names
    assert "aten::copy_" in names


def test_to_another_tensor_takes_its_device_and_dtype():
    other = torch.ones(1, dtype=torch.float16, device="mps")
    assert_matches(torch.arange(3.0).to(other), torch.arange(3.0).half())
    assert_on_cpu(other.to(torch.ones(1)), torch.ones(1))


@pytest.mark.parametrize("non_blocking", [True, False])
def test_non_blocking_moves_are_complete_after_synchronize(non_blocking):
    expected = torch.arange(1000.0)
    moved = expected.to("mps", non_blocking=non_blocking)
    back = moved.to("cpu", non_blocking=non_blocking)
    torch.mps.synchronize()
    assert_matches(moved, expected)
    assert_on_cpu(back, expected)


def test_copy_true_always_copies():
    tensor = torch.arange(3.0, device="mps")
    copied = tensor.to("mps", copy=True)
    assert copied.data_ptr() != tensor.data_ptr()
    tensor.zero_()
    assert_matches(copied, torch.arange(3.0))


@pytest.mark.parametrize(
    "make",
    [
        lambda t: t.t(),
        lambda t: t[:, ::2],
        lambda t: t[1:],
        lambda t: t[:, :1].expand(3, 5),
        lambda t: t[0, 0],
        lambda t: t[:0],
    ],
)
def test_views_move_with_their_values(make):
    source = torch.arange(12.0).view(3, 4)
    assert_matches(make(source).to("mps"), make(source).clone(memory_format=torch.preserve_format))
    assert_on_cpu(make(source.to("mps")).cpu(), make(source))


def test_memory_format_while_moving():
    source = torch.arange(120.0).view(2, 3, 4, 5)
    moved = source.to("mps", memory_format=torch.channels_last)
    assert moved.is_contiguous(memory_format=torch.channels_last)
    assert_matches(moved, source.to(memory_format=torch.channels_last))


@pytest.mark.parametrize("devices", [("mps", "cpu"), ("cpu", "mps"), ("mps", "mps")])
def test_copy_into_a_tensor(devices):
    target_device, source_device = devices
    source = torch.arange(6).view(2, 3)
    whole = torch.zeros(4, 3, device=target_device)
    expected = torch.zeros(4, 3)
    whole.t()[:, 1:3].copy_(source.to(source_device).t())  # strides, dtype and device differ
    expected.t()[:, 1:3].copy_(source.t())
    assert whole.device.type == target_device
    torch.testing.assert_close(whole.cpu(), expected, rtol=0, atol=0)


def test_copy_broadcasts():
    target = torch.zeros(2, 3, device="mps")
    assert_matches(target.copy_(torch.arange(3.0)), torch.arange(3.0).expand(2, 3).contiguous())


def test_copy_of_another_shape_raises():
    with pytest.raises(RuntimeError):
        torch.zeros(2, 3, device="mps").copy_(torch.arange(4.0))


def test_overlapping_copy_on_mps():
    tensor, expected = torch.arange(6.0, device="mps"), torch.arange(6.0)
    tensor.copy_(tensor.flip(0))
    expected.copy_(expected.flip(0))
    assert_matches(tensor, expected)


def test_item_of_every_dtype():
    for dtype in DTYPES:
        assert torch.tensor(1, dtype=dtype, device="mps").item() == 1
    assert isinstance(torch.tensor(True, device="mps").item(), bool)
    assert isinstance(torch.tensor(2, device="mps").item(), int)
    assert isinstance(torch.tensor(2.5, device="mps").item(), float)


def test_item_of_many_elements_raises():
    with pytest.raises(RuntimeError, match="cannot be converted to Scalar"):
        torch.ones(2, device="mps").item()


def test_python_numbers():
    tensor = torch.tensor(2.5, device="mps")
    assert float(tensor) == 2.5
    assert int(tensor) == 2
    assert bool(tensor)
    assert complex(tensor) == 2.5 + 0j
    assert bool(torch.tensor([1], device="mps") == 1)
    with pytest.raises(RuntimeError, match="more than one value is ambiguous"):
        bool(torch.ones(2, device="mps"))


def test_tolist():
    assert torch.arange(6, device="mps").view(2, 3).t().tolist() == [[0, 3], [1, 4], [2, 5]]
    assert torch.tensor(1.5, device="mps").tolist() == 1.5
    assert torch.empty(0, 2, device="mps").tolist() == []


def test_equal_and_allclose():
    tensor = torch.arange(3.0, device="mps")
    assert torch.equal(tensor, torch.arange(3.0, device="mps"))
    assert not torch.equal(tensor, tensor + 1)
    assert torch.allclose(tensor, tensor + 1e-9)
    with pytest.raises(RuntimeError, match="same device"):
        torch.equal(tensor, torch.arange(3.0))


def test_module_to_mps_and_back_keeps_identity():
    module = torch.nn.Linear(3, 2)
    weight = module.weight
    expected = weight.detach().clone()
    module.to("mps")
    assert module.weight is weight
    assert_matches(module.weight.detach(), expected)
    module.cpu()
    assert_on_cpu(module.weight.detach(), expected)


def test_module_moves_its_gradients_and_buffers():
    module = torch.nn.BatchNorm1d(3)
    module(torch.randn(4, 3)).sum().backward()
    module.to("mps")
    assert module.weight.grad.device.type == "mps"
    assert module.running_mean.device.type == "mps"
    assert module.num_batches_tracked.device.type == "mps"


def test_half_and_double_helpers():
    tensor = torch.arange(3.0, device="mps")
    for name in ("half", "bfloat16", "float", "int", "long", "short", "char", "byte", "bool"):
        assert_matches(getattr(tensor, name)(), getattr(torch.arange(3.0), name)())


def test_meta_tensors_do_not_move():
    with pytest.raises(NotImplementedError, match="no data"):
        torch.empty(2, device="meta").to("mps")
    assert torch.ones(2, device="mps").to("meta").device.type == "meta"
