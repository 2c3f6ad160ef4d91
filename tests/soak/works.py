"""What a long-lived process does, again and again. Each work leaves nothing behind."""

from __future__ import annotations

import contextlib
import itertools
import os
import signal
import threading
import warnings
from collections.abc import Callable

import torch
import torch.nn.functional as F

from openmps.errors import KernelFault

_numbers = itertools.count(1000)
# The largest buffer of the default Mac is smaller: nothing is allocated.
_TOO_LARGE = 1 << 45


def training() -> None:
    model = torch.nn.Sequential(
        torch.nn.Conv2d(3, 8, 3), torch.nn.BatchNorm2d(8), torch.nn.ReLU(), torch.nn.Dropout(0.1),
        torch.nn.Flatten(), torch.nn.Linear(8 * 14 * 14, 10),
    ).to("mps")  # fmt: skip
    recurrent = torch.nn.LSTM(14, 10, batch_first=True).to("mps")
    parameters = [*model.parameters(), *recurrent.parameters()]
    optimizer = torch.optim.AdamW(parameters)
    for _ in range(3):
        images = torch.randn(4, 3, 16, 16, device="mps")
        with torch.autocast("mps", torch.bfloat16):
            seen = model(images) + recurrent(images[:, 0, :14, :14])[0][:, -1]
        loss = F.cross_entropy(seen.float(), torch.randint(0, 10, (4,), device="mps"))
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(parameters, 1.0)
        optimizer.step()
        assert loss.item() > 0


def memory() -> None:
    """Sizes of all kinds, views that outlive their base, resizes, copies to the host and back."""
    kept = [torch.empty(n, device="mps") for n in (0, 1, 100, 10_000, 1_000_000, 20_000_000)]
    views = [tensor[::2] for tensor in kept]
    kept = [tensor.resize_(tensor.numel() + 5) for tensor in kept[:4]]
    for view in views:
        assert view.cpu().to("mps").numel() == view.numel()
    torch.save({"kept": kept[2]}, "/dev/null")


def graphs() -> None:
    """Histories that are abandoned, walked twice, or ended by an exception; transforms; traces."""
    leaf = torch.ones(50, device="mps", requires_grad=True)
    (first,) = torch.autograd.grad(leaf.sin().sum(), leaf, create_graph=True)
    first.square().sum().backward()
    abandoned = torch.tanh(leaf)
    abandoned.register_hook(_refuse)
    with contextlib.suppress(_Refused):
        abandoned.sum().backward()
    torch.func.hessian(lambda x: x.sin().sum())(torch.ones(3, device="mps"))
    traced = torch.fx.experimental.proxy_tensor.make_fx(torch.sin)(leaf.detach())
    assert traced(leaf.detach()).isfinite().all()


class _Refused(Exception):
    pass


def _refuse(gradient: torch.Tensor) -> None:
    raise _Refused


def compiling() -> None:
    """PyTorch keeps the code of each graph until it is told otherwise."""
    from torch._inductor.codecache import PyCodeCache

    compiled = torch.compile(lambda x: (x.sin() * 2).relu().sum())
    assert compiled(torch.ones(300, device="mps")).isfinite()
    torch._dynamo.reset()
    PyCodeCache.cache_clear()


def shaders() -> None:
    """A known kernel, and one that was never compiled before."""
    text = """kernel void add(device float* x, uint i [[thread_position_in_grid]]) {{
      x[i] += {number}; }}"""
    x = torch.zeros(64, device="mps")
    for number in (1, next(_numbers)):
        torch.mps.compile_shader(text.format(number=number)).add(x)
    assert x[0].item() > 1


def errors() -> None:
    """What a program catches: refusals, late errors, memory, shaders that are wrong or stray."""
    x = torch.arange(10.0, device="mps")
    compile_shader = torch.mps.compile_shader
    wild = compile_shader(
        "kernel void far(device float* x, uint i [[thread_position_in_grid]])"
        "{ x[i == 3 ? 1000000000u : i] = 1; }"
    )
    failing: list[tuple[type[Exception], Callable[[], object]]] = [
        (TypeError, x.double),
        (RuntimeError, lambda: x @ x[:3]),
        (RuntimeError, lambda: torch.empty(_TOO_LARGE, device="mps")),
        (SyntaxError, lambda: compile_shader("kernel void broken(device float* x) { y; }")),
        (KernelFault, lambda: wild.far(x)),
        (NotImplementedError, lambda: torch.linalg.eig(x[:9].view(3, 3))),
    ]
    for kind, fails in failing:
        try:
            fails()
        except kind:
            continue
        raise AssertionError(f"nothing raised {kind.__name__}")
    with contextlib.suppress(torch.AcceleratorError):
        F.embedding(torch.tensor([99], device="mps"), x[:, None])
        torch.mps.synchronize()


def interrupts() -> None:
    """Ctrl-C in the middle of a kernel that never ends, and of ordinary work."""
    endless = torch.mps.compile_shader(
        "kernel void spin(device volatile int* x, uint i [[thread_position_in_grid]])"
        "{ while (x[0] == 0) { } }"
    )
    flag = torch.zeros(1, dtype=torch.int32, device="mps")
    for work in (lambda: endless.spin(flag), _work_for_ever):
        stopped = threading.Event()
        impatient = threading.Thread(target=_press_until, args=(stopped,))
        try:
            impatient.start()
            work()
        except KeyboardInterrupt:
            _let_the_last_one_arrive(stopped, impatient)
            continue
        raise AssertionError("nobody was interrupted")


def _press_until(stopped: threading.Event) -> None:
    """Again and again: Python loses an interrupt that arrives while it destroys an object."""
    while not stopped.wait(0.05):
        os.kill(os.getpid(), signal.SIGINT)


def _let_the_last_one_arrive(stopped: threading.Event, impatient: threading.Thread) -> None:
    while True:
        try:
            stopped.set()
            impatient.join()
            return
        except KeyboardInterrupt:
            continue


def _work_for_ever() -> None:
    leaf = torch.ones(30, 30, device="mps", requires_grad=True)
    while True:
        torch.tanh(leaf @ leaf).sum().backward()


def threads() -> None:
    """Short-lived ones: each has caches of its own in the core."""

    def work() -> None:
        leaf = torch.rand(100, device="mps", requires_grad=True)
        leaf.exp().sum().backward()

    started = [threading.Thread(target=work) for _ in range(4)]
    for thread in started:
        thread.start()
    for thread in started:
        thread.join()


def profiles() -> None:
    with torch.profiler.profile() as profile:
        torch.ones(10, device="mps").sin()
    assert profile.key_averages()
    events = [torch.mps.Event(enable_timing=True) for _ in range(2)]
    for event in events:
        event.record()
    events[1].synchronize()
    assert events[0].elapsed_time(events[1]) >= 0


WORKS: dict[str, Callable[[], None]] = {
    work.__name__: work
    for work in (
        training, memory, graphs, compiling, shaders, errors, interrupts, threads, profiles
    )
}  # fmt: skip


def run_quietly(work: Callable[[], None]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        work()
