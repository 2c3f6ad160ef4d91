from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
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


def on_path(folder: Path) -> dict[str, str]:
    """Python finds what lies in `folder` first."""
    before = os.environ.get("PYTHONPATH", "")
    return {"PYTHONPATH": str(folder) + (os.pathsep + before if before else "")}


def fake_torch(folder: Path, code: str, version: str = "2.13.0+fake") -> dict[str, str]:
    (folder / "torch").mkdir()
    (folder / "torch" / "version.py").write_text(f"__version__ = {version!r}\n")
    (folder / "torch" / "__init__.py").write_text(code)
    return on_path(folder)


def doctor_json(python: Any, **variables: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """The facts and the engines of a machine on which something does not work."""
    done = python("-m", "openmps", "doctor", "--json", **variables)
    assert done.returncode == 1, done.stderr
    assert "Traceback" not in done.stdout + done.stderr
    report = json.loads(done.stdout)
    assert (report["schema"], report["well"]) == ("openmps-doctor/1", False)
    facts = {fact["name"]: fact for fact in report["facts"]}
    engines = {engine["engine"]: engine for engine in report["engines"]}
    assert set(engines) == {"cpu", "cuda"}
    assert engines["cpu"]["fix"], "what to do is never left out"
    return facts, engines


def test_json_of_a_working_machine(python) -> None:
    done = python(
        "-m", "openmps", "doctor", "--json", CUDA_VISIBLE_DEVICES="", OPENMPS_ENGINE="cpu"
    )
    assert done.returncode == 0, done.stdout
    report = json.loads(done.stdout)
    assert report["well"] is True
    assert [fact["name"] for fact in report["facts"]] == [
        "openmps", "Python", "machine", "torch", "torchvision", "compiler", "for shaders", "engine",
        "Mac", "cache",
    ]  # fmt: skip
    cpu, cuda = report["engines"]
    assert cpu == {
        "engine": "cpu",
        "passed": True,
        "needed": True,
        "text": "allocated, added and read back on Apple M4; a Metal kernel ran",
        "fix": "",
    }
    assert (cuda["passed"], cuda["needed"]) == (False, False)
    assert cuda["fix"]


def test_no_torch(python, tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text("import sys; sys.modules['torch'] = None\n")
    facts, engines = doctor_json(python, **on_path(tmp_path))
    assert facts["torch"]["text"].startswith("torch is not installed in this Python")
    assert facts["torch"]["fix"] == "pip install torch"
    assert engines["cpu"]["text"] == "not tried: torch does not work"
    shown = python("-m", "openmps", "doctor", COLUMNS="200", **on_path(tmp_path))
    assert shown.returncode == 1
    assert "next: pip install torch" in shown.stdout
    assert "FAIL: see what to do above" in shown.stdout


def test_an_old_torch(python, tmp_path: Path) -> None:
    facts, _ = doctor_json(python, **fake_torch(tmp_path, "", "2.5.1+cu121"))
    assert facts["torch"]["text"].startswith(
        "openmps needs torch 2.11 or newer (found: torch 2.5.1"
    )
    assert facts["torch"]["fix"] == "pip install 'torch>=2.11'"
    # And so does a program that asks for the device, in place of a page of a compiler's errors.
    program = "import openmps; openmps.activate()"
    for engine in ("auto", "cpu", "cuda"):
        done = python("-c", program, **on_path(tmp_path), OPENMPS_ENGINE=engine)
        assert "openmps needs torch 2.11 or newer" in done.stderr, engine


@pytest.mark.parametrize(
    ("code", "told"),
    [
        ("raise ImportError('libcudart.so.99: no such file')", "ImportError: libcudart.so.99"),
        ("import os, signal; os.kill(os.getpid(), signal.SIGSEGV)", "it was ended by SIGSEGV"),
        ("import sys; sys.exit(3)", "it ended with status 3"),
    ],
    ids=["raises", "dies", "exits"],
)
def test_a_torch_that_cannot_be_imported(python, tmp_path: Path, code: str, told: str) -> None:
    facts, engines = doctor_json(python, **fake_torch(tmp_path, code))
    assert facts["torch"]["text"].startswith("torch cannot be imported")
    assert told in facts["torch"]["text"]
    assert "python -c 'import torch'" in facts["torch"]["fix"]
    assert engines["cuda"]["text"] == "not tried: torch does not work"


@pytest.mark.parametrize(
    ("script", "told"),
    [
        ("echo 'core.cpp:1:1: error: no such header' >&2; exit 1", "error: no such header"),
        (None, "no C++ compiler"),
    ],
    ids=["fails", "is missing"],
)
def test_a_broken_compiler(python, tmp_path: Path, script: str | None, told: str) -> None:
    compiler = tmp_path / "c++"
    if script:
        compiler.write_text(f"#!/bin/sh\n{script}\n")
        compiler.chmod(0o755)
    cache = str(tmp_path / "cache")
    _, engines = doctor_json(python, OPENMPS_CXX=str(compiler), OPENMPS_CACHE_DIR=cache)
    assert engines["cpu"]["text"].startswith("FAIL: ")
    assert told in engines["cpu"]["text"]


def test_a_missing_compiler_is_fine_where_the_core_is_ready(python) -> None:
    done = python("-m", "openmps", "doctor", OPENMPS_CXX="no-such-compiler", COLUMNS="200")
    assert "none, and none is needed: the device core for this torch is ready" in done.stdout
    assert "install g++" not in done.stdout


def test_a_broken_cache_folder(python, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    _, engines = doctor_json(python, OPENMPS_CACHE_DIR=str(tmp_path / "file"))
    assert "the cache folder cannot be written to" in engines["cpu"]["text"]
    assert "set OPENMPS_CACHE_DIR to a folder that is" in engines["cpu"]["fix"]


def test_a_home_that_cannot_be_written_to(python, tmp_path: Path) -> None:
    """In the report alone: nothing is tried here but the cache itself."""
    (tmp_path / "file").write_text("")
    (tmp_path / "tmp").mkdir()
    code = (
        "from openmps.cli import doctor\n"
        "fact = doctor._cache()\n"
        "print(fact.text, fact.fix, sep='\\n')\n"
    )
    home = str(tmp_path / "file")
    found = python(
        "-c", code, OPENMPS_CACHE_DIR="", XDG_CACHE_HOME=home, TMPDIR=str(tmp_path / "tmp")
    )
    other = tmp_path / "tmp" / f"openmps-{os.geteuid()}"
    assert found.stdout == f"{home}/openmps (0 built); what is new goes to {other}\n\n"
    found = python("-c", code, OPENMPS_CACHE_DIR=home)
    text, fix = found.stdout.splitlines()
    assert text.startswith(f"{home} (0 built); the cache folder cannot be written to (found: ")
    assert fix.startswith("make it writable, or set OPENMPS_CACHE_DIR")


def test_settings_that_mean_nothing(python) -> None:
    variables = {"OPENMPS_MAC": "M99", "OPENMPS_ENGINE": "abacus"}
    facts, engines = doctor_json(python, OPENMPS_SHADER_CXX="nowhere", **variables)
    assert facts["Mac"]["text"].startswith("no such Mac")
    assert facts["engine"]["text"] == "no such engine (found: 'abacus')"
    assert facts["for shaders"]["text"].startswith("the compiler for Metal shaders does not exist")
    assert engines["cpu"]["text"].startswith("FAIL: SettingError: no such Mac\n  found: 'M99'")


def test_a_broken_compiler_for_shaders(python) -> None:
    """The kernels of a cache that is warm would still run: this one's text is nobody's."""
    _, engines = doctor_json(python, OPENMPS_SHADER_CXX="/bin/false")
    assert engines["cpu"]["text"] == (
        "FAIL: CompileError: the C++ compiler refused what openmps made of this shader\n"
        "  found: error: exit status 1"
    )
    assert "OPENMPS_SHADER_CXX=g++ may get you further" in engines["cpu"]["fix"]


def test_version(python) -> None:
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
