from __future__ import annotations

from pathlib import Path

import torch


def test_a_working_machine_passes(python) -> None:
    done = python("-m", "openmps", "doctor", COLUMNS="200")
    assert done.returncode == 0, done.stdout
    for fact in ("openmps", "Python", "torch", "compiler", "engine", "Mac", "cache"):
        assert fact in done.stdout
    assert torch.__version__ in done.stdout
    text = "PASS cpu: allocated, added and read back on Apple M4; a Metal kernel ran"
    assert text in done.stdout
    assert done.stdout.rstrip().endswith("PASS")


def test_a_broken_machine_is_told_what_to_do_and_never_sees_a_traceback(
    python, tmp_path: Path
) -> None:
    done = python(
        "-m",
        "openmps",
        "doctor",
        OPENMPS_CXX="no-such-compiler",
        OPENMPS_CACHE_DIR=str(tmp_path / "cache"),
        OPENMPS_MAC="M9",
        COLUMNS="200",
    )
    assert done.returncode == 1
    assert "no C++ compiler" in done.stdout
    assert "install g++" in done.stdout
    assert "no such Mac" in done.stdout
    assert "FAIL" in done.stdout
    assert "Traceback" not in done.stdout + done.stderr


def test_an_engine_that_is_not_there_says_why(python) -> None:
    done = python(
        "-m", "openmps", "doctor", OPENMPS_ENGINE="cuda", CUDA_VISIBLE_DEVICES="", COLUMNS="200"
    )
    assert done.returncode == 1
    assert "cuda: not usable" in done.stdout


def test_help_and_version(python) -> None:
    assert "Example: openmps run" in python("-m", "openmps", "run", "--help", COLUMNS="120").stdout
    assert python("-m", "openmps", "--version").stdout.startswith("openmps 0.")
