"""Optimizers that take all weights at once, where a Mac takes one after the other.

The CPU engine does not: here the functions are called as the CUDA engine's patches make them.
"""

from __future__ import annotations

import sys

import pytest
import torch
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode

from openmps.device import core, grouped_optimizers

from ..agreement import assert_matches
from .test_optimizers import NEEDS, OPTIMIZERS, PLAIN

GROUPED = [
    name
    for name in PLAIN
    if hasattr(sys.modules[OPTIMIZERS[name].__module__], f"_multi_tensor_{name.lower()}")
]
OPTIONS = {
    "plain": {},
    "decay": {"weight_decay": 0.1},
    "maximize": {"maximize": True},
}


def counted(lists, calls):
    def step(params, *args, **options):
        calls.append(len(params))
        lists(params, *args, **options)

    return step


@pytest.fixture
def grouping(monkeypatch):
    """As the CUDA engine patches torch; counts how often lists were used."""
    calls = []
    for module in grouped_optimizers.optimizer_modules():
        for name in list(vars(module)):
            if not name.startswith("_multi_tensor_"):
                continue

            monkeypatch.setattr(module, name, counted(getattr(module, name), calls))
    for module in grouped_optimizers.optimizer_modules():
        for name, loop in list(vars(module).items()):
            if name.startswith("_single_tensor_"):
                monkeypatch.setattr(module, name, getattr(loop, "loop", loop))
    for patch in grouped_optimizers.patches(core.load()):
        monkeypatch.setattr(patch.owner, patch.name, patch.value)
    return calls


SMALL = ((5, 3), (7,), (2, 3, 4), (), (4, 4))
LARGE = ((300, 500), (500,), (400, 500), (7,), (300, 400))


def undo(monkeypatch):
    """Back to the loops, which the CUDA engine has patched, too."""
    monkeypatch.undo()
    for module in grouped_optimizers.optimizer_modules():
        for name, loop in list(vars(module).items()):
            if name.startswith("_single_tensor_"):
                monkeypatch.setattr(module, name, getattr(loop, "loop", loop))


def weights(sizes=SMALL):
    torch.manual_seed(1)
    return [nn.Parameter(torch.randn(size).to("mps")) for size in sizes]


def steps(name, count=4, sizes=SMALL, **options):
    params = weights(sizes)
    optimizer = OPTIMIZERS[name](params, **{**NEEDS.get(name, {}), **options})
    for number in range(count):
        for place, param in enumerate(params):
            torch.manual_seed(100 * number + place)
            param.grad = torch.randn(param.shape).to("mps")
        optimizer.step()
    return params, optimizer


def accepts(name, options):
    try:
        OPTIMIZERS[name](weights(), **{**NEEDS.get(name, {}), **options})
    except (TypeError, ValueError):
        return False
    return True


def test_most_optimizers_have_both_forms():
    assert {"Adam", "SGD", "RMSprop", "Adagrad", "NAdam", "RAdam", "Adamax"} <= set(GROUPED)


@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("name", GROUPED)
def test_the_numbers_are_the_loops(name, options, grouping, monkeypatch):
    given = OPTIONS[options]
    if not accepts(name, given):
        pytest.skip(f"{name} has no {options}")
    got, got_optimizer = steps(name, **given)
    assert len(weights()) in grouping
    undo(monkeypatch)
    want, want_optimizer = steps(name, **given)
    torch.testing.assert_close(got, want, rtol=1e-6, atol=1e-7)
    for mine, theirs in zip(
        got_optimizer.state.values(), want_optimizer.state.values(), strict=True
    ):
        assert mine.keys() == theirs.keys()
        for entry, value in theirs.items():
            if isinstance(value, torch.Tensor):
                assert mine[entry].device == value.device
                torch.testing.assert_close(mine[entry], value, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("name", ["Adam", "SGD", "RMSprop"])
def test_the_macs_memory_is_the_loops(name, grouping, monkeypatch):
    def figures():
        torch.mps.empty_cache()
        before = torch.mps.current_allocated_memory()
        torch._C._accelerator_resetPeakStats(0)
        kept = steps(name, sizes=LARGE)
        now = torch.mps.current_allocated_memory() - before
        peak = torch._C._accelerator_getDeviceStats(0)["allocated_bytes"]["all"]["peak"] - before
        del kept
        return now, peak

    figures()
    grouped = figures()
    assert len(LARGE) - 2 in grouping
    undo(monkeypatch)
    # Which free buffers are taken again depends on what was freed: their sizes differ a little.
    assert grouped == pytest.approx(figures(), rel=0.05)


def test_first_steps_take_the_loop_where_they_make_state(grouping):
    steps("SGD", count=1, momentum=0.9)
    assert not grouping
    steps("SGD", count=2, momentum=0.9)
    assert grouping == [len(weights())]


@pytest.mark.parametrize("options", [{"differentiable": True}, {"lr": torch.tensor(0.1)}])
def test_what_lists_do_not_take_goes_through_the_loop(options, grouping):
    if "differentiable" in options:
        params = [param.detach().clone().requires_grad_() * 1 for param in weights()]
        for param in params:
            param.grad = torch.ones_like(param)
        torch.optim.Adam(params, **options).step()
    else:
        steps("Adam", count=2, **options)
    assert not grouping


def test_a_dispatch_mode_sees_the_loop(grouping):
    class Names(TorchDispatchMode):
        def __init__(self):
            super().__init__()
            self.seen = set()

        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            self.seen.add(func.name())
            return func(*args, **(kwargs or {}))

    with Names() as names:
        steps("AdamW", count=2)
    assert not {name for name in names.seen if "_foreach_" in name}
    assert not grouping


@pytest.mark.filterwarnings("ignore:Warning. Profiler clears events")
def test_a_profiler_sees_the_loop(grouping):
    with torch.profiler.profile() as recorded:
        steps("AdamW", count=2)
    assert not {event.key for event in recorded.key_averages() if "_foreach_" in event.key}


def test_gradients_of_another_class_go_through_the_loop(grouping):
    class Mine(torch.Tensor):
        pass

    params = weights()
    for param in params:
        param.grad = torch.ones_like(param).as_subclass(Mine)
    torch.optim.AdamW(params).step()
    assert not grouping


def test_clipping_gives_the_cpus_norm_and_takes_lists():
    def clipped(device):
        params = [nn.Parameter(param.detach().to(device)) for param in weights()]
        for place, param in enumerate(params):
            torch.manual_seed(place)
            param.grad = torch.randn(param.shape).to(device)
        norm = nn.utils.clip_grad_norm_(params, 0.5)
        return norm, [param.grad for param in params]

    assert_matches(clipped("mps"), clipped("cpu"))


def test_lists_by_name_are_refused_as_on_a_mac():
    param = weights()[0]
    param.grad = torch.ones_like(param)
    with pytest.raises(RuntimeError, match="can't use the foreach API on mps tensors"):
        nn.utils.clip_grad_norm_([param], 1.0, foreach=True)
