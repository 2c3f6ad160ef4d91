from __future__ import annotations

import contextlib
import functools

import pytest
import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.functional import scaled_dot_product_attention as attend

from .. import agreement
from ..agreement import as_fused

assert_agrees = functools.partial(agreement.assert_agrees, **as_fused())
assert_matches = functools.partial(agreement.assert_matches, **as_fused())


def inputs(*shape, dtype=torch.float32, requires_grad=True):
    torch.manual_seed(0)
    return [torch.randn(shape, dtype=dtype, requires_grad=requires_grad) for _ in range(3)]


MASKS = {
    "bool": lambda: torch.ones(6, 6, dtype=torch.bool).tril(),
    "bool_broadcast": lambda: torch.tensor([True, True, False, True, True, False]).view(1, 1, 1, 6),
    "float": lambda: torch.linspace(-2, 0, 36).view(6, 6),
    "float_per_head": lambda: torch.linspace(-2, 0, 2 * 3 * 36).view(2, 3, 6, 6),
    "bool_per_batch": lambda: torch.arange(2 * 36).view(2, 1, 6, 6) % 5 != 1,
}


def test_without_a_mask():
    assert_agrees(attend, *inputs(2, 3, 6, 8))


@pytest.mark.parametrize("name", MASKS)
def test_with_a_mask(name):
    mask = MASKS[name]()
    assert_agrees(lambda q, k, v, m: attend(q, k, v, attn_mask=m), *inputs(2, 3, 6, 8), mask)


def test_a_row_that_attends_to_nothing():
    mask = torch.ones(6, 6, dtype=torch.bool)
    mask[2] = False
    assert_agrees(
        lambda q, k, v, m: attend(q, k, v, attn_mask=m),
        *inputs(2, 3, 6, 8, requires_grad=False),
        mask,
    )


def test_gradient_of_a_float_mask():
    mask = torch.zeros(6, 6, requires_grad=True)
    assert_agrees(lambda q, k, v, m: attend(q, k, v, attn_mask=m), *inputs(2, 3, 6, 8), mask)


def test_causal():
    assert_agrees(lambda q, k, v: attend(q, k, v, is_causal=True), *inputs(2, 3, 6, 8))


def test_causal_with_longer_keys():
    query = inputs(2, 3, 4, 8)[0]
    _, key, value = inputs(2, 3, 6, 8)
    assert_agrees(lambda q, k, v: attend(q, k, v, is_causal=True), query, key, value)


def test_scale():
    assert_agrees(lambda q, k, v: attend(q, k, v, scale=0.25), *inputs(2, 3, 6, 8))


def test_grouped_queries():
    query = inputs(2, 6, 5, 8)[0]
    _, key, value = inputs(2, 2, 5, 8)
    assert_agrees(lambda q, k, v: attend(q, k, v, enable_gqa=True), query, key, value)
    assert_agrees(
        lambda q, k, v: attend(q, k, v, enable_gqa=True, is_causal=True), query, key, value
    )


def test_value_of_another_head_size():
    query, key, _ = inputs(2, 3, 6, 8)
    value = inputs(2, 3, 6, 5)[2]
    assert_agrees(attend, query, key, value)


@pytest.mark.parametrize("shape", [(6, 8), (3, 6, 8), (2, 2, 3, 6, 8)])
def test_other_numbers_of_dimensions(shape):
    assert_agrees(attend, *inputs(*shape))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("causal", [False, True])
def test_half_precision(dtype, causal):
    assert_agrees(
        lambda q, k, v: attend(q, k, v, is_causal=causal), *inputs(2, 3, 6, 8, dtype=dtype)
    )


def test_inputs_that_are_not_contiguous():
    assert_agrees(
        lambda q, k, v: attend(q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2)),
        *inputs(2, 6, 3, 8),
    )
    assert_agrees(
        lambda q, k, v: attend(q[..., ::2], k[..., ::2], v[:, :, :, 1:]), *inputs(2, 3, 6, 8)
    )


def test_one_tensor_as_query_key_and_value():
    assert_agrees(lambda t: attend(t, t, t), inputs(2, 3, 6, 8)[0])


@pytest.mark.parametrize("size", [1, 3, 17, 64])
def test_odd_head_sizes(size):
    assert_agrees(attend, *inputs(1, 2, 7, size))


@pytest.mark.needs_torch(
    "2.12", "gives empty attention gradients strides that depend on the device"
)
def test_zero_sized_inputs():
    assert_agrees(attend, *inputs(0, 3, 6, 8))
    query = inputs(2, 3, 0, 8)[0]
    _, key, value = inputs(2, 3, 6, 8)
    assert_agrees(attend, query, key, value)


def test_no_keys_gives_zeros():
    query = torch.randn(2, 3, 4, 8, device="mps")
    empty = torch.randn(2, 3, 0, 8, device="mps")
    out = attend(query, empty, empty)
    assert out.shape == (2, 3, 4, 8)
    assert out.device.type == "mps"


@pytest.mark.parametrize("head", [8, 5])
def test_dropout_drops_and_rescales(head):
    torch.manual_seed(0)
    length = 200
    # Uniform attention over one-hot values: an output element is one attention weight.
    # With a gradient: without one, a Mac refuses dropout.
    query = torch.zeros(1, 1, length, head, device="mps", requires_grad=True)
    value = torch.eye(length, device="mps").view(1, 1, length, length)
    weights = attend(query, query, value, dropout_p=0.25) * length
    assert weights.device.type == "mps"
    dropped = (weights == 0).float().mean().item()
    assert dropped == pytest.approx(0.25, abs=0.02)
    kept = weights[weights != 0]
    torch.testing.assert_close(kept, torch.full_like(kept, 1 / 0.75))


def test_dropout_draws_from_the_mps_generator():
    query, key, value = (t.detach().to("mps").requires_grad_() for t in inputs(2, 3, 6, 8))
    torch.mps.manual_seed(3)
    first = attend(query, key, value, dropout_p=0.5)
    second = attend(query, key, value, dropout_p=0.5)
    torch.mps.manual_seed(3)
    again = attend(query, key, value, dropout_p=0.5)
    assert not torch.equal(first, second)
    assert torch.equal(first, again)
    assert first.device.type == "mps"


def test_dropout_of_zero_equals_no_dropout():
    tensors = [t.detach().to("mps") for t in inputs(2, 3, 6, 8)]
    assert_matches(attend(*tensors, dropout_p=0.0), attend(*[t.cpu() for t in tensors]))


def test_gradients_flow_through_dropout():
    tensors = [t.detach().to("mps").requires_grad_() for t in inputs(2, 3, 6, 8)]
    attend(*tensors, dropout_p=0.5).sum().backward()
    assert all(t.grad.isfinite().all() and t.grad.device.type == "mps" for t in tensors)
    assert tensors[2].grad.count_nonzero() > 0


def test_the_plain_formula_by_name():  # what asking for another one does: tests/mac
    def chosen(q, k, v):
        with sdpa_kernel(SDPBackend.MATH):
            return attend(q, k, v, is_causal=True)

    assert_agrees(chosen, *inputs(2, 3, 6, 8))


DROPPED = {  # shapes of queries and keys, and what else is given
    "plain": ((2, 3, 6, 8), (2, 3, 6, 8), {}),
    "whole_rows": ((2, 3, 16, 8), (2, 3, 128, 8), {}),
    "more_keys": ((2, 3, 4, 8), (2, 3, 301, 8), {}),
    "causal": ((2, 3, 6, 8), (2, 3, 6, 8), {"is_causal": True}),
    "causal_more_keys": ((2, 3, 6, 8), (2, 3, 9, 8), {"is_causal": True}),
    "scale": ((2, 3, 6, 8), (2, 3, 6, 8), {"scale": 0.7}),
    "bool": ((2, 3, 6, 8), (2, 3, 6, 8), {"attn_mask": MASKS["bool"]}),
    "nothing_to_see": (
        (2, 3, 6, 8),
        (2, 3, 6, 8),
        {"attn_mask": lambda: torch.arange(6).view(6, 1).expand(6, 6) != 2},
    ),
    "float": ((2, 3, 6, 8), (2, 3, 6, 8), {"attn_mask": MASKS["float"]}),
    "float_per_head": ((2, 3, 6, 8), (2, 3, 6, 8), {"attn_mask": MASKS["float_per_head"]}),
    "grouped": ((2, 4, 6, 8), (2, 2, 5, 8), {"enable_gqa": True}),
    "no_batches": ((3, 6, 8), (3, 6, 8), {}),
}


def dropped(name):
    """Queries, keys and values; the mask; and what else is given."""
    torch.manual_seed(0)
    queries, keys, given = DROPPED[name]
    tensors = [torch.randn(shape, requires_grad=True) for shape in (queries, keys, keys)]
    make_mask = given.get("attn_mask", lambda: None)
    return tensors, make_mask(), {key: given[key] for key in given if key != "attn_mask"}


def by_hand(q, k, v, kept, attn_mask=None, is_causal=False, scale=None, enable_gqa=False):
    """The formula; `kept` is what a dropout of ones leaves."""
    if enable_gqa:
        k, v = (t.repeat_interleave(q.size(1) // t.size(1), 1) for t in (k, v))
    scores = q.float() @ k.float().mT * (scale or q.size(-1) ** -0.5)
    if is_causal:
        attn_mask = torch.ones(scores.shape[-2:], dtype=torch.bool).tril()
    if attn_mask is not None and attn_mask.dtype == torch.bool:
        scores = scores.masked_fill(~attn_mask, -torch.inf)
    elif attn_mask is not None:
        scores = scores + attn_mask
    return (torch._safe_softmax(scores, -1) * kept @ v.float()).to(q.dtype)


def kept_by_a_dropout_of_the_weights(q, k, p):
    weights = torch.ones(*q.shape[:-1], k.size(-2), device="mps")
    torch.mps.manual_seed(5)
    return torch.nn.functional.dropout(weights, p).cpu()


@pytest.fixture
def deterministic():
    """In which a GPU, too, draws the masks of a Mac."""
    torch.use_deterministic_algorithms(True)
    yield
    torch.use_deterministic_algorithms(False)


@pytest.mark.usefixtures("deterministic")
@pytest.mark.parametrize("name", DROPPED)
def test_dropout_drops_the_weights_that_a_mac_drops(name):
    """The same bits on every engine: those of a dropout of the weights."""
    tensors, mask, given = dropped(name)
    if mask is not None and mask.is_floating_point():
        mask.requires_grad_()
    kept = kept_by_a_dropout_of_the_weights(*tensors[:2], 0.3)
    state = torch.mps.get_rng_state()

    def attend_either(q, k, v, m):
        if q.device.type == "cpu":
            return by_hand(q, k, v, kept, attn_mask=m, **given)
        torch.mps.manual_seed(5)
        return attend(q, k, v, attn_mask=m, dropout_p=0.3, **given)

    assert_agrees(attend_either, *tensors, mask, rtol=1e-4, atol=1e-5)
    assert torch.equal(torch.mps.get_rng_state(), state)


@pytest.mark.usefixtures("deterministic")
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_dropout_in_half_precision(dtype):
    """Heads that lie beside each other, as a network's do."""
    torch.manual_seed(0)
    tensors = [
        torch.randn(2, 40, 3, 8).to(dtype).transpose(1, 2).requires_grad_() for _ in range(3)
    ]
    kept = kept_by_a_dropout_of_the_weights(*tensors[:2], 0.3)

    def attend_either(q, k, v):
        if q.device.type == "cpu":
            return by_hand(q, k, v, kept)
        torch.mps.manual_seed(5)
        return attend(q, k, v, dropout_p=0.3)

    tolerance = {torch.float16: 2e-3, torch.bfloat16: 2e-2}[dtype]
    assert_agrees(attend_either, *tensors, rtol=tolerance, atol=tolerance, strides=False)


@pytest.mark.usefixtures("deterministic")
def test_a_network_with_dropout_learns_as_its_formula_does():
    """Several calls draw one after the other."""
    layer = torch.nn.TransformerEncoderLayer(16, 2, 32, dropout=0.2, batch_first=True).to("mps")
    x = torch.randn(3, 7, 16, device="mps")
    losses = []
    for formula in (False, True):
        torch.mps.manual_seed(1)
        with sdpa_kernel(SDPBackend.MATH) if formula else contextlib.nullcontext():
            loss = layer(layer(x)).square().mean()
        layer.zero_grad()
        loss.backward()
        losses.append((loss.item(), layer.self_attn.in_proj_weight.grad.norm().item()))
    assert losses[0] == pytest.approx(losses[1], rel=1e-4)


def curvature(q, k, v, **given):
    """Gradients that can be differentiated: assert_agrees does so."""
    loss = attend(q, k, v, **given).square().sum()
    return torch.autograd.grad(loss, (q, k, v), create_graph=True)


@pytest.mark.parametrize("chosen", [False, True], ids=["as_it_comes", "plain_formula"])
def test_double_backward(chosen):
    with sdpa_kernel(SDPBackend.MATH) if chosen else contextlib.nullcontext():
        assert_agrees(curvature, *inputs(2, 3, 6, 8))


def test_double_backward_causal():
    assert_agrees(lambda q, k, v: curvature(q, k, v, is_causal=True), *inputs(2, 3, 6, 8))


@pytest.mark.parametrize("name", MASKS)
def test_double_backward_with_a_mask(name):
    mask = MASKS[name]()
    assert_agrees(lambda q, k, v, m: curvature(q, k, v, attn_mask=m), *inputs(2, 3, 6, 8), mask)


def test_double_backward_of_shared_heads():
    query = inputs(2, 4, 6, 8)[0]
    _, key, value = inputs(2, 2, 6, 8)
    assert_agrees(lambda q, k, v: curvature(q, k, v, enable_gqa=True), query, key, value)


def test_double_backward_in_half_precision():
    tensors = inputs(2, 3, 6, 8, dtype=torch.bfloat16)
    assert_agrees(curvature, *tensors, rtol=0.05, atol=0.05, strides=False)


@pytest.mark.usefixtures("deterministic")
@pytest.mark.parametrize("name", ["plain", "causal", "float", "grouped"])
def test_double_backward_through_dropout(name):
    tensors, mask, given = dropped(name)
    kept = kept_by_a_dropout_of_the_weights(*tensors[:2], 0.3)

    def gradients(q, k, v, m):
        if q.device.type == "cpu":
            out = by_hand(q, k, v, kept, attn_mask=m, **given)
        else:
            torch.mps.manual_seed(5)
            out = attend(q, k, v, attn_mask=m, dropout_p=0.3, **given)
        return torch.autograd.grad(out.square().sum(), (q, k, v), create_graph=True)

    assert_agrees(gradients, *tensors, mask, rtol=1e-4, atol=1e-4)


def test_double_backward_through_a_mask_that_only_a_kernel_knows_raises():
    """Only a GPU's fused kernels have such masks; their operator, by name, on any engine."""
    query = torch.randn(1, 1, 4, 8, device="mps", requires_grad=True)
    sums = torch.randn(1, 1, 4, device="mps")
    backward = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu_backward
    with pytest.raises(NotImplementedError, match=r"use_deterministic_algorithms\(True\) gives"):
        backward(query, query, query, query, query, sums, 0.5, False)


def test_different_dtypes_raise():
    query, key, value = (t.to("mps") for t in inputs(2, 3, 6, 8))
    with pytest.raises(RuntimeError, match="to have the same dtype"):
        attend(query, key.half(), value)


def test_different_devices_raise():
    query, key, value = (t.to("mps") for t in inputs(2, 3, 6, 8))
    with pytest.raises(RuntimeError, match="to have the same device type"):
        attend(query, key.cpu(), value)
    with pytest.raises(RuntimeError, match="to have the same device type"):
        attend(query.cpu(), key, value)


def test_one_dimension_raises():
    tensor = torch.randn(8, device="mps")
    with pytest.raises(RuntimeError, match="at least 2 dimensional"):
        attend(tensor, tensor, tensor)


def test_an_integer_mask_raises():
    mask = torch.ones(6, 6, dtype=torch.long, device="mps")
    with pytest.raises(RuntimeError, match="attn_mask dtype to be bool or float"):
        attend(*[t.to("mps") for t in inputs(2, 3, 6, 8)], attn_mask=mask)


def test_a_mask_on_the_cpu_raises():
    mask = torch.ones(6, 6, dtype=torch.bool)
    with pytest.raises(RuntimeError):
        attend(*[t.to("mps") for t in inputs(2, 3, 6, 8)], attn_mask=mask)


def test_causal_bias_objects():
    from torch.nn.attention.bias import causal_lower_right

    query = inputs(2, 3, 4, 8)[0]
    _, key, value = inputs(2, 3, 6, 8)
    assert_agrees(
        lambda q, k, v: attend(q, k, v, attn_mask=causal_lower_right(4, 6)), query, key, value
    )


def test_no_grad_and_inference_mode():
    tensors = inputs(2, 3, 6, 8)
    with torch.no_grad():
        assert_matches(attend(*[t.to("mps") for t in tensors]), attend(*tensors))
    with torch.inference_mode():
        out = attend(*[t.to("mps") for t in tensors])
    assert out.is_inference()
    assert out.device.type == "mps"


@pytest.mark.parametrize(
    "shape", [(2, 3, 16, 32), (2, 3, 16, 20), (2, 3, 4, 64), (3, 16, 32)], ids=str
)
def test_without_gradients_the_output_lies_row_by_row_as_on_a_mac(shape):
    """The CPU's fused kernel lays it as the queries lie."""
    query = torch.randn(shape, device="mps")
    found = torch._scaled_dot_product_attention_math_for_mps(query, query, query)[0]
    assert found.is_contiguous()
    layout = query.transpose(-3, -2).contiguous().transpose(-3, -2)
    again = torch._scaled_dot_product_attention_math_for_mps(layout, layout, layout)[0]
    assert again.is_contiguous()
    torch.testing.assert_close(again, found)


@pytest.mark.cpu_engine("a GPU's fused kernels lay the output as the next layer reads it")
def test_attention_itself_lays_its_output_so_too():
    query = torch.randn(2, 16, 3, 32, device="mps").transpose(1, 2)
    assert attend(query, query, query).is_contiguous()
    with pytest.raises(RuntimeError, match="view size is not compatible"):
        attend(query, query, query).transpose(1, 2).view(2, 16, 96)
