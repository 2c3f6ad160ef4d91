"""Python's structures against C++'s: in the headers, and in the tables of the native libraries."""

from __future__ import annotations

import ctypes
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from openmps import layouts
from openmps.device import core
from openmps.errors import OpenmpsError
from openmps.shader import extension
from openmps.targets import cpu_runtime, cuda_driver
from openmps.targets.base import DISPATCH_BYTES, dispatch_struct, sizes_of

PACKAGE = Path(layouts.__file__).parent
STRUCTURES = [
    found
    for found in vars(layouts).values()
    if isinstance(found, type)
    and issubclass(found, ctypes.Structure)
    and not found.__name__.startswith("_")
]
CONSTANTS = {
    "kBuffers": layouts.BUFFERS,
    "kMetalBuffers": layouts.BUFFERS,
    "kSimdWidth": layouts.SIMD_WIDTH,
    "kInlineBytes": layouts.INLINE_BYTES,
}


def headers() -> list[Path]:
    (calls,) = (PACKAGE / "csrc").rglob("shader_calls.h")
    return [PACKAGE / "csrc_runtime" / "api.h", PACKAGE / "csrc_cuda" / "launch.h", calls]


@pytest.fixture(scope="module")
def in_cpp(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[int, int]]:
    """What a compiler makes of the headers: the value of each constant, and each field's place."""
    compiler = shutil.which("c++")
    if compiler is None:
        pytest.skip("needs a C++ compiler")
    lines = [f'#include "{header}"' for header in headers()]
    lines += ["#include <cstddef>", "#include <cstdio>", "using namespace openmps;", "int main() {"]
    lines += [f'printf("{name} %u 0\\n", unsigned({name}));' for name in CONSTANTS]
    for structure in STRUCTURES:
        kind = structure.__name__
        for name in layouts.places(structure):
            _, dot, field = name.partition(".")
            place = f"offsetof({kind}, {field}), sizeof({kind}::{field})"
            place = place if dot else f"size_t(0), sizeof({kind})"
            lines.append(f'printf("{name} %zu %zu\\n", {place});')
    folder = tmp_path_factory.mktemp("layouts")
    (folder / "print.cpp").write_text("\n".join([*lines, "}"]))
    program = folder / "print"
    subprocess.run(
        [compiler, "-std=c++20", str(folder / "print.cpp"), "-o", str(program)], check=True
    )
    printed = subprocess.run([str(program)], check=True, capture_output=True, text=True).stdout
    rows = (line.split() for line in printed.splitlines())
    return {name: (int(first), int(second)) for name, first, second in rows}


@pytest.mark.parametrize("structure", STRUCTURES, ids=lambda kind: kind.__name__)
def test_fields_lie_where_they_do_in_cpp(
    structure: type[ctypes.Structure], in_cpp: dict[str, tuple[int, int]]
) -> None:
    ours = layouts.places(structure)
    assert ours == {name: in_cpp[name] for name in ours}


@pytest.mark.parametrize("name", CONSTANTS)
def test_constants_are_those_of_cpp(name: str, in_cpp: dict[str, tuple[int, int]]) -> None:
    assert in_cpp[name][0] == CONSTANTS[name]


def test_a_block_packed_in_one_go_is_a_dispatch() -> None:
    addresses, sizes = (1, 2, 3), (4, 5, 6)
    block = dispatch_struct(3).pack(
        bytes(range(24)), 7, 8, 9, 10, 11, 12, *addresses, *sizes, 13, 14, 15
    )
    assert len(block) == DISPATCH_BYTES
    dispatch = layouts.Dispatch.from_buffer_copy(block)
    assert bytes(dispatch)[: layouts.Dispatch.grid.offset] == bytes(range(24))
    assert (*dispatch.grid, *dispatch.group) == (7, 8, 9, 10, 11, 12)
    assert sizes_of(ctypes.addressof(dispatch)) == ((7, 8, 9), (10, 11, 12))
    assert tuple(dispatch.buffers[:4]) == (*addresses, 0)
    assert tuple(dispatch.buffer_bytes[:4]) == (*sizes, 0)
    assert (dispatch.extents, dispatch.extent_count, dispatch.copied) == (13, 14, 15)
    assert not any(dispatch.dynamic_bytes)


def test_a_launch_of_an_extension_is_read_as_it_lies() -> None:
    numbers = tuple(range(1, 9 + 2 * layouts.BUFFERS))
    packed = extension._LAUNCH.pack(*numbers)
    launch = layouts.ShaderLaunch.from_buffer_copy(packed)
    assert len(packed) == ctypes.sizeof(layouts.ShaderLaunch)
    parts = (launch.grid, launch.group, (launch.bound, launch.copied))
    assert (*(n for part in (*parts, launch.addresses, launch.sizes) for n in part),) == numbers


def test_the_libraries_fit() -> None:
    cpu_runtime.runtime()
    cuda_driver.launcher()


def test_a_library_of_another_layout_is_refused() -> None:
    library = ctypes.CDLL(str(cpu_runtime.build()))

    class Extent(ctypes.Structure):
        _fields_ = (("address", ctypes.c_uint64), ("bytes", ctypes.c_uint32))

    others = (layouts.Launch, layouts.Threadgroup, Extent, layouts.Dispatch, layouts.Report)
    with pytest.raises(OpenmpsError, match="do not belong together") as raised:
        layouts.check(library, "openmps_runtime_layout", others)
    assert "Extent.bytes" in str(raised.value)
    assert "has 8 bytes at 8, in layouts.py has 4 bytes at 8" in str(raised.value)


def test_a_field_that_one_side_lacks_is_refused() -> None:
    library = ctypes.CDLL(str(cpu_runtime.build()))
    with pytest.raises(OpenmpsError, match=re.escape("in layouts.py is missing")):
        layouts.check(library, "openmps_runtime_layout", (layouts.Launch,))


@pytest.mark.parametrize(
    ("folder", "in_key"),
    [
        ("csrc", core._CONTRACTS),
        ("csrc_cuda", cuda_driver._CONTRACTS),
        ("csrc_runtime", [f"include/msl/{name}" for name in cpu_runtime._CONTRACTS]),
    ],
)
def test_what_sources_include_from_elsewhere_is_in_their_key(
    folder: str, in_key: tuple[str, ...]
) -> None:
    """Or a change to it would leave a library that was built before it."""
    waiting = [file for file in (PACKAGE / folder).rglob("*") if file.suffix in (".h", ".cpp")]
    included: set[Path] = set()
    while waiting:
        file = waiting.pop()
        for name in re.findall(r'^#include "([^"]+)"', file.read_text(), re.M):
            found = (file.parent / name).resolve()
            if not found.exists():  # named from the package's folder
                found = (PACKAGE / name).resolve()
            if found.exists() and not found.is_relative_to(PACKAGE / folder):
                waiting += [found] * (found not in included)
                included.add(found)
    # Behind __CUDACC_RTC__, which these sources are never compiled with.
    on_a_gpu = PACKAGE / "include" / "msl" / "cuda"
    names = {
        str(file.relative_to(PACKAGE)) for file in included if not file.is_relative_to(on_a_gpu)
    }
    assert names == set(in_key)
