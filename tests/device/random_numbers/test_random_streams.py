"""The numbers themselves: every random operator against their definition (philox.py)."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
import torch

from openmps.device import builtin_kernels
from openmps.device.core import find_torch
from openmps.device.rules import installed_operators
from openmps.mac.operators import Status

from . import philox

SEED, FIRST = 12_345_678_901_234, 77
ODD = 10_007  # a ragged end, after more than a vector's worth
FLOATS = (torch.float32, torch.float16, torch.bfloat16)


def generator(seed=SEED, first=FIRST):
    made = torch.Generator("mps").manual_seed(seed)
    made.set_offset(first)
    return made


def draw(operator, *, moves):
    """What `operator` draws from a generator of its own, which must move by `moves` blocks."""
    own = generator()
    drawn = operator(own)
    assert own.get_offset() - FIRST == moves
    assert drawn.device == torch.device("mps:0")
    return drawn.cpu()


def draw_by_default(operator, *, moves):
    """The same of the default generator."""
    torch.mps.set_rng_state(generator().get_state())
    drawn = operator()
    offset = int.from_bytes(bytes(torch.mps.get_rng_state()[36:].tolist()), "little")
    assert offset - FIRST == moves
    return drawn


def empty(*sizes, dtype=torch.float32):
    return torch.empty(*sizes, dtype=dtype, device="mps")


def blocks_of(count, each=4):
    return -(-count // each)


def as_type(values, dtype):
    return torch.from_numpy(np.ascontiguousarray(values)).to(dtype)


# ---- the generator behind all of them


@pytest.mark.parametrize(
    ("seed", "block", "words"),
    [
        (0, 0, (0x7028B1C8, 0xD6594C40, 0x4F2051BB, 0x76D6628E)),
        (0, 1, (0xFE0F3D59, 0x33E2D6DA, 0xB59DD959, 0xBAE4C07A)),
        (42, 0, (0x9A822623, 0xFD1355BA, 0x3F3F7F79, 0x4BD4B252)),
    ],
)
def test_words_of_a_block(seed, block, words):
    drawn = empty(2, dtype=torch.int64).random_(-(2**63), None, generator=generator(seed, block))
    high, low, other_high, other_low = words
    assert [value + 2**63 for value in drawn.tolist()] == [
        high << 32 | low,
        other_high << 32 | other_low,
    ]
    assert philox.blocks(seed, block, 1)[0].tolist() == list(words)


def test_uniforms_of_the_first_block():
    torch.manual_seed(0)
    expected = torch.tensor([0.87624186, 0.67460006, 0.61817372, 0.92841744])
    assert torch.equal(torch.rand(4, device="mps").cpu(), expected)


@pytest.mark.parametrize("seed", [0, 1, 2**31, 2**63, 2**64 - 1])
@pytest.mark.parametrize("first", [0, 2**32 - 2, 2**63 - 1])
def test_every_bit_of_seed_and_offset_counts(seed, first):
    drawn = torch.rand(21, device="mps", generator=generator(seed, first))
    assert np.array_equal(drawn.cpu().numpy(), philox.uniform(seed, first, 21))


# ---- exact streams


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("count", [1, 2, 3, 4, 5, 31, ODD])
def test_uniform(dtype, count):
    drawn = draw(
        lambda g: empty(count, dtype=dtype).uniform_(-2, 3, generator=g), moves=blocks_of(count)
    )
    assert torch.equal(drawn, as_type(philox.uniform(SEED, FIRST, count, -2, 3), dtype))


@pytest.mark.filterwarnings("ignore:ComplexHalf support is experimental")
@pytest.mark.parametrize(
    "dtype",
    [
        *FLOATS,
        torch.bool,
        torch.uint8,
        torch.int8,
        torch.int16,
        torch.int32,
        torch.int64,
        torch.complex64,
        torch.complex32,
    ],
)
def test_bernoulli_of_one_probability(dtype):
    drawn = draw(
        lambda g: empty(ODD, dtype=dtype).bernoulli_(0.3, generator=g), moves=blocks_of(ODD)
    )
    kept = philox.uniform(SEED, FIRST, ODD) < np.float32(0.3)
    if dtype.is_complex:
        assert not torch.view_as_real(drawn)[:, 1].any()
        drawn = torch.view_as_real(drawn)[:, 0]
    assert torch.equal(drawn, as_type(kept, drawn.dtype))


@pytest.mark.parametrize("dtype", FLOATS)
def test_bernoulli_of_many_probabilities_moves_by_elements(dtype):
    p = torch.linspace(0, 1, ODD, device="mps", dtype=dtype)
    kept = philox.uniform(SEED, FIRST, ODD) < p.float().cpu().numpy()
    drawn = draw(lambda g: torch.bernoulli(p, generator=g), moves=ODD)
    assert torch.equal(drawn, as_type(kept, dtype))
    into = empty(0, dtype=torch.uint8)
    drawn = draw(lambda g: torch.bernoulli(p, generator=g, out=into), moves=ODD)
    assert torch.equal(drawn, as_type(kept, torch.uint8))
    filled = empty(ODD, dtype=torch.bool)
    drawn = draw(lambda g: filled.bernoulli_(p, generator=g), moves=ODD)
    assert torch.equal(drawn, as_type(kept, torch.bool))


def test_bernoulli_of_a_tensor_without_dimensions_is_the_scalar_one():
    p = torch.tensor(0.3, device="mps")
    drawn = draw(lambda g: empty(9).bernoulli_(p, generator=g), moves=3)
    kept = philox.uniform(SEED, FIRST, 9) < np.float32(0.3)
    assert torch.equal(drawn, as_type(kept, torch.float32))


@pytest.mark.parametrize(
    "dtype",
    [
        *FLOATS,
        torch.uint8,
        torch.int8,
        torch.int16,
        torch.uint16,
        torch.int32,
        torch.uint32,
    ],
)
def test_integers_of_a_word(dtype):
    drawn = draw(
        lambda g: empty(ODD, dtype=dtype).random_(3, 100, generator=g), moves=blocks_of(ODD)
    )
    assert torch.equal(drawn, as_type(philox.integers(SEED, FIRST, ODD, 3, 97), dtype))


@pytest.mark.parametrize("dtype", [torch.int64, torch.uint64])
def test_integers_of_two_words(dtype):
    drawn = draw(
        lambda g: empty(ODD, dtype=dtype).random_(3, 10**17, generator=g), moves=blocks_of(ODD, 2)
    )
    expected = philox.long_integers(SEED, FIRST, ODD, 3, 10**17 - 3)
    assert drawn.to(torch.int64).tolist() == expected.tolist()


def test_all_values_of_64_bits():
    drawn = draw(
        lambda g: empty(9, dtype=torch.int64).random_(-(2**63), None, generator=g), moves=5
    )
    expected = philox.long_integers(SEED, FIRST, 9, -(2**63), 2**64)
    assert drawn.tolist() == expected.tolist()


@pytest.mark.parametrize(
    ("dtype", "span"),
    [
        (torch.bool, 2),
        (torch.uint8, 256),
        (torch.int8, 128),
        (torch.int16, 2**15),
        (torch.int32, 2**31),
        (torch.float32, 2**24),
        (torch.float16, 2**11),
        (torch.bfloat16, 2**8),
    ],
)
def test_integers_without_bounds(dtype, span):
    drawn = draw(lambda g: empty(37, dtype=dtype).random_(generator=g), moves=10)
    assert torch.equal(drawn, as_type(philox.integers(SEED, FIRST, 37, 0, span), dtype))


def test_longs_without_bounds():
    drawn = draw(lambda g: empty(7, dtype=torch.int64).random_(generator=g), moves=4)
    assert drawn.tolist() == philox.long_integers(SEED, FIRST, 7, 0, 2**63 - 1).tolist()


def test_randint_is_the_same_stream():
    drawn = draw(
        lambda g: torch.randint(-5, 90, (3, 7), device="mps", dtype=torch.int32, generator=g),
        moves=6,
    )
    assert drawn.reshape(-1).tolist() == philox.integers(SEED, FIRST, 21, -5, 95).tolist()
    like = draw_by_default(lambda: torch.randint_like(empty(21), -5, 90), moves=6)
    assert torch.equal(like.cpu(), drawn.reshape(-1).float())


@pytest.mark.parametrize("count", [1, 2, 3, 5, 383, 384, 385, 4097, 32767, 32768, 100_003])
def test_permutations(count):
    moves = (count + 2) // 4 if count <= 384 else blocks_of(count)
    if count >= 32768:
        moves += count
    drawn = draw(lambda g: torch.randperm(count, device="mps", generator=g), moves=moves)
    assert drawn.dtype == torch.int64
    assert drawn.tolist() == philox.permutation(SEED, FIRST, count)


def test_permutations_of_other_types():
    def permutation(count, dtype, moves):
        return draw(
            lambda g: torch.randperm(count, device="mps", dtype=dtype, generator=g), moves=moves
        )

    expected = philox.permutation(SEED, FIRST, 100)
    assert permutation(100, torch.int32, 25).tolist() == expected
    # Only int and long are shuffled: short permutations of other types are sorted ones.
    expected = np.argsort(philox.uniform(SEED, FIRST, 100), kind="stable").tolist()
    assert permutation(100, torch.float32, 25).tolist() == expected
    assert permutation(100, torch.int16, 25).tolist() == expected


# ---- streams through log, sin, cos, tan and exp: each function within an ulp or two


@pytest.mark.parametrize("count", [1, 2, 3, 5, ODD])
def test_normal(count):
    drawn = draw(lambda g: torch.randn(count, device="mps", generator=g), moves=blocks_of(count))
    assert philox.ulps(drawn.numpy(), philox.standard_normal(SEED, FIRST, count)) <= 3


@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float16, 2**-9), (torch.bfloat16, 2**-6)])
def test_normal_is_rounded_at_the_end(dtype, tolerance):
    drawn = draw(lambda g: empty(ODD, dtype=dtype).normal_(0, 1, generator=g), moves=blocks_of(ODD))
    exact = torch.randn(ODD, device="mps", generator=generator()).cpu()
    assert torch.equal(drawn, exact.to(dtype))
    torch.testing.assert_close(drawn.float(), exact, rtol=tolerance, atol=0)


def test_normal_with_mean_and_deviation():
    standard = torch.randn(ODD, device="mps", generator=generator())
    drawn = draw(lambda g: empty(ODD).normal_(0.5, 3, generator=g), moves=blocks_of(ODD))
    assert torch.equal(drawn, (0.5 + 3 * standard).cpu())


def test_normal_of_tensors():
    mean = torch.linspace(-1, 1, 24, device="mps").reshape(4, 6)
    std = torch.linspace(0, 2, 24, device="mps").reshape(4, 6)
    standard = torch.randn(4, 6, device="mps", generator=generator())
    forms = {
        (mean, 2.0): (standard * 2 + mean),
        (0.5, std): (standard * std + 0.5),
        (mean, std): (standard * std + mean),
    }
    for arguments, expected in forms.items():
        drawn = draw(lambda g, a=arguments: torch.normal(*a, generator=g), moves=6)
        assert torch.equal(drawn, expected.cpu())
        into = empty(4, 6)
        draw(lambda g, a=arguments, o=into: torch.normal(*a, generator=g, out=o), moves=6)
        assert torch.equal(into, expected)


def test_complex_normal_is_half_as_wide_in_each_part():
    drawn = draw(
        lambda g: torch.randn(9, device="mps", dtype=torch.complex64, generator=g), moves=5
    )
    standard = torch.randn(18, device="mps", generator=generator()).cpu()
    assert torch.equal(torch.view_as_real(drawn).reshape(-1), standard * np.float32(0.5**0.5))


def test_exponential():
    drawn = draw(lambda g: empty(ODD).exponential_(1.7, generator=g), moves=blocks_of(ODD))
    assert philox.ulps(drawn.numpy(), philox.exponential(SEED, FIRST, ODD, 1.7)) <= 2


def test_cauchy():
    drawn = draw(lambda g: empty(ODD).cauchy_(0, 2, generator=g), moves=blocks_of(ODD))
    assert philox.ulps(drawn.numpy(), philox.cauchy(SEED, FIRST, ODD, 0, 2)) <= 3


def test_log_normal():
    drawn = draw(lambda g: empty(ODD).log_normal_(0.3, 0.7, generator=g), moves=blocks_of(ODD))
    assert philox.ulps(drawn.numpy(), philox.log_normal(SEED, FIRST, ODD, 0.3, 0.7)) <= 5


def test_log_normal_reaches_both_ends():
    drawn = draw(lambda g: empty(1000).log_normal_(0, 100, generator=g), moves=250)
    exact = np.exp(100 * philox.standard_normal(SEED, FIRST, 1000).astype(np.float64))
    with np.errstate(over="ignore"):
        expected = torch.from_numpy(exact.astype(np.float32))
    assert torch.equal(drawn == torch.inf, expected == torch.inf)
    assert torch.equal(drawn == 0, expected == 0)
    assert (drawn == torch.inf).any()
    assert (drawn == 0).any()


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.int64, torch.uint8])
def test_geometric(dtype):
    drawn = draw(
        lambda g: empty(ODD, dtype=dtype).geometric_(0.3, generator=g), moves=blocks_of(ODD)
    )
    assert torch.equal(drawn, as_type(philox.geometric(SEED, FIRST, ODD, 0.3), dtype))


def test_gamma():
    shapes = torch.tensor([0.05, 0.3, 0.5, 1.0, 2.0, 3.5, 10.0, 1000.0] * 30, device="mps")
    drawn = draw(lambda g: torch._standard_gamma(shapes, generator=g), moves=32 * 240)
    expected = [
        philox.gamma(SEED, FIRST + 32 * i, shape) for i, shape in enumerate(shapes.tolist())
    ]
    assert philox.ulps(drawn.numpy(), np.array(expected)) <= 2
    zero = torch._standard_gamma(torch.zeros(3, device="mps"), generator=generator())
    assert zero.tolist() == [0, 0, 0]


def test_gamma_of_what_is_no_shape():
    shapes = torch.tensor([torch.nan, -1.0, -torch.inf, torch.inf], device="mps")
    drawn = torch._standard_gamma(shapes, generator=generator()).cpu()
    assert drawn.isnan().tolist() == [True, True, True, False]
    assert drawn[3] == torch.inf
    few = torch._standard_gamma(torch.full((40,), -0.5, device="mps"), generator=generator()).cpu()
    expected = [philox.gamma(SEED, FIRST + 32 * i, -0.5) for i in range(40)]
    assert philox.ulps(few.numpy(), np.array(expected)) <= 2
    assert few.max() > 1


@pytest.mark.parametrize("columns", [1, 3, 40, 1500])
def test_dirichlet(columns):
    shapes = torch.linspace(0.5, 4, 2 * columns, device="mps").reshape(2, columns)
    drawn = draw(lambda g: torch._sample_dirichlet(shapes, generator=g), moves=64 * columns)
    gammas = torch._standard_gamma(shapes, generator=generator()).cpu().double()
    expected = (gammas / gammas.sum(1, keepdim=True)).clamp(max=1 - 2**-23)
    torch.testing.assert_close(drawn.double(), expected, rtol=2e-6, atol=0)


def with_builtin_headers(source):
    """A built-in kernel's file as compile_shader takes it: with its headers."""
    headers = builtin_kernels.headers(find_torch().folder)

    def text(found):
        path = headers.get(found[1])
        return with_builtin_headers(path.read_text()) if path else found[0]

    return re.sub(r"^#include <(.+)>$|^#pragma once$", text, source, flags=re.M)


def test_poisson_kernel():
    """By hand, because torch 2.13 has no such operator on a Mac; later releases do."""
    rates = torch.tensor([0.0, 0.1, 1, 5, 9.9, 10, 20, 100, 5000, -1, torch.inf, torch.nan] * 20)
    source = with_builtin_headers((builtin_kernels.FOLDER / "poisson.metal").read_text())
    place = torch.tensor([SEED, FIRST], device="mps")
    drawn = empty(rates.numel())
    torch.mps.compile_shader(source).poisson_float(drawn, rates.to("mps"), place)
    expected = [
        philox.poisson(SEED, FIRST + 32 * i, rate) if 0 < rate < torch.inf else 0
        for i, rate in enumerate(rates.tolist())
    ]
    assert drawn.tolist() == expected


def test_poisson_operator():
    rates = torch.tensor([0.5, 30.0] * 30, device="mps")
    known = installed_operators(find_torch().folder).dense["aten::poisson"]
    if known.status is not Status.NATIVE:
        with pytest.raises(NotImplementedError, match="The operator 'aten::poisson' is not"):
            torch.poisson(rates)
        return
    drawn = draw(lambda g: torch.poisson(rates, generator=g), moves=32 * 60)
    expected = [philox.poisson(SEED, FIRST + 32 * i, r) for i, r in enumerate(rates.tolist())]
    assert drawn.tolist() == expected


# ---- operators made of these


def dropout_moves(count):
    """PyTorch's own dropout() draws a mask by bernoulli_, in later releases by native_dropout."""
    before = torch.mps.get_rng_state()
    torch.mps.manual_seed(0)
    torch.nn.functional.dropout(torch.ones(8, device="mps"), 0.5)
    moved = torch.mps._get_default_mps_generator().get_offset()
    torch.mps.set_rng_state(before)
    assert moved in (2, 8)
    return count if moved == 8 else blocks_of(count)


def test_dropout_drops_what_a_mac_drops():
    x = torch.linspace(1, 2, ODD, device="mps")
    out = draw_by_default(lambda: torch.nn.functional.dropout(x, 0.25), moves=dropout_moves(ODD))
    kept = torch.from_numpy(philox.uniform(SEED, FIRST, ODD) < np.float32(0.75))
    scaled = x.cpu() * (kept.float() / 0.75)
    assert torch.equal(out.cpu() != 0, kept)
    assert philox.ulps(out.cpu().numpy(), scaled.numpy()) <= 1


@pytest.mark.parametrize("dtype", [*FLOATS, torch.complex64])
def test_native_dropout_moves_by_elements(dtype):
    x = torch.linspace(1, 2, ODD, device="mps").to(dtype)
    out, mask = draw_by_default(lambda: torch.native_dropout(x, 0.25, True), moves=ODD)
    kept = torch.from_numpy(philox.uniform(SEED, FIRST, ODD) < np.float32(0.75))
    assert torch.equal(mask.cpu(), kept)
    wide = x.cpu() if dtype.is_complex else x.cpu().float()
    assert torch.equal(out.cpu(), torch.where(kept, wide * np.float32(1 / 0.75), 0).to(dtype))


@pytest.mark.parametrize(("p", "train"), [(0.5, False), (0.0, True), (0.5, None)])
def test_native_dropout_that_drops_nothing_draws_nothing(p, train):
    x = torch.ones(5, device="mps")
    out, mask = draw_by_default(lambda: torch.native_dropout(x, p, train), moves=0)
    assert torch.equal(out, x)
    assert mask.tolist() == [True] * 5


def test_native_dropout_of_everything():
    out, mask = torch.native_dropout(torch.ones(5, device="mps"), 1.0, True)
    assert out.tolist() == [0] * 5
    assert mask.tolist() == [False] * 5


def test_native_dropout_refuses_integers():
    with pytest.raises(
        RuntimeError,
        match="native_dropout_mps: input must be a floating-point or complex tensor, got Int",
    ):
        torch.native_dropout(torch.ones(5, device="mps", dtype=torch.int32), 0.5, True)


@pytest.mark.cpu_engine("a GPU's fused attention draws its own masks, which nobody sees")
def test_attention_drops_what_a_mac_drops():
    query, key, value = (torch.rand(2, 5, 8, device="mps", requires_grad=True) for _ in range(3))
    out = draw_by_default(
        lambda: torch.nn.functional.scaled_dot_product_attention(query, key, value, dropout_p=0.25),
        moves=dropout_moves(50),
    )
    kept = torch.from_numpy(philox.uniform(SEED, FIRST, 50) < np.float32(0.75)).view(2, 5, 5)
    weights = (query @ key.mT / 8**0.5).softmax(-1).cpu() * kept / 0.75
    torch.testing.assert_close(out.cpu(), weights @ value.cpu())


def test_lstm_dropout_moves_by_one_and_changes_the_words():
    module = torch.nn.LSTM(4, 6, num_layers=3, dropout=0.5).to("mps")
    x = torch.rand(7, 2, 4, device="mps")
    first = draw_by_default(lambda: module(x)[0], moves=1)
    state = torch.mps.get_rng_state()
    # ATen's own Philox of (seed, offset), ten rounds, in the words 1 to 4.
    assert state[:28].view(torch.int32).tolist()[1:5] == _ten_rounds(SEED, FIRST)
    assert not torch.equal(module(x)[0], first)
    assert torch.equal(draw_by_default(lambda: module(x)[0], moves=1), first)
    module.eval()
    draw_by_default(lambda: module(x), moves=0)


def _ten_rounds(seed, offset):
    counter = [offset & 0xFFFFFFFF, offset >> 32, 0, 0]
    key = [seed & 0xFFFFFFFF, seed >> 32]
    for _ in range(10):
        p, q = counter[0] * 0xD2511F53, counter[2] * 0xCD9E8D57
        counter = [
            (q >> 32) ^ counter[1] ^ key[0],
            q & 0xFFFFFFFF,
            (p >> 32) ^ counter[3] ^ key[1],
            p & 0xFFFFFFFF,
        ]
        key = [(key[0] + 0x9E3779B9) & 0xFFFFFFFF, (key[1] + 0xBB67AE85) & 0xFFFFFFFF]
    return np.array(counter, np.uint32).view(np.int32).tolist()


@pytest.mark.parametrize("rows", [None, 3])
def test_multinomial_with_replacement(rows):
    shape = (40,) if rows is None else (rows, 40)
    # Multiples of 1/64, so that sums are exact in any order.
    weights = torch.arange(1, np.prod(shape) + 1, device="mps").reshape(shape).float() / 64
    drawn = draw(
        lambda g: torch.multinomial(weights, 11, True, generator=g),
        moves=blocks_of(11 * (rows or 1)),
    )
    sums = weights.cpu().reshape(-1, 40).cumsum(1)
    u = torch.from_numpy(philox.uniform(SEED, FIRST, 11 * (rows or 1))).reshape(-1, 11)
    expected = torch.searchsorted(sums, u * sums[:, -1:]).clamp(max=39)
    assert torch.equal(drawn.reshape(-1, 11), expected)


@pytest.mark.parametrize("samples", [1, 5])
def test_multinomial_without_replacement(samples):
    weights = torch.linspace(0.1, 3, 60, device="mps").reshape(2, 30)
    drawn = draw(lambda g: torch.multinomial(weights, samples, generator=g), moves=15)
    q = empty(2, 30).exponential_(1, generator=generator())
    assert torch.equal(drawn, (weights / q).topk(samples).indices.cpu())


# ---- layouts


def test_a_dense_tensor_is_filled_in_the_order_of_its_memory():
    transposed = empty(5, 7).t()
    transposed.uniform_(generator=generator())
    expected = torch.from_numpy(philox.uniform(SEED, FIRST, 35)).reshape(5, 7).t()
    assert torch.equal(transposed.cpu(), expected)


def test_any_other_tensor_is_filled_in_the_order_of_its_elements():
    whole = torch.zeros(5, 8, device="mps")
    whole[:, :7].uniform_(generator=generator())
    expected = torch.from_numpy(philox.uniform(SEED, FIRST, 35)).reshape(5, 7)
    assert torch.equal(whole[:, :7].cpu(), expected)
    assert whole[:, 7].tolist() == [0] * 5
    p = torch.full((5, 7), 0.5, device="mps")
    whole[:, :7].bernoulli_(p, generator=generator())
    assert torch.equal(whole[:, :7].cpu(), (expected < 0.5).float())
    assert whole[:, 7].tolist() == [0] * 5


def test_a_view_with_an_offset_is_filled_in_place():
    whole = torch.zeros(20, device="mps")
    whole[3:12].uniform_(generator=generator())
    assert np.array_equal(whole[3:12].cpu().numpy(), philox.uniform(SEED, FIRST, 9))
    assert whole[:3].tolist() + whole[12:].tolist() == [0] * 11


def test_dropout_keeps_the_layout():
    x = torch.ones(2, 3, 4, 5, device="mps").to(memory_format=torch.channels_last)
    out, mask = torch.native_dropout(x, 0.5, True)
    assert out.stride() == mask.stride() == x.stride()


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_the_number_of_threads_does_not_matter(threads):
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        drawn = torch.randn(300_001, device="mps", generator=generator())
    finally:
        torch.set_num_threads(before)
    pieces = generator()
    parts = [torch.randn(n, device="mps", generator=pieces) for n in (4, 36, 100_000, 199_961)]
    assert torch.equal(drawn, torch.cat(parts))


def test_nothing_is_drawn_for_an_empty_tensor():
    for operator in (torch.Tensor.uniform_, torch.Tensor.normal_, torch.Tensor.random_):
        draw(lambda g, o=operator: o(empty(0), generator=g), moves=0)


def _free_bytes():
    lines = Path("/proc/meminfo").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable"))


@pytest.mark.skipif(_free_bytes() < 5 * 2**30, reason="needs 5 GiB of free memory")
def test_more_than_two_gigabytes_are_drawn_in_halves():
    count = 2**31 + 6
    half = count // 2
    own = generator()
    drawn = empty(count, dtype=torch.bool).bernoulli_(0.5, generator=own)
    second = FIRST + blocks_of(half)
    assert own.get_offset() == second + blocks_of(half)
    for at, block in ((0, FIRST), (half, second), (half + 4000, second + 1000)):
        expected = philox.uniform(SEED, block, 20) < np.float32(0.5)
        assert drawn[at : at + 20].tolist() == expected.tolist()
    end = philox.uniform(SEED, second + half // 4, half % 4) < np.float32(0.5)
    assert drawn[-(half % 4) :].tolist() == end.tolist()
