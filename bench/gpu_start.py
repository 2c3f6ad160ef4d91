"""How long a program takes to start on an NVIDIA GPU, first kernels included, on cuda and on mps.

    scripts/gpu bench gpu_start

Goal: at most 0.5 seconds more. Each program is a process of its own, in turn; what is compiled once
for a machine (the core, the kernels of device/*.metal) is there.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import time

from gpu_report import Row, keep, show
from sides import environment

LIMIT_S = 0.5
TITLE = "Start of a program: seconds on cuda and on mps; the figure is the difference"
WORKS = {
    "a sum": "x = torch.ones(1000, device=device); y = (x + 1).sum()",
    "random numbers and an embedding": (
        "table = torch.randn(100, 16, device=device); "
        "y = torch.nn.functional.embedding(torch.arange(9, device=device), table).sum()"
    ),
    "a training step": (
        "model = torch.nn.Linear(64, 8).to(device); "
        "weights = torch.optim.AdamW(model.parameters()); "
        "y = model(torch.randn(4, 64, device=device)).square().mean(); "
        "y.backward(); weights.step(); y = y.detach()"
    ),
}


def seconds(device: str, work: str) -> float:
    program = f"import torch; device = {device!r}; {work}; print(float(y))"
    settings = environment("cuda", {"OPENMPS": "1"} if device == "mps" else {})
    begin = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-c", program], env=settings, capture_output=True, text=True
    )
    spent = time.perf_counter() - begin
    if done.returncode != 0:
        raise SystemExit(f"{device}: {done.stderr}")
    return spent


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--works", nargs="+", choices=list(WORKS), default=list(WORKS))
    options = parser.parse_args()
    rows = []
    for name in options.works:
        times: dict[str, list[float]] = {"cuda": [], "mps": []}
        for turn in range(options.rounds + 1):
            for device, found in times.items():
                spent = seconds(device, WORKS[name])
                if turn:  # the first one may compile
                    found.append(spent)
        over = statistics.median(m - c for c, m in zip(*times.values(), strict=True))
        medians = map(statistics.median, times.values())
        rows.append(Row(name, *medians, "s", over, LIMIT_S, at_most=True))
    show(TITLE, rows)
    keep("gpu_start", TITLE, rows)


if __name__ == "__main__":
    main()
