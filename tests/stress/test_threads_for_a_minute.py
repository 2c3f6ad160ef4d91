from __future__ import annotations

import gc
import threading
import time

import pytest
import torch

from openmps.device.activation import active

THREADS = 8
SECONDS = 60


def assert_same(on_mps: torch.Tensor, on_cpu: torch.Tensor) -> None:
    """To the last bit, unless a GPU computed it."""
    near = {"rtol": 1e-4, "atol": 1e-4} if active().engine == "cuda" else {"rtol": 0, "atol": 0}
    torch.testing.assert_close(on_mps.cpu(), on_cpu, **near)


def work(seed: int, stop: float, failures: list[BaseException]) -> None:
    """Allocates, computes, differentiates, resizes and frees, and checks each result."""
    generator = torch.Generator().manual_seed(seed)
    try:
        while time.monotonic() < stop:
            rows = int(torch.randint(1, 200, (1,), generator=generator))
            on_cpu = torch.randn(rows, 33, generator=generator, requires_grad=True)
            on_mps = on_cpu.detach().to("mps").requires_grad_()
            for x in (on_cpu, on_mps):
                ((x @ x.t()).relu().softmax(1) * x[:, :1]).sum().backward()
            assert_same(on_mps.grad, on_cpu.grad)
            buffer = torch.empty(0, device="mps")
            torch.add(on_mps.detach(), 1, out=buffer)
            buffer.resize_(rows * 50)
            assert torch.equal(buffer[: rows * 33].view(rows, 33).cpu(), on_cpu.detach() + 1)
            shared = [torch.ones(rows, device="mps") for _ in range(20)]
            assert torch.stack(shared).sum().item() == 20 * rows
    except BaseException as error:
        failures.append(error)


@pytest.mark.slow
def test_eight_threads_leave_no_memory_behind() -> None:
    gc.collect()
    before = torch.mps.current_allocated_memory()
    failures: list[BaseException] = []
    stop = time.monotonic() + SECONDS
    threads = [
        threading.Thread(target=work, args=(seed, stop, failures)) for seed in range(THREADS)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures, failures[0]
    gc.collect()
    assert torch.mps.current_allocated_memory() == before
