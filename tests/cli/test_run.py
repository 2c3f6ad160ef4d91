from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from openmps.cli import run
from openmps.device import engines
from openmps.errors import OpenmpsError


def test_the_program_gets_its_own_arguments_and_exit_code(python, tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text("import sys; print(sys.argv); sys.exit(7)")
    done = python("-m", "openmps", "run", "program.py", "--mac", "x", "-v", "--", "a b")
    assert done.returncode == 7
    assert done.stdout == "['program.py', '--mac', 'x', '-v', '--', 'a b']\n"


def test_a_module(python, tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text("import sys; print(__name__, sys.argv[1:])")
    assert python("-m", "openmps", "run", "-m", "program", "-x").stdout == "__main__ ['-x']\n"


def test_code(python) -> None:
    done = python("-m", "openmps", "run", "-c", "import torch; print(torch.mps.device_count())")
    assert done.stdout == "1\n"


def test_the_mac_that_was_asked_for(python) -> None:
    program = (
        "import torch; m = torch.backends.mps; print(m.get_name(), m.get_core_count(), "
        "m.is_macos_or_newer(14, 4), m.is_macos_or_newer(15, 0))"
    )
    done = python("-m", "openmps", "run", "--mac", "m3max 64", "--macos", "14.4", "-c", program)
    assert done.stdout == "Apple M3 Max 40 True False\n"


def test_autoload_switched_off_is_switched_on_again(python) -> None:
    program = "import torch; print(torch.backends.mps.is_available())"
    done = python("-m", "openmps", "run", "-c", program, TORCH_DEVICE_BACKEND_AUTOLOAD="0")
    assert done.stdout == "True\n"


def test_bad_command_lines(python) -> None:
    for arguments, told in (
        ([], "nothing to run"),
        (["nowhere.py"], "no such program"),
        (["--frobnicate", "x.py"], "unknown option"),
        (["-m"], "-m needs an argument"),
    ):
        done = python("-m", "openmps", "run", *arguments)
        assert done.returncode == 2
        assert told in done.stderr
        assert "next:" in done.stderr
        assert "Traceback" not in done.stderr


def test_signals_reach_the_program(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text("import time; print('ready', flush=True); time.sleep(60)")
    process = subprocess.Popen(
        [sys.executable, "-m", "openmps", "run", str(program)],
        stdout=subprocess.PIPE,
        env=dict(os.environ),
    )
    assert process.stdout is not None
    assert process.stdout.readline() == b"ready\n"
    begin = time.monotonic()
    process.send_signal(signal.SIGTERM)
    assert process.wait(timeout=30) == -signal.SIGTERM
    assert time.monotonic() - begin < 20
    process.stdout.close()


def test_a_package_without_its_entry_point_is_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    run.check_installed()
    monkeypatch.setattr(run, "entry_points", lambda group: [])
    with pytest.raises(OpenmpsError, match="pip install"):
        run.check_installed()


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("OPENMPS_AUTOCAST", "fast"),
        ("OPENMPS_STRICT", "maybe"),
        ("OPENMPS_SHIMS", "some"),
        ("OPENMPS_SHADER_TIME_LIMIT", "soon"),
    ],
)
def test_an_unknown_word_is_refused_before_the_program_runs(
    variable: str, value: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(variable, value)
    with pytest.raises(OpenmpsError, match=variable) as refused:
        run.check_device()
    assert value in str(refused.value)


def test_a_gpu_is_looked_for_before_torch_hides_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Importing torch, as that does, must not activate openmps in this process."""
    variables = {"OPENMPS": "1", "OPENMPS_ENGINE": "cuda"}
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    asked: list[tuple[str, str]] = []
    monkeypatch.setattr(engines, "choose", lambda name: asked.append((name, os.environ["OPENMPS"])))
    monkeypatch.setattr(run, "check_installed", lambda: None)
    monkeypatch.setattr(run.core, "build", lambda: None)
    run._check_possible(variables)
    assert asked == [("cuda", "0")]
