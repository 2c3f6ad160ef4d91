"""A processor that says more than it can: some virtual machines advertise AMX and do not have it.

oneDNN believes them, and a bfloat16 product on the plain CPU ends the process. That says nothing
about our device, so oneDNN is then told what it may use.
"""

from __future__ import annotations

import signal
import subprocess
import sys

_PRODUCT = (
    "import torch; a = torch.ones(2, 64, 64, dtype=torch.bfloat16); "
    "torch.bmm(a, a); torch.nn.functional.linear(a, a[0])"
)
_WITHOUT_AMX = {"ONEDNN_MAX_CPU_ISA": "AVX512_CORE_FP16"}


def variables() -> dict[str, str]:
    """For oneDNN in processes that run the suite."""
    ended = subprocess.run([sys.executable, "-c", _PRODUCT], capture_output=True, check=False)
    if ended.returncode != -signal.SIGILL:
        return {}
    print(
        "this machine advertises AMX and dies of it: oneDNN does without it",
        file=sys.stderr,
        flush=True,
    )
    return _WITHOUT_AMX
