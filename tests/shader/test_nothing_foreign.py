"""A shader reads no file but torch's headers, and runs nothing outside a launch."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from torch.utils._cpp_embed_headers import embed_headers

from openmps.errors import ShaderError

KERNEL = "kernel void f(device float* x, uint i [[thread_position_in_grid]]) {{ x[i] = {}; }}\n"
UP = "../" * 30


@pytest.fixture
def secret(tmp_path: Path) -> Path:
    file = tmp_path / "secret.h"
    file.write_text("constant float secret = 1234567;\n")
    return file


@pytest.mark.parametrize(
    "spelling",
    [
        '#include "{0}"',
        "#include <{0}>",
        "  #include  <{0}>",
        "#include <c10/metal/" + UP + "{0}>",
        '#include "c10/./metal/../../' + UP + '{0}"',
        "# include <{0}>",
        "#import <{0}>",
        "#define FILE <{0}>\n#include FILE",
    ],
)
def test_no_file_elsewhere_is_read(spelling: str, secret: Path) -> None:
    source = spelling.format(secret).replace("//", "/") + "\n" + KERNEL.format("secret")
    with pytest.raises(SyntaxError, match="file not found") as error:
        torch.mps.compile_shader(source).f(torch.zeros(1, device="mps"))
    assert "1234567" not in str(error.value)


def test_torchs_headers_are_read_and_read_no_file_elsewhere(secret: Path, tmp_path: Path) -> None:
    x = torch.zeros(1, device="mps")
    source = "#include <c10/metal/../metal/utils.h>\n" + KERNEL.format(
        "c10::metal::min(7.0f, 9.0f)"
    )
    torch.mps.compile_shader(source).f(x)
    assert x.item() == 7
    folder = tmp_path / "headers"
    folder.mkdir()
    (folder / "good.h").write_text(f'#include "{secret}"\nint good;\n')
    shader = tmp_path / "shader.metal"
    shader.write_text("#include <good.h>\n")
    assert embed_headers(str(shader), [folder]) == f'# include "{secret}"\nint good;\n'


@pytest.mark.parametrize(
    "attribute",
    [
        "__attribute__((constructor))",
        "__attribute__((constructor(101)))",
        "__attribute__((__destructor__))",
        "__attribute__((noinline, constructor))",
        '__attribute__((section(".init_array")))',
        '__attribute((ifunc("f")))',
    ],
)
def test_no_function_runs_at_load(attribute: str) -> None:
    source = f"{attribute} void early() {{ }}\n" + KERNEL.format("1")
    with pytest.raises(SyntaxError, match="is not part of the Metal language") as error:
        torch.mps.compile_shader(source)
    assert "program_source:1:" in str(error.value)


@pytest.mark.parametrize("coordinated", [False, True], ids=["plain", "coordinated"])
@pytest.mark.cpu_engine("a GPU's kernels are not loaded into the process")
def test_no_value_is_computed_at_load(coordinated: bool) -> None:
    source = (
        "static volatile float state = 2;  // which no compiler computes with\n"
        "__attribute__((noinline)) float early() { state += 1; return state; }\n"
        "static float computed = early();\n"
    ) + KERNEL.format("metal::simd_sum(computed)" if coordinated else "computed")
    with pytest.raises(ShaderError, match="code that would run when it is loaded"):
        torch.mps.compile_shader(source).f(torch.zeros(32, device="mps"))


def test_attributes_that_metal_has_are_taken() -> None:
    x = torch.zeros(1, device="mps")
    source = "static __attribute__((always_inline)) float seven() { return 7; }\n"
    torch.mps.compile_shader(source + KERNEL.format("seven()")).f(x)
    assert x.item() == 7
