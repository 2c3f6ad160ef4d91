"""The suite runs on the device: it is activated before any test module is imported."""

from __future__ import annotations

import importlib.util
import os
import re
import signal
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import cache
from pathlib import Path

import pytest

import openmps

openmps.activate()

# A shell starts what runs in the background with interrupts ignored, and every child inherits that.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

import torch  # noqa: E402
from torch.torch_version import TorchVersion  # noqa: E402

from openmps.device.activation import active  # noqa: E402
from openmps.device.core import find_torch  # noqa: E402
from openmps.device.rules import installed_operators  # noqa: E402
from openmps.mac.operators import Status  # noqa: E402

ACTIVE = active()
assert ACTIVE is not None
ENGINE = ACTIVE.engine
RELEASE = "torch " + torch.__version__.split("+")[0]
if ENGINE == "cuda":
    # cuDNN rounds the factors of float32 convolutions to 10 bits, unless it is told not to. The
    # suite compares with a CPU, which keeps all 23.
    torch.backends.cudnn.allow_tf32 = False


@pytest.fixture(scope="session")
def engine() -> str:
    """Where mps tensors live: "cpu" or "cuda"."""
    return ENGINE


@cache
def status_on_a_mac(operator: str) -> Status:
    """What the Mac build of the installed torch makes of `operator`."""
    found = installed_operators(find_torch().folder).dense.get(operator)
    return Status.MISSING if found is None else found.status


def mac_has(operator: str) -> bool:
    return status_on_a_mac(operator) is not Status.MISSING


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skips what cannot apply here, and says why: by the markers of pyproject.toml."""
    for mark in item.iter_markers("cpu_engine"):
        if ENGINE != "cpu":
            pytest.skip(f"the CPU engine's alone: {mark.args[0]}")
    for mark in item.iter_markers("cuda_engine"):
        if ENGINE != "cuda":
            pytest.skip(f"the CUDA engine's alone: {mark.args[0]}")
    for mark in item.iter_markers("needs_operators"):
        missing = [operator for operator in mark.args if not mac_has(operator)]
        if missing:
            pytest.skip(f"{RELEASE} has no mps kernel for {', '.join(missing)}")
    for mark in item.iter_markers("lacks_operators"):
        there = [operator for operator in mark.args if mac_has(operator)]
        if there:
            pytest.skip(f"{RELEASE} has an mps kernel for {', '.join(there)}")
    for mark in item.iter_markers("needs_torch"):
        first, what = mark.args
        if TorchVersion(torch.__version__) < first:
            pytest.skip(f"{RELEASE} {what}")


@pytest.fixture(autouse=True)
def nothing_is_left_to_report() -> Iterator[None]:
    """An error that the device has yet to report belongs to the test that caused it."""
    yield
    torch.mps.synchronize()


KEPT = (
    "OPENMPS_CXX",
    "OPENMPS_CXXFLAGS",
    "OPENMPS_CACHE_DIR",
    "OPENMPS_ENGINE",
    "OPENMPS_SHADER_CXX",
)

Python = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def python(tmp_path: Path) -> Python:
    """Runs Python in a process of its own, in an empty folder, without this suite's settings."""

    def run(
        *arguments: str, timeout: float = 240, **variables: str
    ) -> subprocess.CompletedProcess[str]:
        clean = {key: value for key, value in os.environ.items() if not key.startswith("OPENMPS")}
        for keep in KEPT:
            if keep in os.environ:
                clean[keep] = os.environ[keep]
        return subprocess.run(
            [sys.executable, *arguments],
            env={**clean, **variables},
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=timeout,
        )

    return run


@pytest.fixture(scope="session")
def browser() -> Iterator[object]:
    """A headless Chromium (tests/browser/chromium.py), where there is one."""
    path = Path(__file__).with_name("browser") / "chromium.py"
    spec = importlib.util.spec_from_file_location("openmps_tests_chromium", path)
    assert spec is not None
    assert spec.loader is not None
    chromium = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(chromium)
    program = chromium.find_chromium()
    if not program:
        pytest.skip(chromium.HOW_TO_GET_IT)
    with chromium.open_browser(program) as opened:
        yield opened


FELL_BACK = re.compile(
    r"The operator '([\w:.]+)' is not currently supported on the MPS backend and will fall back to "
    r"run on the CPU\. This may have performance implications\."
)

Fallback = Callable[..., AbstractContextManager[None]]


@pytest.fixture
def fallback(monkeypatch: pytest.MonkeyPatch) -> Fallback:
    """Lets what a Mac lacks run on the CPU: `with fallback("aten::take"):`.

    The block must warn about exactly these operators, less those that the Mac build of the
    installed torch has a kernel for, and about nothing else.
    """
    monkeypatch.setenv("PYTORCH_ENABLE_MPS_FALLBACK", "1")

    @contextmanager
    def falling_back(*operators: str) -> Iterator[None]:
        always = torch.is_warn_always_enabled()
        torch.set_warn_always(True)  # a Mac names the first operator of a process only
        try:
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                yield
        finally:
            torch.set_warn_always(always)
        texts = [str(warning.message) for warning in caught]
        found = [FELL_BACK.match(text) for text in texts]
        assert all(found), texts
        here = (Status.NATIVE, Status.COMPOSITE)
        expected = {operator for operator in operators if status_on_a_mac(operator) not in here}
        assert {match[1] for match in found if match} == expected

    return falling_back
