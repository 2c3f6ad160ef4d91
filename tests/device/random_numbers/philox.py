"""A Mac's random numbers in numpy, written from their definition and not from our kernels.

Float functions are computed in double and rounded to float at every step that a Mac rounds at, so
they may differ from a kernel's by an ulp or two; everything else is exact.
"""

from __future__ import annotations

import math

import numpy as np

F = np.float32
EPSILON = F(2.0**-23)
_LOW = np.uint64(0xFFFFFFFF)


def blocks(seed: int, first: int, count: int) -> np.ndarray:
    """`count` blocks of four 32-bit words, as rows."""
    index = np.uint64(first % 2**64) + np.arange(count, dtype=np.uint64)
    seed %= 2**64
    zero = np.zeros(count, np.uint64)
    a, b, c, d = zero, zero, index >> np.uint64(32), index & _LOW
    high_key, low_key = np.uint64(seed >> 32), np.uint64(seed & 0xFFFFFFFF)
    for _ in range(9):
        p, q = a * np.uint64(0xD2511F53), c * np.uint64(0xCD9E8D57)
        a, b, c, d = (
            (q >> np.uint64(32)) ^ b ^ high_key,
            q & _LOW,
            (p >> np.uint64(32)) ^ d ^ low_key,
            p & _LOW,
        )
        high_key = (high_key + np.uint64(0x9E3779B9)) & _LOW
        low_key = (low_key + np.uint64(0xBB67AE85)) & _LOW
    return np.stack([a, b, c, d], axis=1).astype(np.uint32)


def words(seed: int, first: int, count: int) -> np.ndarray:
    """The first `count` words of as many blocks as it takes."""
    return blocks(seed, first, -(-count // 4)).reshape(-1)[:count]


def to_uniform(word: np.ndarray) -> np.ndarray:
    return (word & np.uint32(0x7FFFFFFF)).astype(F) * F(4.6566127342e-10)


def rounded(function, *arguments: np.ndarray) -> np.ndarray:
    return function(*(np.asarray(a, np.float64) for a in arguments)).astype(F)


def uniform(seed: int, first: int, count: int, low: float = 0.0, high: float = 1.0) -> np.ndarray:
    return F(low) + (F(high) - F(low)) * to_uniform(words(seed, first, count))


def standard_normal(seed: int, first: int, count: int) -> np.ndarray:
    pairs = to_uniform(blocks(seed, first, -(-count // 4)).reshape(-1, 2))
    radius = rounded(np.sqrt, F(-2) * rounded(np.log, np.maximum(pairs[:, 0], EPSILON)))
    angle = F(2) * F(np.pi) * pairs[:, 1]
    both = [radius * rounded(np.cos, angle), radius * rounded(np.sin, angle)]
    return np.stack(both, axis=1).reshape(-1)[:count]


def log_normal(seed: int, first: int, count: int, mean: float, std: float) -> np.ndarray:
    return rounded(np.exp, F(mean) + F(std) * standard_normal(seed, first, count))


def cauchy(seed: int, first: int, count: int, median: float, sigma: float) -> np.ndarray:
    u = np.clip(to_uniform(words(seed, first, count)), EPSILON, F(1) - EPSILON)
    return F(median) + F(sigma) * rounded(np.tan, F(np.pi) * (u - F(0.5)))


def exponential(seed: int, first: int, count: int, rate: float) -> np.ndarray:
    u = np.minimum(to_uniform(words(seed, first, count)), F(1) - EPSILON)
    return -rounded(np.log, F(1) - u) / F(rate)


def geometric(seed: int, first: int, count: int, p: float) -> np.ndarray:
    u = np.maximum(to_uniform(words(seed, first, count)), EPSILON)
    return np.ceil(rounded(np.log, u) / F(np.log1p(-p)))


def integers(seed: int, first: int, count: int, base: int, span: int) -> np.ndarray:
    """Of types with up to 32 bits."""
    return (words(seed, first, count) % np.uint32(span)).astype(np.int64) + base


def long_integers(seed: int, first: int, count: int, base: int, span: int) -> np.ndarray:
    """Of types with 64 bits; a span of 2^64 takes every value."""
    pairs = blocks(seed, first, -(-count // 2)).reshape(-1, 2)[:count].tolist()
    return np.array(
        [(((high << 32 | low) % span + base + 2**63) % 2**64) - 2**63 for high, low in pairs]
    )


def one_word_a_block(seed: int, block: int) -> F:
    return to_uniform(blocks(seed, block, 1)[:, 0])[0]


def one_normal_a_block(seed: int, block: int) -> F:
    pair = F(1) - to_uniform(blocks(seed, block, 1)[0, :2])
    return rounded(np.sqrt, F(-2) * rounded(np.log, pair[0])) * rounded(
        np.cos, F(2) * F(np.pi) * pair[1]
    )


def gamma(seed: int, block: int, shape: float) -> F:
    """Marsaglia and Tsang's method, one number of each block."""
    alpha, boost = F(shape), F(1)
    if alpha < 1:
        boost = rounded(np.power, F(1) - one_word_a_block(seed, block), F(1) / alpha)
        alpha += F(1)
        block += 1
    d = alpha - F(1) / F(3)
    c = F(1) / rounded(np.sqrt, F(9) * d)
    while True:
        x = one_normal_a_block(seed, block)
        y = F(1) + c * x
        block += 1
        if y <= 0:
            continue
        v = y * y * y
        u = F(1) - one_word_a_block(seed, block)
        block += 1
        square = x * x
        bound = F(0.5) * square + d * (F(1) - v + rounded(np.log, v))
        if u < F(1) - F(0.0331) * square * square or rounded(np.log, u) < bound:
            return np.maximum(boost * d * v, np.finfo(F).tiny)


def shuffled(seed: int, first: int, values: list[int]) -> list[int]:
    """Fisher and Yates, from the end."""
    values = list(values)
    drawn = words(seed, first, max(len(values) - 1, 0)).tolist()
    for at, word in zip(range(len(values) - 1, 0, -1), drawn, strict=True):
        other = word % (at + 1)
        values[at], values[other] = values[other], values[at]
    return values


def permutation(seed: int, first: int, count: int) -> list[int]:
    if count <= 384:
        return shuffled(seed, first, range(count))
    if count < 32768:
        return np.argsort(uniform(seed, first, count), kind="stable").tolist()
    keys = integers(seed, first, count, 0, 1 << 24)
    order = np.argsort(keys, kind="stable")
    keys = keys[order]
    order = order.tolist()
    first += -(-count // 4)
    starts = np.flatnonzero(np.r_[True, keys[1:] != keys[:-1]])
    ends = np.r_[starts[1:], count]
    for start, end in zip(starts, ends, strict=True):
        if end - start > 1:
            order[start:end] = shuffled(seed, first + int(start), order[start:end])
    return order


def ulps(ours: np.ndarray, expected: np.ndarray) -> int:
    """The largest distance in representable floats."""

    def place(values: np.ndarray) -> np.ndarray:
        bits = np.asarray(values, F).view(np.int32).astype(np.int64)
        return np.where(bits < 0, -(bits & 0x7FFFFFFF), bits)

    return int(np.abs(place(ours) - place(expected)).max())


def poisson(seed: int, block: int, rate: float) -> int:
    """Knuth's method below 10, Hoermann's PTRD from there on; one number of each block."""
    rate = F(rate)
    if rate < 10:
        end, product, count = rounded(np.exp, -rate), one_word_a_block(seed, block), 0
        while product > end:
            count += 1
            product = product * one_word_a_block(seed, block + count)
        return count
    b = F(0.931) + F(2.53) * rounded(np.sqrt, rate)
    a = F(-0.059) + F(0.02483) * b
    inverse_alpha = F(1.1239) + F(1.1328) / (b - F(3.4))
    quick = F(0.9277) - F(3.6224) / (b - F(2))
    while True:
        u = one_word_a_block(seed, block) - F(0.5)
        v = F(1) - one_word_a_block(seed, block + 1)
        block += 2
        inside = F(0.5) - abs(u)
        k = np.floor((F(2) * a / inside + b) * u + rate + F(0.43))
        if k < 0 or (inside < 0.013 and v > inside):
            continue
        if inside >= 0.07 and v <= quick:
            return int(k)
        drawn = np.log(v) + np.log(inverse_alpha) - np.log(a / (inside * inside) + b)
        if drawn <= -rate + k * np.log(rate) - math.lgamma(k + 1):
            return int(k)
