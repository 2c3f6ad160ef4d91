from __future__ import annotations

import os
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


def fake_torchvision(folder: Path, code: str) -> dict[str, str]:
    """An installed torchvision 9.8.7 that does this when it is imported."""
    (folder / "torchvision").mkdir()
    (folder / "torchvision" / "__init__.py").write_text(code)
    (folder / "torchvision-9.8.7+cu130.dist-info").mkdir()
    (folder / "torchvision-9.8.7+cu130.dist-info" / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: torchvision\nVersion: 9.8.7+cu130\n"
    )
    before = os.environ.get("PYTHONPATH", "")
    return {"PYTHONPATH": str(folder) + (os.pathsep + before if before else "")}


def torchvision_said(python, path: dict[str, str]) -> str:
    program = (
        "from openmps.cli.torchvision import torchvision_fact\nprint(torchvision_fact())\n"
        "import sys; assert 'torchvision' not in sys.modules"
    )
    done = python("-c", program, **path)
    assert done.returncode == 0, done.stderr
    return str(done.stdout)


def test_a_torchvision_for_another_build_of_torch_is_explained(python, tmp_path: Path) -> None:
    # torchvision's own words, by torch's own error.
    code = "import torch\ntorch.library.register_fake('torchvision::nms')(lambda *_: None)\n"
    path = fake_torchvision(tmp_path, code)
    said = torchvision_said(python, path)
    assert said.startswith("9.8.7+cu130: cannot be imported: its compiled part is made for another")
    assert "operator torchvision::nms does not exist" in said
    assert "Install the CPU build of torchvision 9.8.7 from where your torch came" in said
    assert "pip uninstall torchvision" in said
    report = python("-m", "openmps", "doctor", COLUMNS="200", **path)
    assert "pip uninstall torchvision" in report.stdout
    assert report.returncode == 0, "the device works without torchvision"


def test_a_torchvision_that_works_is_named_and_one_that_does_not_is_quoted(
    python, tmp_path: Path
) -> None:
    path = fake_torchvision(tmp_path, "")
    assert torchvision_said(python, path) == "9.8.7+cu130\n"
    (tmp_path / "torchvision" / "__init__.py").write_text("raise ImportError('no libjpeg')")
    assert "cannot be imported: ImportError: no libjpeg" in torchvision_said(python, path)
