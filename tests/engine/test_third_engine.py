"""What docs/engines.md says: an engine is a folder that implements one interface. Here it comes as
a library that the core was not compiled with."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from openmps.build.compiler import find_compiler
from openmps.device.core import SOURCES

HERE = Path(__file__).parent


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    built = tmp_path_factory.mktemp("echo") / "libecho.so"
    folder = Path(torch.__file__).parent
    include = folder / "include"
    flags = ["-std=c++20", "-O1", "-fPIC", "-shared", "-fvisibility-inlines-hidden"]
    defined = ["-D_GLIBCXX_USE_CXX11_ABI=1", "-DAT_PER_OPERATOR_HEADERS"]
    folders = [f"-I{SOURCES}", f"-I{SOURCES.parent}", f"-isystem{include}"]
    api = f"-isystem{include / 'torch' / 'csrc' / 'api' / 'include'}"
    command = [find_compiler().path, *flags, *defined, *folders, api]
    libraries = [f"-L{folder / 'lib'}", "-ltorch_cpu", "-lc10"]
    subprocess.run([*command, HERE / "echo_engine.cpp", "-o", built, *libraries], check=True)
    return built


def test_a_third_engine_needs_nothing_but_the_interface(library: Path) -> None:
    environment = {**os.environ, "OPENMPS": "0"}
    environment.pop("OPENMPS_ENGINE", None)
    done = subprocess.run(
        [sys.executable, HERE / "program.py", library],
        capture_output=True,
        text=True,
        timeout=300,
        env=environment,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["allocations", "waits", "launches", "relus"]


def test_an_engine_that_nobody_registered_is_refused_by_name(library: Path) -> None:
    program = "import openmps; openmps.activate(engine='echo')"
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        timeout=300,
        env={**os.environ, "OPENMPS": "0"},
    )
    assert done.returncode == 1
    assert "no such engine" in done.stderr
    assert "set OPENMPS_ENGINE to auto, cpu or cuda" in done.stderr
