"""Programs about memory, each in a process of its own: heaps and limits start from nothing there.

The processes are forked from one that has torch and the device, and that has taken no memory on
it. What the programs take is never touched, so that gibibytes cost nothing.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import traceback
from typing import Any, NamedTuple

# A Mac whose figures many users have seen: 5.33 GiB recommended, 9.07 GiB allowed.
M1 = {"OPENMPS_MAC": "M1 8GB", "OPENMPS_MACOS": "15.0"}

NAMES = """
import json, torch
MIB, GIB = 1 << 20, 1 << 30
current, driver = torch.mps.current_allocated_memory, torch.mps.driver_allocated_memory

def take(size):
    return torch.empty(int(size), dtype=torch.uint8, device="mps")

def error(function, *arguments):
    try:
        function(*arguments)
    except RuntimeError as e:
        return str(e)
    return None

answer = None
"""


class Outcome(NamedTuple):
    answer: Any
    errors: str  # what the program wrote to stderr


class Programs:
    """The process that others are forked from."""

    def __init__(self) -> None:
        variables = {k: v for k, v in os.environ.items() if not k.startswith("PYTORCH_MPS")}
        self._process = subprocess.Popen(
            [sys.executable, __file__],
            env={**variables, **M1, "TORCH_CPP_LOG_LEVEL": "INFO"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def start(self, program: str, **variables: str) -> Outcome:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        print(json.dumps([program, variables]), file=self._process.stdin, flush=True)
        status, answer, errors = json.loads(self._process.stdout.readline())
        assert status == 0, errors
        return Outcome(json.loads(answer), errors)

    def run(self, program: str, **variables: str) -> Any:
        """What `program` leaves in `answer`."""
        return self.start(program, **variables).answer

    def close(self) -> None:
        self._process.communicate()


def main() -> None:
    import openmps

    openmps.activate()
    for line in sys.stdin:
        program, variables = json.loads(line)
        with tempfile.TemporaryFile() as answer, tempfile.TemporaryFile() as errors:
            child = os.fork()
            if child == 0:
                os.dup2(errors.fileno(), 2)
                play(program, variables, answer.fileno())
            status = os.waitpid(child, 0)[1]
            texts = [os.pread(f.fileno(), 1 << 20, 0).decode() for f in (answer, errors)]
        print(json.dumps([status, *texts]), flush=True)


def play(program: str, variables: dict[str, str], answer: int) -> None:
    os.environ.update(variables)
    names: dict[str, Any] = {}
    try:
        exec(NAMES, names)
        exec(program, names)
    except BaseException:
        traceback.print_exc()
        os._exit(1)
    os.write(answer, json.dumps(names["answer"]).encode())
    os._exit(0)


if __name__ == "__main__":
    main()
