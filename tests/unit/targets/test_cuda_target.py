"""Kernels for NVIDIA GPUs, from text to code in the cache. No GPU is needed; some need NVRTC."""

from __future__ import annotations

import functools
import importlib
import sys
from pathlib import Path
from typing import Any

import pytest

from openmps.errors import ShaderError, ShaderSyntaxError
from openmps.msl.library import LanguageOptions, parse_library
from openmps.targets import cuda, cuda_driver, nvjitlink, nvrtc
from openmps.targets.builtin_kernels import BuiltinKernels
from openmps.targets.cuda import CudaBuilder, CudaTarget, read_built

SOURCE = """
#include <metal_stdlib>
using namespace metal;
kernel void scale(device float* x, constant float& a, uint i [[thread_position_in_grid]]) {
  x[i] *= a;
}
[[max_total_threads_per_threadgroup(96)]]
kernel void turn(device float* x, threadgroup float* more [[threadgroup(0)]],
                 uint i [[thread_position_in_threadgroup]]) {
  threadgroup float own[97];
  own[i] = x[i] + more[i];
  threadgroup_barrier(mem_flags::mem_threadgroup);
  x[i] = own[95 - i];
}
"""


def has_nvrtc() -> bool:
    try:
        nvrtc.version()
        nvjitlink.version()
    except ShaderError:
        return False
    return True


needs_nvrtc = pytest.mark.skipif(
    not has_nvrtc(), reason="cuda-bindings, nvidia-cuda-nvrtc or nvidia-nvjitlink is not installed"
)


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("OPENMPS_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache"


PTX_HEAD = ".version 9.0\n.maxntid 1024, 1, 1\n"


class TestCache:
    """When NVRTC runs, and when what it made is used again."""

    @pytest.fixture(autouse=True)
    def runs(self, monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, tuple[str, ...]]]:
        found: list[tuple[str, tuple[str, ...]]] = []

        def compile_ptx(text: str, architecture: str, flags: tuple[str, ...]) -> str:
            found.append((architecture, flags))
            return f"{PTX_HEAD}code {len(found)}"

        def assemble(ptx: str, architecture: str) -> nvjitlink.Cubin:
            assert ptx.startswith(PTX_HEAD)
            return nvjitlink.Cubin(ptx.removeprefix(PTX_HEAD).encode(), 388)

        monkeypatch.setattr(nvrtc, "compile_ptx", compile_ptx)
        monkeypatch.setattr(nvjitlink, "assemble", assemble)
        monkeypatch.setattr(nvrtc, "identity", lambda: "13.0")
        return found

    def build(self, source: str = SOURCE, architecture: str = "sm_90", **more: Any) -> Path:
        options = more.pop("options", None)
        library = parse_library(source, options=options)
        return CudaBuilder(library, architecture, **more).find_or_build(library.kernels["scale"])

    def test_what_is_built_is_found(self, runs: list[Any]) -> None:
        first = self.build()
        assert first.read_bytes() == b"code 1"
        assert self.build() == first
        assert len(runs) == 1

    def test_a_damaged_entry_is_built_again(self, runs: list[Any]) -> None:
        cubin = self.build()
        cubin.write_bytes(b"damaged")
        assert self.build().read_bytes() == b"code 1"
        cubin.write_bytes(b"damaged")
        for ptx in cubin.parents[1].glob(f"*/{cuda.PTX}"):
            ptx.write_bytes(b"damaged")
        assert self.build().read_bytes() == b"code 2"
        assert len(runs) == 2

    @pytest.mark.parametrize("what", ["text", "architecture", "exact", "fast", "nvrtc", "sources"])
    def test_everything_that_matters_is_in_the_key(
        self, runs: list[Any], monkeypatch: pytest.MonkeyPatch, what: str
    ) -> None:
        self.build()
        other: dict[str, Any] = {}
        if what == "text":
            other["source"] = SOURCE.replace("*= a", "+= a")
        elif what == "architecture":
            other["architecture"] = "sm_80"
        elif what == "exact":
            other["exact"] = True
        elif what == "fast":
            other["options"] = LanguageOptions(fast_math=True)
        elif what == "nvrtc":
            monkeypatch.setattr(nvrtc, "identity", lambda: "13.1")
        else:
            monkeypatch.setattr(cuda, "_own_sources", lambda: {"msl/metal.h": b"edited"})
        assert self.build(**other).read_bytes() == b"code 2"

    def test_flags(self, runs: list[Any]) -> None:
        self.build()
        self.build(exact=True, options=LanguageOptions(fast_math=True))
        (_, usual), (_, other) = runs
        assert "--fmad=true" in usual
        assert "--use_fast_math" not in usual
        assert {"--fmad=false", "--use_fast_math"} <= set(other)
        assert any(flag.startswith("--include-path=") for flag in usual)

    def test_another_alignment_is_assembled_of_the_same_ptx(self, runs: list[Any]) -> None:
        library = parse_library(SOURCE)
        builder = CudaBuilder(library, "sm_90")
        paths = {builder.find_or_build(library.kernels["scale"], n) for n in (16, 4, 16)}
        assert len(paths) == 2
        assert len(runs) == 1

    def test_headers_in_folders_are_part_of_the_key(self) -> None:
        assert "include/msl/cuda/entry.h" in cuda._own_sources()


@pytest.fixture
def forgets_nvrtc() -> Any:
    yield
    nvrtc._binding.cache_clear()
    nvjitlink._binding.cache_clear()


@pytest.mark.usefixtures("forgets_nvrtc")
class TestWithoutNvrtc:
    def test_no_binding(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setitem(sys.modules, "cuda", None)
        monkeypatch.delitem(sys.modules, "cuda.bindings", raising=False)
        monkeypatch.delitem(sys.modules, "cuda.bindings.nvrtc", raising=False)
        nvrtc._binding.cache_clear()
        with pytest.raises(ShaderError, match="need the Python package cuda-bindings") as refused:
            nvrtc.version()
        assert "next: pip install cuda-bindings" in str(refused.value)

    def test_no_linker(self, monkeypatch: pytest.MonkeyPatch) -> None:
        class Binding:
            @staticmethod
            def version() -> None:
                raise RuntimeError("no libnvJitLink.so")

        nvjitlink._binding.cache_clear()
        monkeypatch.setattr(importlib, "import_module", lambda name: Binding)
        with pytest.raises(ShaderError, match="need nvJitLink, NVIDIA's linker") as refused:
            nvjitlink.assemble("", "sm_90")
        assert "next: pip install nvidia-nvjitlink" in str(refused.value)

    def test_no_library(self, monkeypatch: pytest.MonkeyPatch) -> None:
        class Binding:
            @staticmethod
            def nvrtcVersion() -> None:
                raise RuntimeError('Failure finding "libnvrtc.so.13"\n  in a hundred places')

        nvrtc._binding.cache_clear()
        monkeypatch.setattr(importlib, "import_module", lambda name: Binding)
        with pytest.raises(ShaderError, match="need NVRTC, NVIDIA's compiler") as refused:
            nvrtc.version()
        assert 'found: Failure finding "libnvrtc.so.13"\n' in str(refused.value)
        assert "next: pip install nvidia-cuda-nvrtc" in str(refused.value)


def test_no_driver_is_said_to_be_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> Any:
        raise OSError(f"{name}: cannot open shared object file")

    monkeypatch.setattr(cuda_driver.ctypes, "CDLL", missing)
    with pytest.raises(ShaderError, match="no NVIDIA driver") as refused:
        cuda_driver.Driver()
    assert "libcuda.so.1: cannot open" in str(refused.value)
    assert "OPENMPS_ENGINE=cpu" in str(refused.value)


@needs_nvrtc
class TestNvrtc:
    @pytest.mark.parametrize("architecture", ["sm_80", "sm_90"])
    def test_what_is_known_of_a_kernel_without_a_gpu(self, architecture: str) -> None:
        library = parse_library(SOURCE)
        built = CudaTarget(architecture).build(library, "turn")
        assert built.image.startswith(b"\x7fELF")
        assert built.max_threads == 96
        assert built.threadgroup_bytes == 400  # 388, in steps of 16
        plain = CudaTarget(architecture).build(library, "scale")
        assert (plain.max_threads, plain.threadgroup_bytes) == (1024, 0)

    def test_the_cpu_s_compiler_words_an_error(self) -> None:
        library = parse_library(SOURCE.replace("*= a", "*= b"))
        target = CudaTarget("sm_90")
        for attempt in (target.open, functools.partial(target.build, name="scale")):
            with pytest.raises(ShaderSyntaxError) as refused:
                attempt(library)
            assert refused.value.place == "program_source:5:11"
            assert "undeclared identifier 'b'" in str(refused.value)

    def test_what_only_nvrtc_refuses_has_its_line(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(cuda.CpuTarget, "check", lambda *_: None)
        library = parse_library(SOURCE.replace("*= a", "*= b"))
        with pytest.raises(ShaderSyntaxError) as refused:
            CudaTarget("sm_90").build(library, "scale")
        assert str(refused.value).splitlines() == [
            'program_source:5:11: error: identifier "b" is undefined',
            "    5 |   x[i] *= b;",
            "      |           ^",
            "  in kernel: scale",
            "  next: declare it, or write `using namespace metal;` or metal:: before it",
        ]

    def test_what_the_marks_of_sums_would_break_is_compiled_without_them(self) -> None:
        own = "struct A { int n; };\nint operator+(thread A& a, A b) { return a.n + b.n; }\n"
        source = own + SOURCE.replace("x[i] *= a", "A own{1}; x[i] = own + own")
        text = CudaTarget("sm_90").emitted(parse_library(source), "scale")
        assert "own + OPENMPS_WRAP(+) own" in text["CUDA"]
        assert "st.global" in text["PTX"]

    @pytest.mark.parametrize(("floats", "size"), [(8193, 32784), (20000, 80000)])
    def test_too_much_threadgroup_memory_is_a_pipeline_failure(
        self, floats: int, size: int
    ) -> None:
        library = parse_library(SOURCE.replace("own[97]", f"own[{floats}]"))
        with pytest.raises(ShaderError) as refused:
            CudaTarget("sm_90").build(library, "turn")
        assert str(refused.value) == (
            f"Failed to created pipeline state object, error: Threadgroup memory size ({size}) "
            "exceeds the maximum threadgroup memory allowed (32768)"
        )

    def test_a_gpu_that_it_does_not_know(self) -> None:
        with pytest.raises(ShaderError, match="cannot compile for the GPU, which is sm_20"):
            CudaTarget("sm_20").build(parse_library(SOURCE), "scale")

    def test_builtin_kernels_are_found_by_their_text_alone(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        (tmp_path / "ours.metal").write_text("#include <ours/h.h>\n" + SOURCE)
        (tmp_path / "h.h").write_text("constant int ours = 1;")

        def cubin(name: str = "scale", architecture: str = "sm_90") -> Path | None:
            kernels = BuiltinKernels(tmp_path / "ours.metal", {"ours/h.h": tmp_path / "h.h"})
            return kernels.cubin(name, architecture)

        first = cubin()
        assert first is not None
        assert first.read_bytes().startswith(b"\x7fELF")
        assert cubin("cuont") is None
        assert cubin(architecture="sm_80") != first
        (tmp_path / "h.h").write_text("constant int ours = 2;")
        assert cubin() != first
        (tmp_path / "h.h").write_text("constant int ours = 1;")
        monkeypatch.setattr(nvrtc, "_binding", None)  # nobody asks for them
        monkeypatch.setattr(nvjitlink, "_binding", None)
        assert cubin() == first

    def test_builtin_kernels_do_not_fuse(self, tmp_path: Path) -> None:
        (tmp_path / "ours.metal").write_text(SOURCE)
        seen = []
        build = CudaBuilder.find_or_build

        def watched(self: CudaBuilder, kernel: Any, *rest: Any) -> Path:
            seen.append(self._flags)
            return build(self, kernel, *rest)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(CudaBuilder, "find_or_build", watched)
            BuiltinKernels(tmp_path / "ours.metal", {}).cubin("scale", "sm_90")
        assert "--fmad=false" in seen[0]

    def test_what_was_built_is_read_back(self) -> None:
        library = parse_library(SOURCE)
        path = CudaBuilder(library, "sm_90").find_or_build(library.kernels["turn"])
        assert read_built(path).threadgroup_bytes == 400
