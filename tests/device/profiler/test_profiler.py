from __future__ import annotations

import json

import pytest
import torch
from torch.profiler import ProfilerActivity, profile, record_function

# torch 2.11 says so of every profile.
pytestmark = pytest.mark.filterwarnings("ignore:Warning. Profiler clears events at the end of each")


def train():
    module = torch.nn.Sequential(torch.nn.Linear(8, 4), torch.nn.ReLU()).to("mps")
    optimizer = torch.optim.SGD(module.parameters(), lr=0.1)
    with record_function("the_step"):
        module(torch.ones(2, 8, device="mps")).sum().backward()
        optimizer.step()
    return module


def test_a_training_step_lists_its_operators():
    with profile(activities=[ProfilerActivity.CPU]) as profiler:
        module = train()
    names = {event.key for event in profiler.key_averages()}
    assert {"aten::linear", "aten::addmm", "aten::relu", "aten::sum", "the_step"} <= names
    assert any("AddmmBackward" in name or "LinearBackward" in name for name in names)
    assert any(name.startswith("Optimizer.step") for name in names)
    assert "aten::addmm" in profiler.key_averages().table(sort_by="cpu_time_total")
    assert module[0].weight.device.type == "mps"


def test_shapes_and_memory_are_recorded():
    with profile(
        activities=[ProfilerActivity.CPU], record_shapes=True, profile_memory=True
    ) as profiler:
        train()
    shapes = [
        event.input_shapes
        for event in profiler.key_averages(group_by_input_shape=True)
        if event.key == "aten::addmm"
    ]
    assert shapes[0][1:3] == [[2, 8], [8, 4]]


def test_chrome_trace_is_written(tmp_path):
    with profile(activities=[ProfilerActivity.CPU], with_stack=True) as profiler:
        train()
    path = tmp_path / "trace.json"
    profiler.export_chrome_trace(str(path))
    events = json.loads(path.read_text())["traceEvents"]
    assert any(event.get("name") == "aten::addmm" for event in events)


def test_schedules_step_through_iterations():
    finished = []
    schedule = torch.profiler.schedule(wait=1, warmup=1, active=1, repeat=1)
    with profile(
        activities=[ProfilerActivity.CPU], schedule=schedule, on_trace_ready=finished.append
    ) as profiler:
        for _ in range(3):
            train()
            profiler.step()
    assert len(finished) == 1
    assert "aten::addmm" in {event.key for event in profiler.key_averages()}


def test_the_autograd_profiler():
    with torch.autograd.profiler.profile() as profiler:
        train()
    assert "aten::addmm" in {event.key for event in profiler.key_averages()}


def test_flop_counter():
    from torch.utils.flop_counter import FlopCounterMode

    with FlopCounterMode(display=False) as counter:
        result = torch.ones(2, 3, device="mps") @ torch.ones(3, 4, device="mps")
    assert counter.get_total_flops() == 2 * 2 * 3 * 4
    assert result.device.type == "mps"


def test_activation_does_not_start_a_cuda_builds_profiler(python):
    """Which would start CUDA: a child of this process could no longer compute on the GPU."""
    program = """
import torch
def asked():
    raise SystemExit("the profiler was asked")
torch.version.cuda = "13.0"
torch.autograd._supported_activities = asked
import openmps
openmps.activate()
print(torch.ones(1, device="mps").item())
torch.profiler.supported_activities()
"""
    done = python("-c", program, OPENMPS_ENGINE="cpu")
    assert (done.stdout, done.stderr) == ("1.0\n", "the profiler was asked\n")
