"""Random histories of views, writes, resizes and storage swaps, played on both devices at once."""

from __future__ import annotations

import itertools
import random
import warnings

import pytest
import torch

from ..agreement import on_cuda, tolerances

VIEWS = {
    "slice": lambda r, x, y: x[r.randint(0, x.size(0)) :: r.choice([1, 2])],
    "transpose": lambda r, x, y: x.transpose(0, -1),
    "permute": lambda r, x, y: x.permute(r.sample(range(x.dim()), x.dim())),
    "unsqueeze": lambda r, x, y: x.unsqueeze(r.randint(0, x.dim())),
    "select": lambda r, x, y: x.select(r.randrange(x.dim()), 0),
    "view": lambda r, x, y: x.view(-1),
    "reshape": lambda r, x, y: x.reshape(-1),
    "expand": lambda r, x, y: x.unsqueeze(0).expand(2, *x.shape),
    "diagonal": lambda r, x, y: x.diagonal(),
    "detach": lambda r, x, y: x.detach(),
    "unfold": lambda r, x, y: x.unfold(0, 1, 1),
    "clone": lambda r, x, y: x.clone(),
}
WRITES = {
    "add": lambda r, x, y: x.add_(1),
    "sub": lambda r, x, y: x.sub_(y),
    "copy": lambda r, x, y: x.copy_(y),
    "assign": lambda r, x, y: x.__setitem__(0, 3),
    "relu": lambda r, x, y: x.relu_(),
    "cumsum": lambda r, x, y: x.cumsum_(0),
    "mul": lambda r, x, y: x.mul_(y),
    "foreach": lambda r, x, y: torch._foreach_add_([x, y], 1),
    "transpose_in_place": lambda r, x, y: x.t_(),
    "resize_to_nothing": lambda r, x, y: x.resize_(0),
    "resize": lambda r, x, y: x.resize_(r.randint(0, 6), r.randint(0, 6)),
    "set": lambda r, x, y: x.set_(y),
    "set_data": lambda r, x, y: setattr(x, "data", y),
    "out": lambda r, x, y: torch.add(y, 1, out=x),
    "out_of_product": lambda r, x, y: torch.mm(y.new_ones(3, 2), y.new_ones(2, 4), out=x),
    "out_of_cat": lambda r, x, y: torch.cat([y.reshape(-1), y.reshape(-1)], out=x),
}
MOST_TENSORS = 8
STEPS = 30


def play(seed, tensors):
    """One step; says what was done, which error, if any, it ended in, and whether it overlapped."""
    r = random.Random(seed)
    x, y = r.choice(tensors), r.choice(tensors)
    name = r.choice([*VIEWS, *WRITES])
    overlaps = torch._C._is_alias_of(x, y) or 1 in map(torch._debug_has_internal_overlap, (x, y))
    try:
        if name in WRITES:
            WRITES[name](r, x, y)
        elif x.dim() < 4:
            view = VIEWS[name](r, x, y)
            if len(tensors) < MOST_TENSORS:
                tensors.append(view)
            else:
                tensors[r.randrange(MOST_TENSORS)] = view
    except (RuntimeError, IndexError, ValueError) as error:
        return name, type(error), overlaps
    return name, None, overlaps


def shapes(tensors):
    return [
        (t.shape, t.stride(), t.storage_offset(), t.untyped_storage().nbytes(), t._version)
        for t in tensors
    ]


def aliases(tensors):
    return [torch._C._is_alias_of(a, b) for a, b in itertools.combinations(tensors, 2)]


def copy_storages(to, source):
    for a, b in zip(to, source, strict=True):
        a.untyped_storage().copy_(b.untyped_storage())


@pytest.mark.parametrize("first", range(0, 300, 50))
def test_histories_agree(first):
    for seed in range(first, first + 50):
        cpu = [torch.arange(12.0).view(3, 4).clone(), torch.ones(5)]
        mps = [t.to("mps") for t in cpu]
        history = []
        for step in range(STEPS):
            with warnings.catch_warnings():
                warnings.filterwarnings("ignore", message="An output with one or more elements")
                done = play(seed * STEPS + step, cpu)
                assert play(seed * STEPS + step, mps) == done, history
            history.append(done)
            assert {t.device.type for t in mps} == {"mps"}, history
            assert shapes(mps) == shapes(cpu), history
            assert aliases(mps) == aliases(cpu), history
            name, error, overlaps = done
            if name.startswith("resize") or error is not None or (on_cuda() and overlaps):
                # New bytes hold anything, and so do bytes that a GPU's threads both read and
                # write; from here on, the same.
                copy_storages(mps, cpu)
            for a, b in zip(mps, cpu, strict=True):
                torch.testing.assert_close(
                    a.detach().cpu(), b.detach(), equal_nan=True, **tolerances(b)
                )
            if on_cuda():
                copy_storages(mps, cpu)  # roundings differ, and would grow from step to step
