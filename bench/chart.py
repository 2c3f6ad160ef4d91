"""The figures of bench/gpu_models.py as the chart of `openmps bench`.

python bench/chart.py build/gpu/gpu_models.json docs/gpu-speedup.svg
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from openmps.bench.chart import MODES, Speedup, draw

TITLE = "mps on an NVIDIA GPU: speed-up over the CPU"
SUFFIX = ", fp32: over the CPU engine"


def read(path: Path) -> list[Speedup]:
    rows = {row["what"]: row["figure"] for row in json.loads(path.read_text())["rows"]}
    models = [what.split(",")[0] for what in rows if what.endswith(f", training{SUFFIX}")]
    if not models:
        raise SystemExit(
            f"{path} has no figures of the CPU engine: run bench/gpu_models.py without --only"
        )
    return [Speedup(m, *(rows[f"{m}, {mode}{SUFFIX}"] for mode in MODES)) for m in models]


def main() -> None:
    source, target = map(Path, sys.argv[1:3])
    note = " ".join(sys.argv[3:]) or "Items per second in fp32, over the CPU engine's."
    target.write_text(draw(read(source), TITLE, note))


if __name__ == "__main__":
    main()
