"""The arrows between the rooms of the house (docs/architecture.md) point one way."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

import openmps
from openmps.msl import compiler_messages

ROOT = Path(openmps.__file__).parent

# Each room, and the rooms it may import. `errors` and `settings` are open to all.
MAY_IMPORT = {
    "mac": set(),
    "build": set(),
    "msl": {"layouts"},
    "emit": {"layouts", "msl"},
    "targets": {"build", "emit", "layouts", "msl"},
    "shader": {"layouts", "mac", "msl", "targets"},
    "device": {"build", "mac", "shader", "targets"},
    "bench": set(),
    "cli": {"bench", "build", "device", "mac", "msl", "shader", "targets"},
    "autoload": {"device"},
    "pytest_plugin": {"device"},
    "errors": set(),
    "layouts": set(),
    "settings": set(),
    "__init__": {"device"},
    "__main__": {"cli"},
}
# The same for the rooms inside a room; modules that lie in none of them may import all.
MAY_IMPORT_INSIDE = {
    "emit": {
        "ir": set(),
        "scalar": {"ir"},
        "lanes": {"ir", "scalar"},
        "ptx": set(),
    },
    "device": {"engines": {"core_interface", "patches"}},
}
OPEN_TO_ALL = {"errors", "settings", "__init__"}
MAY_IMPORT_TORCH = {"bench", "shader", "device", "cli", "pytest_plugin"}

MODULES = sorted(ROOT.rglob("*.py"))


def room_of(module: Path) -> str:
    relative = module.relative_to(ROOT)
    return relative.parts[0] if len(relative.parts) > 1 else relative.stem


def imports(module: Path) -> set[str]:
    names = set()
    for node in ast.walk(ast.parse(module.read_text())):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are absolute"
            assert node.module is not None
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
    return names


@pytest.mark.parametrize("module", MODULES, ids=lambda m: str(m.relative_to(ROOT)))
def test_arrows_point_one_way(module: Path) -> None:
    room = room_of(module)
    for name in imports(module):
        parts = name.split(".")
        if parts[0] != "openmps":
            continue
        target = parts[1] if len(parts) > 1 else "__init__"
        if target in ("activate", "is_active", "__version__"):
            target = "__init__"
        allowed = MAY_IMPORT[room] | OPEN_TO_ALL | {room}
        assert target in allowed, f"{room} must not know {target}"


def inner_room_of(module: Path) -> tuple[str, str] | None:
    """The rooms of a module that lies two deep, such as ("emit", "lanes")."""
    parts = module.relative_to(ROOT).parts
    return (parts[0], parts[1]) if len(parts) > 2 else None


@pytest.mark.parametrize("module", MODULES, ids=lambda m: str(m.relative_to(ROOT)))
def test_arrows_inside_a_room_point_one_way(module: Path) -> None:
    place = inner_room_of(module)
    if place is None:
        return
    room, inner = place
    allowed = MAY_IMPORT_INSIDE[room][inner] | {inner}
    for name in imports(module):
        parts = name.split(".")
        if parts[:2] == ["openmps", room]:
            assert parts[2] in allowed, f"{room}/{inner} must not know {room}/{parts[2]}"


@pytest.mark.parametrize("module", MODULES, ids=lambda m: str(m.relative_to(ROOT)))
def test_torch_is_known_to_few(module: Path) -> None:
    if any(name.split(".")[0] == "torch" for name in imports(module)):
        assert room_of(module) in MAY_IMPORT_TORCH


def test_every_room_is_in_the_table() -> None:
    assert {room_of(module) for module in MODULES} == set(MAY_IMPORT)
    inside = {(room, inner) for room, inners in MAY_IMPORT_INSIDE.items() for inner in inners}
    assert {inner_room_of(module) for module in MODULES} - {None} == inside


def test_only_settings_reads_our_variables() -> None:
    # The entry point is the exception: it must not import anything where nobody asked.
    readers = {
        str(module.relative_to(ROOT))
        for module in MODULES
        if 'environ.get("OPENMPS' in module.read_text()
    }
    assert readers == {"autoload.py"}


# Each folder of Metal's standard library, and the folders it may include. What differs on an NVIDIA
# GPU lies in cuda, and whoever defines it for the CPU includes it instead.
MAY_INCLUDE = {
    "types": {"cuda"},
    "math": {"types"},
    "threads": {"types", "math", "cuda"},
    "launch": {"types"},
    "cuda": {"types", "launch"},
}
HEADERS = sorted((ROOT / "include" / "msl").rglob("*.h"))


@pytest.mark.parametrize("header", HEADERS, ids=lambda h: h.name)
def test_arrows_between_metals_headers_point_one_way(header: Path) -> None:
    room = header.parent.name
    for name in re.findall(r'#include "([^"]+)"', header.read_text()):
        target = (header.parent / name).resolve()
        assert target in HEADERS, f"{header.name} includes {name}, which is not there"
        if room != "msl":  # what lies in no folder puts all of them together
            assert target.parent.name in MAY_INCLUDE[room] | {room}


# The rooms of the core, and the rooms that each may include: those before it, but for the engines,
# of which nobody else knows.
CORE = ROOT / "csrc"
CORE_ROOMS = (
    "ledger",
    "mac",
    "memory",
    "engine",
    "tensor",
    "profiler",
    "torch_interfaces",
    "dispatch",
    "operators",
    "metal",
    "engine/cuda",
    "engine/cpu",
    "python",
)
ENGINES = {"engine/cpu", "engine/cuda"}
# Lazy bfloat16 is tested without a GPU.
MAY_KNOW_AN_ENGINE = {"engine/cpu": {"engine/cuda"}}
CORE_FILES = sorted(file for file in CORE.rglob("*") if file.suffix in (".h", ".cpp"))


def core_includes(file: Path) -> list[str]:
    """As they are named: from csrc/."""
    names = re.findall(r'^#include "([^"]+)"', file.read_text(), re.M)
    return [name for name in names if not name.startswith(("include/", "csrc_"))]


def core_room_of(file: Path) -> str:
    return str(file.relative_to(CORE).parent)


@pytest.mark.parametrize("file", CORE_FILES, ids=lambda f: str(f.relative_to(CORE)))
def test_arrows_of_the_core_point_one_way(file: Path) -> None:
    room = core_room_of(file)
    assert room in CORE_ROOMS
    for name in core_includes(file):
        assert (CORE / name).is_file(), f"{name} is not named from csrc/"
        target = core_room_of(CORE / name)
        if target == room:
            continue
        assert CORE_ROOMS.index(target) < CORE_ROOMS.index(room), f"{room} must not know {target}"
        hidden = ENGINES - MAY_KNOW_AN_ENGINE.get(room, set())
        assert target not in hidden, f"only its own folder knows {target}"


def test_no_files_of_the_core_include_each_other_in_a_circle() -> None:
    includes: dict[str, set[str]] = {}
    for file in CORE_FILES:
        name = str(file.relative_to(CORE).with_suffix(""))
        targets = {str(Path(target).with_suffix("")) for target in core_includes(file)}
        includes.setdefault(name, set()).update(targets - {name})
    finished: set[str] = set()

    def visit(name: str, path: list[str]) -> None:
        assert name not in path, " -> ".join([*path[path.index(name) :], name])
        if name in finished:
            return
        for target in sorted(includes.get(name, ())):
            visit(target, [*path, name])
        finished.add(name)

    for name in sorted(includes):
        visit(name, [])


def test_nobody_but_an_engine_asks_which_one_it_is() -> None:
    for file in CORE_FILES:
        if core_room_of(file) not in ENGINES:
            assert "backing().device.is_" not in file.read_text(), file
            assert "backing().device.type() ==" not in file.read_text(), file


def test_python_headers_stay_in_the_bindings() -> None:
    of_cpp = "torch/csrc/autograd/autograd.h"  # of torch/csrc, and no Python in it
    text_of = {file: file.read_text().replace(of_cpp, "") for file in CORE_FILES}
    knowing = {
        core_room_of(file)
        for file, text in text_of.items()
        if "Python.h" in text or "torch/csrc" in text or "pybind11/" in text
    }
    assert knowing == {"python"}


def test_headers_that_errors_are_found_by_are_there() -> None:
    for name in compiler_messages._ENTRY_HEADERS:
        assert (ROOT / "include" / name) in HEADERS
