"""Running out of the Mac's memory, in operators of every kind, leaves everything usable."""

from __future__ import annotations

import threading

import pytest
import torch

from ..agreement import assert_matches

MIB = 1 << 20


@pytest.fixture
def tight_memory(settled):
    """Room in the small pool's heap; nothing more from the Mac but 1 MiB."""
    small = torch.empty(1, device="mps")
    allowed = torch.mps.driver_allocated_memory() + MIB
    torch.mps.set_per_process_memory_fraction(allowed / torch.mps.recommended_max_memory())
    yield
    torch.mps.set_per_process_memory_fraction(1.7)  # PyTorch's default
    del small


def mps(elements):
    return torch.ones(elements, device="mps")


TWO_MIB = 1 << 19  # elements
GREEDY = {
    "empty": lambda: torch.empty(TWO_MIB, device="mps"),
    "rand": lambda: torch.rand(TWO_MIB, device="mps"),
    "move": lambda: torch.ones(TWO_MIB).to("mps"),
    "typed_result": lambda: mps((1024, 1)) + mps((1, 1024)),
    "matmul": lambda: mps((1024, 1)) @ mps((1, 1024)),
    "boxed_result": lambda: torch.nn.functional.pad(mps(1), (0, TWO_MIB)),
    "repeat": lambda: mps(1).repeat(TWO_MIB),
    "storage": lambda: torch.UntypedStorage(2 * MIB, device="mps"),
    "resize": lambda: torch.empty(0, device="mps").resize_(TWO_MIB),
    "out": lambda: torch.cat([mps(1 << 16)] * 8, out=torch.empty(0, device="mps")),
    "convolution": lambda: torch.nn.functional.conv2d(
        mps((1, 1, 64, 64)), mps((256, 1, 3, 3)), padding=1
    ),
    "bincount": lambda: torch.bincount(torch.tensor([TWO_MIB], device="mps")),
}


@pytest.mark.usefixtures("tight_memory")
@pytest.mark.parametrize("name", GREEDY)
def test_memory_limit_is_kept(name):
    before = torch.mps.current_allocated_memory()
    with pytest.raises(RuntimeError, match="MPS backend out of memory"):
        GREEDY[name]()
    assert torch.mps.current_allocated_memory() == before
    assert torch.ones(100, device="mps").sum().item() == 100


@pytest.mark.usefixtures("tight_memory")
def test_the_error_is_no_torch_out_of_memory_error():
    with pytest.raises(RuntimeError) as error:
        torch.empty(TWO_MIB, device="mps")
    assert type(error.value) is RuntimeError  # as on a Mac


FOUND_LATE = pytest.mark.cpu_engine("a GPU has written the result when the Mac's limit is seen")


@pytest.mark.usefixtures("tight_memory")
@pytest.mark.parametrize(
    "grow",
    [
        pytest.param(lambda t: t.resize_(TWO_MIB), id="resize"),
        pytest.param(
            lambda t: torch.cat([mps(1 << 16)] * 8, out=t), id="cat_out", marks=FOUND_LATE
        ),
        pytest.param(
            lambda t: torch.exp2(mps(1).expand(TWO_MIB), out=t), id="boxed_out", marks=FOUND_LATE
        ),
    ],
)
@pytest.mark.filterwarnings("ignore:An output with one or more elements was resized")
def test_a_tensor_that_could_not_grow_keeps_shape_and_bytes(grow):
    tensor = torch.arange(100.0, device="mps").view(4, 25)
    with pytest.raises(RuntimeError, match="MPS backend out of memory"):
        grow(tensor)
    assert_matches(tensor, torch.arange(100.0).view(4, 25))
    assert_matches(tensor.add_(1), torch.arange(100.0).view(4, 25) + 1)


@pytest.mark.usefixtures("tight_memory")
def test_memory_is_there_again_once_the_limit_is_lifted():
    with pytest.raises(RuntimeError, match="MPS backend out of memory"):
        torch.ones(TWO_MIB, device="mps")
    for fraction in (0.5, 2.0, 0.0):
        torch.mps.set_per_process_memory_fraction(fraction)
        assert torch.ones(TWO_MIB, device="mps").sum().item() == TWO_MIB


def test_threads_that_allocate_and_fail_at_once_leave_exact_books(tight_memory):
    before = torch.mps.current_allocated_memory()
    failures = []

    def work(seed):
        kept = []
        for round_ in range(300):
            kept.append(torch.empty(1 + (seed * 7919 + round_ * 104729) % 1000, device="mps"))
            kept.append(kept[-1] + 1)
            if len(kept) > 10:
                del kept[: round_ % 7]
            try:
                torch.empty(TWO_MIB, device="mps")
            except RuntimeError:
                continue
            failures.append(round_)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
    assert torch.mps.current_allocated_memory() == before


def test_memory_freed_by_another_thread_leaves_the_books(settled):
    before = torch.mps.current_allocated_memory()
    kept = [torch.ones(1000, device="mps") * n for n in range(50)]
    thread = threading.Thread(target=kept.clear)
    thread.start()
    thread.join()
    assert torch.mps.current_allocated_memory() == before
