"""What only a GPU can show: a queue beside the program, and a card with limits of its own."""

from __future__ import annotations

import pytest
import torch

pytestmark = pytest.mark.cuda_engine("the CPU has no queue, and no memory beside the machine's")

SIDE = 4096


def queue_work(products: int = 40) -> torch.Tensor:
    """A tenth of a second of it."""
    matrix = torch.full((SIDE, SIDE), 1 / SIDE, device="mps")
    for _ in range(products):
        matrix = matrix @ matrix
    return matrix


def test_operators_return_before_they_are_done() -> None:
    queue_work(1)
    torch.mps.synchronize()
    event = torch.mps.Event()
    queue_work()
    event.record()
    assert not event.query()
    event.synchronize()
    assert event.query()


def test_elapsed_time_is_the_gpus() -> None:
    queue_work(1)
    torch.mps.synchronize()
    start, end = (torch.mps.Event(enable_timing=True) for _ in range(2))
    nothing = torch.mps.Event(enable_timing=True)
    start.record()
    nothing.record()
    queue_work()
    end.record()
    assert start.elapsed_time(end) > 10 > start.elapsed_time(nothing) >= 0


def test_synchronize_waits() -> None:
    event = torch.mps.Event()
    queue_work()
    event.record()
    torch.mps.synchronize()
    assert event.query()


def test_copies_that_do_not_block_arrive_by_the_next_wait() -> None:
    source = torch.arange(1 << 20, dtype=torch.float)
    there = torch.empty(1 << 20, device="mps")
    there.copy_(source, non_blocking=True)
    back = (there + 1).to("cpu", non_blocking=True)
    torch.mps.synchronize()
    assert torch.equal(back, source + 1)


def test_a_blocking_copy_waits_for_the_work_before_it() -> None:
    result = queue_work()
    assert torch.allclose(result.cpu(), torch.full((SIDE, SIDE), 1 / SIDE), rtol=1e-3)


def test_a_metal_kernel_queues_behind_operators() -> None:
    library = torch.mps.compile_shader(
        "kernel void twice(device float* x, uint i [[thread_position_in_grid]]) { x[i] *= 2; }"
    )
    matrix = queue_work()
    library.twice(matrix.view(-1))
    event = torch.mps.Event()
    event.record()
    assert not event.query()
    assert abs(matrix[0, 0].item() * SIDE - 2) < 1e-2


FULL = """
import torch
torch.ones(1, device="mps")
torch._C._cuda_setMemoryFraction(0.02, 0)  # a small card
for ask in (
    lambda: torch.empty(8 << 30, dtype=torch.uint8, device="mps"),
    lambda: torch.ones(1, device="mps").expand(2 << 30).contiguous(),
    lambda: torch.ones(1, device="mps").expand(2 << 30).exp2(),
):
    try:
        ask()
    except RuntimeError as error:
        print(type(error).__name__, error, sep="|", end="\\n\\n")
print((torch.ones(2, device="mps") + 1).tolist(), torch.mps.current_allocated_memory())
"""


def test_a_full_card_is_told_beside_the_macs_limit(python) -> None:
    done = python("-c", FULL, OPENMPS="1", OPENMPS_MAC="M4 Max 128GB")
    *errors, after = done.stdout.rstrip("\n").split("\n\n")
    assert len(errors) == 3, done.stderr
    for error in errors:
        kind, text = error.split("|", 1)
        assert kind == "RuntimeError"
        assert text.startswith("MPS backend out of memory (MPS allocated: ")
        assert "max allowed: " in text
        assert "the GPU behind it has no more: CUDA out of memory" in text
    assert after == "[2.0, 2.0] 0"


LOST = """
import torch
library = torch.mps.compile_shader('''
kernel void wild(device float* x, uint i [[thread_position_in_grid]]) { x[1ul << 40] = 1; }
''')
x = torch.ones(1, device="mps")
library.wild(x)
for wait in (torch.mps.synchronize, x.cpu, lambda: x + 1):
    try:
        wait()
        print("went on")
    except RuntimeError as error:
        print(type(error).__name__, "|", error)
"""


def test_a_card_that_has_failed_says_so_at_every_wait(python) -> None:
    done = python("-c", LOST, OPENMPS="1")
    lines = done.stdout.splitlines()
    assert len(lines) == 3, done.stderr
    for line in lines:
        kind, text = line.split(" | ")
        assert kind == "AcceleratorError"
        assert text.startswith('The MPS device has failed: the GPU behind it says "CUDA error: ')
        assert "illegal memory access" in text
        assert text.endswith("start the program again.")


def test_cuda_is_hidden_as_on_a_mac() -> None:
    assert not torch.cuda.is_available()
    assert torch.cuda.device_count() == 0
    assert torch.accelerator.current_accelerator().type == "mps"


def test_a_fallback_is_a_real_copy_and_back(fallback) -> None:
    x = torch.arange(6.0, device="mps")
    with fallback("aten::take"):
        taken = torch.take(x, torch.tensor([5, 0], device="mps"))
    assert taken.device.type == "mps"
    assert taken.tolist() == [5.0, 0.0]
