"""Three ways to get the device, and what happens where it cannot be had."""

from __future__ import annotations

from pathlib import Path

import pytest

ADD = "import torch; print((torch.ones(2, device='mps') + 1).tolist())"
ADDED = "[2.0, 2.0]\n"


def test_openmps_run(python, tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(ADD)
    done = python("-m", "openmps", "run", "program.py")
    assert (done.stdout, done.stderr, done.returncode) == (ADDED, "", 0)


def test_activate(python) -> None:
    done = python("-c", f"import openmps; openmps.activate(); {ADD}")
    assert (done.stdout, done.stderr) == (ADDED, "")


def test_the_environment(python) -> None:
    done = python("-c", ADD, OPENMPS="1")
    assert (done.stdout, done.stderr) == (ADDED, "")


def test_activate_where_the_environment_activates_too(python) -> None:
    done = python("-c", f"import openmps; openmps.activate(); {ADD}", OPENMPS="1", timeout=120)
    assert (done.stdout, done.stderr) == (ADDED, "")


# What torch has without openmps: a CUDA build counts as having one, GPU or not.
OWN_ACCELERATOR = (
    "found = torch.accelerator.current_accelerator()\n"
    "assert (found and found.type) == ('cuda' if torch.version.cuda else None), found\n"
)


def test_activation_after_torch_has_answered_that_there_is_no_mps(python) -> None:
    done = python(
        "-c",
        "import torch, openmps\n"
        "assert not torch.backends.mps.is_available()\n" + OWN_ACCELERATOR + "openmps.activate()\n"
        "assert torch.backends.mps.is_available()\n"
        "assert torch.accelerator.current_accelerator().type == 'mps'\n" + ADD,
    )
    assert (done.stdout, done.stderr) == (ADDED, "")


def test_spawned_children_are_the_same_mac(python) -> None:
    program = (
        "import subprocess, sys, openmps\n"
        "openmps.activate(mac='M1 8GB', macos='14.4')\n"
        "child = 'import torch; print(torch.backends.mps.get_name(), "
        "torch.mps.recommended_max_memory())'\n"
        "subprocess.run([sys.executable, '-c', child], check=True)\n"
    )
    assert python("-c", program).stdout == "Apple M1 5726633984\n"


def test_installed_but_not_asked_for_has_no_effect(python) -> None:
    done = python(
        "-c",
        "import sys, torch\n"
        "assert not torch.backends.mps.is_available() and not torch.backends.mps.is_built()\n"
        + OWN_ACCELERATOR
        + "assert not hasattr(torch._C, '_mps_get_name')\n"
        "print(sorted(m for m in sys.modules if m.startswith('openmps')))",
    )
    assert (done.stdout, done.stderr) == ("['openmps', 'openmps.autoload']\n", "")


def test_importing_openmps_imports_no_torch(python) -> None:
    done = python("-c", "import sys, openmps; print('torch' in sys.modules)")
    assert done.stdout == "False\n"


IMPOSSIBLE = {
    "no compiler": (
        {"OPENMPS_CXX": "no-such-compiler", "OPENMPS_CACHE_DIR": "{tmp}/cache"},
        "no-such-compiler",
    ),
    "no cache": ({"OPENMPS_CACHE_DIR": "/proc/openmps"}, "OPENMPS_CACHE_DIR"),
    "unknown engine": ({"OPENMPS_ENGINE": "tpu"}, "auto, cpu or cuda"),
    "no cuda": ({"OPENMPS_ENGINE": "cuda", "CUDA_VISIBLE_DEVICES": ""}, "OPENMPS_ENGINE=cpu"),
    "unknown Mac": ({"OPENMPS_MAC": "M9 Extreme"}, "no such Mac"),
    "unknown macOS": ({"OPENMPS_MACOS": "Sonoma"}, "14.0 or newer"),
}


@pytest.fixture(params=IMPOSSIBLE)
def impossible(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[dict[str, str], str]:
    variables, told = IMPOSSIBLE[request.param]
    return {name: value.format(tmp=tmp_path) for name, value in variables.items()}, told


def test_activate_raises_where_it_is_impossible(python, impossible) -> None:
    variables, told = impossible
    done = python("-c", "import openmps; openmps.activate()", **variables)
    assert done.returncode == 1
    assert told in done.stderr
    assert "next:" in done.stderr


def test_run_fails_where_it_is_impossible(python, impossible, tmp_path: Path) -> None:
    variables, told = impossible
    (tmp_path / "program.py").write_text("print('must not run')")
    done = python("-m", "openmps", "run", "program.py", **variables)
    assert done.returncode == 2
    assert done.stdout == ""
    assert told in done.stderr
    assert "Traceback" not in done.stderr


def test_the_entry_point_warns_once_and_leaves_torch_usable(python, impossible) -> None:
    variables, told = impossible
    done = python(
        "-c", "import torch; print((torch.ones(2) + 1).tolist())", OPENMPS="1", **variables
    )
    assert (done.stdout, done.returncode) == (ADDED, 0)
    assert told in done.stderr
    assert done.stderr.count("RuntimeWarning") == 1


def test_activating_again_does_nothing(python, engine: str) -> None:
    again = f"openmps.activate(); openmps.activate({engine!r});"
    program = f"import openmps; openmps.activate(); {again}"
    assert python("-c", program + ADD).stdout == ADDED


def test_activating_again_as_another_mac_is_an_error(python) -> None:
    program = "import openmps; openmps.activate(); openmps.activate(mac='M1 8GB')"
    done = python("-c", program)
    assert "AlreadyActive" in done.stderr
    assert "M4 16GB" in done.stderr


def test_on_a_mac_it_steps_aside(python) -> None:
    program = (
        "import sys, torch\n"
        "sys.platform = 'darwin'; torch._C._has_mps = True\n"
        "import openmps; openmps.activate()\n"
        "print(openmps.is_active())"
    )
    done = python("-c", program)
    assert done.stdout == "False\n"
    assert "native mps device; stepping aside" in done.stderr


def test_pytest_plugin(python, tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text(
        "import torch\n"
        "AVAILABLE = torch.backends.mps.is_available()\n"
        "def test_available(): assert AVAILABLE\n"
        "def test_default(): assert torch.empty(1).device.type == 'cpu'\n"
        "def test_name(): assert torch.backends.mps.get_name() == 'Apple M1'\n"
    )
    done = python("-m", "pytest", "-q", "--mps", "--mac", "M1 8GB", "test_it.py")
    assert done.returncode == 0, done.stdout
    assert "openmps: mps as M1 8GB" in python("-m", "pytest", "--mps", "--mac", "m1").stdout
    without = python("-m", "pytest", "-q", "test_it.py")
    assert "2 failed, 1 passed" in without.stdout


def test_pytest_plugin_with_mps_as_default_device(python, tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text(
        "import torch\ndef test_default(): assert torch.empty(1).device.type == 'mps'\n"
    )
    assert python("-m", "pytest", "-q", "--mps-default-device", "test_it.py").returncode == 0


def test_pytest_plugin_says_what_is_wrong(python, tmp_path: Path) -> None:
    done = python("-m", "pytest", "--mps", "--mac", "M9")
    assert done.returncode == 4
    assert "no such Mac" in done.stderr
