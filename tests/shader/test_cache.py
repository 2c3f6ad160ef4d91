"""A kernel is built once; what is in the cache needs no compiler, and is used only if it fits."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import torch

from openmps import settings
from openmps.build.processor import levels_here
from openmps.build.shader_compiler import ShaderCompiler
from openmps.targets import cpu, cpu_builder

pytestmark = pytest.mark.cpu_engine("a GPU's kernels are built without a compiler's process")

SOURCE = """
kernel void scale(device float* x, constant float& a, uint i [[thread_position_in_grid]]) {
  x[i] *= a;
}
kernel void total(device float* x, uint i [[thread_position_in_grid]]) {
  x[i] = metal::simd_sum(x[i]);
}
"""


@pytest.fixture
def runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """An empty cache, and the compiler runs that follow."""
    monkeypatch.setenv("OPENMPS_CACHE_DIR", str(tmp_path / "cache"))
    found: list[list[str]] = []
    run = ShaderCompiler.run

    def counted(self: ShaderCompiler, arguments: list[str], *rest: object, **more: bool) -> str:
        found.append(list(arguments))
        return run(self, arguments, *rest, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(ShaderCompiler, "run", counted)
    return found


def use(source: str = SOURCE) -> None:
    library = torch.mps.compile_shader(source)
    x = torch.ones(40, device="mps")
    library.scale(x, 2.0)
    library.total(x)
    assert x.tolist() == [64.0] * 32 + [16.0] * 8


def test_kernels_are_built_when_asked_for(runs: list[list[str]]) -> None:
    library = torch.mps.compile_shader(SOURCE)
    assert len(runs) == 1
    assert "-fsyntax-only" in runs[0]
    library.scale  # noqa: B018 (asking for it builds it)
    built = len(runs)
    assert built > 1
    library.total  # noqa: B018
    assert len(runs) > built


def test_a_warm_cache_starts_no_compiler(runs: list[list[str]]) -> None:
    use()
    cold = len(runs)
    use()
    assert len(runs) == cold


def test_another_text_is_another_kernel(runs: list[list[str]]) -> None:
    use()
    cold = len(runs)
    use(SOURCE + "\n// the same to a compiler, not to the cache\n" + "constant int unused = 1;\n")
    assert len(runs) > cold


def test_a_damaged_entry_is_built_again(runs: list[list[str]], tmp_path: Path) -> None:
    use()
    cold = len(runs)
    for library in (tmp_path / "cache").rglob(cpu_builder.LIBRARY):
        library.unlink()
        library.write_bytes(b"not a library")
    use()
    assert len(runs) > cold


@pytest.mark.parametrize("what", ["identity", "processor", "sources"])
def test_everything_that_matters_is_in_the_key(
    runs: list[list[str]], monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    use()
    cold = len(runs)
    if what == "identity":
        other = replace(cpu.find_shader_compiler(), identity="another release")
        monkeypatch.setattr(cpu, "find_shader_compiler", lambda: other)
    elif what == "processor":
        (level, *_) = (each for each in levels_here() if each != settings.SHADER_CPU.read())
        monkeypatch.setenv(settings.SHADER_CPU.variable, level)
    else:
        monkeypatch.setattr(cpu_builder, "_own_sources", lambda: {"msl/metal.h": b"edited"})
    use()
    assert len(runs) > cold
