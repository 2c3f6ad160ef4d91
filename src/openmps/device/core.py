"""The C++ core: which files it is made of, how they are compiled, and loading the result."""

from __future__ import annotations

import importlib.machinery
import importlib.util
import os
import platform
import re
import sys
import sysconfig
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

from openmps import settings
from openmps.build.artifact import find_or_build
from openmps.build.compiler import Job
from openmps.build.key import build_key
from openmps.build.store import Store
from openmps.errors import CompilerNotFound, OpenmpsError

MODULE = "openmps_core"
OLDEST_TORCH = (2, 11)
_PACKAGE = Path(__file__).parent.parent
SOURCES = _PACKAGE / "csrc"
_CONTRACTS = ("include/msl/launch.h",)  # what the sources include from other folders
_FLAGS = (
    "-std=c++20",
    "-O2",
    "-fPIC",
    "-fvisibility=hidden",
    "-D_GLIBCXX_USE_CXX11_ABI=1",
    "-DAT_PER_OPERATOR_HEADERS",  # or many headers bring all of torch's operators with them
)
_LIBRARIES = ("-ltorch_python", "-ltorch_cpu", "-lc10")


class Torch(NamedTuple):
    """The installed torch, found without importing it: `openmps run` builds before torch starts."""

    folder: Path
    version: str


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
    number = re.match(r"(\d+)\.(\d+)", torch.version)
    if number and (int(number[1]), int(number[2])) < OLDEST_TORCH:
        oldest = ".".join(map(str, OLDEST_TORCH))
        raise OpenmpsError(
            f"openmps needs torch {oldest} or newer",
            found=f"torch {torch.version.split()[0]} in {torch.folder}",
            next_step=f"pip install 'torch>={oldest}'",
        )


def build() -> Path:
    """The core's library for the installed torch, built now if it never was."""
    torch = find_torch()
    check_torch(torch)
    extra = settings.CXXFLAGS.read().split()
    sources = {file.name: file.read_bytes() for file in SOURCES.iterdir() if file.is_file()}
    sources |= {name: (_PACKAGE / name).read_bytes() for name in _CONTRACTS}
    abi = sysconfig.get_config_var("SOABI") or ""
    key = build_key(sources, (torch.version, abi, platform.machine(), *_FLAGS, *extra))
    return find_or_build(
        Store(settings.cache_dir(), "core"),
        key,
        f"{MODULE}.so",
        f"the mps device for torch {torch.version.split()[0]}",
        lambda: _job(torch.folder, extra),
    )


def _job(torch: Path, extra: list[str]) -> Job:
    python = Path(sysconfig.get_paths()["include"])
    if not (python / "Python.h").exists():
        raise CompilerNotFound(
            "Python's C headers are missing: openmps needs them, once, to build its device core",
            found=f"no Python.h in {python}",
            next_step="install them (apt-get install python3-dev), then run `openmps doctor`",
        )
    include = torch / "include"
    folders = (include, include / "torch" / "csrc" / "api" / "include", python)
    return Job(
        units=_units(sorted(SOURCES.glob("*.cpp"))),
        # As system headers: warnings in torch's are not ours to print.
        compile_flags=[*_FLAGS, *extra, *(f"-isystem{folder}" for folder in folders)],
        link_flags=[*extra, f"-L{torch / 'lib'}", f"-Wl,-rpath,{torch / 'lib'}", *_LIBRARIES],
    )


def _units(sources: list[Path]) -> list[list[Path]]:
    """Parts that are compiled side by side. The table of typed kernels takes a third of the time.

    Each part parses torch's headers, which is most of the work: only many cores make more pay.
    """
    table = next(k for k, source in enumerate(sources) if source.stem == "operators")
    if len(os.sched_getaffinity(0)) < 4:
        return [sources[:table], sources[table:]]  # it happens to lie where the halves are equal
    rest = [source for k, source in enumerate(sources) if k != table]
    return [[sources[table]], *(rest[part::3] for part in range(3))]


def load() -> ModuleType:
    """Loads the core into this process. Everything it registers with torch stays for good."""
    library = build()
    loader = importlib.machinery.ExtensionFileLoader(MODULE, str(library))
    spec = importlib.util.spec_from_loader(MODULE, loader)
    assert spec is not None
    core = importlib.util.module_from_spec(spec)
    loader.exec_module(core)
    return core
