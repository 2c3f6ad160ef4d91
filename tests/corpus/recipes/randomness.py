"""Distributions. The numbers come from a counter, so they can be computed here too: Philox with
4x32 bits, in which the index is the counter's upper half and the seed the key."""

from __future__ import annotations

import functools
from collections.abc import Callable

import numpy as np
import torch

from corpus.launching import DTYPES, Runner, float32, long, uint
from corpus.recipes import Check, add, recipe
from corpus.recipes.indexing import error_room, no_errors
from corpus.values import values

SEED, OFFSET, COUNT = 0x123456789ABCDEF, 77, 4003
EPS = float(np.finfo(np.float32).eps)
_LOW = np.uint64(0xFFFFFFFF)


def philox(indices: np.ndarray, seed: int = SEED, rounds: int = 9) -> np.ndarray:
    """Four words for each index."""
    state = [np.zeros(indices.shape, np.uint64) for _ in range(4)]
    state[2], state[3] = (
        indices.astype(np.uint64) >> np.uint64(32),
        indices.astype(np.uint64) & _LOW,
    )
    key = [np.uint64(seed >> 32), np.uint64(seed & 0xFFFFFFFF)]
    for _ in range(rounds):
        first = state[0] * np.uint64(0xD2511F53)
        second = state[2] * np.uint64(0xCD9E8D57)
        high = np.uint64(32)
        state = [
            (second >> high) ^ state[1] ^ key[0], second & _LOW,
            (first >> high) ^ state[3] ^ key[1], first & _LOW,
        ]  # fmt: skip
        key = [(key[0] + np.uint64(0x9E3779B9)) & _LOW, (key[1] + np.uint64(0xBB67AE85)) & _LOW]
    return np.stack(state, -1)


def words() -> np.ndarray:
    return philox(OFFSET + np.arange(-(-COUNT // 4))).reshape(-1)[:COUNT]


def uniform(raw: np.ndarray) -> np.ndarray:
    return (raw & np.uint64(0x7FFFFFFF)).astype(np.float64) * np.float64(
        np.float32(4.6566127342e-10)
    )


def gauss() -> np.ndarray:
    raw = philox(OFFSET + np.arange(-(-COUNT // 4))).reshape(-1, 2)
    radius = np.sqrt(-2 * np.log(np.maximum(uniform(raw[:, 0]), EPS)))
    angle = 2 * np.pi * uniform(raw[:, 1])
    return np.stack([radius * np.cos(angle), radius * np.sin(angle)], -1).reshape(-1)[:COUNT]


Formula = Callable[[], np.ndarray]
# kernel -> what it takes from the numbers for these two parameters, and how exactly
FORMULAS: dict[str, tuple[tuple[float, float], Formula, float]] = {
    "uniform_dist": ((-1.0, 3.0), lambda: -1 + 4 * uniform(words()), 2e-5),
    "normal": ((0.5, 2.0), lambda: 0.5 + 2 * gauss(), 1e-4),
    "log_normal": ((0.1, 0.5), lambda: np.exp(0.1 + 0.5 * gauss()), 1e-4),
    "cauchy": ((0.5, 2.0),
               lambda: 0.5 + 2 * np.tan(np.pi * (np.clip(uniform(words()), EPS, 1 - EPS) - 0.5)),
               1e-2),
    "exponential": ((2.0, 0.0),
                    lambda: -np.log(1 - np.minimum(uniform(words()), 1 - EPS)) / 2, 1e-4),
    "geometric": ((float(np.log(0.7)), 0.0),
                  lambda: np.ceil(np.log(np.maximum(uniform(words()), EPS)) / np.log(0.7)), 0.0),
    "bernoulli_scalar": ((0.3, 0.0),
                         lambda: (uniform(words()) < np.float32(0.3)).astype(float), 0.0),
}  # fmt: skip


def by_formula(kernel: str, name: str, run: Runner) -> Check:
    parameters, formula, tolerance = FORMULAS[kernel]
    out = torch.zeros(COUNT).to(DTYPES[name])
    run(f"{kernel}_{name}", out, float32(*parameters), long(SEED, OFFSET), uint(COUNT),
        threads=[-(-COUNT // 4)])  # fmt: skip
    expected = torch.from_numpy(formula()).to(out.dtype)
    more = {"half": 3e-3, "bfloat": 2e-2}.get(name, 0.0) if tolerance else 0.0
    return Check(out, expected, tolerance + more)


for _kernel in FORMULAS:
    for _name in ("float", "half", "bfloat"):
        add("Distributions", f"{_kernel} {_name}", functools.partial(by_formula, _kernel, _name))
add("Distributions", "geometric long", functools.partial(by_formula, "geometric", "long"))
add(
    "Distributions", "bernoulli float2", functools.partial(by_formula, "bernoulli_scalar", "float2")
)


@recipe("Distributions")
def bernoulli_of_tensor(run: Runner) -> list[Check]:
    chances, out, error = torch.rand(COUNT), torch.zeros(COUNT), error_room()
    run("bernoulli_tensor_float", out, chances, long(SEED, OFFSET), uint(COUNT), error,
        threads=[-(-COUNT // 4)])  # fmt: skip
    expected = torch.from_numpy(uniform(words()).astype(np.float32)) < chances
    return [Check(out, expected.float()), no_errors(error)]


@recipe("Distributions")
def random_int(run: Runner) -> list[Check]:
    small, wide = torch.zeros(COUNT, dtype=torch.int32), torch.zeros(2001, dtype=torch.int64)
    run("random_int_int", small, long(-5, 1000), long(SEED, OFFSET), uint(COUNT),
        threads=[-(-COUNT // 4)])  # fmt: skip
    run("random_int_long", wide, long(-5, 10**12), long(SEED, OFFSET), uint(2001), threads=[1001])
    raw = philox(OFFSET + np.arange(1001))
    pairs = (raw[:, 0::2] << np.uint64(32)) | raw[:, 1::2]
    expected = (pairs % np.uint64(10**12)).astype(np.int64).reshape(-1)[:2001] - 5
    narrow = (words() % np.uint64(1000)).astype(np.int32) - 5
    return [Check(small, torch.from_numpy(narrow)), Check(wide, torch.from_numpy(expected))]


@recipe("Distributions")
def permutation(run: Runner) -> list[Check]:
    """One thread shuffles, from the end."""
    n = 1500
    out = torch.zeros(n, dtype=torch.int64)
    run("randperm_small_long", out, long(SEED, OFFSET), uint(n), threads=[256], group=[256])
    raw = philox(OFFSET + np.arange(n)).reshape(-1)
    expected = np.arange(n)
    for taken, i in enumerate(range(n - 1, 0, -1)):
        j = int(raw[taken]) % (i + 1)
        expected[[i, j]] = expected[[j, i]]
    return [Check(out, torch.from_numpy(expected))]


@recipe("Distributions")
def islands(run: Runner) -> list[Check]:
    """Where keys repeat, what belongs to them is shuffled; nothing else moves."""
    keys = torch.tensor([1, 2, 2, 2, 5, 6, 6, 9], dtype=torch.int32)
    data = torch.arange(8)
    run("randperm_dedup_islands_long", data, keys, long(SEED, OFFSET), uint(8), threads=[8])
    expected = list(range(8))
    for first, size in ((1, 3), (5, 2)):
        raw = philox(OFFSET + first + np.arange(1)).reshape(-1)
        for taken, i in enumerate(range(size - 1, 0, -1)):
            j = int(raw[taken]) % (i + 1)
            a, b = first + i, first + j
            expected[a], expected[b] = expected[b], expected[a]
    return [Check(data, torch.tensor(expected))]


def _moments(out: torch.Tensor, mean: float, variance: float, tolerance: float) -> list[Check]:
    wide = out.double()
    return [
        Check(wide.mean().reshape(1), torch.tensor([mean]).double(), tolerance),
        Check(wide.var().reshape(1), torch.tensor([variance]).double(), 4 * tolerance),
    ]


def gamma(name: str, shape: float, run: Runner) -> list[Check]:
    """Drawn by rejection: compared by mean and variance."""
    alpha = torch.full([20000], shape).to(DTYPES[name])
    out = torch.zeros_like(alpha)
    run(f"standard_gamma_{name}", out, alpha, long(SEED, OFFSET), threads=[20000])
    return _moments(out, shape, shape, 0.03)


def poisson(name: str, rate: float, run: Runner) -> list[Check]:
    rates = torch.full([20000], rate).to(DTYPES[name])
    out = torch.zeros_like(rates)
    run(f"poisson_{name}", out, rates, long(SEED, OFFSET), threads=[20000])
    return [Check(out, out.round()), *_moments(out, rate, rate, 0.03)]


for _name in ("float", "half"):
    add("Distributions", f"gamma {_name}", functools.partial(gamma, _name, 2.5))
    add("Distributions", f"poisson {_name}", functools.partial(poisson, _name, 4.0))
add("Distributions", "gamma below one", functools.partial(gamma, "float", 0.5))
add("Distributions", "poisson above ten", functools.partial(poisson, "float", 30.0))


@recipe("Distributions")
def dirichlet(run: Runner) -> list[Check]:
    alpha, out = values("float", 200, 50, low=0.5, high=3), torch.zeros(200, 50)
    run("standard_dirichlet_float", out, alpha, long(SEED, OFFSET), uint(50), threads=[200 * 64],
        group=[64])  # fmt: skip
    expected = (alpha / alpha.sum(1, keepdim=True)).mean(0)
    return [Check(out.sum(1), torch.ones(200)), Check(out.mean(0), expected, 0.01)]


@recipe("Distributions")
def gradients(run: Runner) -> list[Check]:
    alpha, x = values("float", 500, low=0.2, high=20), values("float", 500, low=0.05, high=25)
    out = torch.zeros(500)
    run("standard_gamma_grad_float", out, alpha, x, threads=[500])
    expected = torch._standard_gamma_grad(alpha.double(), x.double()).float()
    part, total = (
        values("float", 500, low=0.05, high=0.95),
        alpha + values("float", 500, low=1, high=9),
    )
    by = torch.zeros(500)
    run("dirichlet_grad_float", by, part, alpha, total, threads=[500])
    wanted = torch._dirichlet_grad(part.double(), alpha.double(), total.double()).float()
    return [Check(out, expected, 2e-2), Check(by, wanted, 2e-2)]
