from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

SOURCE = """
#include <metal_stdlib>
using namespace metal;

kernel void scale(device float* out, constant metal::array<float, 3>& weights,
                  uint i [[thread_position_in_grid]]) { out[i] *= weights[0]; }

kernel void count(device atomic_int* n) { atomic_fetch_add_explicit(n, 1, memory_order_relaxed); }

[[max_total_threads_per_threadgroup(128)]]
kernel void turn(device float* x, threadgroup float* more [[threadgroup(0)]],
                 uint i [[thread_position_in_threadgroup]]) {
    threadgroup float own[128];
    own[i] = x[i];
    threadgroup_barrier(mem_flags::mem_threadgroup);
    x[i] = own[127 - i];
}

inline float together(float x) { return simd_sum(x); }
kernel void add(device float* x, uint i [[thread_position_in_grid]]) { x[i] = together(x[i]); }

kernel void multiply(device float* x) {
    simdgroup_float8x8 a;
    simdgroup_load(a, x, 8);
    simdgroup_store(a, x, 8);
}
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "kernels.metal"
    path.write_text(SOURCE)
    return path


def verdicts(python: Any, *arguments: str, **variables: str) -> tuple[int, dict[str, Any]]:
    done = python("-m", "openmps", "metal", *arguments, "--json", **variables)
    return done.returncode, json.loads(done.stdout)


def test_every_kernel_is_compiled_and_listed(python: Any, file: Path) -> None:
    status, found = verdicts(python, str(file))
    assert status == 0
    assert found["well"]
    assert found["file"] == str(file)
    assert found["language"] == "4.0"
    kernels = {kernel["name"]: kernel for kernel in found["kernels"]}
    assert {name: kernel["class"] for name, kernel in kernels.items()} == {
        "scale": "plain",
        "count": "atomic",
        "turn": "barrier",
        "add": "simd",
        "multiply": "matrix",
    }
    assert kernels["scale"]["arguments"] == [
        {"kind": "buffer", "index": 0, "name": "out", "type": "device float*"},
        {
            "kind": "buffer",
            "index": 1,
            "name": "weights",
            "type": "constant metal::array<float, 3>&",
        },
    ]
    assert kernels["turn"]["arguments"][1]["kind"] == "threadgroup"
    assert kernels["turn"]["threadgroup_bytes"] == 512
    assert kernels["scale"]["threadgroup_bytes"] == 0
    assert {name: kernel["max_threads"] for name, kernel in kernels.items()} == {
        "scale": 1024,
        "count": 1024,
        "turn": 128,
        "add": 1024,
        "multiply": 1024,
    }


def test_the_table_is_for_people(python: Any, file: Path) -> None:
    done = python("-m", "openmps", "metal", str(file), COLUMNS="120")
    assert done.returncode == 0
    assert "0: device float* out" in done.stdout
    assert "1: constant metal::array<float, 3>& weights" in done.stdout
    assert "512 + dynamic" in done.stdout
    assert "5 of 5 kernels compiled" in done.stdout


def test_kernels_may_be_chosen(python: Any, file: Path) -> None:
    _, found = verdicts(python, str(file), "--kernel", "[sa]*", "--kernel", "count")
    assert [kernel["name"] for kernel in found["kernels"]] == ["scale", "add", "count"]
    done = python("-m", "openmps", "metal", str(file), "--kernel", "scale")
    assert "1 of 1 kernels compiled; 5 are in" in " ".join(done.stdout.split())


def test_an_unknown_kernel_is_answered_with_the_nearest(python: Any, file: Path) -> None:
    done = python("-m", "openmps", "metal", str(file), "--kernel", "scales")
    assert done.returncode == 2
    assert "no kernel is called scales" in done.stderr
    assert "did you mean scale" in done.stderr


def test_what_is_generated_may_be_seen(python: Any, file: Path) -> None:
    done = python("-m", "openmps", "metal", str(file), "--emit", "--kernel", "scale")
    assert done.returncode == 0
    assert done.stdout.startswith("// ---- scale: ")
    assert "weights" in done.stdout
    assert "1 of 1 kernels compiled" in done.stderr
    _, found = verdicts(python, str(file), "--emit", "--kernel", "scale")
    assert found["kernels"][0]["emitted"]


def test_kernels_for_an_nvidia_gpu(python: Any, file: Path) -> None:
    pytest.importorskip("cuda.bindings.nvjitlink", reason="cuda-bindings is not installed")
    status, found = verdicts(python, str(file), "--engine", "cuda", "--emit", "--kernel", "[st]*")
    assert status == 0, found
    scale, turn = found["kernels"]
    assert scale["runs_as"].startswith("sm_")
    assert (turn["max_threads"], turn["threadgroup_bytes"]) == (128, 512)
    assert "OPENMPS_CUDA_ENTRY" in scale["emitted"]["CUDA"]
    assert ".visible .entry openmps_cuda" in scale["emitted"]["PTX"]


def test_an_engine_that_does_not_exist(python: Any, file: Path) -> None:
    done = python("-m", "openmps", "metal", str(file), "--engine", "metal")
    assert done.returncode == 2
    assert "no such engine" in done.stderr
    assert "--engine cpu or --engine cuda" in done.stderr


def test_a_refused_file_names_the_place(python: Any, file: Path) -> None:
    file.write_text(SOURCE + "kernel void bad(device float* x) {\n  x[0] = nothing;\n}\n")
    line = SOURCE.count("\n") + 2
    done = python("-m", "openmps", "metal", str(file), COLUMNS="200")
    assert done.returncode == 1
    assert f"{file}:{line}:10: error: " in done.stdout
    assert "x[0] = nothing;" in done.stdout
    status, found = verdicts(python, str(file))
    assert status == 1
    assert not found["well"]
    assert found["refused"]["place"] == f"{file}:{line}:10"


def test_headers_lie_beside_the_file_or_in_torch(python: Any, file: Path) -> None:
    (file.parent / "parts").mkdir()
    (file.parent / "parts" / "one.h").write_text('#pragma once\n#include "two.h"\n')
    (file.parent / "parts" / "two.h").write_text("inline int two() { return 2; }\n")
    file.write_text("""
        #include <c10/metal/utils.h>
        #include "parts/one.h"
        #include "parts/one.h"
        kernel void k(device int* x) { x[0] = two() + c10::metal::floor_divide(7, 2); }
    """)
    status, found = verdicts(python, str(file))
    assert status == 0, found
    file.write_text('#include "missing.h"\n')
    status, found = verdicts(python, str(file))
    assert status == 1
    assert found["refused"]["place"].startswith(f"{file}:1:")


def test_no_header_is_read_from_elsewhere(python: Any, file: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir(exist_ok=True)
    (outside / "secret.h").write_text("constant int secret = 1;\n")
    folder = file.parent / "inside"
    folder.mkdir()
    shader = folder / "shader.metal"
    (folder / "link.h").symlink_to(outside / "secret.h")
    for name in (str(outside / "secret.h"), "../outside/secret.h", "link.h"):
        shader.write_text(f'#include "{name}"\nkernel void k(device int* x) {{ x[0] = secret; }}\n')
        status, found = verdicts(python, str(shader))
        assert status == 1
        assert "file not found" in found["refused"]["text"]
    status, found = verdicts(python, str(shader), "-I", str(outside))
    assert status == 0, found


def test_the_mac_decides_the_language(python: Any, file: Path) -> None:
    _, found = verdicts(python, str(file), "--kernel", "scale", OPENMPS_MACOS="14.4")
    assert found["language"] == "3.1"


def test_a_file_without_kernels(python: Any, file: Path) -> None:
    file.write_text("constant int n = 3;\n")
    done = python("-m", "openmps", "metal", str(file))
    assert done.returncode == 0
    assert "no kernels" in done.stdout


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda path: None, "no such file"),
        (lambda path: path.mkdir(), "this is a folder"),
        (lambda path: path.write_bytes(b"MTLB\x01\x00"), "binary Metal library"),
        (lambda path: path.write_bytes(b"\xff\xfe\x00kernel"), "no text in UTF-8"),
        (lambda path: path.write_bytes(b"kernel\x00void"), "zero bytes"),
    ],
    ids=["missing", "folder", "metallib", "binary", "zeros"],
)
def test_what_is_no_source_is_said_to_be_none(
    python: Any, tmp_path: Path, make: Any, text: str
) -> None:
    path = tmp_path / "input.metal"
    make(path)
    done = python("-m", "openmps", "metal", str(path))
    assert done.returncode == 2
    assert done.stderr.startswith("openmps: error: ")
    assert text in done.stderr
    assert "next: " in done.stderr
    assert "Traceback" not in done.stderr


def test_no_torch_is_needed_to_look_at_a_shader(python: Any, file: Path) -> None:
    code = """
import sys
from openmps.cli.main import app
app(["metal", sys.argv[1], "--kernel", "scale"], standalone_mode=False)
assert "torch" not in sys.modules
"""
    done = python("-c", code, str(file))
    assert done.returncode == 0, done.stderr
