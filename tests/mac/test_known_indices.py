"""Indices that were found to fit are not looked at again; those that changed are."""

from __future__ import annotations

import pytest
import torch


def used_often(index, table):
    for _ in range(5):
        torch.nn.functional.embedding(index, table)
        torch.mps.synchronize()


@pytest.fixture
def table():
    return torch.arange(20.0, device="mps").view(10, 2)


def gathered(source, index):
    return source.gather(0, index)


CHANGES = {
    "in place": lambda index: index.fill_(99),
    "an element": lambda index: index.__setitem__(0, 99),
    "through data": lambda index: index.data.fill_(99),
    "through a view": lambda index: index.view(2, 2).add_(99),
    "through detach": lambda index: index.detach().copy_(torch.full((4,), 99)),
    "as out": lambda index: torch.add(index, 99, out=index),
    "by a list operator": lambda index: torch._foreach_add_([index], 99),
    "through the storage": lambda index: index.untyped_storage().copy_(
        torch.full((4,), 99, device="mps").untyped_storage()
    ),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_changed_index_is_reported(change):
    source = torch.arange(10.0, device="mps")
    index = torch.tensor([1, 2, 3, 4], device="mps")
    for _ in range(5):
        assert gathered(source, index).tolist() == [1, 2, 3, 4]
        torch.mps.synchronize()
    CHANGES[change](index)
    gathered(source, index)
    with pytest.raises(torch.AcceleratorError, match="is out of bounds"):
        torch.mps.synchronize()


def test_a_kernels_writing_counts():
    source = torch.arange(10.0, device="mps")
    index = torch.tensor([1, 2, 3, 4], device="mps")
    for _ in range(5):
        gathered(source, index)
        torch.mps.synchronize()
    shader = "kernel void far(device long* x, uint i [[thread_position_in_grid]]) { x[i] = 99; }"
    torch.mps.compile_shader(shader).far(index)
    gathered(source, index)
    with pytest.raises(torch.AcceleratorError, match="is out of bounds"):
        torch.mps.synchronize()


def test_other_bounds_are_looked_at():
    index = torch.tensor([1, 2, 3, 9], device="mps")
    for _ in range(5):
        gathered(torch.zeros(10, device="mps"), index)
        torch.mps.synchronize()
    gathered(torch.zeros(5, device="mps"), index)
    with pytest.raises(torch.AcceleratorError, match="index 9 is out of bounds"):
        torch.mps.synchronize()


def test_a_bad_index_is_reported_each_time():
    index = torch.tensor([1, 99], device="mps")
    for _ in range(3):
        gathered(torch.zeros(10, device="mps"), index)
        with pytest.raises(torch.AcceleratorError, match="index 99 is out of bounds"):
            torch.mps.synchronize()


def test_a_new_index_in_the_old_ones_place_is_looked_at():
    source = torch.arange(10.0, device="mps")
    for _ in range(20):
        good = torch.tensor([1, 2, 3, 4], device="mps")
        for _ in range(3):
            gathered(source, good)
            torch.mps.synchronize()
        del good
        bad = torch.tensor([1, 2, 3, 40], device="mps")
        gathered(source, bad)
        with pytest.raises(torch.AcceleratorError, match="index 40 is out of bounds"):
            torch.mps.synchronize()


def test_silent_ones_stay_silent(table):
    index = torch.tensor([3, 4], device="mps")
    used_often(index, table)
    index.fill_(99)
    used_often(index, table)  # a Mac reads whatever lies there


def test_many_indices_in_turn():
    source = torch.arange(100.0, device="mps")
    indices = [torch.arange(i, i + 4, device="mps") for i in range(60)] * 5
    results = [gathered(source, index) for index in indices]
    torch.mps.synchronize()
    assert [result[0].item() for result in results] == [float(i) for i in range(60)] * 5
