"""Which engines there are, and what is said of one that cannot be used."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from openmps.device import engines
from openmps.device.engines import cuda
from openmps.errors import EngineUnavailable, SettingError


@pytest.fixture
def machine(monkeypatch):
    """A machine with a GPU, for a CUDA build of torch; the arguments take things away."""

    def make(build: str | None = "13.0", driver: tuple[int, int] | None = (13, 0), gpus: int = 1):
        monkeypatch.setattr(torch.version, "cuda", build)
        monkeypatch.setattr(cuda, "driver_version", lambda: driver)
        monkeypatch.setattr(cuda, "gpu_count", lambda: gpus)

    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    return make


MISSING = [
    ({"build": None}, "no CUDA build: torch"),
    ({"driver": None}, "no NVIDIA driver: libcuda.so.1 is not there"),
    ({"driver": (12, 4)}, "it knows CUDA 12.4, and torch was built with 13.0"),
    ({"gpus": 0}, "no NVIDIA GPU was found"),
]


@pytest.mark.parametrize(("lacks", "words"), MISSING)
def test_asking_for_cuda_names_what_is_missing(machine, lacks, words: str) -> None:
    machine(**lacks)
    with pytest.raises(EngineUnavailable) as refused:
        engines.choose("cuda")
    assert words in str(refused.value)
    assert "OPENMPS_ENGINE=cpu" in str(refused.value)


@pytest.mark.parametrize(("lacks", "words"), MISSING)
def test_auto_is_then_the_cpu(machine, lacks, words: str) -> None:
    machine(**lacks)
    assert engines.choose("auto").name == "cpu"


def test_auto_is_a_usable_gpu(machine) -> None:
    machine()
    assert engines.choose("auto").name == engines.choose("cuda").name == "cuda"


def test_a_newer_minor_driver_or_build_is_no_obstacle(machine) -> None:
    machine(build="13.2", driver=(13, 0))
    assert engines.probe("cuda").ok
    machine(build="12.8", driver=(13, 0))
    assert engines.probe("cuda").ok


def test_hidden_gpus_are_named_as_the_cause(machine, monkeypatch) -> None:
    machine(gpus=0)
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    assert "CUDA_VISIBLE_DEVICES is ''" in engines.probe("cuda").reason


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """The files of a machine with two GPUs, of which a process has loaded the driver."""
    for name, text in {
        "proc/self/maps": "7f00-7f01 r-xp 0 08:01 9  /usr/lib/libcuda.so.580.65.06\n7f02 rw-p 0\n",
        "proc/driver/nvidia/version": "NVRM version: Kernel Module  580.65.06  Release Build\n",
        "dev/nvidia0": "",
        "dev/nvidia1": "",
        "dev/nvidiactl": "",
        "dev/nvidia-uvm": "",
    }.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


@pytest.mark.parametrize(
    ("visible", "count"),
    [
        (None, 2),
        ("0", 1),
        ("1,0", 2),
        ("0,7,1", 1),
        ("5", 0),
        ("1,1", None),
        ("", None),
        ("-1", None),
        ("GPU-8932f937", None),
    ],
)
def test_gpus_are_counted_by_their_files(
    root: Path, visible: str | None, count: int | None
) -> None:
    assert cuda._count_files(root, visible) == count


def test_a_kernel_with_another_driver_is_left_to_torch(root: Path) -> None:
    (root / "proc/driver/nvidia/version").write_text("NVRM version: Kernel Module  570.86.10\n")
    assert cuda._count_files(root, None) is None


@pytest.mark.parametrize("missing", ["proc/self/maps", "proc/driver/nvidia/version"])
def test_a_machine_without_such_files_is_left_to_torch(root: Path, missing: str) -> None:
    (root / missing).unlink()
    assert cuda._count_files(root, None) is None


def test_a_machine_without_device_files_is_left_to_torch(root: Path) -> None:
    (root / "dev/nvidia0").unlink()
    (root / "dev/nvidia1").unlink()
    assert cuda._count_files(root, None) is None


def test_no_such_engine() -> None:
    with pytest.raises(SettingError, match="auto, cpu or cuda"):
        engines.choose("tpu")


def test_the_cpu_is_always_there(machine) -> None:
    machine(build=None)
    assert engines.choose("cpu").name == "cpu"
