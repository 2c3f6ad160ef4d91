"""metal_capture: a folder with what the captured kernels were given, in place of an Xcode trace."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from openmps.shader import launches

Python = Callable[..., "subprocess.CompletedProcess[str]"]

SOURCE = """
kernel void scale(device float* x, constant float& by, constant long* steps,
                  uint i [[thread_position_in_grid]]) {
    x[i] = x[i] * by + steps[0];
}
kernel void fill(device half* x, uint i [[thread_position_in_grid]]) { x[i] = 1; }
"""


@pytest.fixture(scope="module")
def library() -> Any:
    return torch.mps.compile_shader(SOURCE)


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MTL_CAPTURE_ENABLED", "1")
    return tmp_path


def captured(here: Path) -> Path:
    (folder,) = here.iterdir()
    return folder


def read(file: Path) -> Any:
    return json.loads(file.read_text())


@pytest.mark.parametrize(
    ("value", "enabled"), [("1", True), ("0", False), ("", False), ("YES", True)]
)
def test_the_variable_enables_it(
    monkeypatch: pytest.MonkeyPatch, value: str, enabled: bool
) -> None:
    monkeypatch.setenv("MTL_CAPTURE_ENABLED", value)
    assert torch.mps.profiler.is_metal_capture_enabled() is enabled


def test_a_capture_in_progress_says_so(here: Path) -> None:
    assert torch.mps.profiler.is_capturing_metal() is False
    with torch.mps.profiler.metal_capture("x"):
        assert torch.mps.profiler.is_capturing_metal() is True
    assert torch.mps.profiler.is_capturing_metal() is False


def test_the_folder(here: Path, library: Any, capsys: pytest.CaptureFixture[str]) -> None:
    x = torch.zeros(4, 6, device="mps")[:, 1::2]
    with torch.mps.profiler.metal_capture("mine"):
        library.scale(x, 2.5, [3, 4], threads=(6, 2), group_size=(3, 1), arg_casts={2: "int32"})
        torch.relu(x)
        library.fill(torch.empty(3, device="mps", dtype=torch.half))
    library.fill(torch.empty(3, device="mps", dtype=torch.half))
    folder = captured(here)
    assert folder.name.endswith("-mine.gputrace")
    assert sorted(file.name for file in folder.iterdir()) == [
        "README.txt",
        "capture.json",
        "launch-0000.json",
        "launch-0001.json",
        "library-0.metal",
    ]
    assert capsys.readouterr().err == (
        f"openmps: captured 2 Metal kernel launches in {folder}: sources, arguments and grids as "
        "text, not an Xcode trace\n"
    )
    assert "not an Xcode trace" in (folder / "README.txt").read_text()
    assert (folder / "library-0.metal").read_text().strip() == SOURCE.strip()

    first = read(folder / "launch-0000.json")
    assert first.pop("milliseconds") > 0
    assert first == {
        "kernel": "scale",
        "library": "library-0.metal",
        "threads": [6, 2, 1],
        "threads in a threadgroup": [3, 1, 1],
        "arguments": [
            {
                "buffer": 0,
                "name": "x",
                "type": "device float *",
                "dtype": "float32",
                "shape": [4, 3],
                "strides": [6, 2],
                "offset": 1,
            },
            {"buffer": 1, "name": "by", "type": "constant float &", "value": 2.5},
            {
                "buffer": 2,
                "name": "steps",
                "type": "constant long *",
                "elements": [{"value": 3}, {"value": 4}],
            },
        ],
        "arg_casts": {"2": "int32"},
    }
    second = read(folder / "launch-0001.json")
    assert (second["kernel"], second["threads"]) == ("fill", [3, 1, 1])
    assert second["arguments"][0]["dtype"] == "float16"

    overview = read(folder / "capture.json")
    assert overview["launches"] == [
        {"file": "launch-0000.json", "kernel": "scale"},
        {"file": "launch-0001.json", "kernel": "fill"},
    ]
    assert [record["name"] for record in overview["operators"]] == ["aten::relu"]


def test_numbers_that_json_does_not_know(here: Path, library: Any) -> None:
    x = torch.zeros(1, device="mps")
    with torch.mps.profiler.metal_capture("x"):
        library.scale(x, float("inf"), torch.tensor(7))
    arguments = read(captured(here) / "launch-0000.json")["arguments"]
    assert arguments[1]["value"] == "inf"
    assert arguments[2]["value"] == 7
    assert arguments[2]["dtype"] == "int64"


def test_captures_are_numbered(python: Python, tmp_path: Path) -> None:
    code = """
import openmps; openmps.activate(engine="cpu")
import torch
for _ in range(2):
    with torch.mps.profiler.metal_capture("x"):
        pass
"""
    done = python("-c", code, MTL_CAPTURE_ENABLED="1")
    assert done.returncode == 0, done.stderr
    assert sorted(file.name for file in tmp_path.iterdir()) == [
        "0000-x.gputrace",
        "0001-x.gputrace",
    ]


def test_a_failing_program_keeps_its_capture(here: Path, library: Any) -> None:
    def fails() -> None:
        with torch.mps.profiler.metal_capture("x"):
            library.fill(torch.empty(3, device="mps", dtype=torch.half))
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fails()
    assert torch.mps.profiler.is_capturing_metal() is False
    assert (captured(here) / "launch-0000.json").exists()


def test_nobody_watches_afterwards(here: Path) -> None:
    with torch.mps.profiler.metal_capture("x"):
        assert len(launches.observers) == 1
    assert launches.observers == []


def failure(code: int, text: str) -> str:
    return (
        rf"^Failed to start capture of \d{{4}}-x\.gputrace error Error Domain=MTLCaptureError "
        rf'Code={code} "{text}" UserInfo={{NSLocalizedDescription={text}}}$'
    )


def test_a_capture_must_be_enabled(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MTL_CAPTURE_ENABLED")
    text = r"Capturing is not supported\. Set MTL_CAPTURE_ENABLED=1\."
    with (
        pytest.raises(RuntimeError, match=failure(1, text)),
        torch.mps.profiler.metal_capture("x"),
    ):
        pass
    assert list(here.iterdir()) == []


def test_one_capture_at_a_time(here: Path) -> None:
    with torch.mps.profiler.metal_capture("x"):
        with pytest.raises(RuntimeError, match=failure(2, r"Already capturing\.")):
            torch._C._mps_startCapture("x")
        assert torch.mps.profiler.is_capturing_metal()


@pytest.mark.parametrize("name", ["no/such/folder", "nul\0"])
def test_a_folder_that_cannot_be_made(here: Path, name: str) -> None:
    with (
        pytest.raises(RuntimeError, match=r"(?s)^Failed to start capture of .* error Error Domain"),
        torch.mps.profiler.metal_capture(name),
    ):
        pass
    assert torch.mps.profiler.is_capturing_metal() is False


def test_a_disk_that_fails_is_told(
    here: Path, library: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    x = torch.empty(3, device="mps", dtype=torch.half)
    with torch.mps.profiler.metal_capture("x"):
        folder = captured(here)
        (folder / "README.txt").unlink()
        folder.rmdir()
        library.fill(x)
    assert x.tolist() == [1.0, 1.0, 1.0]
    assert f"openmps: the capture {folder} is not complete: " in capsys.readouterr().err


def test_stopping_what_was_not_started_does_nothing() -> None:
    torch._C._mps_stopCapture()
