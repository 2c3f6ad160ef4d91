from __future__ import annotations

import pytest
import torch

from ..agreement import assert_matches

LEFT = torch.arange(6.0).view(2, 3)
RIGHT = torch.arange(6.0, 12.0).view(2, 3)

# The first two have typed kernels of their own in many devices, the others run boxed.
BINARY = [torch.add, torch.mul, torch.atan2, torch.fmod, torch.logaddexp]


@pytest.mark.parametrize("function", BINARY)
def test_out_of_the_right_size_keeps_its_bytes(function):
    out = torch.empty(2, 3, device="mps")
    before = out.data_ptr()
    result = function(LEFT.to("mps"), RIGHT.to("mps"), out=out)
    assert result is out
    assert out.data_ptr() == before
    assert_matches(out, function(LEFT, RIGHT))


@pytest.mark.parametrize("function", BINARY)
def test_out_without_elements_is_resized_in_silence(function):
    out = torch.empty(0, device="mps")
    function(LEFT.to("mps"), RIGHT.to("mps"), out=out)
    assert_matches(out, function(LEFT, RIGHT))


@pytest.mark.parametrize("function", BINARY)
@pytest.mark.parametrize("size", [1, 100])
def test_out_of_a_wrong_size_is_resized_with_a_warning(function, size):
    out = torch.empty(size, device="mps")
    with pytest.warns(UserWarning, match="An output with one or more elements was resized"):
        function(LEFT.to("mps"), RIGHT.to("mps"), out=out)
    assert_matches(out, function(LEFT, RIGHT))


@pytest.mark.parametrize("function", BINARY)
def test_out_that_is_not_contiguous_keeps_its_strides(function):
    whole = torch.zeros(3, 4, device="mps")
    out = whole.t()[:2]
    result = function(LEFT.to("mps"), RIGHT.to("mps"), out=out)
    assert result.stride() == (1, 4)
    expected = torch.zeros(3, 4)
    function(LEFT, RIGHT, out=expected.t()[:2])
    assert_matches(whole, expected)


@pytest.mark.parametrize("function", BINARY)
def test_out_may_be_an_input(function):
    tensor = LEFT.to("mps")
    result = function(tensor, RIGHT.to("mps"), out=tensor)
    assert result is tensor
    assert_matches(tensor, function(LEFT, RIGHT))


def test_out_that_overlaps_an_input_in_part_raises():
    tensor = torch.arange(6.0, device="mps")
    with pytest.raises(RuntimeError, match="unsupported operation: some elements"):
        torch.add(tensor[:4], 1, out=tensor[2:])


def test_out_of_another_dtype_is_cast_to():
    out = torch.empty(2, 3, dtype=torch.float64).to(torch.float16).to("mps")
    torch.add(LEFT.to("mps"), RIGHT.to("mps"), out=out)
    assert_matches(out, (LEFT + RIGHT).half())


def test_out_of_a_dtype_that_loses_values_raises():
    out = torch.empty(2, 3, dtype=torch.int64, device="mps")
    with pytest.raises(RuntimeError, match="can't be cast to the desired output type"):
        torch.add(LEFT.to("mps"), RIGHT.to("mps"), out=out)


def test_out_on_the_cpu_raises():
    with pytest.raises(RuntimeError, match="Expected all tensors to be on the same device"):
        torch.add(LEFT.to("mps"), RIGHT.to("mps"), out=torch.empty(2, 3))


def test_out_on_mps_for_cpu_inputs_raises():
    with pytest.raises(RuntimeError, match="same device"):
        torch.add(LEFT, RIGHT, out=torch.empty(2, 3, device="mps"))


def test_several_outs_are_all_written():
    values = torch.empty(0, device="mps")
    indices = torch.empty(0, dtype=torch.long, device="mps")
    result = torch.max(LEFT.to("mps"), 1, out=(values, indices))
    assert result.values is values
    assert_matches((values, indices), tuple(torch.max(LEFT, 1)))


def test_sort_and_topk_write_their_outs():
    source = torch.tensor([3.0, 1.0, 2.0])
    for function in (torch.sort, lambda t, **kw: torch.topk(t, 2, **kw)):
        outs = (torch.empty(0, device="mps"), torch.empty(0, dtype=torch.long, device="mps"))
        function(source.to("mps"), out=outs)
        assert_matches(outs, tuple(function(source)))


def test_matrix_products_write_their_out():
    left, right = torch.arange(6.0).view(2, 3), torch.arange(12.0).view(3, 4)
    out = torch.empty(2, 4, device="mps")
    torch.mm(left.to("mps"), right.to("mps"), out=out)
    assert_matches(out, left @ right)
    batched = torch.empty(0, device="mps")
    torch.bmm(left[None].to("mps"), right[None].to("mps"), out=batched)
    assert_matches(batched, (left @ right)[None])


def test_cat_and_stack_write_their_out():
    parts = [torch.arange(3.0), torch.arange(4.0)]
    out = torch.empty(0, device="mps")
    torch.cat([p.to("mps") for p in parts], out=out)
    assert_matches(out, torch.cat(parts))
    stacked = torch.empty(0, device="mps")
    torch.stack([parts[0].to("mps")] * 2, out=stacked)
    assert_matches(stacked, torch.stack([parts[0]] * 2))


def test_factories_write_their_out():
    out = torch.empty(0, device="mps")
    assert torch.arange(5, out=out) is out
    assert_matches(out, torch.arange(5.0))
    out = torch.empty(0, device="mps")
    torch.linspace(0, 1, 5, out=out)
    assert_matches(out, torch.linspace(0, 1, 5))
    out = torch.empty(0, device="mps")
    torch.zeros(2, 3, out=out)
    assert_matches(out, torch.zeros(2, 3))


def test_reductions_write_their_out():
    for function in (torch.sum, torch.mean, torch.prod):
        out = torch.empty(0, device="mps")
        function(LEFT.to("mps"), 1, out=out)
        assert_matches(out, function(LEFT, 1))


def test_an_inverse_is_written_into_its_out():
    matrix = torch.tensor([[4.0, 1.0], [1.0, 3.0]])
    inverse = torch.empty(0, device="mps")
    torch.linalg.inv(matrix.to("mps"), out=inverse)
    assert_matches(inverse, torch.linalg.inv(matrix))


@pytest.mark.needs_operators("aten::linalg_qr.out")
def test_a_decomposition_writes_both_its_outs():
    matrix = torch.tensor([[4.0, 1.0], [1.0, 3.0]])
    outs = tuple(torch.empty(0, device="mps") for _ in range(2))
    torch.linalg.qr(matrix.to("mps"), out=outs)
    assert_matches(outs, tuple(torch.linalg.qr(matrix)))


def test_nonzero_sizes_its_out_by_the_data():
    tensor = torch.tensor([0, 1, 0, 2])
    out = torch.empty(0, dtype=torch.long, device="mps")
    torch.nonzero(tensor.to("mps"), out=out)
    assert_matches(out, torch.nonzero(tensor))


def test_an_out_call_that_fails_leaves_out_usable():
    out = torch.ones(3, device="mps")
    with pytest.raises(RuntimeError):
        torch.mm(torch.ones(2, 3, device="mps"), torch.ones(4, 5, device="mps"), out=out)
    assert_matches(out + 1, torch.full((3,), 2.0))


def test_out_that_requires_grad_raises():
    out = torch.empty(2, 3, device="mps", requires_grad=True)
    with pytest.raises(RuntimeError, match="don't support automatic differentiation"):
        torch.add(LEFT.to("mps"), RIGHT.to("mps"), out=out)


@pytest.mark.parametrize("name", ["tril", "triu"])
def test_a_triangle_goes_into_batches_that_are_not_contiguous(name: str) -> None:
    """Where PyTorch's CPU kernel writes beyond the end of `out`."""
    data = torch.arange(225.0).reshape(3, 3, 5, 5)
    around = torch.full((3, 9, 5, 5), 7.0, device="mps")
    out = around[:, 3:6].transpose(0, 1)
    assert getattr(torch, name)(data.to("mps"), 1, out=out) is out
    assert torch.equal(out.cpu(), getattr(torch, name)(data, 1))
    assert (around[:, :3] == 7).all()
    assert (around[:, 6:] == 7).all()
    grown = torch.empty(0, device="mps")
    getattr(torch, name)(data.to("mps").transpose(0, 1), out=grown)
    assert torch.equal(grown.cpu(), getattr(torch, name)(data.transpose(0, 1).contiguous()))
