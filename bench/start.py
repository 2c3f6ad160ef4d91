"""What openmps adds to the start of a program, with a warm cache.

    scripts/bench start

Each round is a fresh process that imports torch, without plug-ins, and then calls our plug-in entry
point as torch would have; both are timed inside it, so that the machine's moods stay out.

Goal: activation at most 150 ms on top of `import torch`; installed but not asked for, at most 5 ms.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys

import openmps

ROUNDS = 15

PROGRAM = """
import time
begin = time.perf_counter()
import torch
imported = time.perf_counter()
from openmps.autoload import autoload
autoload()
print(imported - begin, time.perf_counter() - imported)
"""


def milliseconds(**settings: str) -> tuple[float, float]:
    """Medians: `import torch`, and our entry point after it."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith("OPENMPS")}
    environment |= {"TORCH_DEVICE_BACKEND_AUTOLOAD": "0", **settings}
    rounds = []
    for _ in range(ROUNDS):
        done = subprocess.run(
            [sys.executable, "-c", PROGRAM],
            env=environment,
            check=True,
            capture_output=True,
            text=True,
        )
        rounds.append([float(seconds) * 1e3 for seconds in done.stdout.split()])
    torch_ms, ours_ms = (statistics.median(column) for column in zip(*rounds, strict=True))
    return torch_ms, ours_ms


def main() -> None:
    openmps.activate(engine="cpu")  # warms the cache
    for name, limit_ms, settings in (
        ("installed, not asked for", 5, {}),
        ("OPENMPS=1", 150, {"OPENMPS": "1", "OPENMPS_ENGINE": "cpu"}),
    ):
        torch_ms, ours_ms = milliseconds(**settings)
        print(
            f"{name:26} {ours_ms:7.2f} ms on top of import torch ({torch_ms:.0f} ms); "
            f"goal: at most {limit_ms} ms"
        )


if __name__ == "__main__":
    main()
