"""Whether the installed torchvision loads with the installed torch, and what to do if not.

torchvision's usual wheel needs CUDA's libraries. With a CPU build of torch it fails at import, and
takes with it the libraries that import it where it is installed.
"""

from __future__ import annotations

import subprocess
import sys
from importlib import metadata

_SECONDS = 120
# What torchvision's own code says when its compiled part did not load.
_NOT_LOADED = "operator torchvision::nms does not exist"


def torchvision_fact() -> str:
    try:
        version = metadata.version("torchvision")
    except metadata.PackageNotFoundError:
        return "not installed (fine: few programs need it)"
    # In a process of its own: an import that fails halfway leaves its operators behind.
    trial = subprocess.run(
        [sys.executable, "-c", "import torchvision"],
        capture_output=True,
        text=True,
        timeout=_SECONDS,
    )
    if trial.returncode == 0:
        return version
    return f"{version}: {_hint(version, trial.stderr)}"


def _hint(version: str, stderr: str) -> str:
    plain = version.split("+")[0]
    if _NOT_LOADED in stderr:
        return (
            "cannot be imported: its compiled part is made for another build of torch (CUDA), "
            f"and {_NOT_LOADED}.\n"
            "transformers, lightning and timm import it where it is installed, and fail with it.\n"
            f"Install the CPU build of torchvision {plain} from where your torch came, or, if you "
            "do not need it: pip uninstall torchvision"
        )
    last = (stderr.strip() or "no message").splitlines()[-1]
    return f"cannot be imported: {last}\nInstall the release that belongs to your torch"
