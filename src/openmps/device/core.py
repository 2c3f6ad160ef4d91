"""The C++ core: which files it is made of, how they are compiled, and loading the result."""

from __future__ import annotations

import hashlib
import importlib.machinery
import importlib.util
import platform
import re
import sys
import sysconfig
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, NamedTuple, cast

from openmps import settings
from openmps.build.artifact import find_or_build
from openmps.build.compiler import Job
from openmps.build.key import build_key
from openmps.build.loading import load_built
from openmps.build.store import user_store
from openmps.errors import CompileError, CompilerNotFound, OpenmpsError

if TYPE_CHECKING:
    from openmps.device.core_interface import Core

MODULE = "openmps_core"
OLDEST_TORCH, NEWEST_TORCH = (2, 11), (2, 15)  # of those that the tests ran with
_PACKAGE = Path(__file__).parent.parent
SOURCES = _PACKAGE / "csrc"
# What the sources include from other folders.
_CONTRACTS = (
    "include/msl/launch/counts.h",
    "include/msl/launch/launch.h",
    "include/msl/launch/cuda_launch.h",
    "csrc_cuda/driver.h",
    "csrc_runtime/slots.h",
)
_FLAGS = (
    "-std=c++20",
    "-O2",
    "-fPIC",
    "-fvisibility=hidden",
    "-D_GLIBCXX_USE_CXX11_ABI=1",
    "-DAT_PER_OPERATOR_HEADERS",  # or many headers bring all of torch's operators with them
)
_LIBRARIES = ("-ltorch_python", "-ltorch_cpu", "-lc10")
# The headers in which builds of one torch release may differ, for all that the core includes.
_CONFIGURED_HEADERS = ("torch/headeronly/macros/cmake_macros.h", "ATen/Config.h")
# The folders of `csrc` that are the first of two halves, which take about equally long to compile.
# The second has all that an operator with a typed kernel passes: the compiler sees it as one.
_FIRST_HALF = (
    "dispatch",
    "engine/cuda",
    "mac",
    "metal",
    "profiler",
    "python",
    "torch_interfaces",
)


class Torch(NamedTuple):
    """The installed torch, found without importing it: `openmps run` builds before torch starts."""

    folder: Path
    version: str  # 2.13.0+cpu, and the commit that it was built from

    @property
    def number(self) -> str:
        """2.13.0"""
        return re.split(r"[+\s]", self.version)[0]

    @property
    def release(self) -> tuple[int, int] | None:
        """(2, 13); None for a version that is no number."""
        found = re.match(r"(\d+)\.(\d+)", self.version)
        return (int(found[1]), int(found[2])) if found else None

    def is_newer_than_tested(self) -> bool:
        return self.release is not None and self.release > NEWEST_TORCH

    def interface(self) -> tuple[str, ...]:
        """What a library for it depends on: the same for CPU and CUDA builds of a release."""
        commit = self.version.partition(" ")[2]
        digest = hashlib.sha256()
        for name in _CONFIGURED_HEADERS:
            file = self.folder / "include" / name
            digest.update(file.read_bytes() if file.exists() else b"-")
        return (self.number, commit, digest.hexdigest())


def find_torch() -> Torch:
    spec = importlib.util.find_spec("torch")
    if spec is None or spec.origin is None:
        raise OpenmpsError(
            "torch is not installed in this Python",
            found=sys.executable,
            next_step="pip install torch",
        )
    folder = Path(spec.origin).parent
    facts: dict[str, str] = {}
    exec((folder / "version.py").read_text(), facts)  # torch's own way to keep these
    return Torch(folder, f"{facts['__version__']} {facts.get('git_version', '')}".strip())


def check_torch(torch: Torch) -> None:
    """An older one lacks what the core is made of: better said than compiled."""
    if torch.release is not None and torch.release < OLDEST_TORCH:
        oldest = ".".join(map(str, OLDEST_TORCH))
        raise OpenmpsError(
            f"openmps needs torch {oldest} or newer",
            found=f"torch {torch.number} in {torch.folder}",
            next_step=f"pip install 'torch>={oldest}'",
        )


def build(*, prebuilt: bool = True) -> Path:
    """The core's library for the installed torch, built now if it never was.

    prebuilt: whether one that came with openmps will do.
    """
    torch = find_torch()
    check_torch(torch)
    extra = settings.CXXFLAGS.read().split()
    sources = {
        str(file.relative_to(SOURCES)): file.read_bytes()
        for file in sorted(SOURCES.rglob("*"))
        if file.suffix in (".cpp", ".h")
    }
    sources |= {name: (_PACKAGE / name).read_bytes() for name in _CONTRACTS}
    abi = sysconfig.get_config_var("SOABI") or ""
    key = build_key(sources, (*torch.interface(), abi, platform.machine(), *_FLAGS, *extra))
    try:
        return find_or_build(
            user_store("core"),
            key,
            f"{MODULE}.so",
            f"the mps device for torch {torch.number}",
            lambda: job(torch, extra),
            prebuilt=prebuilt,
        )
    except CompileError as error:
        if torch.is_newer_than_tested():
            raise unknown_torch(torch, error.found) from error
        raise


def unknown_torch(torch: Torch, found: str) -> OpenmpsError:
    oldest, newest = (".".join(map(str, release)) for release in (OLDEST_TORCH, NEWEST_TORCH))
    return OpenmpsError(
        f"openmps does not work with torch {torch.number}, which is newer than it knows "
        f"({oldest} to {newest})",
        found=found,
        next_step=f"pip install --upgrade openmps; or pip install 'torch=={newest}.*'",
    )


def job(torch: Torch, extra: list[str]) -> Job:
    python = Path(sysconfig.get_paths()["include"])
    if not (python / "Python.h").exists():
        raise CompilerNotFound(
            "Python's C headers are missing: openmps needs them, once, to build its device core",
            found=f"no Python.h in {python}",
            next_step="install them (apt-get install python3-dev), then run `openmps doctor`",
        )
    include = torch.folder / "include"
    folders = (include, include / "torch" / "csrc" / "api" / "include", python)
    return Job(
        units=_units(sorted(SOURCES.rglob("*.cpp"))),
        compile_flags=[
            *_FLAGS,
            *extra,
            *(f"-I{folder}" for folder in (SOURCES, _PACKAGE)),
            # As system headers: warnings in torch's are not ours to print.
            *(f"-isystem{folder}" for folder in folders),
        ],
        # Where these libraries lie does not matter: they are loaded before the core.
        link_flags=[*extra, f"-L{torch.folder / 'lib'}", *_LIBRARIES],
    )


def _units(sources: list[Path]) -> list[list[Path]]:
    """Parts that are compiled side by side. A source's folder alone says which it belongs to.

    Each part parses torch's headers, which is most of the work: only many cores make more pay.
    """
    halves: tuple[list[Path], list[Path]] = ([], [])
    for source in sources:
        folder = str(source.relative_to(SOURCES).parent)
        halves[folder not in _FIRST_HALF].append(source)
    return list(halves)


def load() -> Core:
    """Loads the core into this process. Everything it registers with torch stays for good."""
    return cast("Core", load_built(build, _load))


def _load(library: Path) -> ModuleType:
    loader = importlib.machinery.ExtensionFileLoader(MODULE, str(library))
    spec = importlib.util.spec_from_loader(MODULE, loader)
    assert spec is not None
    core = importlib.util.module_from_spec(spec)
    loader.exec_module(core)
    return core
