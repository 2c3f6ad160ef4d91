"""How fast this CPU multiplies, by dtype: from that come the sizes that are measured.

In a process of its own: some virtual machines advertise AMX, do not have it, and end a process in
which oneDNN uses it.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from typing import NamedTuple

from openmps import settings
from openmps.bench.subjects import DTYPES
from openmps.errors import OpenmpsError

WITHOUT_AMX = {"ONEDNN_MAX_CPU_ISA": "AVX512_CORE_FP16"}
_SIDE = 512
_SECONDS = 0.3  # for each dtype, at least
_LONGEST_S = 300


class Probe(NamedTuple):
    flops: dict[str, float]  # per second, by dtype; one that is not here cannot be measured
    environment: dict[str, str]  # what torch must be started with to survive


def probe() -> Probe:
    status, flops, said = _ask({})
    environment: dict[str, str] = {}
    if status == -signal.SIGILL:
        environment = WITHOUT_AMX
        status, flops, said = _ask(environment)
    if "float32" not in flops:
        last = said.strip().splitlines()[-1:] or [f"it ended with status {status}"]
        raise OpenmpsError(
            "torch cannot multiply two matrices on this machine's CPU",
            found=last[0],
            next_step="run `openmps doctor`",
        )
    return Probe(flops, environment)


def _ask(environment: dict[str, str]) -> tuple[int, dict[str, float], str]:
    variables = {**os.environ, **environment, settings.ACTIVE.variable: "0"}
    command = [sys.executable, "-m", "openmps.bench.probe"]
    ended = subprocess.run(
        command, env=variables, capture_output=True, text=True, timeout=_LONGEST_S
    )
    flops = dict(map(json.loads, ended.stdout.splitlines()))
    return ended.returncode, flops, ended.stderr


def main() -> None:
    import torch

    for dtype in DTYPES:
        a = torch.rand(_SIDE, _SIDE).to(getattr(torch, dtype))
        a @ a  # wakes up threads and chooses its code
        count, seconds, begin = 0, 0.0, time.perf_counter()
        while seconds < _SECONDS:
            a @ a
            count += 1
            seconds = time.perf_counter() - begin
        # On average, and not at its best: a busy machine is to get smaller sizes.
        print(json.dumps([dtype, count * 2.0 * _SIDE**3 / seconds]), flush=True)


if __name__ == "__main__":
    main()
