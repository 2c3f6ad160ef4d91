"""The text that NVRTC gets: which memory each parameter is in, how the kernel is entered."""

from __future__ import annotations

from openmps.emit.cuda import emit_cuda_kernel, may_be_inline
from openmps.msl.library import Library, parse_library


def library_of(parameters: str, *, attribute: str = "", body: str = "") -> Library:
    return parse_library(
        f"#include <metal_stdlib>\nusing namespace metal;\n{attribute}\n"
        f"kernel void f({parameters}) {{ {body} }}\n"
    )


def text_of(parameters: str, **more: str) -> str:
    library = library_of(parameters, **more)
    return emit_cuda_kernel(library, library.kernels["f"])


def call_in(text: str) -> str:
    return next(line for line in text.splitlines() if line.startswith("OPENMPS_CUDA_CALL("))


def test_each_parameter_says_where_its_value_comes_from() -> None:
    text = text_of(
        "device float* y, constant float& a, const constant uint* n [[buffer(7)]], "
        "threadgroup float* cells [[threadgroup(2)]], uint i [[thread_position_in_grid]]"
    )
    assert call_in(text) == (
        "OPENMPS_CUDA_CALL(run_group, (&msl::f), 0, msl::openmps_slot::constant + 1, "
        "msl::openmps_slot::constant + 7, msl::openmps_slot::threadgroup + 2, "
        "msl::openmps_slot::thread_position_in_grid)"
    )


def test_only_constant_buffers_may_be_inline() -> None:
    library = library_of(
        "device float* y, constant float& a, device const float* x, threadgroup float* cells, "
        "uint i [[thread_position_in_grid]]"
    )
    parameters = library.kernels["f"].parameters
    assert [may_be_inline(parameter) for parameter in parameters] == [False, True] + 3 * [False]


def test_kernels_that_only_look_at_the_grid_take_the_short_way() -> None:
    at_grid = "device float* y, uint i [[thread_position_in_grid]]"
    assert "OPENMPS_CUDA_CALL(run_grid, " in text_of(at_grid)
    at_group = "device float* y, uint i [[thread_position_in_threadgroup]]"
    assert "OPENMPS_CUDA_CALL(run_group, " in text_of(at_group)
    assert "OPENMPS_CUDA_CALL(run_group, " in text_of(at_grid, body="y[i] = simd_sum(y[i]);")


def test_threads_are_bounded_by_what_the_kernel_says_and_by_1024() -> None:
    text = text_of("device float* y", attribute="[[max_total_threads_per_threadgroup(96)]]")
    assert "openmps_asked = unsigned(96);" in text
    assert "openmps_limit = openmps_asked < 1024u ? openmps_asked : 1024u;" in text
    assert text.endswith("OPENMPS_CUDA_ENTRY(msl::, msl::openmps_limit)\n")
    assert "openmps_asked = unsigned(1024);" in text_of("device float* y")


def test_a_kernel_is_called_where_it_lives() -> None:
    library = parse_library(
        "namespace a { namespace b {\n"
        "template <typename T> kernel void f(device T* y) { y[0] = T(1); }\n"
        'template [[host_name("f_half")]] kernel void f<half>(device half*);\n'
        "} }\n"
    )
    text = emit_cuda_kernel(library, library.kernels["f_half"])
    assert "\nnamespace msl { namespace a { namespace b { \n" in text
    assert call_in(text) == "OPENMPS_CUDA_CALL(run_grid, (&msl::a::b::f < half >), 0)"
    assert text.endswith("OPENMPS_CUDA_ENTRY(msl::a::b::, msl::a::b::openmps_limit)\n")


def test_halves_are_told_whether_products_and_sums_may_be_fused() -> None:
    library = library_of("device half* y")
    fused = emit_cuda_kernel(library, library.kernels["f"], contract=True)
    exact = emit_cuda_kernel(library, library.kernels["f"], contract=False)
    assert fused == "#define OPENMPS_CONTRACT 1\n" + exact
    assert "OPENMPS_CONTRACT" not in exact
