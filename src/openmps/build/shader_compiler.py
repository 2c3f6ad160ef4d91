"""The compiler for kernels: clang of the ziglang wheel, or the user's clang or g++.

One run takes some 20 ms: `zig clang` is the plain clang driver and `zig ld.lld` the plain linker.
(`zig cc` would first build a C library, which takes a minute and is not needed.)
Argument lists only, never a shell; nothing of a shader's text is ever an argument.
"""

from __future__ import annotations

import functools
import importlib.metadata
import importlib.util
import os
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from openmps import settings
from openmps.build.compiler import environment, machine_lacks
from openmps.build.processor import Processor
from openmps.errors import CompileError, CompilerNotFound

# Metal's rules where C++ leaves something undefined or to the platform.
DIALECT = (
    "-std=c++17", "-nostdinc", "-fPIC", "-w", "-fwrapv", "-fno-strict-aliasing",
    "-fno-finite-loops", "-ffp-contract=off", "-fno-math-errno", "-fsigned-char",
    "-fno-exceptions", "-fno-rtti", "-fno-stack-protector", "-fno-threadsafe-statics",
    "-fno-delete-null-pointer-checks", "-fno-asynchronous-unwind-tables",
    # Frames are touched page by page: none can jump over the guard below a stack.
    "-fstack-clash-protection",
)  # fmt: skip
# half rounds after every operation, also where the processor computes it in float.
_CLANG = ("-Xclang", "-ffloat16-excess-precision=none")
FAST_MATH = ("-ffast-math", "-ffp-contract=fast")
LONGEST_COMPILE_S = 300


@dataclass(frozen=True)
class ShaderCompiler:
    """kind: clang, which lanes need, or gcc. `identity` changes when its output may change."""

    kind: str
    compile: tuple[str, ...]
    link: tuple[str, ...]
    identity: str
    links_directly: bool = False  # `link` is the linker, not a compiler that calls it

    def run(self, arguments: Sequence[str], folder: Path, *, link: bool = False) -> str:
        """Runs in `folder` and returns what was said. Raises CompileRefused with it on failure."""
        command = [*(self.link if link else self.compile), *arguments]
        try:
            done = subprocess.run(
                command,
                cwd=folder,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                env=environment(folder),
                timeout=LONGEST_COMPILE_S,
            )
        except subprocess.TimeoutExpired:
            raise CompileRefused(
                f"error: the compiler took longer than {LONGEST_COMPILE_S} s"
            ) from None
        except OSError as error:
            if (lacking := machine_lacks(1, str(error), folder)) is not None:
                raise lacking from error
            raise CompilerNotFound(
                "the compiler for Metal shaders does not run",
                found=f"{command[0]}: {error.strerror}",
                next_step="pip install ziglang, or set OPENMPS_SHADER_CXX to a clang++ or g++",
            ) from error
        said = done.stderr.decode(errors="replace")
        if done.returncode != 0:
            if (lacking := machine_lacks(done.returncode, said, folder)) is not None:
                raise lacking
            raise CompileRefused(said or f"error: exit status {done.returncode}")
        return said

    def machine(self, processor: Processor) -> tuple[str, ...]:
        """The flags for code that runs on it."""
        if self.kind != "clang":
            return processor.flags
        return ("-target", f"{processor.architecture}-unknown-linux-gnu", *processor.flags)


class CompileRefused(Exception):
    """Carries the compiler's messages to whoever can tell what they mean to the user."""

    def __init__(self, messages: str) -> None:
        super().__init__(messages)
        self.messages = messages


def find_shader_compiler() -> ShaderCompiler:
    """What OPENMPS_SHADER_CXX names, else the ziglang wheel, else clang++ or g++ on the PATH."""
    return _find(settings.SHADER_CXX.read())


@functools.lru_cache
def _find(chosen: str) -> ShaderCompiler:
    if chosen and chosen != "zig":
        path = shutil.which(chosen)
        if path is None:
            raise CompilerNotFound(
                "the compiler for Metal shaders does not exist",
                found=f"OPENMPS_SHADER_CXX={chosen!r}",
                next_step="unset it to use the ziglang wheel, or name a clang++ or g++",
            )
        return _system(path)
    zig = _zig()
    if zig is not None:
        return zig
    for name in () if chosen else ("clang++", "g++"):
        path = shutil.which(name)
        if path is not None:
            return _system(path)
    raise CompilerNotFound(
        "no compiler for Metal shaders",
        found="no ziglang package, no clang++ and no g++ on the PATH",
        next_step="pip install ziglang",
    )


def _zig() -> ShaderCompiler | None:
    spec = importlib.util.find_spec("ziglang")
    if spec is None or spec.origin is None:
        return None
    zig = Path(spec.origin).parent / "zig"
    if not os.access(zig, os.X_OK):
        return None
    version = importlib.metadata.version("ziglang")
    return ShaderCompiler(
        "clang",
        (str(zig), "clang", *_CLANG),
        (str(zig), "ld.lld", "-shared"),
        f"ziglang {version}",
        links_directly=True,
    )


def _system(path: str) -> ShaderCompiler:
    # Known by its file and not by asking it: a warm call must not start a compiler.
    file = Path(path).resolve()
    facts = file.stat()
    kind = "clang" if "clang" in file.name else "gcc"
    identity = f"{kind} {file} {facts.st_size} {facts.st_mtime_ns}"
    extra = _CLANG if kind == "clang" else ()
    return ShaderCompiler(kind, (path, *extra), (path, "-shared", "-nostdlib"), identity)


def refused_by_machine(problem: str, messages: str) -> CompileError:
    """For what is openmps' own fault: text that it made itself does not compile."""
    first = next((line for line in messages.splitlines() if "error" in line), messages[:300])
    return CompileError(
        problem,
        found=first.strip(),
        next_step="report this with the shader; OPENMPS_SHADER_CXX=g++ may get you further",
    )
