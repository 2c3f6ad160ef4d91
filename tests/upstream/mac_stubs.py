"""What the suite asks the operating system, answered as the chosen Mac would.

The suite reads `platform.mac_ver()` and `sysctl -n hw.memsize` when it is imported, and PyTorch's
testing package decides from `IS_MACOS` which of its operator tests a Mac expects to fail.
"""

from __future__ import annotations

import os
import platform
import shlex
import shutil
from pathlib import Path

from openmps.mac.chips import Mac

# Variables that change what the suite does, or what a Mac would.
_UNWANTED = ("CI", "MTL_", "OPENMPS_STRICT", "PYTORCH_", "TORCH_", "TEST_", "PYTHONWARNINGS")


def environment(mac: str, macos: str, folder: Path, source: Path) -> dict[str, str]:
    """For processes that run the suite. `folder` holds their stubs; `source`: of openmps."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith(_UNWANTED)}
    return {
        **kept,
        "PATH": f"{folder}{os.pathsep}{os.environ.get('PATH', os.defpath)}",
        "PYTHONPATH": str(source),
        "OPENMPS": "1",
        "OPENMPS_MAC": mac,
        "OPENMPS_MACOS": macos,
        "OMP_NUM_THREADS": os.environ.get("OMP_NUM_THREADS", "1"),
        "OMP_WAIT_POLICY": os.environ.get("OMP_WAIT_POLICY", "passive"),
        # As PyTorch's own CI runs the suite on Macs.
        "PYTORCH_TESTING_DEVICE_ONLY_FOR": "mps",
        "PYTORCH_TEST_WITH_SLOW": "1",
    }


def write_sysctl(folder: Path, mac: Mac) -> None:
    real = shutil.which("sysctl")
    otherwise = f'exec {shlex.quote(real)} "$@"' if real else "exit 1"
    stub = folder / "sysctl"
    memory = f'[ "$*" = "-n hw.memsize" ] && echo {mac.memory_gb << 30} && exit'
    stub.write_text(f"#!/bin/sh\n{memory}\n{otherwise}\n")
    stub.chmod(0o755)


def pretend(macos: str) -> None:
    """In this process. Must come before the suite's import, and after torch got its device."""
    platform.mac_ver = lambda *_: (macos, ("", "", ""), "arm64")
    from torch.testing._internal import common_utils

    common_utils.IS_MACOS = True
    common_utils.IS_LINUX = False
