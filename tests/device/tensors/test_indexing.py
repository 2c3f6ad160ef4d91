from __future__ import annotations

import pytest
import torch

from ..agreement import assert_agrees, assert_matches

INDICES = {
    "list": [2, 0],
    "pair_of_lists": ([0, 2], [1, 3]),
    "ellipsis": (..., 1),
    "none": (slice(None), None),
    "negative_step_free_slice": (slice(0, 2), slice(1, None, 2)),
    "bool_scalar": True,
    "empty_list": [],
    "range_and_list": (slice(1, 3), [0, 0, 3]),
}
TENSOR_INDICES = {
    "long": torch.tensor([2, 0, 2]),
    "negative": torch.tensor([-1]),
    "int32": torch.tensor([1, 2], dtype=torch.int32),
    "matrix": torch.tensor([[0, 1], [2, 0]]),
    "scalar": torch.tensor(1),
    "bool_rows": torch.tensor([True, False, True]),
    "bool_all_false": torch.tensor([False, False, False]),
    "bool_elements": torch.arange(12).view(3, 4) % 5 == 0,
    "empty": torch.empty(0, dtype=torch.long),
}


def source():
    return torch.arange(12.0).view(3, 4).clone()


@pytest.mark.parametrize("name", INDICES)
def test_reading_with_a_python_index(name):
    assert_matches(source().to("mps")[INDICES[name]], source()[INDICES[name]])


@pytest.mark.parametrize("name", INDICES)
def test_writing_with_a_python_index(name):
    tensor, expected = source().to("mps"), source()
    tensor[INDICES[name]] = -1
    expected[INDICES[name]] = -1
    assert_matches(tensor, expected)


@pytest.mark.parametrize("index_device", ["mps", "cpu"])
@pytest.mark.parametrize("name", TENSOR_INDICES)
def test_reading_with_an_index_tensor_on_either_device(name, index_device):
    index = TENSOR_INDICES[name]
    assert_matches(source().to("mps")[index.to(index_device)], source()[index])


@pytest.mark.parametrize("index_device", ["mps", "cpu"])
@pytest.mark.parametrize("name", TENSOR_INDICES)
def test_writing_with_an_index_tensor_on_either_device(name, index_device):
    index = TENSOR_INDICES[name]
    tensor, expected = source().to("mps"), source()
    tensor[index.to(index_device)] = 99
    expected[index] = 99
    assert_matches(tensor, expected)


def test_indexing_a_cpu_tensor_with_an_mps_index_raises():
    with pytest.raises(RuntimeError, match="indices should be either on cpu"):
        source()[torch.tensor([0], device="mps")]


def test_writing_tensor_values():
    tensor, expected = source().to("mps"), source()
    index = torch.tensor([0, 2])
    values = torch.tensor([[1.0], [2.0]])
    tensor[index.to("mps")] = values.to("mps")
    expected[index] = values
    assert_matches(tensor, expected)


def test_writing_a_cpu_scalar_tensor_and_a_cpu_row():
    tensor, expected = source().to("mps"), source()
    tensor[0, 1] = torch.tensor(5.0)
    tensor[1] = torch.ones(4)
    expected[0, 1] = torch.tensor(5.0)
    expected[1] = torch.ones(4)
    assert_matches(tensor, expected)


def test_index_put_accumulates_repeated_indices():
    tensor, expected = source().to("mps"), source()
    index = torch.tensor([0, 0, 1])
    values = torch.ones(3, 4)
    tensor.index_put_((index.to("mps"),), values.to("mps"), accumulate=True)
    expected.index_put_((index,), values, accumulate=True)
    assert_matches(tensor, expected)
    assert_matches(
        tensor.index_put((index.to("mps"),), values.to("mps")[:1, 0]),
        expected.index_put((index,), values[:1, 0]),
    )


def test_index_put_through_a_view_writes_the_base():
    tensor, expected = source().to("mps"), source()
    tensor.t()[1:][[0, 2]] = -5
    expected.t()[1:][[0, 2]] = -5
    assert_matches(tensor, expected)


def test_index_out_of_range_raises():
    with pytest.raises(IndexError, match="out of bounds"):
        source().to("mps")[7]
    with pytest.raises(IndexError, match="too many indices"):
        source().to("mps")[0, 0, 0]


def test_index_tensor_out_of_range_raises_when_the_device_is_next_waited_for():
    rows = source().to("mps")[torch.tensor([7], device="mps")]
    assert rows.shape == (1, 4)
    with pytest.raises(torch.AcceleratorError) as failed:
        torch.mps.synchronize()
    assert str(failed.value) == "index 7 is out of bounds for dimension 0 with size 3"


def test_mask_of_a_wrong_shape_raises():
    with pytest.raises(IndexError, match="does not match the shape"):
        source().to("mps")[torch.ones(5, dtype=torch.bool, device="mps")]


def test_gather_family_agrees():
    table = torch.randn(3, 4, requires_grad=True)
    index = torch.tensor([[0, 3], [1, 1], [2, 0]])
    rows = torch.tensor([2, 0])
    assert_agrees(lambda t, i: t.gather(1, i), table, index)
    assert_agrees(lambda t, i: t.take_along_dim(i, 1), table, index)
    assert_agrees(lambda t, i: t.index_select(0, i), table, rows)
    assert_agrees(lambda t, i: t[i], table, rows)
    assert_agrees(lambda t: t.masked_select(t > 0), table)
    assert_agrees(lambda t: t[t > 0], table)


def test_take_agrees_through_the_fallback(fallback):
    table = torch.randn(3, 4, requires_grad=True)
    index = torch.tensor([[0, 3], [1, 1], [2, 0]])
    with fallback("aten::take", "aten::put_"):
        assert_agrees(lambda t, i: t.take(i), table, index)


def test_gather_with_a_cpu_index_raises():
    with pytest.raises(RuntimeError, match=r"^Passed CPU tensor to MPS op$"):
        source().to("mps").gather(1, torch.zeros(3, 1, dtype=torch.long))


def test_nonzero_family_agrees():
    tensor = torch.tensor([[0, 1], [2, 0]])
    assert_agrees(torch.nonzero, tensor)
    assert_agrees(lambda t: torch.nonzero(t, as_tuple=True), tensor)
    assert_agrees(torch.where, tensor)
    assert_agrees(torch.argwhere, tensor)
    assert_agrees(lambda t: torch.count_nonzero(t, 0), tensor)


def test_gradient_of_assignment():
    def assign(tensor, value):
        copy = tensor.clone()
        copy[1, [0, 2]] = value
        return copy * 2

    assert_agrees(assign, source().requires_grad_(), torch.ones(2, requires_grad=True))


def test_iterating_yields_rows_on_mps():
    assert_matches(list(source().to("mps")), list(source()))
    assert len(source().to("mps")) == 3


def test_an_index_tensor_serves_as_a_python_index():
    assert [10, 20, 30][torch.tensor(1, device="mps")] == 20
    assert list(range(torch.tensor(3, device="mps"))) == [0, 1, 2]
