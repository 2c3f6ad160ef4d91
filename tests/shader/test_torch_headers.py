"""Shaders that include the Metal headers shipped with torch, as Inductor's do."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch

METAL = {
    torch.float32: "float",
    torch.float16: "half",
    torch.bfloat16: "bfloat",
    torch.int32: "int",
    torch.int64: "long",
}


@pytest.mark.parametrize(
    "header",
    ["atomic", "common", "error", "expm1f", "indexing", "igamma", "random", "reduction_utils",
     "special_math", "utils"],
)  # fmt: skip
def test_each_header_compiles_alone(header: str) -> None:
    assert dir(torch.mps.compile_shader(f"#include <c10/metal/{header}.h>")) == []


@pytest.mark.needs_torch("2.12", "has a mistake in c10/metal/random.h that biases its numbers")
def test_normal_numbers() -> None:
    library = torch.mps.compile_shader("""
        #include <c10/metal/random.h>
        kernel void normal(device float* out, constant long& seed,
                           uint i [[thread_position_in_grid]])
        { out[i] = c10::metal::randn(seed, i); }
    """)
    out = torch.empty(50_000, device="mps")
    again = torch.empty_like(out)
    other = torch.empty_like(out)
    library.normal(out, 7)
    library.normal(again, 7)
    library.normal(other, 8)
    assert abs(out.mean().item()) < 0.02
    assert abs(out.std().item() - 1) < 0.02
    assert torch.equal(out, again)
    assert not torch.equal(out, other)


REDUCE = """
#include <c10/metal/reduction_utils.h>
kernel void sums(device {0}* out, constant {0}* in, uint i [[thread_position_in_grid]]) {{
    out[i] = c10::metal::simd_sum(in[i]);
}}
kernel void largest(device {0}* value, device int* place, constant {0}* in,
                    uint i [[thread_position_in_grid]]) {{
    auto found = c10::metal::simd_argmax(in[i]);
    value[i] = found.first;
    place[i] = found.second;
}}
"""


@pytest.mark.parametrize("dtype", METAL, ids=METAL.values())
@pytest.mark.parametrize("lanes", [1, 28, 31, 32])
def test_reductions_of_a_simdgroup_with_some_lanes(dtype: torch.dtype, lanes: int) -> None:
    library = torch.mps.compile_shader(REDUCE.format(METAL[dtype]))
    # Small integers: any order of addition gives the same sum.
    values = torch.randint(-9, 9, (lanes,), generator=torch.Generator().manual_seed(lanes))
    x = values.to("mps", dtype)
    sums, largest = torch.empty_like(x), torch.empty_like(x)
    place = torch.empty(lanes, dtype=torch.int32, device="mps")
    library.sums(sums, x)
    library.largest(largest, place, x)
    assert sums.tolist() == [values.sum().item()] * lanes
    assert largest.tolist() == [values.max().item()] * lanes
    assert place.tolist() == [values.argmax().item()] * lanes


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
def test_not_a_number_is_the_largest(dtype: torch.dtype) -> None:
    library = torch.mps.compile_shader(REDUCE.format(METAL[dtype]))
    x = torch.arange(28, device="mps").to(dtype)
    x[11] = math.nan
    largest = torch.empty_like(x)
    place = torch.empty(28, dtype=torch.int32, device="mps")
    library.largest(largest, place, x)
    assert largest.isnan().all()
    assert place.tolist() == [11] * 28


@pytest.mark.needs_torch("2.13", "multiplies complex numbers part by part in its Metal headers")
def test_complex_sums_and_products() -> None:
    library = torch.mps.compile_shader("""
        #include <c10/metal/reduction_utils.h>
        kernel void sums(device float2* out, constant float2* in,
                         uint i [[thread_position_in_grid]])
        { out[i] = c10::metal::simd_sum(in[i]); }
        kernel void products(device float2* out, constant float2* in,
                             uint i [[thread_position_in_grid]])
        { out[i] = c10::metal::simd_prod(in[i]); }
    """)
    x = torch.ones(32, dtype=torch.complex64, device="mps")
    x[3], x[17], x[30] = 2 + 1j, -1 + 3j, 1j
    out = torch.empty_like(x)
    library.sums(out, x)
    assert out.tolist() == [x.sum().item()] * 32
    library.products(out, x, threads=(32,), group_size=(32,))
    assert abs(out[0].item() - (2 + 1j) * (-1 + 3j) * 1j) < 1e-5


@pytest.mark.parametrize(
    "dtype", [torch.float32, torch.float16, torch.bfloat16, torch.int32], ids=str
)
def test_atomic_additions(dtype: torch.dtype) -> None:
    name = METAL[dtype]
    library = torch.mps.compile_shader(f"""
        #include <c10/metal/atomic.h>
        using namespace c10::metal;
        kernel void scatter(device AtomicType<{name}>::type* out, constant {name}* in,
                            constant int* place, uint i [[thread_position_in_grid]]) {{
            AtomicType<{name}>::atomic_add(out, place[i], in[i]);
        }}
    """)
    place = torch.tensor([0, 3, 3, 1, 0, 3, 5, 5] * 4, dtype=torch.int32, device="mps")
    x = torch.ones(32, device="mps").to(dtype)
    out = torch.arange(6, device="mps").to(dtype)
    library.scatter(out, x, place, threads=32)
    assert out.tolist() == [8, 5, 2, 15, 4, 13]


@pytest.mark.parametrize("divisor", [1, 3, 6, 7, 64])
def test_the_remainder_that_apple_s_compiler_needs_help_with(divisor: int) -> None:
    library = torch.mps.compile_shader("""
        #include <c10/metal/utils.h>
        kernel void rest(device int* out, constant uint& n, uint i [[thread_position_in_grid]])
        { out[i] = c10::metal::safe_mod(i * 1000 / 512, n); }
    """)
    out = torch.empty(300, dtype=torch.int32, device="mps")
    library.rest(out, divisor)
    assert torch.equal(out.cpu(), (torch.arange(300) * 1000 // 512 % divisor).int())


@pytest.mark.parametrize(
    ("function", "reference"),
    [
        ("bessel_j0_forward", torch.special.bessel_j0),
        ("erfinv", torch.erfinv),
        ("i0", torch.special.i0),
        ("digamma", torch.digamma),
        ("sinc", torch.sinc),
    ],
)
def test_special_functions(function: str, reference: Any) -> None:
    library = torch.mps.compile_shader(f"""
        #include <c10/metal/special_math.h>
        kernel void f(device float* out, constant float* x, uint i [[thread_position_in_grid]])
        {{ out[i] = c10::metal::{function}(x[i]); }}
    """)
    x = torch.linspace(0.05, 0.95, 50)
    out = torch.empty(50, device="mps")
    library.f(out, x.to("mps"))
    torch.testing.assert_close(out.cpu(), reference(x), rtol=1e-4, atol=1e-5)
