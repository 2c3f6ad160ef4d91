"""For tests that scripts/arm64 runs in an emulated Python without torch: what they would find in
tests/conftest.py. `-p emulated`"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest


@pytest.fixture
def python(tmp_path: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Runs Python in a process of its own, in an empty folder. Its binary alone would not run."""

    def run(*arguments: str, timeout: float = 240) -> subprocess.CompletedProcess[str]:
        command = [os.environ["EMULATED_PYTHON"], *arguments]
        return subprocess.run(
            command, cwd=tmp_path, capture_output=True, text=True, timeout=timeout
        )

    return run
