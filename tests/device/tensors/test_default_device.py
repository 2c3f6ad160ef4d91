from __future__ import annotations

import threading

import pytest
import torch

from ..agreement import assert_matches


@pytest.fixture
def default_mps():
    torch.set_default_device("mps")
    yield
    torch.set_default_device(None)


def test_it_starts_as_the_cpu():
    assert torch.get_default_device() == torch.device("cpu")
    assert torch.ones(1).device.type == "cpu"


def test_factories_follow_the_default_device(default_mps):
    assert torch.get_default_device().type == "mps"
    for made in (
        torch.ones(2),
        torch.tensor([1, 2]),
        torch.arange(3),
        torch.rand(2),
        torch.eye(2),
        torch.empty(0),
        torch.randperm(4),
        torch.full((2,), 1.0),
        torch.linspace(0, 1, 3),
        torch.as_tensor([1.0]),
    ):
        assert made.device == torch.device("mps:0")


def test_modules_follow_the_default_device(default_mps):
    module = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.BatchNorm1d(3))
    assert {t.device.type for t in module.state_dict().values()} == {"mps"}
    assert module(torch.ones(4, 2)).device.type == "mps"


def test_an_explicit_device_wins(default_mps):
    assert torch.ones(2, device="cpu").device.type == "cpu"
    assert_matches(torch.ones(2), torch.ones(2, device="cpu"))


def test_training_on_the_default_device(default_mps):
    module = torch.nn.Linear(2, 1)
    optimizer = torch.optim.Adam(module.parameters())
    module(torch.ones(4, 2)).sum().backward()
    optimizer.step()
    assert module.weight.grad.device.type == "mps"


def test_saving_and_printing_on_the_default_device(default_mps, tmp_path):
    tensor = torch.arange(3.0)
    torch.save(tensor, tmp_path / "t.pt")
    assert torch.load(tmp_path / "t.pt").device.type == "mps"
    assert "mps:0" in repr(tensor)


def test_restoring_the_cpu():
    torch.set_default_device("mps")
    torch.set_default_device("cpu")
    assert torch.ones(1).device.type == "cpu"
    torch.set_default_device(None)
    assert torch.get_default_device() == torch.device("cpu")


def test_device_as_a_context():
    with torch.device("mps"):
        inside = torch.ones(2)
        assert torch.get_default_device().type == "mps"
        with torch.device("cpu"):
            assert torch.ones(2).device.type == "cpu"
        module = torch.nn.Linear(2, 2)
    assert torch.ones(2).device.type == "cpu"
    assert module.weight.device.type == "mps"
    assert_matches(inside, torch.ones(2))


def test_another_thread_keeps_the_cpu(default_mps):
    seen = []
    thread = threading.Thread(target=lambda: seen.append(torch.ones(1).device.type))
    thread.start()
    thread.join()
    assert seen == ["cpu"]
