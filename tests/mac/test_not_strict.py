"""OPENMPS_STRICT=0: what a Mac would refuse runs, and one warning says so."""

from __future__ import annotations

import pytest

WARNING = (
    "OPENMPS_STRICT=0: openmps runs operators and dtypes that a Mac would refuse. "
    "A program that works here may fail on a Mac."
)

RUNS = """
import torch
from torch.nn import functional as F
table = torch.arange(4.0, device="mps")
two = table.view(2, 2)
print(table.take(torch.tensor([2], device="mps")).tolist())
print(torch.heaviside(table - 1, table).tolist())
print(torch.linalg.svdvals(two * 0).tolist())
print(torch.full((1,), 1 / 3, dtype=torch.float64, device="mps").item() == 1 / 3)
print((torch.ones(1, dtype=torch.long, device="mps") + torch.tensor(0.5).double()).dtype)
print(torch.ones([1] * 17, device="mps").dim())
print(F.adaptive_avg_pool2d(torch.ones(1, 1, 5, 5, device="mps"), 2).tolist())
print(F.conv_transpose3d(*[torch.ones(1, 1, 1, 1, 1, device="mps").bfloat16()] * 2).item())
print(torch.nn.LSTM(2, 3, proj_size=1, device="mps")(two)[0].shape)
"""
RAN = """\
[2.0]
[0.0, 1.0, 1.0, 1.0]
[0.0, 0.0]
True
torch.float64
17
[[[[1.0, 1.0], [1.0, 1.0]]]]
1.0
torch.Size([2, 1])
"""
AT_ONCE = """
import torch
table = torch.arange(4.0, device="mps")
try:
    table[torch.tensor([7], device="mps")]
except IndexError as error:
    print(error)
torch.mps.synchronize()
"""


def test_refusals_are_lifted(python) -> None:
    done = python("-W", "always", "-c", RUNS, OPENMPS="1", OPENMPS_STRICT="0")
    assert done.stdout == RAN, done.stderr
    assert done.stderr.count("Warning") == done.stderr.count(f"UserWarning: {WARNING}\n") == 1


@pytest.mark.cpu_engine("a card's own kernel notices an index out of range later, and ends there")
def test_errors_come_at_once(python) -> None:
    done = python("-c", AT_ONCE, OPENMPS="1", OPENMPS_STRICT="0")
    assert done.stdout == "index 7 is out of bounds for dimension 0 with size 4\n", done.stderr


def test_a_mac_that_falls_back_anyway_does_so_without_saying(python) -> None:
    done = python("-W", "always", "-c", "import torch; torch.ones(1, device='mps').mode()",
                  OPENMPS="1", OPENMPS_STRICT="0", PYTORCH_ENABLE_MPS_FALLBACK="1")  # fmt: skip
    assert done.returncode == 0
    assert done.stderr.count("Warning") == 1
    assert "will fall back" not in done.stderr


def test_children_are_as_strict(python) -> None:
    program = (
        "import subprocess, sys, torch\n"
        "child = \"import torch; print(torch.ones(1, device='mps').double().dtype)\"\n"
        "subprocess.run([sys.executable, '-c', child], check=True)\n"
    )
    done = python("-W", "ignore", "-c", program, OPENMPS="1", OPENMPS_STRICT="0")
    assert done.stdout == "torch.float64\n", done.stderr


@pytest.mark.parametrize("value", ["1", "true", "ON", ""])
def test_strict_is_the_default_and_says_nothing(python, value: str) -> None:
    program = (
        "import torch\n"
        "try:\n    torch.ones(1, device='mps').double()\nexcept TypeError:\n    print('refused')\n"
    )
    done = python("-W", "always", "-c", program, OPENMPS="1", OPENMPS_STRICT=value)
    assert (done.stdout, done.stderr) == ("refused\n", "")


def test_a_value_that_means_neither_is_refused(python) -> None:
    program = "import openmps; openmps.activate()"
    done = python("-c", program, OPENMPS_STRICT="maybe")
    assert done.returncode == 1
    assert done.stderr.splitlines()[-3:] == [
        "openmps.errors.SettingError: OPENMPS_STRICT must be 1 or 0",
        "  found: 'maybe'",
        "  next: set OPENMPS_STRICT to 1 or to 0",
    ]
