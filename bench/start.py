"""What openmps adds to the start of a program, with a warm cache.

    scripts/bench start

Goal: activation at most 150 ms over `import torch` alone; installed but not asked for, at most 5 ms.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable

from measure import alternate

import openmps

ROUNDS = 25

# torch looks for plug-ins in any case; this takes ours out before it does.
WITHOUT_OPENMPS = """
import sys, types
stub = types.ModuleType("openmps.autoload")
stub.autoload = lambda: None
sys.modules["openmps"] = types.ModuleType("openmps")
sys.modules["openmps.autoload"] = stub
import torch
"""


def starter(program: str, **settings: str) -> Callable[[], object]:
    environment = {k: v for k, v in os.environ.items() if not k.startswith("OPENMPS")}
    command = [sys.executable, "-c", program]
    return lambda: subprocess.run(command, env={**environment, **settings}, check=True)


def main() -> None:
    openmps.activate(engine="cpu")  # warms the cache
    alone = starter(WITHOUT_OPENMPS)
    for name, limit_ms, other in (
        ("installed, not asked for", 5, starter("import torch")),
        ("OPENMPS=1", 150, starter("import torch", OPENMPS="1", OPENMPS_ENGINE="cpu")),
    ):
        pair = alternate(alone, other, calls=1, rounds=ROUNDS)
        print(
            f"{name:26} {pair.over_us / 1e3:+7.1f} ms over import torch alone "
            f"({pair.base_s * 1e3:.0f} ms); goal: at most {limit_ms} ms"
        )


if __name__ == "__main__":
    main()
