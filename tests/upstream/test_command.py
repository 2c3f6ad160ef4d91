"""scripts/upstream over a small checkout of ours: the Mac that it pretends, resuming, reporting."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import openmps

SOURCE = Path(openmps.__file__).parents[1]
TESTS = Path(__file__).parents[1]

SUITE = """
import os, platform, subprocess, unittest
import torch
from torch.testing._internal.common_utils import IS_LINUX, IS_MACOS, MACOS_VERSION, TEST_WITH_SLOW

class TestMac(unittest.TestCase):
    def test_a_told(self):
        self.assertEqual((IS_MACOS, IS_LINUX, MACOS_VERSION), (True, False, 15.1))
        self.assertEqual(platform.mac_ver()[0], "15.1")
        memory = subprocess.check_output(["sysctl", "-n", "hw.memsize"])
        self.assertEqual(int(memory), 24 << 30)
        self.assertTrue(TEST_WITH_SLOW)
    def test_b_device(self):
        self.assertEqual(torch.ones(3, device="mps").sum().item(), 3)
        self.assertEqual(torch.backends.mps.get_name(), "Apple M4 Pro")
    def test_c_counts(self):
        with open(os.path.join(os.path.dirname(__file__), "count"), "a") as file:
            file.write("x")
    @unittest.expectedFailure
    def test_d_too_good(self):
        pass
"""

EVERY_DEVICE = """
import torch
from torch.testing._internal.common_device_type import expectedFailureMPS
from torch.testing._internal.common_device_type import instantiate_device_type_tests
from torch.testing._internal.common_utils import TestCase

class TestTold(TestCase):
    def test_a(self, device):
        self.assertEqual(torch.ones(3, device=device).device, torch.device("mps", 0))
    @expectedFailureMPS
    def test_b_refused(self, device):
        torch.ones(1, dtype=torch.float64, device=device)

class TestUntold(TestCase):
    def test_a_double(self, device):
        torch.ones(1, dtype=torch.float64, device=device)
    def test_b_wrong(self, device):
        self.assertEqual(torch.ones(1, device=device).item(), 2)

class TestOfTheCpu(TestCase):
    def test_a(self):
        raise NotImplementedError

instantiate_device_type_tests(TestTold, globals(), allow_mps=True)
instantiate_device_type_tests(TestUntold, globals())
"""


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    (tmp_path / "test").mkdir()
    (tmp_path / "test" / "test_mps.py").write_text(SUITE)
    return tmp_path


@pytest.mark.slow
def test_runs_resumes_and_reports(checkout: Path, python) -> None:  # type: ignore[no-untyped-def]
    def upstream(*arguments: str):  # type: ignore[no-untyped-def]
        return python(
            *("-m", "upstream", str(checkout), "--mac", "M4 Pro 24GB", "--macos", "15.1"),
            *("--results", str(checkout / "results"), *arguments),
            PYTHONPATH=f"{SOURCE}:{TESTS}",
            CI="1",
            PYTORCH_ENABLE_MPS_FALLBACK="1",
        )

    only_good = upstream("-k", "_a_", "-k", "_b_", "-k", "_c_")
    assert only_good.returncode == 0, only_good.stdout + only_good.stderr
    assert "all            3      3      0      0  100.00" in only_good.stdout

    rest = upstream("--list-differences", "--json", str(checkout / "all.json"))
    assert rest.returncode == 1
    assert "4 cases chosen, 1 to run" in rest.stderr
    assert (
        "differ  TestMac.test_d_too_good: succeeds, where the suite expects a Mac to fail"
        in rest.stdout
    )
    assert json.loads((checkout / "all.json").read_text())["test_mps"]["all"]["agree"] == 3
    assert (checkout / "test" / "count").read_text() == "x"  # not run twice

    again = upstream("--rerun", "failed")
    assert "4 cases chosen, 1 to run" in again.stderr

    kept = upstream("--only-report", "-k", "_d_")
    assert kept.returncode == 1
    assert "loaded" not in kept.stderr

    other = upstream("--only-report", "--macos", "26.0")
    assert other.returncode == 2
    assert "now M4 Pro 24GB, macOS 26.0" in other.stderr

    nothing = upstream("-k", "is_not_there")
    assert nothing.returncode == 2
    assert nothing.stderr.splitlines()[-3:] == [
        "no case was chosen",
        "  found: -k is_not_there",
        "  next: choose by a part of Class.method",
    ]


@pytest.mark.slow
def test_suites_for_every_device(checkout: Path, python) -> None:  # type: ignore[no-untyped-def]
    (checkout / "test" / "nn").mkdir()
    (checkout / "test" / "nn" / "test_every.py").write_text(EVERY_DEVICE)
    told = python(
        *("-m", "upstream", str(checkout), "--suites", "test_mps", "nn/test_every"),
        *("--mac", "M4 Pro 24GB", "--macos", "15.1", "-k", "_a", "-k", "_b_"),
        *("--results", str(checkout / "results"), "--json", str(checkout / "all.json")),
        "--list-differences",
        PYTHONPATH=f"{SOURCE}:{TESTS}",
    )
    assert told.returncode == 1, told.stdout + told.stderr
    figures = {
        name: [suite["all"][word] for word in ("agree", "differ", "listed")]
        for name, suite in json.loads((checkout / "all.json").read_text()).items()
    }
    # Of what nobody expects of a Mac a refusal is listed, and any other failure differs.
    assert figures == {"test_mps": [2, 0, 0], "nn/test_every": [2, 1, 1]}
    assert "differ  TestUntoldMPS.test_b_wrong_mps: AssertionError" in told.stdout
    assert "listed  TestUntoldMPS.test_a_double_mps: TypeError" in told.stdout
    assert "all 2 suites" in told.stdout


def test_no_checkout(tmp_path: Path, python) -> None:  # type: ignore[no-untyped-def]
    told = python("-m", "upstream", str(tmp_path), PYTHONPATH=f"{SOURCE}:{TESTS}")
    assert told.returncode == 2
    assert told.stderr.splitlines() == [
        "no test suite there",
        f"  found: no file {tmp_path / 'test' / 'test_mps.py'}",
        "  next: name a checkout of PyTorch, of the installed torch's release",
    ]


def test_bad_figures(checkout: Path, python) -> None:  # type: ignore[no-untyped-def]
    for wrong in (("--every", "0"), ("--workers", "0"), ("--seconds", "-1"), ("--memory", "0")):
        told = python("-m", "upstream", str(checkout), *wrong, PYTHONPATH=f"{SOURCE}:{TESTS}")
        assert told.returncode == 2
        assert f"argument {wrong[0]}: must be more than 0, found {wrong[1]}" in told.stderr
