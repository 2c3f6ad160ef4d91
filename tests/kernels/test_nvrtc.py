"""NVRTC takes the CUDA text of every kernel case. Needs NVRTC, and no GPU."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import tomllib

from openmps.emit.cuda import emit_cuda_kernel
from openmps.emit.ptx.make_defined import make_ptx_defined
from openmps.msl.library import LanguageOptions, parse_library
from openmps.targets.cuda import DIALECT, PACKAGE
from openmps.targets.nvrtc import compile_ptx

from .test_kernels import ACCEPTED, kernel_name, label, torch_headers

pytest.importorskip(
    "cuda.bindings.nvrtc", reason="cuda-bindings, which CUDA builds of torch bring, is not here"
)
FLAGS = (*DIALECT, f"-I{PACKAGE / 'include'}")
# The oldest architecture without tensor cores for bfloat and without reductions in one instruction.
OLD = [case for case in ACCEPTED if case.parent.name in ("atomic", "matrix", "simdgroup")]


def ptx_of(source: str, kernel: str = "", *flags: str, arch: str = "sm_90", **options: Any) -> str:
    library = parse_library(source, options=options.pop("language", None))
    name = kernel or next(iter(library.kernels))
    return compiled(emit_cuda_kernel(library, library.kernels[name], **options), arch, flags)


def compiled(text: str, arch: str, flags: tuple[str, ...]) -> str:
    return compile_ptx(text, arch, (*FLAGS, *flags))


def case_ptx(case: Path, arch: str) -> str:
    wanted = tomllib.loads(case.with_suffix(".toml").read_text())
    options = torch_headers() if wanted.get("includes") else LanguageOptions()
    library = parse_library(case.read_text(), options=options)
    name = kernel_name({**wanted, **wanted.get("run", [{}])[0]}, library)
    return compiled(emit_cuda_kernel(library, library.kernels[name]), arch, ())


@pytest.mark.parametrize("case", ACCEPTED, ids=label)
def test_every_case(case: Path) -> None:
    ptx = case_ptx(case, "sm_90")
    assert ".visible .entry openmps_cuda(" in ptx
    assert re.search(r"\t(st|atom|red)\.", ptx), "NVRTC made nothing of it"


@pytest.mark.parametrize("case", OLD, ids=label)
def test_cases_that_differ_on_older_gpus(case: Path) -> None:
    assert ".target sm_75" in case_ptx(case, "sm_75")


HEAD = "#include <metal_stdlib>\nusing namespace metal;\n"
AT = "uint i [[thread_position_in_grid]]"


def test_vectors_move_whole_and_are_known_to_be_aligned() -> None:
    for kind in ("float4", "half4", "uchar4"):
        ptx = ptx_of(
            f"{HEAD}kernel void f(device const {kind}* x, device {kind}* y, {AT}) "
            "{ y[i] = x[i] + x[i]; }"
        )
        assert re.search(r"ld\.global\.v4\.[a-z]\d+", ptx), kind
        assert re.search(r"st\.global\.v4\.[a-z]\d+", ptx), kind
        assert "openmps_off" not in make_ptx_defined(ptx)
        assert "openmps_off" in make_ptx_defined(ptx, 1)


def test_a_vector_at_an_odd_element_is_asked_about() -> None:
    ptx = ptx_of(
        f"{HEAD}kernel void f(device const float* x, device float4* y, {AT}) "
        "{ y[i] = *(device const float4*)(x + 1 + i); }"
    )
    assert make_ptx_defined(ptx).count(".pred %openmps_off;") == 1


def test_products_are_fused_with_sums_unless_the_result_must_be_exact() -> None:
    source = (
        f"{HEAD}kernel void f(device float* y, device half* h, {AT}) {{ "
        "y[i] = y[i] * y[i + 1] + y[i + 2]; h[i] = h[i] * h[i + 1] + h[i + 2]; }"
    )
    fused = ptx_of(source)
    assert "fma.rn.f32" in fused
    assert "mul.f16 " in fused
    exact = ptx_of(source, "", "-fmad=false", contract=False)
    assert "fma.rn" not in exact
    assert "mul.rn.f32" in exact
    assert "mul.rn.f16 " in exact


# Each is a constant to a compiler that takes it that signed integers do not overflow.
OVERFLOWS = (
    "v + 1 > v", "v - 1 < v", "2 * v / 2 == v", "v < 0 && -v < 0", "(v + 5) - 3 > v", "next(v) > v",
    "(k += 1) > v", "(k -= 1) < v", "(k *= 2) / 2 == v", "++k > v", "--k < v", "(k++, k > v)",
    "(k--, k < v)", "l + 1 > l", "l * 2 / 2 == l", "abs(v) < 0", "all(int2(v) + 1 > int2(v))",
    "all(int2(l) * 2 / 2 == int2(l))", "v < 0 && (-int2(v)).x < 0", "v + 1L * l > v + 1L * l - 1",
)  # fmt: skip


@pytest.mark.parametrize("comparison", OVERFLOWS)
def test_signed_integers_may_overflow(comparison: str) -> None:
    ptx = ptx_of(
        f"{HEAD}int next(int v) {{ return v + 1; }}\n"
        f"kernel void f(device const long* x, device bool* y, {AT}) {{ "
        f"long l = x[i]; int v = int(x[i + 1]), k = v; y[i] = {comparison}; }}"
    )
    assert "ld.global" in ptx, "decided without looking"


def test_an_index_keeps_its_constant_part_in_the_instruction() -> None:
    ptx = ptx_of(
        f"{HEAD}kernel void f(device const float* x, device float* y, constant int& n, {AT}) {{ "
        "int at = int(i) * n; y[i] = x[at] + x[at + 1] + x[at + 2]; }"
    )
    addresses = re.findall(r"ld\.global\.f32 \t%f\d+, \[%rd\d+(?:\+(\d+))?\]", ptx)
    assert sorted(addresses) == ["", "4", "8"]


# Every function that include/msl/cuda/builtins.h names, by way of Metal's.
FUNCTIONS = (
    "acos(x)", "acosh(x)", "asin(x)", "asinh(x)", "atan(x)", "atanh(x)", "atan2(x, y)", "ceil(x)",
    "copysign(x, y)", "cos(x)", "cosh(x)", "exp(x)", "exp10(x)", "fabs(x)", "floor(x)",
    "fma(x, y, z)", "fmax(x, y)", "fmin(x, y)", "fmod(x, y)", "frexp(x, k)", "ilogb(x)",
    "ldexp(x, 3)", "log(x)", "log10(x)", "modf(x, z)", "nextafter(x, y)", "pow(x, y)", "rint(x)",
    "round(x)", "sin(x)", "sincos(x, z)", "sinh(x)", "sqrt(x)", "tan(x)", "tanh(x)", "trunc(x)",
    "popcount(k)", "clz(k)", "ctz(k)", "reverse_bits(k)", "addsat(k, j)", "subsat(k, j)",
    "mulhi(k, j)", "popcount(ulong(k))", "clz(ulong(k))", "ctz(ulong(k))",
)  # fmt: skip


@pytest.mark.parametrize("flags", [(), ("--use_fast_math",)], ids=["precise", "fast"])
def test_every_function_computes_something(flags: tuple[str, ...]) -> None:
    """A function that calls itself without end would take all that the kernel does with it."""
    stores = "".join(f"out[{n}] = {call};\n" for n, call in enumerate(FUNCTIONS))
    ptx = ptx_of(
        f"{HEAD}kernel void f(device float* out, device const float* in, device const int* n) {{\n"
        f"float x = in[0], y = in[1], z = in[2]; int k = n[0], j = n[1];\n{stores} }}",
        "",
        *flags,
    )
    offsets = set(re.findall(r"st\.global\.[a-z]\d+ +\t?\[%rd\d+(?:\+(\d+))?\]", ptx))
    assert offsets == {str(4 * n) if n else "" for n in range(len(FUNCTIONS))}


def test_a_nan_is_true_in_a_constant_too() -> None:
    ptx = ptx_of(
        f"{HEAD}kernel void f(device int4* y) "
        "{ y[0] = 5 + int4(bool4(float4(0, 1, NAN, -0.0f))); y[1] = 8 + int4(bool4(NAN)); }"
    )
    constants = dict(re.findall(r"mov\.u32 \t(%r\d+), (\d+);", ptx))
    stored = re.findall(r"st\.global\.v4\.u32 \t\[%rd\d+(?:\+16)?\], {(.*?)}", ptx)
    values = [[constants[register] for register in each.split(", ")] for each in stored]
    assert values == [["5", "6", "6", "5"], ["9"] * 4]


def test_halves_and_bfloats_multiply_on_tensor_cores() -> None:
    source = (
        "{HEAD}kernel void f(device T* a, device float* c) {{ simdgroup_matrix<T, 8, 8> m; "
        "simdgroup_float8x8 s(0); simdgroup_load(m, a, 8); "
        "simdgroup_multiply_accumulate(s, m, m, s); simdgroup_store(s, c, 8); }}"
    )
    for kind, instruction in (
        ("half", "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32"),
        ("bfloat", "mma.sync.aligned.m16n8k8.row.col.f32.bf16.bf16.f32"),
    ):
        text = source.format(HEAD=HEAD).replace("T*", f"{kind}*").replace("<T,", f"<{kind},")
        assert ptx_of(text).count(instruction) == 1
    text = source.format(HEAD=HEAD).replace("T*", "float*").replace("<T,", "<float,")
    assert "mma.sync" not in ptx_of(text)
    assert ptx_of(text).count("fma.rn.f32") == 16


def test_arguments_are_read_from_the_parameter_and_device_memory_is_known() -> None:
    ptx = ptx_of(
        f"{HEAD}kernel void f(device float* y, constant float& a, {AT}) {{ y[i] = a * y[i]; }}"
    )
    assert ".param .align 16 .b8 openmps_cuda_param_0[992]" in ptx
    assert "ld.param.f32" in ptx
    assert not re.search(r"\t(ld|st)\.f32", ptx)
    assert ".maxntid 1024, 1, 1" in ptx
    assert ".local" not in ptx
