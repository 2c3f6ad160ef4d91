"""Trains, draws, runs a shader and fails on the echo engine: python program.py LIBRARY"""

from __future__ import annotations

import ctypes
import sys

import pytest
import torch
from torch.nn import functional as F

import openmps
from openmps.device import core, engines
from openmps.device.engines.cpu import CpuEngine


class EchoEngine(CpuEngine):
    name = "echo"


COUNTED = ("allocations", "waits", "launches", "relus")


class Counts(ctypes.Structure):
    _fields_ = tuple((name, ctypes.c_int64) for name in COUNTED)


def main() -> None:
    library = ctypes.CDLL(sys.argv[1])
    library.new_echo_engine.restype = ctypes.c_void_p
    library.echo_counts.restype = ctypes.POINTER(Counts)
    core.load()
    register = ctypes.CDLL(str(core.build())).openmps_register_engine
    register.argtypes = (ctypes.c_void_p,)
    register(library.new_echo_engine())
    engines.register(EchoEngine())
    openmps.activate(engine="echo")

    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.ReLU(), torch.nn.Linear(16, 1))
    model.to("mps")
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    x = torch.randn(64, 8, device="mps")
    y = x.sum(1, keepdim=True)
    losses = []
    for _ in range(20):
        optimizer.zero_grad()
        loss = F.mse_loss(model(x), y)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < losses[0] / 2, losses

    query = torch.randn(1, 2, 16, 8, device="mps")
    attended = F.scaled_dot_product_attention(query, query, query)
    on_cpu = query.cpu()
    torch.testing.assert_close(
        attended.cpu(), F.scaled_dot_product_attention(on_cpu, on_cpu, on_cpu)
    )

    shader = torch.mps.compile_shader(
        "kernel void twice(device float* x, uint i [[thread_position_in_grid]]) { x[i] *= 2; }"
    )
    z = torch.ones(4, device="mps")
    shader.twice(z)
    assert z.tolist() == [2, 2, 2, 2]

    start, end = torch.mps.Event(enable_timing=True), torch.mps.Event(enable_timing=True)
    start.record()
    end.record()
    assert start.elapsed_time(end) >= 0
    torch.mps.synchronize()

    with pytest.raises(RuntimeError, match=r"^echo: "):  # shapes that do not fit
        torch.ones(2, 3, device="mps") @ torch.ones(2, 3, device="mps")

    counts = library.echo_counts().contents
    print(*(name for name in COUNTED if getattr(counts, name) > 0))


if __name__ == "__main__":
    main()
