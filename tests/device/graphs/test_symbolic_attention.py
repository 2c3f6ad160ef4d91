"""Attention in graphs whose sizes are symbols: make_fx, torch.export."""

from __future__ import annotations

import pytest
import torch
from torch.fx.experimental.proxy_tensor import make_fx
from torch.nn.functional import scaled_dot_product_attention as attend


class Attends(torch.nn.Module):
    def __init__(self, **options):
        super().__init__()
        self.options = options

    def forward(self, query, key, value):
        return attend(query, key, value, **self.options)


def heads(length, requires_grad=False):
    torch.manual_seed(length)
    made = [torch.randn(2, 4, length, 8) for _ in range(3)]
    return [each.to("mps").requires_grad_(requires_grad) for each in made]


@pytest.mark.parametrize("requires_grad", [False, True], ids=["evaluation", "training"])
@pytest.mark.parametrize("causal", [False, True], ids=["all", "causal"])
def test_a_traced_graph_takes_other_sizes(requires_grad, causal):
    module = Attends(is_causal=causal)
    traced = make_fx(module, tracing_mode="symbolic")(*heads(6, requires_grad))
    for length in (6, 9):
        inputs = heads(length)
        torch.testing.assert_close(traced(*inputs), module(*inputs))


def test_a_traced_graph_takes_masks_of_other_sizes():
    def with_mask(query, key, value, mask):
        return attend(query, key, value, attn_mask=mask)

    def inputs(length):
        return *heads(length), torch.ones(length, length, dtype=torch.bool, device="mps").tril()

    traced = make_fx(with_mask, tracing_mode="symbolic")(*inputs(6))
    torch.testing.assert_close(traced(*inputs(9)), with_mask(*inputs(9)))


@pytest.mark.needs_torch("2.12", "asks how long queries are when it is asked for a shape")
def test_an_exported_program_takes_other_lengths():
    length = torch.export.Dim("length", min=2, max=64)
    module = Attends(is_causal=True)
    sizes = {2: length}
    program = torch.export.export(module, tuple(heads(6)), dynamic_shapes=(sizes, sizes, sizes))
    for size in (6, 17):
        inputs = heads(size)
        torch.testing.assert_close(program.module()(*inputs), module(*inputs))


def test_grouped_heads_take_other_sizes():
    def grouped(query, key):
        return attend(query, key, key, enable_gqa=True)

    def inputs(length):
        query, key, _ = heads(length)
        return query, key[:, :2].contiguous()

    traced = make_fx(grouped, tracing_mode="symbolic")(*inputs(5))
    torch.testing.assert_close(traced(*inputs(11)), grouped(*inputs(11)))
