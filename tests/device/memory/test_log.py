"""PYTORCH_DEBUG_MPS_ALLOCATOR: a Mac's lines, through c10's log."""

from __future__ import annotations

import re

import pytest

from .program import NAMES

PROGRAM = """
small, large = take(1000), take(3 * MIB)
del small
small = take(300)
torch.mps.set_per_process_memory_fraction(0.0)
del small, large
torch.mps.empty_cache()
"""

TOTALS = [
    "High watermark memory allocation limit: 9.07 GiB",
    "Low watermark memory allocation limit: 7.47 GiB",
    "Initializing heap allocator on unified device memory of size 5.33 GiB",
    "High watermark memory allocation limit: unlimited",
]
RELEASING = (
    "Attempting to release cached buffers (MPS allocated: 40.00 MiB, other allocations: 0 bytes)"
)
HEAPS = [
    "Allocated shared heap #1 of size 8.00 MiB (#heaps: 1, current allocated: 8.00 MiB)",
    "Allocated shared heap #2 of size 32.00 MiB (#heaps: 1, current allocated: 40.00 MiB)",
]
SMALL = (
    "Allocated shared buffer #1 of size 1024 bytes at PTR from heap #1 "
    "(requested: 1000 bytes, heap: 8.00 MiB, total: 8.00 MiB)"
)
LARGE = (
    "Allocated shared buffer #2 of size 3.00 MiB at PTR from heap #2 "
    "(requested: 3.00 MiB, heap: 29.00 MiB, total: 40.00 MiB)"
)
REUSING = (
    "Reusing shared buffer #1 of size 1024 bytes at PTR (requested: 300 bytes, use#: 2, retain#: 1)"
)
RELEASES = [
    "Releasing 1 buffers from small shared pool (total size: 1024 bytes, #buffers: 1)",
    "Released buffer #1 of size 1024 bytes from heap #1 "
    "(heap size: 8.00 MiB, use#: 2, retain#: 1, gc#: 0)",
    "Released heap #1 of size 8.00 MiB (current allocated: 32.00 MiB, retain#: 1)",
    "Releasing 1 buffers from large shared pool (total size: 3.00 MiB, #buffers: 1)",
    "Released buffer #2 of size 3.00 MiB from heap #2 "
    "(heap size: 32.00 MiB, use#: 1, retain#: 1, gc#: 0)",
    "Released heap #2 of size 32.00 MiB (current allocated: 0 bytes, retain#: 1)",
]

LINES = {
    "0": [],
    "1": [*TOTALS, RELEASING],
    "2": [HEAPS[0], SMALL, HEAPS[1], LARGE, RELEASING],
    "0x4": [REUSING, RELEASING],
    "8": [RELEASING, *RELEASES],
    "18": [*HEAPS, LARGE, RELEASING],
    "24": [RELEASING, RELEASES[0], *RELEASES[2:]],
}


def logged(result):
    lines = [line for line in result.errors.splitlines() if line.startswith("[I") and "] " in line]
    return [re.sub("0x[0-9a-f]+", "PTR", line.partition("] ")[2]) for line in lines]


@pytest.mark.parametrize("bits", LINES)
def test_each_bit_logs_its_lines(programs, bits):
    result = programs.start(PROGRAM, PYTORCH_DEBUG_MPS_ALLOCATOR=bits)
    assert logged(result) == LINES[bits]


def test_lines_are_invisible_at_the_usual_log_level(python):
    program = f"import openmps; openmps.activate()\n{NAMES}\n{PROGRAM}\nlast = take(1000)"
    result = python("-c", program, PYTORCH_DEBUG_MPS_ALLOCATOR="15")
    assert result.stderr == ""
    assert result.returncode == 0  # with a tensor that outlives the interpreter


def test_a_value_that_is_no_number_is_told(programs):
    result = programs.start("take(1)", PYTORCH_DEBUG_MPS_ALLOCATOR="yes")
    assert 'PYTORCH_DEBUG_MPS_ALLOCATOR is "yes", which is not a number' in result.errors
