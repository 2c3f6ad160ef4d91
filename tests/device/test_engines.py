"""Which engines there are, and what is said of one that cannot be used."""

from __future__ import annotations

import pytest
import torch

from openmps.device import engine
from openmps.errors import EngineUnavailable, SettingError


@pytest.fixture
def machine(monkeypatch):
    """A machine with a GPU, for a CUDA build of torch; the arguments take things away."""

    def make(build: str | None = "13.0", driver: tuple[int, int] | None = (13, 0), gpus: int = 1):
        monkeypatch.setattr(torch.version, "cuda", build)
        monkeypatch.setattr(engine, "driver_version", lambda: driver)
        monkeypatch.setattr(engine, "gpu_count", lambda: gpus)

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
        engine.choose("cuda")
    assert words in str(refused.value)
    assert "OPENMPS_ENGINE=cpu" in str(refused.value)


@pytest.mark.parametrize(("lacks", "words"), MISSING)
def test_auto_is_then_the_cpu(machine, lacks, words: str) -> None:
    machine(**lacks)
    assert engine.choose("auto") == "cpu"


def test_auto_is_a_usable_gpu(machine) -> None:
    machine()
    assert engine.choose("auto") == engine.choose("cuda") == "cuda"


def test_a_newer_minor_driver_or_build_is_no_obstacle(machine) -> None:
    machine(build="13.2", driver=(13, 0))
    assert engine.probe("cuda").ok
    machine(build="12.8", driver=(13, 0))
    assert engine.probe("cuda").ok


def test_hidden_gpus_are_named_as_the_cause(machine, monkeypatch) -> None:
    machine(gpus=0)
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    assert "CUDA_VISIBLE_DEVICES is ''" in engine.probe("cuda").reason


def test_no_such_engine() -> None:
    with pytest.raises(SettingError, match="auto, cpu or cuda"):
        engine.choose("tpu")


def test_the_cpu_is_always_there(machine) -> None:
    machine(build=None)
    assert engine.choose("cpu") == "cpu"
