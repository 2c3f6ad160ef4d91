"""C++ extensions with Metal kernels: ATen/native/mps/MetalShaderLibrary.h, from source to numbers.

The extension is built once for the module, which takes half a minute.
"""

from __future__ import annotations

import ctypes
import os
import shutil
import sys
import sysconfig
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.torch_version import TorchVersion

from openmps.build.compiler import find_compiler
from openmps.device.extensions import declared
from openmps.errors import CompilerNotFound
from openmps.shader import launches

NEWEST_FORM = TorchVersion(torch.__version__) >= "2.13"
HAS_VEC4 = torch.__version__.startswith("2.12.")
FUNCTIONS = [
    "open_library", "open_bundled", "names", "limits", "fill", "complain", "forget_to_start",
    "fill_by_address", "fill_with", "unary", "binary", "ternary",
]  # fmt: skip
if NEWEST_FORM:
    FUNCTIONS += ["open_binary", "has", "convert"]
if HAS_VEC4:
    FUNCTIONS += ["unary_vec4"]


def needs(what: str) -> pytest.MarkDecorator:
    return pytest.mark.needs_torch("2.13", f"has no {what} in MetalShaderLibrary.h")


ILP, NATURAL = "ilp_threshold", "natural_output_dtype"
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def extension(tmp_path_factory: pytest.TempPathFactory) -> Any:
    from torch.utils.cpp_extension import load_inline

    beside_python = str(Path(sys.executable).parent)  # where pip puts ninja
    path = os.environ["PATH"] + os.pathsep + beside_python
    if shutil.which("ninja", path=path) is None:
        pytest.skip("ninja is not installed, which torch needs to build extensions")
    try:
        compiler = find_compiler()
    except CompilerNotFound as error:
        pytest.skip(str(error))
    if not Path(sysconfig.get_paths()["include"], "Python.h").exists():
        pytest.skip("Python's headers are not installed")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PATH", path)
        patch.setenv("CXX", compiler.path)
        return load_inline(
            name="openmps_test_extension",
            cpp_sources=(Path(__file__).parent / "extension.cpp").read_text(),
            functions=FUNCTIONS,
            build_directory=str(tmp_path_factory.mktemp("extension")),
            no_implicit_headers=True,
        )


SOURCE = """
#include <c10/metal/indexing.h>
#include <c10/metal/error.h>
using namespace metal;

kernel void spread(device float* out, constant float* values, constant long& number,
                   uint2 at [[thread_position_in_grid]], uint2 size [[threads_per_grid]]) {
    out[at.y * size.x + at.x] = values[at.x % 3] + number + 100 * at.y;
}
kernel void many(device float* out, constant float* values, constant long& number,
                 uint i [[thread_position_in_grid]], uint size [[threads_per_threadgroup]]) {
    threadgroup float shared[64];
    shared[i % 64] = values[i % 2] * number;
    out[i] = shared[i % 64] + size;
}
kernel void complaint(device c10::metal::ErrorMessages* errors,
                      uint i [[thread_position_in_grid]]) {
    if (i == 2) TORCH_REPORT_ERROR(errors, "thread ", i, " is not happy");
}
kernel void through(constant ulong& address, uint i [[thread_position_in_grid]]) {
    reinterpret_cast<device float*>(address)[i] = 2 * i;
}

struct twice_functor { template <typename T> inline T operator()(const T x) { return x + x; } };
REGISTER_UNARY_OP(twice, float, float);
REGISTER_UNARY_OP(twice, int, int);
#ifdef REGISTER_UNARY_VEC4_OP
REGISTER_UNARY_VEC4_OP(twice, float, float);
#endif
struct times_functor {
    template <typename T, typename A> inline T operator()(const T x, const A a) {
        return static_cast<T>(x * a);
    }
};
REGISTER_UNARY_ALPHA_OP(times, float, float, float);

struct minus_functor {
    template <typename T> inline T operator()(const T a, const T b) { return a - b; }
};
REGISTER_BINARY_OP(minus, float, float);
REGISTER_BINARY_OP(minus, int, int);
struct above_functor {
    template <typename T> inline bool operator()(const T a, const T b) { return a > b; }
};
REGISTER_BINARY_OP(above, float, bool);
#ifdef REGISTER_BINARY_CASTOUT_OP
REGISTER_BINARY_CASTOUT_OP(above, float, bool);
#endif
struct less_functor {
    template <typename T, typename A> inline T operator()(const T a, const T b, const A alpha) {
        return static_cast<T>(a - alpha * b);
    }
};
REGISTER_BINARY_ALPHA_OP(less, float, float, float);

struct middle_functor {
    template <typename T> inline T operator()(const T a, const T b, const T c) {
        return a + b * c;
    }
};
REGISTER_TERNARY_OP(middle, float, float);
"""


@pytest.fixture(scope="module")
def library(extension: Any) -> int:
    # torch.mps.compile_shader puts headers in place of includes; in C++ nobody does.
    from torch.utils._cpp_embed_headers import _embed_headers

    lines = [f"{line}\n" for line in SOURCE.split("\n")]
    source = _embed_headers(lines, [Path(torch.__file__).parent / "include"], set())
    number: int = extension.open_library(source)
    return number


# ---- libraries and kernels


def test_names(extension: Any, library: int) -> None:
    names = extension.names(library)
    assert {"spread", "twice_dense_float_float", "less_strided_float_float_float"} <= set(names)


@needs("hasFunction")
def test_whether_a_name_is_there(extension: Any, library: int) -> None:
    assert extension.has(library, "spread")
    assert not extension.has(library, "sprea")


def test_limits(extension: Any, library: int) -> None:
    assert extension.limits(library, "spread") == [1024, 32, 0]
    assert extension.limits(library, "many") == [1024, 32, 256]


def test_a_name_that_is_not_there(extension: Any, library: int) -> None:
    with pytest.raises(RuntimeError) as error:
        extension.limits(library, "absent")
    assert str(error.value) == "Failed to create function state object for: absent"


def test_a_syntax_error(extension: Any) -> None:
    with pytest.raises(SyntaxError, match="no_such_type"):
        extension.open_library("kernel void f(device no_such_type* x) {}")


@needs("PrecompiledMetalShaderLibrary")
def test_a_binary_library(extension: Any) -> None:
    with pytest.raises(RuntimeError, match=r"^Failed to load metallib from '/x\.m': a binary"):
        extension.open_binary("/x.m")


def test_the_library_that_only_a_mac_has(extension: Any) -> None:
    with pytest.raises(NotImplementedError, match="getBundledLibrary"):
        extension.open_bundled()


def test_a_source_with_a_parameter(extension: Any) -> None:
    source = "kernel void f(device {0}* x, uint i [[thread_position_in_grid]]) {{ x[i] = i; }}"
    for dtype, name in ((torch.int32, "int"), (torch.float16, "half")):
        out = torch.zeros(5, dtype=dtype, device="mps")
        extension.fill_with(source, name, out)
        assert out.tolist() == [0, 1, 2, 3, 4]


# ---- launches put together by hand


def test_tensors_numbers_and_lists_are_bound(extension: Any, library: int) -> None:
    out = torch.full((14,), -1.0, device="mps")
    view = out[2:]
    extension.fill(library, "spread", view, [1.0, 2.0, 3.0], 10, [4, 3], None)
    expected = [100 * y + 10 + value for y in range(3) for value in (1, 2, 3, 1)]
    assert out.tolist() == [-1, -1, *expected]


@pytest.mark.parametrize(("threads", "group", "seen"), [(300, None, 300), (3000, None, 1024),
                                                         (300, [64], 64)])  # fmt: skip
def test_threadgroups(
    extension: Any, library: int, threads: int, group: list[int] | None, seen: int
) -> None:
    out = torch.zeros(threads, device="mps")
    extension.fill(library, "many", out, [1.0, 2.0], 5, [threads], group)
    assert out[:2].tolist() == [5 + seen, 10 + seen]


@pytest.mark.parametrize(
    ("threads", "group", "kind", "text"),
    [
        ([8], [1025], ValueError, "Threadgroup size exceeds 1024 limit"),
        ([8, 8], [64, 64], ValueError, "Threadgroup size exceeds 1024 limit"),
        ([8, 8], [8], RuntimeError, "size and group_size must have same number of dimensions"),
        ([], None, RuntimeError, "Dispatch dimensions must be less than 3 and non-empty"),
        ([1] * 4, None, RuntimeError, "Dispatch dimensions must be less than 3 and non-empty"),
    ],
)
def test_sizes_that_are_refused(
    extension: Any, library: int, threads: list[int], group: Any, kind: type, text: str
) -> None:
    with pytest.raises(kind) as error:
        extension.fill(library, "spread", torch.ones(64, device="mps"), [1.0], 1, threads, group)
    assert type(error.value) is kind
    assert str(error.value) == text


def test_a_cpu_tensor_is_refused(extension: Any, library: int) -> None:
    with pytest.raises(RuntimeError) as error:
        extension.fill(library, "spread", torch.ones(64), [1.0], 1, [1, 1], None)
    assert str(error.value) == "Passed CPU tensor to MPS op"


def test_too_many_bytes_for_a_copy(extension: Any, library: int) -> None:
    with pytest.raises(ValueError, match=r"at most 4096 bytes, but 'spread' was given 4100"):
        extension.fill(library, "spread", torch.ones(4, device="mps"), [1.0] * 1025, 1, [1], None)


def test_dispatching_before_encoding(extension: Any, library: int) -> None:
    with pytest.raises(RuntimeError, match=r"before startEncoding\(\)"):
        extension.forget_to_start(library, "spread", torch.ones(4, device="mps"))


def test_reported_errors_come_at_the_next_wait(extension: Any, library: int) -> None:
    extension.complain(library, "complaint", 2)
    torch.mps.synchronize()
    extension.complain(library, "complaint", 3)
    with pytest.raises(torch.AcceleratorError, match="thread 2 is not happy"):
        torch.mps.synchronize()


def test_an_address_inside_a_struct(extension: Any, library: int) -> None:
    out = torch.zeros(6, device="mps")
    extension.fill_by_address(library, "through", out[1:])
    assert out.tolist() == [0, 0, 2, 4, 6, 8]


def test_profilers_and_captures_see_the_launch(extension: Any, library: int) -> None:
    seen: list[launches.Launch] = []
    launches.add(seen.append)
    try:
        extension.fill(library, "spread", mps(12), [1.0, 2.0, 3.0], 1, [4, 3], [4, 2])
    finally:
        launches.observers.pop()
    (launch,) = seen
    assert (launch.kernel.name, launch.grid, launch.group) == ("spread", (4, 3, 1), (4, 2, 1))


def test_threads_do_not_mix_their_arguments(extension: Any, library: int) -> None:
    outs = [torch.zeros(50, 64, device="mps") for _ in range(4)]

    def work(number: int) -> None:
        for row in outs[number]:
            extension.fill(library, "spread", row, [1.0, 1.0, 1.0], number, [64, 1], None)

    workers = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    for number, out in enumerate(outs):
        assert (out == number + 1).all()


# ---- launches for an iterator


def mps(*shape: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    values = torch.arange(1, 1 + torch.Size(shape).numel()).reshape(shape)
    return values.to(dtype).to("mps")


@pytest.mark.parametrize(
    ("a", "b"),
    [
        (mps(8), mps(8)),
        (mps(16)[::2], mps(8)),
        (mps(4, 6).T, mps(6, 4)),
        (mps(8, dtype=torch.int32), mps(8)),
        (mps(16, dtype=torch.int32)[::2], mps(8)),
        (mps(8), mps(1)[0]),
        (mps(1)[0], mps(8)),
        (mps(8), mps(1, dtype=torch.int64)[0]),
        (mps(8, dtype=torch.int32), mps(1)[0]),
        (mps(4, 3), mps(3)),
        (mps(3), mps(4, 3)),
        (mps(4, 3, dtype=torch.int32), mps(3)),
        (mps(8), torch.tensor(2.5)),
        (torch.tensor(2.5, dtype=torch.float64), mps(8)),
        (mps(2, 1, 4), mps(3, 1)),
        (mps(0), mps(0)),
        (mps(1)[0], mps(1)[0]),
    ],
)
def test_two_inputs(extension: Any, library: int, a: torch.Tensor, b: torch.Tensor) -> None:
    expected = a.cpu() - b.cpu()
    for ilp in (None, 1) if NEWEST_FORM else (None,):
        out = extension.binary(library, "minus", a, b, None, None, None, ilp)
        assert torch.equal(out.cpu(), expected)


@pytest.mark.parametrize("b", [mps(8), mps(16)[::2], mps(1)[0], mps(8, dtype=torch.int32)])
def test_two_inputs_and_a_factor(extension: Any, library: int, b: torch.Tensor) -> None:
    out = extension.binary(library, "less", mps(8), b, None, 3.0, None, None)
    assert torch.equal(out.cpu(), torch.arange(1.0, 9) - 3 * b.cpu())


@needs(NATURAL)
@pytest.mark.parametrize("dtype", [torch.bool, torch.float32, torch.int32, torch.uint8], ids=str)
def test_comparisons_store_what_was_asked_for(
    extension: Any, library: int, dtype: torch.dtype
) -> None:
    a, b = mps(5), mps(10, dtype=torch.int32)[::2].flip(0)
    out = torch.empty(5, dtype=dtype, device="mps")
    extension.binary(library, "above", a, b, out, None, torch.bool, None)
    assert torch.equal(out.cpu(), (a.cpu() > b.cpu()).to(dtype))


# What torch looks for before 2.13, where that is another kernel.
FIRST_FORM = {
    "dense_cast_float_float": "dense_cast_float",
    "strided_cast_float_float": "strided_cast_float",
    "dense_scalar_cast_float_float": "dense_scalar_cast_float",
    "dense_scalar_cast_half_half": "dense_scalar_cast_half",
    "dense_scalar_float2_float2": "dense_scalar_cast_float2",
    # 2.11 does not convert the factor
    "dense_cast_half_half_half": "dense_cast_half_half" if HAS_VEC4 else "dense_cast_half_float",
}


@pytest.mark.parametrize(
    ("a", "b", "options", "expected"),
    [
        (mps(8), mps(8), {}, "dense_float_float"),
        (mps(16)[::2], mps(8), {}, "strided_float_float"),
        (mps(8, dtype=torch.int32), mps(8), {}, "dense_cast_float_float"),
        (mps(8, dtype=torch.int32)[::2], mps(4), {}, "strided_cast_float_float"),
        (mps(8), mps(1)[0], {}, "dense_scalar_float_float"),
        (mps(1)[0], mps(8), {}, "dense_scalar_lhs_float_float"),
        (mps(8, dtype=torch.int32), mps(1)[0], {}, "dense_scalar_cast_float_float"),
        (mps(8, dtype=torch.float16), mps(1, dtype=torch.int64)[0], {},
         "dense_scalar_cast_half_half"),
        (mps(8, dtype=torch.complex64), mps(1, dtype=torch.int64)[0], {},
         "dense_scalar_float2_float2"),
        (mps(4, 3), mps(3), {}, "dense_broadcast_float_float"),
        (mps(3), mps(4, 3), {}, "dense_broadcast_rhs_float_float"),
        (mps(4, 3), mps(4, 1), {}, "strided_float_float"),
        (mps(8), mps(8), {"alpha": 2.0}, "dense_float_float_float"),
        (mps(8), mps(8, dtype=torch.int32), {"alpha": 2.0, "out": mps(8, dtype=torch.float16)},
         "dense_cast_half_half_half"),
        pytest.param(mps(8), mps(8), {"ilp": 8}, "dense_ilp4_float_float", marks=needs(ILP)),
        pytest.param(mps(8), mps(8), {"ilp": 9}, "dense_float_float", marks=needs(ILP)),
        pytest.param(mps(8), mps(8), {"alpha": 2.0, "ilp": 1}, "dense_float_float_float",
                     marks=needs(ILP)),
        pytest.param(mps(8), mps(8), {"out": mps(8), "natural": torch.bool},
                     "strided_castout_bool_float", marks=needs(NATURAL)),
        pytest.param(mps(8), mps(8), {"out": mps(8, dtype=torch.bool), "natural": torch.bool},
                     "dense_bool_float", marks=needs(NATURAL)),
    ],
)  # fmt: skip
def test_which_kernel_is_looked_for(
    extension: Any,
    library: int,
    a: torch.Tensor,
    b: torch.Tensor,
    options: dict[str, Any],
    expected: str,
) -> None:
    rest = [options.get(name) for name in ("out", "alpha", "natural", "ilp")]
    with pytest.raises(RuntimeError) as error:
        extension.binary(library, "absent", a, b, *rest)
    name = expected if NEWEST_FORM else FIRST_FORM.get(expected, expected)
    assert str(error.value) == f"Failed to create function state object for: absent_{name}"


@pytest.mark.parametrize("x", [mps(9), mps(6, 4).T[::2], mps(3, dtype=torch.int32), mps(1)[0]])
def test_one_input(extension: Any, library: int, x: torch.Tensor) -> None:
    out = extension.unary(library, "twice", x, None, None, None)
    assert out.dtype == x.dtype
    assert torch.equal(out.cpu(), x.cpu() * 2)


def test_one_large_input(extension: Any, library: int) -> None:
    x = mps(2**18 + 3)  # from 2**18 elements on, another kernel runs
    assert torch.equal(extension.unary(library, "twice", x, None, None, None).cpu(), x.cpu() * 2)


@pytest.mark.skipif(not HAS_VEC4, reason=f"torch {torch.__version__} has no supports_vec4")
@pytest.mark.parametrize("x", [mps(9), mps(8), mps(6, 4).T[::2], mps(3, dtype=torch.int32)])
def test_one_input_four_elements_a_thread(extension: Any, library: int, x: torch.Tensor) -> None:
    assert torch.equal(extension.unary_vec4(library, "twice", x, None).cpu(), x.cpu() * 2)


@pytest.mark.skipif(not HAS_VEC4, reason=f"torch {torch.__version__} has no supports_vec4")
@pytest.mark.parametrize(
    ("x", "alpha", "expected"),
    [
        (mps(8), None, "dense_vec4_float_float"),
        (mps(8, dtype=torch.float16), None, "dense_vec4_half_half"),
        (mps(8, dtype=torch.int32), None, "dense_int_int"),
        (mps(8), 2.0, "dense_float_float_float"),
        (mps(8)[::2], None, "strided_float_float"),
    ],
)
def test_when_a_thread_takes_four_elements(
    extension: Any, library: int, x: torch.Tensor, alpha: float | None, expected: str
) -> None:
    with pytest.raises(RuntimeError, match=f"object for: absent_{expected}$"):
        extension.unary_vec4(library, "absent", x, alpha)


@needs(ILP)
@pytest.mark.parametrize("x", [mps(7), mps(5, 4).T])
@pytest.mark.parametrize("ilp", [None, 1])
def test_one_input_stored_as_another_type(
    extension: Any, library: int, x: torch.Tensor, ilp: int | None
) -> None:
    out = torch.empty(x.shape, dtype=torch.int16, device="mps")
    extension.unary(library, "twice", x, out, None, ilp)
    assert torch.equal(out.cpu(), (x.cpu() * 2).short())


@pytest.mark.parametrize("x", [mps(7), mps(5, 4).T[1:]])
def test_one_input_and_a_factor(extension: Any, library: int, x: torch.Tensor) -> None:
    out = extension.unary(library, "times", x, None, 2.5, None)
    assert torch.equal(out.cpu(), x.cpu() * 2.5)


@pytest.mark.parametrize(
    ("a", "b", "c"),
    [
        (mps(6), mps(6), mps(6)),
        (mps(12)[::2], mps(6), mps(1)),
        (mps(6, dtype=torch.int32), mps(6), mps(6, dtype=torch.float16)),
        (mps(3, 4).T, mps(4, 3, dtype=torch.int64), mps(3)),
    ],
)
def test_three_inputs(
    extension: Any, library: int, a: torch.Tensor, b: torch.Tensor, c: torch.Tensor
) -> None:
    out = extension.ternary(library, "middle", a, b, c)
    assert torch.equal(out.cpu(), a.cpu() + b.cpu() * c.cpu())


@needs("exec_unary_kernel_raw")
@pytest.mark.parametrize("ilp", [None, 1])
def test_conversion_between_buffers(extension: Any, library: int, ilp: int | None) -> None:
    source, out = mps(12), torch.zeros(8, dtype=torch.int64, device="mps")
    extension.convert(library, "twice", source[3:9], out[1:7], ilp)
    assert out.tolist() == [0, 8, 10, 12, 14, 16, 18, 0]


# ---- the library that extensions find


CONNECT = "openmps_connect_metal"


def test_only_these_classes_become_visible() -> None:
    everything = ctypes.CDLL(None)
    assert hasattr(everything, CONNECT)
    assert hasattr(everything, "_ZN2at6native3mps19MetalKernelFunction13startEncodingEv")
    # torch's own symbols stay private to those that are linked against it
    assert not hasattr(everything, "_ZN3c1019GetCPUCachingAllocatorEv")
    assert not hasattr(everything, "_ZN3c1015GetCPUAllocatorEv")


def test_a_process_with_an_open_library_ends_well(
    extension: Any, python: Callable[..., Any], tmp_path: Path
) -> None:
    program = f"""
import importlib.machinery, importlib.util, openmps
openmps.activate()
import torch
loader = importlib.machinery.ExtensionFileLoader({extension.__name__!r}, {extension.__file__!r})
spec = importlib.util.spec_from_loader(loader.name, loader)
extension = importlib.util.module_from_spec(spec)
loader.exec_module(extension)
text = "kernel void f(device float* x, uint i [[thread_position_in_grid]]) {{ x[i] = i; }}"
number = extension.open_library(text)
out = torch.zeros(3, device="mps")
extension.fill(number, "f", out, [0.0], 0, [3], None)
print(out.tolist())
"""
    done = python("-c", program)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "[0.0, 1.0, 2.0]\n"


HEADER_OF_2_11 = """
class MetalShaderLibrary {
  void exec_unary_kernel(
      TensorIteratorBase& iter,
      const std::string& name,
      const std::optional<c10::Scalar> alpha = std::nullopt,
      const std::optional<c10::ScalarType> scalar_arg_type = std::nullopt);
  void exec_binary_kernel(
      TensorIteratorBase& iter,
      const std::string& name,
      const std::optional<c10::Scalar> alpha = std::nullopt,
      const std::optional<c10::ScalarType> scalar_arg_type = std::nullopt);
  void exec_ternary_kernel(TensorIteratorBase& iter, const std::string& name);
};
"""


def test_the_header_says_which_form_the_classes_have(tmp_path: Path) -> None:
    header = tmp_path / "ATen" / "native" / "mps" / "MetalShaderLibrary.h"
    header.parent.mkdir(parents=True)
    header.write_text(HEADER_OF_2_11)
    assert declared(tmp_path) == []
    header.write_text("void exec_unary_kernel(int a, bool supports_vec4 = false);\n")
    assert declared(tmp_path) == ["-DOPENMPS_HAS_UNARY_VEC4"]
    header.write_text(
        "bool hasFunction(const std::string& fname);\n"
        "void exec_unary_kernel_raw(std::string_view name, MTLBuffer_t src_buf);\n"
        "void exec_unary_kernel(int a, const std::optional<uint32_t> ilp_threshold = x);\n"
        "void exec_ternary_kernel(int a, const std::optional<c10::Scalar> alpha = x);\n"
    )
    assert declared(tmp_path) == [
        "-DOPENMPS_HAS_FUNCTION",
        "-DOPENMPS_HAS_UNARY_ILP",
        "-DOPENMPS_HAS_TERNARY_ALPHA",
        "-DOPENMPS_HAS_UNARY_RAW=std::string_view",
    ]
