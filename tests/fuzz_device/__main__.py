"""Random programs on mps and on the CPU: the same shapes, strides, dtypes, versions, and bits."""

from __future__ import annotations

import argparse
import json
import os
import select
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

# Of how many programs each way takes one: tracing is slow.
WAYS = {"run": 1, "lifted": 1, "threads": 16, "fake": 2, "symbolic": 20, "export": 200}
_PER_PROCESS = 2000
_SECONDS = 120  # for one program


@dataclass
class Findings:
    programs: Counter[str] = field(default_factory=Counter)
    found: list[tuple[str, dict[str, str]]] = field(default_factory=list)

    def add(self, way: str, what: dict[str, str]) -> None:
        self.found.append((way, what))
        print(f"\n--- {way}, {what['name']}: {what['what']}\n{what['text']}", flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="scripts/fuzz-device",
        description=__doc__,
        epilog="Exit status: 0 if nothing was found, 1 if anything was. What may differ, and why, "
        "stands in tests/fuzz_device/compare.py.",
    )
    parser.add_argument("programs", type=int, nargs="?", default=2000)
    parser.add_argument("--seed", type=int, default=0, help="of the first program")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    parser.add_argument(
        "--ways",
        nargs="+",
        choices=WAYS,
        default=list(WAYS),
        help="run: as the chosen Mac; lifted: without its refusals; threads: eight programs at "
        "once; fake, symbolic, export: what PyTorch predicts of a program (default: all)",
    )
    parser.add_argument(
        "--operators", nargs="+", default=[], metavar="PART", help="whose names have such a part"
    )
    options = parser.parse_args()
    if options.programs < 1 or options.workers < 1:
        parser.error("PROGRAMS and --workers must be at least 1")
    findings = Findings()
    began = time.monotonic()
    with ThreadPoolExecutor(options.workers) as pool:
        for _ in pool.map(lambda job: _run(*job, options.operators, findings), _jobs(options)):
            pass
    took = time.monotonic() - began
    counts = ", ".join(f"{way} {count}" for way, count in findings.programs.items())
    print(f"{findings.programs.total()} programs in {took:.0f} s ({counts})")
    print(f"{len(findings.found)} differences that nothing explains")
    return 1 if findings.found else 0


def _jobs(options: argparse.Namespace) -> Iterator[tuple[str, int, int]]:
    for way in options.ways:
        count = max(1, options.programs // WAYS[way])
        size = max(1, _PER_PROCESS // WAYS[way])
        for first in range(0, count, size):
            yield way, options.seed + first, min(size, count - first)


def _run(way: str, first: int, count: int, operators: list[str], findings: Findings) -> None:
    """A crash or a hang is a finding, and the programs after it go on."""
    end = first + count
    while first < end:
        first = 1 + _run_until_it_dies(way, first, end - first, operators, findings)


def _run_until_it_dies(
    way: str, first: int, count: int, operators: list[str], findings: Findings
) -> int:
    """The seed of the last program that was begun."""
    environment = {
        **os.environ,
        "OPENMPS": "1",
        "OPENMPS_STRICT": "0" if way == "lifted" else "1",
        "OMP_NUM_THREADS": "1",
        "PYTHONWARNINGS": "ignore",
        "PYTHONPATH": os.pathsep.join(
            [str(Path(__file__).parents[1]), os.environ.get("PYTHONPATH", "")]
        ),
    }
    command = [sys.executable, "-m", "fuzz_device.worker", str(first), str(count)]
    command += ["run" if way == "lifted" else way, *operators]
    seed = first
    # Not a pipe: a worker that prints much would wait for somebody to read it.
    with tempfile.TemporaryFile() as errors:
        process = subprocess.Popen(
            command, env=environment, stdout=subprocess.PIPE, stderr=errors, bufsize=0
        )
        for line in _lines(process):
            seed = line.get("seed", seed)
            findings.programs[way] += "seed" in line
            if "found" in line:
                findings.add(way, line["found"])
            if "done" in line:
                process.wait()
                return seed
        process.kill()
        how = f"exit status {process.wait()}"
        errors.seek(0)
        last = errors.read().decode(errors="replace").strip().splitlines()[-1:]
    how += f": {''.join(last)}"
    findings.add(way, {"what": "the process died", "name": f"seed {seed}", "text": how})
    return seed


def _lines(process: subprocess.Popen[bytes]) -> Iterator[dict[str, Any]]:
    """Until the process ends, or says nothing for too long."""
    assert process.stdout is not None
    rest = b""
    while True:
        ready, _, _ = select.select([process.stdout], [], [], _SECONDS)
        some = os.read(process.stdout.fileno(), 1 << 16) if ready else b""
        if not some:
            return
        *whole, rest = (rest + some).split(b"\n")
        yield from (json.loads(line) for line in whole if line.startswith(b"{"))


if __name__ == "__main__":
    sys.exit(main())
