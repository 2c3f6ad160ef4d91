"""Builds kernels for this machine's processor: from C++ text to files in the cache."""

from __future__ import annotations

import functools
import os
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import NoReturn

from openmps.build.cache import scratch_folder
from openmps.build.key import build_key
from openmps.build.processor import Processor, chosen_processor
from openmps.build.shader_compiler import (
    DIALECT,
    FAST_MATH,
    CompileRefused,
    ShaderCompiler,
    refused_by_machine,
)
from openmps.build.store import user_store
from openmps.emit.entry import emit_kernel
from openmps.emit.ir.call_numbers import number_calls
from openmps.emit.ir.make_defined import make_assembly_defined, make_ir_defined
from openmps.emit.ir.model import UnsupportedIR
from openmps.emit.lanes.module import PART, WHOLE
from openmps.emit.lanes.vectorise import uses, vectorise
from openmps.errors import CompileError, ShaderError
from openmps.msl.compiler_messages import explain
from openmps.msl.kernels import Kernel
from openmps.msl.library import Library
from openmps.targets.cpu_loading import STACK, runs_at_load
from openmps.targets.cpu_runtime import runtime
from openmps.targets.tested_compilers import CLANG, ZIGLANG, look_at_clang

PACKAGE = Path(__file__).parents[1]
LIBRARY = "kernel.so"
FIRST_AXIS = "line"  # how the threads of most simdgroups lie: see lane_axis in cpu.py
# Lines of 32-lane IR from which -O3 takes a minute and more.
LARGE_KERNEL_LINES = 16000

# Keeps a call that lanes make together one call. LLVM's block threading, unlike its other passes,
# does not ask whether a call is convergent, and tail duplication cannot. More than -O2 is too much.
_TOGETHER = (
    "-mllvm", "-simplifycfg-max-small-block-size=0", "-mllvm", "-disable-tail-duplicate",
    "-mllvm", "-disable-early-taildup", "-mllvm", "-tail-dup-placement=0",
)  # fmt: skip
# The same for g++, which has no word for such calls; and code in the source's order: where in it a
# thread waits says which threads it waits with.
_TOGETHER_GCC = (
    "-fno-thread-jumps", "-fno-tree-dominator-opts", "-fno-split-paths", "-fno-tree-vrp",
    "-fno-code-hoisting", "-fno-unswitch-loops", "-fno-tree-tail-merge", "-fno-crossjumping",
    "-fno-reorder-blocks", "-fno-reorder-blocks-and-partition",
)  # fmt: skip
# g++ cannot be told to drop what this kernel does not call: the linker does it.
_GCC_SECTIONS = (
    "-ffunction-sections", "-fdata-sections", "-fvisibility=hidden",
)  # fmt: skip

# After lanes, near the order that they were written in: a value of 32 lanes takes many registers,
# and what is computed early is spilled.
_IN_ORDER = ("-mllvm", "-misched-prera-direction=topdown")
# Before lanes: loops with known counts unrolled, so that arrays become registers; nothing
# vectorised, because lanes are the vectors.
_FOR_LANES = (
    "-fno-vectorize", "-fno-slp-vectorize", "-mllvm", "-unroll-runtime=false",
    "-mllvm", "-unroll-allow-partial=false",
)  # fmt: skip


@dataclass(frozen=True)
class CpuOptions:
    """lanes: whether coordinated kernels may run in lock-step; else one fibre per thread.
    safe_stack: local arrays lie apart from the stack, where the runtime says; clang only.
    processor: what code is made for; by default what OPENMPS_SHADER_CPU says."""

    lanes: bool = True
    optimise: bool = True
    safe_stack: bool = True
    processor: Processor | None = None
    workers: Callable[[], int] = field(default=lambda: len(os.sched_getaffinity(0)))


class Builder:
    """One library's kernels, from text to files in the cache."""

    def __init__(self, library: Library, compiler: ShaderCompiler, options: CpuOptions) -> None:
        self.library = library
        self.compiler = compiler
        self.options = options
        self._store = user_store("shaders")
        self._building: Kernel | None = None
        fast = FAST_MATH if library.options.fast_math else ()
        self._processor = options.processor or chosen_processor()
        self._machine = compiler.machine(self._processor)
        safe = ("-fsanitize=safe-stack",) if options.safe_stack and compiler.kind == "clang" else ()
        self._flags = [*DIALECT, *safe, *self._machine, *fast, "-I", str(PACKAGE / "include")]

    def check(self, text: str) -> None:
        key = self._key(text, "check")
        if self._store.find(key, "checked"):
            return
        with self._store.lock(key, lambda: None), self._store.workspace(key) as folder:
            (folder / "check.cpp").write_text(text)
            self._compile(folder, ["-fsyntax-only", "check.cpp"])
            (folder / "checked").touch()
            self._store.publish(key, "checked", folder / "checked", {})

    def check_kernel(self, kernel: Kernel) -> None:
        self._building = kernel
        entry = "thread" if kernel.coordinates else "plain"
        self.check(emit_kernel(self.library, kernel, entry))

    def find_or_build(self, kernel: Kernel, axis: str) -> Path:
        self._building = kernel
        lanes = self.options.lanes and self.compiler.kind == "clang"
        entry = "thread" if kernel.coordinates else "plain"
        fibres = kernel.coordinates and not lanes
        text = emit_kernel(self.library, kernel, entry, back_edges=fibres)
        how = f"{entry} {axis} lanes" if kernel.coordinates and lanes else entry
        key = self._key(text, how)
        found = self._store.find(key, LIBRARY)
        if found:
            return found
        with self._store.lock(key, lambda: None):
            found = self._store.find(key, LIBRARY)
            if found:
                return found
            with self._store.workspace(key) as folder:
                if kernel.coordinates and lanes:
                    self._build_lanes(folder, kernel, text, axis)
                elif kernel.coordinates:
                    self._build_threads(folder, text)
                else:
                    self._build_plain(folder, text)
                if runs_at_load(folder / LIBRARY):
                    refuse_code_at_load()
                return self._store.publish(
                    key, LIBRARY, folder / LIBRARY, {"kernel": kernel.name, "how": how}
                )

    def emitted(self, kernel: Kernel, axis: str = FIRST_AXIS) -> dict[str, str]:
        """What is generated for a kernel, by kind of text: C++, and IR if it runs in lanes."""
        self._building = kernel
        if not kernel.coordinates:
            return {"C++": emit_kernel(self.library, kernel, "plain")}
        if not (self.options.lanes and self.compiler.kind == "clang"):
            return {"C++": emit_kernel(self.library, kernel, "thread", back_edges=True)}
        text = emit_kernel(self.library, kernel, "thread")
        with scratch_folder() as folder:
            ir = self._thread_ir(folder, text)
        try:
            if not _coordinates(kernel, ir):
                return {"C++": emit_kernel(self.library, kernel, "plain")}
            return {"C++": text, "LLVM IR": vectorise(ir, axis=axis)}
        except UnsupportedIR:
            return {"C++": text}

    # ---- steps

    def _build_plain(self, folder: Path, text: str) -> None:
        """A loop over threads that do not coordinate."""
        (folder / "kernel.cpp").write_text(text)
        if self.compiler.kind == "clang":
            self._front(folder, "kernel.ll", *self._aligned_frames())
            self._assemble(folder, "-O3" if self.options.optimise else "-O0")
        else:
            self._build_with_gcc(folder, "-O3" if self.options.optimise else "-O0")

    def _aligned_frames(self) -> tuple[str, ...]:
        """Vectors that are kept on the stack would lie across two cache lines, by luck."""
        return ("-mstackrealign",) if self._processor.architecture == "x86_64" else ()

    def _build_threads(self, folder: Path, text: str) -> None:
        """A function for one thread, which runs in a fibre of its own."""
        (folder / "kernel.cpp").write_text(text)
        if self.compiler.kind == "clang":
            ir = self._thread_ir(folder, text)
            (folder / "kernel.ll").write_text(_understood(number_calls, ir))
            level = "-O2" if self.options.optimise else "-O0"
            self._assemble(folder, level, "-Xclang", "-disable-llvm-passes", *_TOGETHER)
        else:
            self._build_with_gcc(folder, "-O1" if self.options.optimise else "-O0", *_TOGETHER_GCC)

    def _build_with_gcc(self, folder: Path, *flags: str) -> None:
        flags = (*flags, *_GCC_SECTIONS, "-fstack-usage")
        self._compile(folder, [*flags, "-S", "kernel.cpp", "-o", "kernel.s"])
        assembly = folder / "kernel.s"
        assembly.write_text(make_assembly_defined(assembly.read_text()))
        stack = f"-Wl,--defsym={STACK}={_stack_bytes(folder)}"
        self._run(["-Wl,--gc-sections", stack, "kernel.s", "-o", LIBRARY], folder, link=True)

    def _build_lanes(self, folder: Path, kernel: Kernel, text: str, axis: str) -> None:
        ir = self._thread_ir(folder, text)
        try:
            if not _coordinates(kernel, ir):
                # It only looked as if its threads coordinate: a loop is faster.
                self._build_plain(folder, emit_kernel(self.library, kernel, "plain"))
                return
            vectorised = vectorise(ir, axis=axis)
        except UnsupportedIR as error:
            warnings.warn(
                f"openmps: '{kernel.name}' runs one fibre per thread, which is slow: {error}",
                RuntimeWarning,
                stacklevel=2,
            )
            text = emit_kernel(self.library, kernel, "thread", back_edges=True)
            self._build_threads(folder, text)
            return
        (folder / "kernel.ll").write_text(vectorised)
        large = vectorised.count("\n") > LARGE_KERNEL_LINES
        level = ("-O1" if large else "-O3") if self.options.optimise else "-O0"
        self._assemble(folder, level, *_IN_ORDER)

    def _thread_ir(self, folder: Path, text: str) -> str:
        (folder / "kernel.cpp").write_text(text)
        self._front(folder, "front.ll")
        level = ["-O2", *_TOGETHER, *_FOR_LANES] if self.options.optimise else ["-O0"]
        flags = [*level, *self._machine, "-fPIC", "-fno-math-errno", "-w"]
        self._run([*flags, "-S", "-emit-llvm", "front.ll", "-o", "thread.ll"], folder)
        ir = (folder / "thread.ll").read_text()
        if "@llvm.global_ctors" in ir:  # which lanes would leave out
            refuse_code_at_load()
        return ir

    def _front(self, folder: Path, name: str, *flags: str) -> None:
        """kernel.cpp to IR that no pass has seen yet."""
        # A flag, or -O0 would mark functions as never to be optimised, and inlining is.
        level = ["-O3"] if self.options.optimise else ["-O0", "-Xclang", "-disable-O0-optnone"]
        arguments = [*level, "-Xclang", "-disable-llvm-passes", "-S", "-emit-llvm"]
        self._compile(folder, [*arguments, "kernel.cpp", "-o", name])
        file = folder / name
        ir = file.read_text()
        look_at_clang(ir)
        file.write_text(_understood(make_ir_defined, ir))

    def _assemble(self, folder: Path, level: str, *more: str) -> None:
        flags = [level, *more, *self._machine, "-fPIC", "-fno-math-errno", "-w"]
        # arm64's libmvec is younger than what the compiler expects of it.
        vectors = self._processor.architecture == "x86_64" and runtime().has_libmvec
        if self.options.optimise and vectors:
            flags.append("-fveclib=libmvec")
        self._run([*flags, "-fstack-usage", "-c", "kernel.ll", "-o", "kernel.o"], folder)
        stack = f"--defsym={STACK}={_stack_bytes(folder)}"
        stack = stack if self.compiler.links_directly else f"-Wl,{stack}"
        self._run([stack, "kernel.o", "-o", LIBRARY], folder, link=True)

    def _compile(self, folder: Path, arguments: list[str]) -> None:
        try:
            self.compiler.run(["-x", "c++", *self._flags, *arguments], folder)
        except CompileRefused as refused:
            explained = explain(self.library, refused.messages, self._building)
            if explained is not None:
                raise explained from None
            raise refused_by_machine(
                "the C++ compiler refused what openmps made of this shader", refused.messages
            ) from None

    def _run(self, arguments: list[str], folder: Path, *, link: bool = False) -> None:
        try:
            self.compiler.run(arguments, folder, link=link)
        except CompileRefused as refused:
            raise refused_by_machine(
                "the compiler refused code that openmps generated for this shader",
                refused.messages,
            ) from None

    def _key(self, text: str, how: str) -> str:
        optimise = str(self.options.optimise)
        return build_key(
            {"kernel.cpp": text.encode(), **_own_sources()},
            (how, self.compiler.identity, self._processor.identity, optimise, *self._flags),
        )


def refuse_code_at_load() -> NoReturn:
    raise ShaderError(
        "a Metal shader has code that would run when it is loaded",
        found="a variable at program scope whose value is computed",
        next_step="give it a constant value, or compute it in the kernel",
    )


def _coordinates(kernel: Kernel, ir: str) -> bool:
    """Whether its threads do wait for each other, or share memory."""
    given = any(parameter.kind == "threadgroup" for parameter in kernel.parameters)
    return given or bool(uses(ir) - {"atomic"})


def _understood(change: Callable[[str], str], ir: str) -> str:
    """`change` of IR that no other way to build the kernel goes without."""
    try:
        return change(ir)
    except UnsupportedIR as error:
        raise CompileError(
            "openmps does not understand what the compiler made of this shader",
            found=str(error),
            next_step=f"use clang {CLANG}, which openmps was tested with: unset "
            f"OPENMPS_SHADER_CXX and pip install '{ZIGLANG}'; with that one, report this with "
            "the shader, and set OPENMPS_SHADER_CXX=g++",
        ) from None


def _stack_bytes(folder: Path) -> int:
    """What all functions of the kernel take that one thread runs: more than any chain of calls
    without recursion does. Recursion is found by the guard below the stack."""
    lines = [line.split("\t") for line in (folder / "kernel.su").read_text().splitlines()]
    frames = [(place.rpartition(":")[2], int(size)) for place, size, _ in lines]
    assert frames, "a compiler that does not tell the size of a frame"
    one_of = [size for name, size in frames if name in (WHOLE, PART)]
    others = [size for name, size in frames if name not in (WHOLE, PART)]
    # return addresses, alignment
    return sum(others) + max(one_of, default=0) + 128 * len(frames)


@functools.lru_cache
def _own_sources() -> dict[str, bytes]:
    """What openmps adds to every kernel: its headers, and the code that generates and builds."""
    own = (Path(__file__), PACKAGE / "layouts.py")
    files = [*(PACKAGE / "include").rglob("*.h"), *(PACKAGE / "emit").rglob("*.py"), *own]
    return {str(file.relative_to(PACKAGE)): file.read_bytes() for file in sorted(files)}
