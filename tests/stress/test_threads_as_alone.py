"""What threads compute beside each other, against the same work alone.

The switches that PyTorch keeps for the whole process are flipped all the while by one thread more:
what they may change is a speed or an alert, and none of this work's numbers.
"""

from __future__ import annotations

import itertools
import random
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import torch
import torch.nn.functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel

from openmps.device.activation import active

THREADS = 8
SECONDS = 20
Work = Callable[[torch.Generator, int], list[torch.Tensor]]
_texts = itertools.count(1000)


def drawn(generator: torch.Generator, *shape: int) -> torch.Tensor:
    return torch.randn(*shape, generator=generator, device="mps")


def train(generator: torch.Generator, seed: int) -> list[torch.Tensor]:
    """A convolution and a recurrent layer under Adam, from weights of this thread's own."""
    model = torch.nn.ModuleDict(
        {"conv": torch.nn.Conv2d(2, 4, 3), "rnn": torch.nn.GRU(4, 5), "head": torch.nn.Linear(5, 2)}
    ).to("mps")
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.copy_(drawn(generator, *parameter.shape) / 4)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    losses = []
    for _ in range(3):
        seen = model["conv"](drawn(generator, 3, 2, 6, 6)).flatten(2).permute(2, 0, 1)
        loss = model["head"](model["rnn"](seen)[0]).square().mean()
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        losses.append(loss.detach())
    return [*losses, *(p.detach() for p in model.parameters())]


def sample(generator: torch.Generator, seed: int) -> list[torch.Tensor]:
    ones = torch.ones(50, device="mps")
    return [
        drawn(generator, 1000),
        torch.rand(777, generator=generator, device="mps"),
        torch.randperm(100, generator=generator, device="mps"),
        torch.multinomial(ones, 20, generator=generator),
        torch.bernoulli(ones / 3, generator=generator),
        torch.empty(99, device="mps").exponential_(generator=generator),
    ]


def attend(generator: torch.Generator, seed: int) -> list[torch.Tensor]:
    """Once in each mode of gradients; the kernel is this call's, whatever the process allows."""
    query, key, value = (drawn(generator, 2, 3, 7, 8).requires_grad_() for _ in range(3))
    out = F.scaled_dot_product_attention(query, key, value, is_causal=seed % 2 == 0)
    gradients = torch.autograd.grad(out.square().sum(), (query, key, value))
    with torch.no_grad(), torch.autocast("mps", torch.bfloat16):
        half = F.linear(query, key[0, 0])
    assert half.dtype == torch.bfloat16
    return [out.detach(), half, *gradients]


def shade(generator: torch.Generator, seed: int) -> list[torch.Tensor]:
    """A kernel whose text is this call's, so that it is compiled while others compile theirs."""
    never = next(_texts)
    library = torch.mps.compile_shader(f"""
        #include <metal_stdlib>
        kernel void mix(device float* y, device const float* x,
                        uint i [[thread_position_in_grid]],
                        uint l [[thread_position_in_threadgroup]]) {{
          threadgroup float shared[64];
          shared[l] = x[i];
          threadgroup_barrier(metal::mem_flags::mem_threadgroup);
          y[i] = i == {never} ? 0 : shared[63 - l] * {seed}.5f + metal::simd_sum(x[i]);
        }}""")
    x = drawn(generator, 256)
    y = torch.empty_like(x)
    library.mix(y, x, threads=256, group_size=64)
    return [y]


def index(generator: torch.Generator, seed: int) -> list[torch.Tensor]:
    """Writes with repeated indices, resizes and views."""
    where = torch.randint(0, 9, (40,), generator=generator, device="mps")
    table = torch.zeros(9, 4, device="mps").index_add_(0, where, drawn(generator, 40, 4))
    table.index_put_((where,), drawn(generator, 40, 4), accumulate=True)
    grown = torch.empty(0, device="mps").resize_(seed + 3, 5).fill_(seed)
    grown.t()[1:].mul_(2)
    return [table, grown, table.cumsum(0), table.sort(dim=0, stable=True).values]


WORKS: dict[str, Work] = {w.__name__: w for w in (train, sample, attend, shade, index)}


def outcome(work: Work, seed: int) -> list[torch.Tensor]:
    generator = torch.Generator("mps").manual_seed(seed)
    return [tensor.cpu() for tensor in work(generator, seed)]


def agree(got: list[torch.Tensor], wanted: list[torch.Tensor], name: str) -> None:
    """To the last bit, unless a GPU computed it; sums in a GPU's atomics have no order."""
    for one, other in zip(got, wanted, strict=True):
        if active().engine == "cuda" or name == "attend":  # several kernels, by what is allowed
            torch.testing.assert_close(one, other, rtol=1e-3, atol=1e-3)
        else:
            assert torch.equal(one, other)


@contextmanager
def switches_kept() -> Iterator[None]:
    try:
        yield
    finally:
        torch.use_deterministic_algorithms(False)
        torch.set_float32_matmul_precision("highest")


def flip_switches(stop: threading.Event) -> None:
    """What a program may set while its other threads work."""
    flips: list[Callable[[], object]] = [
        lambda: torch.use_deterministic_algorithms(True, warn_only=True),
        lambda: torch.use_deterministic_algorithms(False),
        lambda: torch.set_float32_matmul_precision("high"),
        lambda: torch.set_float32_matmul_precision("highest"),
        lambda: torch.mps.manual_seed(3),
        torch.mps.empty_cache,
        torch.mps.synchronize,
    ]
    with switches_kept():
        for flip in itertools.cycle(flips):
            if stop.is_set():
                return
            flip()
            with sdpa_kernel(random.choice([SDPBackend.MATH, SDPBackend.FLASH_ATTENTION])):
                time.sleep(0.002)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*does not have a deterministic implementation")
def test_threads_compute_what_each_computes_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wanted = {
        (name, seed): outcome(work, seed) for name, work in WORKS.items() for seed in range(THREADS)
    }
    monkeypatch.setenv("OPENMPS_CACHE_DIR", str(tmp_path))  # hundreds of kernels, each used once
    failures: list[BaseException] = []
    rounds = [0] * THREADS
    stop = threading.Event()
    until = time.monotonic() + SECONDS

    def serve(number: int) -> None:
        dice = random.Random(number)
        try:
            while time.monotonic() < until and not failures:
                name, seed = dice.choice(list(wanted))
                with torch.inference_mode(name in ("sample", "index")):
                    agree(outcome(WORKS[name], seed), wanted[name, seed], name)
                rounds[number] += 1
        except BaseException as failure:
            failures.append(failure)

    threads = [threading.Thread(target=serve, args=(n,)) for n in range(THREADS)]
    flipper = threading.Thread(target=flip_switches, args=(stop,))
    for thread in (*threads, flipper):
        thread.start()
    for thread in threads:
        thread.join()
    stop.set()
    flipper.join()
    if failures:
        raise failures[0]
    assert min(rounds) > 0
