"""`pytest --mps`: run a suite as on a Mac. Does nothing, and imports no torch, without the flag."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("openmps", "PyTorch's mps device on a machine that is not a Mac")
    group.addoption("--mps", action="store_true", help="give the suite the mps device")
    group.addoption(
        "--mps-default-device",
        action="store_true",
        help="as --mps, and make mps the device of every tensor that names none",
    )
    group.addoption("--mac", metavar="MAC", help='the Mac to behave as, such as "M1 8GB"')
    group.addoption("--macos", metavar="RELEASE", help="its macOS release, such as 14.4")


def pytest_load_initial_conftests(early_config: pytest.Config) -> None:
    """Before any conftest or test module: what they import may ask whether mps is available."""
    options = early_config.known_args_namespace
    if not (options.mps or options.mps_default_device):
        return
    import pytest

    from openmps import activate
    from openmps.errors import OpenmpsError

    try:
        activate(mac=options.mac, macos=options.macos)
    except OpenmpsError as error:
        raise pytest.UsageError(f"--mps: {error}") from error
    if options.mps_default_device:
        import torch

        torch.set_default_device("mps")


def pytest_report_header(config: pytest.Config) -> list[str]:
    import sys

    if "openmps.device.activation" not in sys.modules:
        return []
    from openmps.device.activation import active

    now = active()
    return [f"openmps: mps as {now.mac}, engine {now.engine}"] if now else []
