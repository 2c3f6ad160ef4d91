from __future__ import annotations

import pytest
import torch

from ..agreement import assert_matches


def test_growing_resize_keeps_old_elements():
    expected = torch.arange(6.0)
    actual = expected.to("mps")
    actual.resize_(3, 100)
    expected.resize_(3, 100)
    assert actual.shape == (3, 100)
    assert actual.stride() == expected.stride()
    assert_matches(actual.view(-1)[:6], expected.view(-1)[:6])
    assert actual.untyped_storage().nbytes() == 3 * 100 * 4


def test_shrinking_resize_keeps_the_bytes_where_they_are():
    tensor = torch.arange(100.0, device="mps")
    before = tensor.data_ptr()
    tensor.resize_(3, 4)
    assert tensor.data_ptr() == before
    assert tensor.untyped_storage().nbytes() == 400
    assert_matches(tensor, torch.arange(12.0).view(3, 4))


def test_resize_to_zero_and_back():
    tensor = torch.arange(4.0, device="mps")
    tensor.resize_(0)
    assert tensor.numel() == 0
    tensor.resize_(4)
    assert_matches(tensor, torch.arange(4.0))


def test_resize_from_empty_can_be_filled():
    tensor = torch.empty(0, device="mps")
    tensor.resize_(2, 3).fill_(7)
    assert_matches(tensor, torch.full((2, 3), 7.0))


def test_growing_a_view_moves_its_base_too():
    base = torch.arange(6.0, device="mps")
    view = base[2:]
    view.resize_(1000)
    assert view.storage_offset() == 2
    assert view.data_ptr() == base.data_ptr() + 2 * 4
    assert_matches(base, torch.arange(6.0))
    assert_matches(view[:4], torch.arange(2.0, 6.0))
    view[0] = -1
    assert base[2].item() == -1


def test_growing_a_base_moves_its_views_too():
    base = torch.arange(6.0, device="mps")
    view = base[4:]
    base.resize_(5000)
    assert view.data_ptr() == base.data_ptr() + 4 * 4
    base[4] = 9
    assert_matches(view, torch.tensor([9.0, 5.0]))


@pytest.mark.parametrize("detach", [torch.Tensor.detach, lambda tensor: tensor.data])
def test_growing_a_detached_tensor_moves_the_original_too(detach):
    tensor = torch.arange(4.0, device="mps", requires_grad=True)
    detached = detach(tensor)
    detached.resize_(1000)
    assert tensor.shape == (4,)
    assert detached.data_ptr() == tensor.data_ptr()
    detached[:4].add_(1)
    assert_matches(tensor.detach(), torch.arange(4.0) + 1)


@pytest.mark.parametrize(
    "write",
    [
        lambda t: t.resize_(-1),
        lambda t: t.resize_(1 << 60),
        lambda t: torch.mm(t.new_ones(2, 3), t.new_ones(4, 5), out=t),
        lambda t: t.set_(t.untyped_storage(), 0, (1 << 60,), (1,)),
    ],
)
def test_a_resize_that_fails_leaves_the_tensor_and_its_views_usable(write):
    tensor = torch.arange(4.0, device="mps")
    view = tensor[2:]
    with pytest.raises(RuntimeError):
        write(tensor)
    assert_matches(view + 1, torch.tensor([3.0, 4.0]))
    tensor.resize_(4).fill_(7)
    assert_matches(view, torch.full((2,), 7.0))


def test_resize_of_a_tensor_that_requires_grad_raises():
    tensor = torch.ones(4, device="mps", requires_grad=True)
    with pytest.raises(RuntimeError, match="cannot resize variables that require grad"):
        tensor.resize_(8)
    assert tensor.shape == (4,)


def test_resize_as_takes_the_other_shape():
    tensor = torch.arange(6.0, device="mps")
    tensor.resize_as_(torch.empty(2, 3, device="mps"))
    assert_matches(tensor, torch.arange(6.0).view(2, 3))


def test_resize_with_a_memory_format():
    tensor = torch.empty(0, device="mps")
    tensor.resize_((2, 3, 4, 5), memory_format=torch.channels_last)
    assert tensor.is_contiguous(memory_format=torch.channels_last)


def test_set_to_another_tensor_shares_its_storage():
    source = torch.arange(6.0, device="mps")
    tensor = torch.empty(0, device="mps")
    tensor.set_(source)
    assert tensor.data_ptr() == source.data_ptr()
    source.add_(1)
    assert_matches(tensor, torch.arange(6.0) + 1)


def test_set_to_a_storage_with_geometry():
    source = torch.arange(12.0, device="mps")
    tensor = torch.empty(0, device="mps")
    tensor.set_(source.untyped_storage(), 2, (2, 3), (3, 1))
    assert tensor.data_ptr() == source.data_ptr() + 8
    assert_matches(tensor, torch.arange(2.0, 8.0).view(2, 3))


def test_set_to_a_whole_storage():
    source = torch.arange(12.0, device="mps")
    tensor = torch.empty(0, device="mps")
    tensor.set_(source.untyped_storage())
    assert_matches(tensor, torch.arange(12.0))


def test_set_without_a_source_empties_the_tensor():
    tensor = torch.arange(6.0, device="mps")
    tensor.set_()
    assert tensor.device.type == "mps"
    assert tensor.numel() == 0


def test_set_to_a_cpu_tensor_raises():
    tensor = torch.empty(0, device="mps")
    with pytest.raises(RuntimeError):
        tensor.set_(torch.ones(3))
    assert tensor.device.type == "mps"


def test_swapping_data_moves_a_tensor_to_other_bytes():
    tensor = torch.zeros(3, device="mps")
    tensor.data = torch.arange(5.0, device="mps")
    assert_matches(tensor, torch.arange(5.0))


def test_swapping_data_across_devices_moves_a_parameter():
    parameter = torch.nn.Parameter(torch.arange(3.0))
    parameter.data = parameter.data.to("mps")
    assert_matches(parameter, torch.nn.Parameter(torch.arange(3.0)))


def test_is_set_to_knows_the_same_storage():
    tensor = torch.arange(6.0, device="mps")
    assert tensor.is_set_to(tensor.detach())
    assert not tensor.is_set_to(tensor.clone())
