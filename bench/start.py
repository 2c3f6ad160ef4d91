"""What activation adds to the start of a program, with a warm cache.

    scripts/bench start

Goal: `import torch` plus activation at most 150 ms over `import torch` alone; installed but not
asked for, at most 5 ms.
"""

from __future__ import annotations

import os
import subprocess
import sys

import openmps
from measure import alternate

ROUNDS = 15


def main() -> None:
    openmps.activate(engine="cpu")  # warms the cache

    def starter(**settings: str) -> object:
        environment = {k: v for k, v in os.environ.items() if not k.startswith("OPENMPS")}
        environment.update(settings)
        return lambda: subprocess.run(
            [sys.executable, "-c", "import torch"], env=environment, check=True
        )

    # Without the entry point at all: what torch costs where openmps is not installed.
    alone = starter(TORCH_DEVICE_BACKEND_AUTOLOAD="0")
    for name, limit_ms, other in (
        ("installed, not asked for", 5, starter()),
        ("OPENMPS=1", 150, starter(OPENMPS="1", OPENMPS_ENGINE="cpu")),
    ):
        pair = alternate(alone, other, calls=1, rounds=ROUNDS)
        over = (pair.other_s - pair.base_s) * 1e3
        print(
            f"{name:26} {over:+7.1f} ms over import torch ({pair.base_s * 1e3:.0f} ms); "
            f"goal: at most {limit_ms} ms"
        )


if __name__ == "__main__":
    main()
