"""Waiting for the device, and measuring time with it."""

from __future__ import annotations

import pytest

from .snippets import Snippet, assert_as_expected

SNIPPETS = [
    Snippet(
        "a measured product",
        """
        import time
        import torch
        a = torch.randn(256, 256, device="mps")
        b = torch.randn(256, 256, device="mps")
        torch.mps.synchronize()
        start = time.time()
        c = a @ b
        torch.mps.synchronize()
        print(f"{(time.time() - start) * 1000:.3f} ms")
        """,
        "<number> ms\n",
        then="torch.testing.assert_close(c.cpu(), a.cpu() @ b.cpu(), rtol=1e-4, atol=1e-4)",
    ),
    Snippet(
        "warm up, then many",
        """
        import time
        import torch

        def benchmark(device, size=128, steps=10):
            x = torch.rand(size, size, device=device)
            for _ in range(3):
                x @ x
            if device == "mps":
                torch.mps.synchronize()
            start = time.perf_counter()
            for _ in range(steps):
                y = x @ x
            if device == "mps":
                torch.mps.synchronize()
            return (time.perf_counter() - start) / steps

        cpu, mps = benchmark("cpu"), benchmark("mps")
        print(cpu > 0, mps > 0)
        """,
        "True True\n",
    ),
    Snippet(
        "in the right order",
        """
        import torch
        device = torch.device("mps")
        x = torch.ones(5, 5, device=device)
        x.mul_(2)
        torch.mps.synchronize()
        cpu_x = x.cpu()
        print(cpu_x.sum())
        y = x.to("cpu", non_blocking=True)
        torch.accelerator.synchronize()
        print(y.sum())
        z = torch.arange(4.0).to("mps", non_blocking=True)
        print(z.sum().item())
        """,
        "tensor(50.)\ntensor(50.)\n6.0\n",
    ),
    Snippet(
        "an error that comes late",
        """
        import torch
        x = torch.zeros(3, device="mps")
        index = torch.tensor([0, 5], device="mps")
        y = x[index]
        try:
            torch.mps.synchronize()
        except torch.AcceleratorError as error:
            print(error)
        torch.mps.synchronize()
        print((x + 1).tolist())
        """,
        "index 5 is out of bounds for dimension 0 with size 3\n[1.0, 1.0, 1.0]\n",
    ),
]


@pytest.mark.parametrize("snippet", SNIPPETS, ids=str)
def test_synchronize(snippet: Snippet, run) -> None:
    assert_as_expected(snippet, run(snippet))
