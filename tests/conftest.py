"""The suite runs on the device: it is activated before any test module is imported."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import openmps

openmps.activate()

KEPT = (
    "OPENMPS_CXX",
    "OPENMPS_CXXFLAGS",
    "OPENMPS_CACHE_DIR",
    "OPENMPS_ENGINE",
    "OPENMPS_SHADER_CXX",
)

Python = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def python(tmp_path: Path) -> Python:
    """Runs Python in a process of its own, in an empty folder, without this suite's settings."""

    def run(
        *arguments: str, timeout: float = 240, **variables: str
    ) -> subprocess.CompletedProcess[str]:
        clean = {key: value for key, value in os.environ.items() if not key.startswith("OPENMPS")}
        for keep in KEPT:
            if keep in os.environ:
                clean[keep] = os.environ[keep]
        return subprocess.run(
            [sys.executable, *arguments],
            env={**clean, **variables},
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=timeout,
        )

    return run
