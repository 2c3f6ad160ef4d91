"""What torch.mps and torch.accelerator say about memory, in this process."""

from __future__ import annotations

import pytest
import torch

MIB = 1 << 20
GIB = 1 << 30


def test_allocated_memory_counts_buffers_of_live_storages(settled):
    before = torch.mps.current_allocated_memory()
    tensor = torch.empty(1000, device="mps")  # 4000 bytes: a buffer of 4096
    assert torch.mps.current_allocated_memory() - before == 4096
    half = torch.empty(10, 10, dtype=torch.float16, device="mps")
    assert torch.mps.current_allocated_memory() - before == 4352
    view = tensor[10:]
    assert torch.mps.current_allocated_memory() - before == 4352
    del tensor
    assert torch.mps.current_allocated_memory() - before == 4352
    del view
    assert torch.mps.current_allocated_memory() - before == 256
    del half
    assert torch.mps.current_allocated_memory() == before


def test_results_of_operators_are_counted(settled):
    before = torch.mps.current_allocated_memory()
    tensor = torch.ones(100, device="mps")
    result = tensor + tensor
    assert torch.mps.current_allocated_memory() - before == 512 + 512
    boxed = torch.exp2(tensor)
    assert torch.mps.current_allocated_memory() - before == 3 * 512
    del tensor, result, boxed
    assert torch.mps.current_allocated_memory() == before


def test_cpu_memory_is_not_counted(settled):
    before = torch.mps.current_allocated_memory()
    tensor = torch.ones(100, device="mps")
    now = torch.mps.current_allocated_memory()
    kept = [tensor.cpu(), torch.ones(100) + 1, tensor.to("cpu", torch.float64), tensor.tolist()]
    assert torch.mps.current_allocated_memory() == now
    del tensor
    assert torch.mps.current_allocated_memory() == before
    assert kept[0].sum() == 100


@pytest.mark.filterwarnings("ignore:The operator")
def test_a_fallback_counts_its_copies_and_not_what_the_cpu_takes(settled, monkeypatch):
    monkeypatch.setenv("PYTORCH_ENABLE_MPS_FALLBACK", "1")
    square = torch.eye(64, device="mps")
    torch.accelerator.reset_accumulated_memory_stats()
    values, vectors = torch.linalg.eig(square)
    assert (values.device.type, vectors.device.type) == ("mps", "mps")
    taken = torch.accelerator.memory_stats()["allocated_bytes.all.allocated"]
    assert taken == 512 + 32768  # 64 and 64 x 64 numbers of 8 bytes, as they come back


def test_scratch_memory_of_a_convolution_is_given_back(settled):
    before = torch.mps.current_allocated_memory()
    data = torch.ones(2, 3, 32, 32, device="mps", requires_grad=True)
    layer = torch.nn.Conv2d(3, 8, 3).to("mps")
    for _ in range(3):
        layer(data).sum().backward()
    torch.nn.Conv2d(3, 8, 3)(torch.ones(2, 3, 32, 32))  # oneDNN frees its own scratch, too
    del data, layer
    assert torch.mps.current_allocated_memory() == before


def test_a_graph_holds_memory_until_it_is_freed(settled):
    before = torch.mps.current_allocated_memory()
    leaf = torch.ones(100, device="mps", requires_grad=True)
    loss = leaf.exp().sin().sum()
    assert torch.mps.current_allocated_memory() - before > 512 + 256
    loss.backward()
    del loss
    assert torch.mps.current_allocated_memory() - before == 2 * 512
    del leaf
    assert torch.mps.current_allocated_memory() == before


def test_a_tensor_with_its_storage_swapped_keeps_its_count(settled):
    before = torch.mps.current_allocated_memory()
    tensor = torch.empty(10, device="mps")
    tensor.resize_(1000)
    assert torch.mps.current_allocated_memory() - before == 4096
    tensor.set_(torch.empty(100, device="mps"))
    assert torch.mps.current_allocated_memory() - before == 512
    del tensor
    assert torch.mps.current_allocated_memory() == before


def test_recommended_memory_is_that_of_a_mac():
    recommended = torch.mps.recommended_max_memory()
    assert 4 * GIB < recommended < 512 * GIB
    assert recommended % (16 << 10) == 0


def test_driver_memory_returns_after_emptying_the_cache(settled):
    before = torch.mps.driver_allocated_memory()
    tensor = torch.empty(32 * MIB, dtype=torch.uint8, device="mps")
    assert torch.mps.driver_allocated_memory() >= before + 32 * MIB
    del tensor
    assert torch.mps.driver_allocated_memory() >= before + 32 * MIB  # kept for the next one
    torch.mps.empty_cache()
    assert torch.mps.driver_allocated_memory() == before


def test_accelerator_memory_figures(settled):
    before = torch.accelerator.memory_allocated()
    assert before == torch.mps.current_allocated_memory()
    torch.accelerator.reset_peak_memory_stats()
    tensor = torch.empty(10_000, device="mps")
    assert torch.accelerator.memory_allocated() - before == 48 << 10  # three pages
    assert torch.accelerator.memory_reserved() == torch.mps.driver_allocated_memory()
    del tensor
    assert torch.accelerator.memory_allocated() == before
    assert torch.accelerator.max_memory_allocated() - before == 48 << 10
    torch.accelerator.reset_peak_memory_stats()
    assert torch.accelerator.max_memory_allocated() == before
    assert torch.accelerator.max_memory_reserved() == torch.accelerator.memory_reserved()


def test_memory_statistics_accumulate(settled):
    torch.accelerator.reset_accumulated_memory_stats()
    for _ in range(3):
        torch.empty(100, device="mps")
    stats = torch.accelerator.memory_stats()
    assert stats["allocated_bytes.all.allocated"] == 3 * 512
    assert stats["allocated_bytes.all.freed"] == 3 * 512
    assert stats["allocated_bytes.all.current"] == torch.mps.current_allocated_memory()
    assert stats["reserved_bytes.all.current"] == torch.mps.driver_allocated_memory()
    assert stats["allocated_bytes.small_pool.current"] == 0  # a Mac fills in the sums only
    assert stats["num_alloc_retries"] == 0


def test_memory_info_is_what_is_left_of_the_recommended(settled):
    tensor = torch.empty(MIB, device="mps")
    free, total = torch.accelerator.get_memory_info()
    assert total == torch.mps.recommended_max_memory()
    assert free == total - torch.mps.driver_allocated_memory()
    del tensor


@pytest.mark.parametrize("fraction", [1, "0.5", None])
def test_memory_fraction_must_be_a_float(fraction):
    with pytest.raises(TypeError, match="must be `float`"):
        torch.mps.set_per_process_memory_fraction(fraction)


@pytest.mark.parametrize("fraction", [-0.1, 2.1])
def test_memory_fraction_has_a_range(fraction):
    with pytest.raises(ValueError, match="Allowed range: 0~2"):
        torch.mps.set_per_process_memory_fraction(fraction)


def test_memory_fraction_must_be_a_number():
    with pytest.raises(RuntimeError, match="invalid high watermark ratio nan"):
        torch.mps.set_per_process_memory_fraction(float("nan"))
