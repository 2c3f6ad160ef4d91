"""Libraries that look at the machine are told of a Mac, each in its own module only."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from openmps.device.shims import SHIMS

LIBRARY = """
import platform
from functools import lru_cache
class MPSAccelerator:
    @staticmethod
    @lru_cache(1)
    def is_available():
        return platform.processor() in ("arm", "arm64")
"""
ASK = (
    "import importlib, platform\n"
    "module = importlib.import_module('lightning_fabric.accelerators.mps')\n"
    "print(module.MPSAccelerator.is_available(), module.platform.system(), platform.processor())\n"
)


def write_library(folder: Path, text: str = LIBRARY) -> str:
    """A module where Lightning has its own, and the folder that finds it before the real one."""
    inner = folder / "fake" / "lightning_fabric" / "accelerators"
    inner.mkdir(parents=True)
    (inner.parent / "__init__.py").touch()
    (inner / "__init__.py").touch()
    (inner / "mps.py").write_text(text)
    return str(folder / "fake")


def with_path(folder: str) -> dict[str, str]:
    before = os.environ.get("PYTHONPATH", "")
    return {"PYTHONPATH": folder + (os.pathsep + before if before else "")}


def test_every_shim_has_a_reason() -> None:
    assert [shim.module for shim in SHIMS] == [
        "lightning.fabric.accelerators.mps",
        "lightning_fabric.accelerators.mps",
        "thinc.util",
        "comfy.model_management",
    ]
    assert all(f"platform.{shim.asks}()" in shim.why for shim in SHIMS)


@pytest.mark.parametrize(
    ("module", "ask", "answer"),
    [
        ("thinc.util", "system()", "Darwin"),
        ("comfy.model_management", "mac_ver()", "('14.4', ('', '', ''), 'arm64')"),
    ],
)
def test_each_is_answered_what_it_asks_alone(
    python, tmp_path: Path, module: str, ask: str, answer: str
) -> None:
    package, name = module.split(".")
    (tmp_path / "fake" / package).mkdir(parents=True)
    (tmp_path / "fake" / package / f"{name}.py").write_text(
        f"import platform\ndef ask(): return platform.{ask}, platform.python_version()\n"
    )
    program = (
        "import openmps; openmps.activate(macos='14.4')\n"
        f"import platform, {module} as m\n"
        "answer, version = m.ask()\n"
        "print(answer)\n"
        "print(version == platform.python_version(), platform.system(), platform.mac_ver()[0])\n"
    )
    done = python("-c", program, **with_path(str(tmp_path / "fake")))
    assert done.stdout.splitlines() == [answer, "True Linux "], done.stderr


def test_a_module_imported_later_is_answered_and_nothing_else_is(python, tmp_path: Path) -> None:
    path = with_path(write_library(tmp_path))
    done = python("-c", "import openmps; openmps.activate()\n" + ASK, **path)
    plain = python("-c", "import platform; print(platform.processor())")
    assert done.stdout == f"True Linux {plain.stdout}", done.stderr


def test_a_module_that_was_asked_before_activation_forgets_its_answer(
    python, tmp_path: Path
) -> None:
    program = (
        "import lightning_fabric.accelerators.mps as mps\n"
        "print(mps.MPSAccelerator.is_available())\n"
        "import openmps; openmps.activate()\n" + ASK
    )
    done = python("-c", program, **with_path(write_library(tmp_path)))
    assert done.stdout.split()[:3] == ["False", "True", "Linux"], done.stderr


def test_without_openmps_and_without_shims_the_machine_is_itself(python, tmp_path: Path) -> None:
    path = with_path(write_library(tmp_path))
    assert python("-c", ASK, **path).stdout.startswith("False")
    off = python("-c", "import openmps; openmps.activate()\n" + ASK, OPENMPS_SHIMS="0", **path)
    assert off.stdout.startswith("False"), off.stderr


def test_a_module_whose_own_import_of_torch_activates_is_answered(python, tmp_path: Path) -> None:
    text = "import torch\n" + LIBRARY
    path = with_path(write_library(tmp_path, text))
    done = python("-c", ASK, OPENMPS="1", **path)
    assert done.stdout.startswith("True Linux"), done.stderr


def test_another_release_of_the_library_is_left_alone(python, tmp_path: Path) -> None:
    path = with_path(write_library(tmp_path, "class MPSAccelerator: is_available = True"))
    program = (
        "import lightning_fabric.accelerators.mps as m\n"
        "import openmps; openmps.activate()\n"
        "print(m.MPSAccelerator.is_available)"
    )
    done = python("-W", "error", "-c", program, **path)
    assert (done.returncode, done.stdout) == (0, "True\n"), done.stderr
