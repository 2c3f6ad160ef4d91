"""The text that the tested compilers print, as it was when emit/ was last seen to read it right.

When one of these fails and the compiler is another one, look at each line of the difference: is it
read, and does it mean what the readers take it for? The kernels under tests/kernels say whether
results are right; test_newer_compilers.py has lines of each form. Then change tested_compilers.py,
pyproject.toml's ziglang and these files:

    pytest tests/unit/emit/test_golden.py --regenerate-golden

When headers or flags were changed, and no compiler, the same command after a look at the difference
is enough.
"""

from __future__ import annotations

import difflib
import re
from pathlib import Path

import pytest

from openmps.build.processor import Processor
from openmps.build.shader_compiler import find_shader_compiler
from openmps.emit.cuda import emit_cuda_kernel
from openmps.emit.entry import emit_kernel
from openmps.emit.ir.call_numbers import number_calls
from openmps.emit.lanes.vectorise import vectorise
from openmps.emit.ptx.make_defined import make_ptx_defined
from openmps.msl.library import parse_library
from openmps.targets import cpu_builder, tested_compilers
from openmps.targets.cuda import DIALECT, PACKAGE
from openmps.targets.nvrtc import compile_ptx

GOLDEN = Path(__file__).parent / "golden"
METAL = GOLDEN / "kernel.metal"
SOURCES = sorted(GOLDEN.glob("*.cpp"))
HEAD = '#include "msl/launch/launch.h"\n#include "msl/threads/lanes.h"\nusing namespace openmps;\n'
ENTRY = """
extern "C" void openmps_thread(const Launch* launch, const Threadgroup* tg, unsigned x, unsigned y,
                               unsigned z, unsigned lane, unsigned sg) { run(launch, tg, x); }
"""
# The same on every machine.
LEVEL = Processor("x86_64", "x86-64-v3")
# What names files and releases. Another release that prints the same is read the same.
_NAMES = re.compile(
    r"^(?:; ModuleID|source_filename|// (?:Compiler Build|Cuda comp|Based)|\.version ).*\n", re.M
)
_IDENT = re.compile(r'"[^"]*\bclang version [^"]*"')


def compare(name: str, made: str, request: pytest.FixtureRequest) -> None:
    made = _IDENT.sub('"clang"', _NAMES.sub("", made))
    file = GOLDEN / name
    if request.config.getoption("--regenerate-golden", default=False):
        file.write_text(made)
    kept = file.read_text() if file.exists() else ""
    difference = difflib.unified_diff(
        kept.splitlines(), made.splitlines(), f"golden/{name}", "printed now", lineterm="", n=2
    )
    if kept != made:
        pytest.fail("\n".join([f"{name} differs.", __doc__ or "", *difference]), pytrace=False)


class Printed:
    """What the compiler of this environment makes of C++ text."""

    def __init__(self, text: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        fronts = []

        def make_defined(ir: str) -> str:
            fronts.append(ir)
            return self.make_defined(ir)

        self.make_defined = cpu_builder.make_ir_defined
        monkeypatch.setattr(cpu_builder, "make_ir_defined", make_defined)
        library = parse_library(METAL.read_text())
        options = cpu_builder.CpuOptions(processor=LEVEL)
        builder = cpu_builder.Builder(library, find_shader_compiler(), options)
        self.thread = builder._thread_ir(folder, text)
        (self.front,) = fronts


@pytest.fixture
def printed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, zig_is_here: None):
    monkeypatch.delenv("OPENMPS_SHADER_CXX", raising=False)
    return lambda text: Printed(text, tmp_path, monkeypatch)


@pytest.mark.parametrize("source", SOURCES, ids=lambda source: source.stem)
def test_what_clang_prints(source: Path, printed, request: pytest.FixtureRequest) -> None:
    found = printed(HEAD + source.read_text() + ENTRY)
    compare(f"{source.stem}.front.ll", found.front, request)
    compare(f"{source.stem}.thread.ll", found.thread, request)


def test_what_clang_prints_of_a_kernel(printed, request: pytest.FixtureRequest) -> None:
    library = parse_library(METAL.read_text())
    found = printed(emit_kernel(library, library.kernels["f"], "thread"))
    compare("kernel.thread.ll", found.thread, request)


# Of a module of lanes: what is loaded, stored and called. The rest is for tests of results.
_EFFECT = re.compile(r"^  (?:%\S+ = )?((?:tail )?call|load|store|atomicrmw|cmpxchg|fence)\b.*$")


def effects(ir_text: str) -> str:
    lines = [line for line in ir_text.split("\n") if _EFFECT.match(line)]
    return "".join(re.sub(r"%[\w.]+", "%", line) + "\n" for line in lines)


@pytest.mark.parametrize("source", [METAL, *SOURCES], ids=lambda source: source.stem)
def test_what_lanes_make_of_it(source: Path, request: pytest.FixtureRequest) -> None:
    """From the golden text, so it is the pass alone that decides."""
    ir_text = (GOLDEN / f"{source.stem}.thread.ll").read_text()
    compare(f"{source.stem}.lanes.txt", effects(vectorise(ir_text, axis="line")), request)
    numbered = number_calls(ir_text)
    calls = len(re.findall(r"call [^@]*@openmps_(?!at\()\w+\(", numbered))
    assert numbered.count("call void @openmps_at(") == calls > 0


def test_the_golden_fronts_are_made_defined() -> None:
    for source in SOURCES:
        front = (GOLDEN / f"{source.stem}.front.ll").read_text()
        text = cpu_builder.make_ir_defined(front)
        accesses = re.findall(r"^  (?:%\d+ = load|store) (?!atomic).*$", text, re.M)
        assert accesses
        assert {*re.findall(r"\balign (\d+)", "\n".join(accesses))} == {"1"}
        assert text.count("%low.") == 2 * len(re.findall(r"^  %low\.", text, re.M))


@pytest.mark.parametrize("architecture", ["sm_75", "sm_90"])
def test_what_nvrtc_prints(architecture: str, request: pytest.FixtureRequest) -> None:
    pytest.importorskip("cuda.bindings.nvrtc", reason="NVRTC's binding is not here")
    library = parse_library(METAL.read_text())
    text = emit_cuda_kernel(library, library.kernels["f"])
    ptx = compile_ptx(text, architecture, (*DIALECT, f"--include-path={PACKAGE / 'include'}"))
    version = tested_compilers.ptx_version(ptx)
    if version is not None and version < tested_compilers.PTX:
        pytest.skip(f"an NVRTC of PTX {version[0]}.{version[1]}: the golden text is the newest's")
    compare(f"kernel.{architecture}.ptx", ptx + "\n", request)


@pytest.mark.parametrize("architecture", ["sm_75", "sm_90"])
def test_what_is_made_defined_in_ptx(architecture: str, request: pytest.FixtureRequest) -> None:
    ptx = (GOLDEN / f"kernel.{architecture}.ptx").read_text()
    changed = difflib.ndiff(ptx.splitlines(), make_ptx_defined(ptx, 16).splitlines())
    lines = [line.rstrip() + "\n" for line in changed if line[0] in "+-"]
    compare(f"kernel.{architecture}.changes.txt", "".join(lines), request)


def test_the_pinned_compiler_is_the_tested_one() -> None:
    project = (Path(__file__).parents[3] / "pyproject.toml").read_text()
    assert f'"{tested_compilers.ZIGLANG}"' in project
