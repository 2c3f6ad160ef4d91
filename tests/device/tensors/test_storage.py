from __future__ import annotations

import gc

import pytest
import torch
from torch.nn import functional as F

from ..agreement import assert_matches

shares_bytes = pytest.mark.cpu_engine("a card's memory has no address on the host")


def alias_of(tensor):
    """A cpu tensor over the bytes of a float32 mps tensor."""
    storage = torch._C._mps_host_alias_storage(tensor.untyped_storage())
    return torch.empty(0).set_(storage)


@shares_bytes
def test_host_alias_has_the_same_address_and_size():
    tensor = torch.arange(6.0, device="mps")
    alias = torch._C._mps_host_alias_storage(tensor.untyped_storage())
    assert alias.device.type == "cpu"
    assert alias.data_ptr() == tensor.data_ptr()
    assert alias.nbytes() == tensor.untyped_storage().nbytes()


@shares_bytes
def test_writes_through_the_alias_are_seen_by_operators():
    tensor = torch.zeros(4, device="mps")
    alias = alias_of(tensor)
    alias.copy_(torch.arange(4.0))
    assert_matches(tensor * 2, torch.arange(4.0) * 2)


@shares_bytes
def test_writes_of_operators_are_seen_through_the_alias():
    tensor = torch.zeros(4, device="mps")
    alias = alias_of(tensor)
    tensor.add_(3)
    tensor[1] = 7
    torch.mps.synchronize()
    torch.testing.assert_close(alias, torch.tensor([3.0, 7.0, 3.0, 3.0]), rtol=0, atol=0)
    assert tensor.device.type == "mps"


@shares_bytes
@pytest.mark.parametrize(
    "make",
    [
        lambda: torch.ones(4, device="mps") + 1,
        lambda: torch.arange(4.0, device="mps"),
        lambda: torch.ones(4).to("mps"),
        lambda: torch.nn.functional.softmax(torch.ones(2, 2, device="mps"), 0),
        lambda: torch.cat([torch.ones(2, device="mps")] * 2),
        lambda: torch.sort(torch.ones(4, device="mps")).values,
        lambda: torch.linalg.inv(torch.eye(2, device="mps")),
        lambda: torch.empty(1, device="mps").resize_(4).fill_(2),
    ],
)
def test_results_have_an_alias_too(make):
    result = make()
    alias = alias_of(result)
    assert alias.data_ptr() == result.data_ptr()
    assert sorted(alias.tolist()) == sorted(result.flatten().tolist())
    alias.fill_(42)
    assert_matches(result, torch.full_like(result.cpu(), 42))


@shares_bytes
def test_alias_of_a_view_is_the_alias_of_its_base():
    tensor = torch.arange(6.0, device="mps")
    alias = torch._C._mps_host_alias_storage(tensor[2:].untyped_storage())
    assert alias.data_ptr() == tensor.data_ptr()
    assert alias.nbytes() == 24


@shares_bytes
def test_alias_outlives_the_tensor():
    gc.collect()
    before = torch.mps.current_allocated_memory()
    tensor = torch.arange(1000.0, device="mps")
    alias = alias_of(tensor)
    del tensor
    gc.collect()
    churn = [torch.zeros(1000, device="mps") for _ in range(20)]
    torch.testing.assert_close(alias, torch.arange(1000.0), rtol=0, atol=0)
    del alias, churn
    gc.collect()
    assert torch.mps.current_allocated_memory() == before


@pytest.mark.cuda_engine("elsewhere there is an alias")
def test_a_card_has_no_alias_on_the_host():
    with pytest.raises(RuntimeError) as refused:
        torch._C._mps_host_alias_storage(torch.ones(2, device="mps").untyped_storage())
    assert str(refused.value) == (
        "getHostAliasStorage: storage is not backed by a shared (unified) MTLBuffer"
    )


def test_alias_of_something_else_raises():
    with pytest.raises(TypeError):
        torch._C._mps_host_alias_storage(torch.ones(2, device="mps"))
    with pytest.raises(TypeError):
        torch._C._mps_host_alias_storage(None)
    with pytest.raises(ValueError, match="expected an MPS storage, got device=cpu"):
        torch._C._mps_host_alias_storage(torch.ones(2).untyped_storage())


def test_operators_leave_their_inputs_where_they_are():
    tensor = torch.randn(10, 10, device="mps")
    before = tensor.data_ptr()
    tensor @ tensor
    tensor.sum()
    tensor.cpu()
    tensor.add_(1)
    torch.nn.functional.relu(tensor, inplace=True)
    assert tensor.data_ptr() == before
    assert tensor.device.type == "mps"


def test_views_share_the_address_of_their_base():
    tensor = torch.arange(24.0, device="mps")
    matrix = tensor.view(4, 6)
    for view in (matrix, matrix.t(), matrix[1:], matrix.unfold(1, 2, 2), tensor.detach()):
        assert view.untyped_storage().data_ptr() == tensor.data_ptr()
        assert torch._C._is_alias_of(view, tensor)


def test_to_the_same_device_returns_the_same_tensor():
    tensor = torch.ones(2, device="mps")
    assert tensor.to("mps") is tensor
    assert tensor.to("mps:0") is tensor
    assert tensor.to(torch.float32) is tensor


def test_moving_copies_the_bytes():
    cpu = torch.arange(4.0)
    mps = cpu.to("mps")
    assert mps.data_ptr() != cpu.data_ptr()
    cpu.zero_()
    assert_matches(mps, torch.arange(4.0))
    back = mps.cpu()
    mps.zero_()
    torch.testing.assert_close(back, torch.arange(4.0), rtol=0, atol=0)


def test_untyped_storage_on_mps():
    storage = torch.UntypedStorage(16, device="mps")
    assert storage.device == torch.device("mps:0")
    assert storage.nbytes() == 16
    assert torch.UntypedStorage(device="mps").nbytes() == 0
    tensor = torch.empty(0, device="mps").set_(storage).view(4).fill_(3)
    assert tensor.untyped_storage().data_ptr() == storage.data_ptr()
    assert_matches(tensor, torch.full((4,), 3.0))


def test_untyped_storage_from_a_sequence():
    storage = torch.UntypedStorage([1, 2, 3], device="mps")
    assert storage.device.type == "mps"
    assert storage.tolist() == [1, 2, 3]
    assert storage.cpu().tolist() == [1, 2, 3]


def test_storage_copy_between_devices():
    storage = torch.arange(4.0, device="mps").untyped_storage()
    host = storage.cpu()
    assert host.device.type == "cpu"
    assert bytes(host.tolist()) == torch.arange(4.0).numpy().tobytes()
    other = host.mps()
    assert other.device.type == "mps"
    assert other.data_ptr() != storage.data_ptr()
    clone = storage.clone()
    assert clone.device.type == "mps"
    assert clone.tolist() == storage.tolist()


def test_storage_fill_and_element_access():
    tensor = torch.zeros(1, device="mps", dtype=torch.uint8)
    storage = tensor.untyped_storage()
    storage.fill_(7)
    assert tensor.item() == 7
    storage[0] = 9
    assert storage[0] == 9
    assert_matches(tensor, torch.tensor([9], dtype=torch.uint8))


@pytest.mark.filterwarnings("ignore:TypedStorage is deprecated")
def test_typed_storage_on_mps():
    storage = torch.arange(4.0, device="mps").storage()
    assert storage.device.type == "mps"
    assert storage.tolist() == [0.0, 1.0, 2.0, 3.0]


def test_mps_memory_is_never_pinned():
    tensor = torch.ones(2, device="mps")
    assert not tensor.is_pinned()
    with pytest.raises(RuntimeError, match="only dense CPU tensors can be pinned"):
        tensor.pin_memory()


def test_bytes_are_aligned_for_vector_loads():
    for size in (1, 3, 17, 1000):
        assert torch.empty(size, device="mps").data_ptr() % 16 == 0


def test_resizing_an_mps_storage_is_refused_as_on_a_mac():
    storage = torch.arange(4.0, device="mps").untyped_storage()
    with pytest.raises(RuntimeError, match="got unexpected device type mps"):
        storage.resize_(100)
    assert storage.nbytes() == 16


@pytest.mark.skipif(
    not hasattr(torch.mps, "_host_alias_storage"),
    reason="this torch has no torch.mps._host_alias_storage",
)
def test_torch_mps_offers_the_host_alias():
    tensor = torch.arange(4.0, device="mps")
    alias = torch.mps._host_alias_storage(tensor.untyped_storage())
    assert (alias.device.type, alias.data_ptr()) == ("cpu", tensor.data_ptr())


def test_a_lazy_clone_has_its_own_bytes_once_somebody_writes():
    before = torch.mps.current_allocated_memory()
    table = torch.arange(4.0, device="mps")
    first, second = torch._lazy_clone(table), torch._lazy_clone(table)
    for tensor in (table, first, second):
        assert torch._C._is_cow_tensor(tensor)
    assert (first + second).tolist() == [0, 2, 4, 6]
    assert torch._C._is_cow_tensor(first)  # nobody wrote
    first.add_(1)
    second.view(2, 2)[1] = 7
    assert table.tolist() == [0, 1, 2, 3]
    assert first.tolist() == [1, 2, 3, 4]
    assert second.tolist() == [0, 1, 7, 7]
    table.resize_(100).zero_()
    third = torch._lazy_clone(first[1:])
    del first
    gc.collect()
    assert third.tolist() == [2, 3, 4]
    del table, second, third, tensor
    gc.collect()
    assert torch.mps.current_allocated_memory() == before


def test_a_shader_that_writes_to_a_lazy_clone_leaves_the_other_alone():
    library = torch.mps.compile_shader(
        "kernel void one(device float* x, uint i [[thread_position_in_grid]]) { x[i] += 1; }"
    )
    table = torch.zeros(5, device="mps")
    clone = torch._lazy_clone(table)
    library.one(clone)
    assert table.tolist() == [0] * 5
    assert clone.tolist() == [1] * 5


@pytest.mark.parametrize(
    "read",
    [
        lambda x: x.sinh(),  # through the boxed kernel
        lambda x: x * 2,
        lambda x: torch.cat([x, x]),
        lambda x: x.sum().item(),
        lambda x: torch.stack([x, x]).unbind(),
        lambda x: x.new_empty(0).sinh(),
    ],
)
def test_reading_a_lazy_clone_copies_nothing(read) -> None:
    table = torch.arange(6.0, device="mps").reshape(2, 3)
    clone = torch._lazy_clone(table)
    read(clone)
    assert torch._C._is_cow_tensor(clone)
    assert torch._C._is_cow_tensor(table)


def test_a_lazy_clone_of_nothing_is_lazy() -> None:
    table = torch.empty(0, 3, device="mps")
    clone = torch._lazy_clone(table)
    assert torch._C._is_cow_tensor(clone)
    clone.resize_(2, 3).fill_(1)
    assert clone.cpu().equal(torch.ones(2, 3))
    assert table.shape == (0, 3)


def test_out_that_is_also_read_writes_to_no_other_clone() -> None:
    table = torch.arange(6.0, device="mps")
    clone = torch._lazy_clone(table)
    torch.sinh(clone, out=clone)
    assert table.cpu().equal(torch.arange(6.0))
    torch.testing.assert_close(clone.cpu(), torch.arange(6.0).sinh())


def test_running_statistics_that_are_lazy_clones_write_to_no_other() -> None:
    mean = torch.zeros(2, device="mps")
    variance = torch.ones(2, device="mps")
    clones = torch._lazy_clone(mean), torch._lazy_clone(variance)
    data = torch.arange(12.0, device="mps").reshape(2, 2, 3)
    F.batch_norm(data, *clones, training=True)
    assert mean.cpu().equal(torch.zeros(2))
    assert variance.cpu().equal(torch.ones(2))
    assert not clones[0].cpu().equal(mean.cpu())
