from __future__ import annotations

import functools

import pytest
import torch
from torch import nn

from .. import agreement
from ..agreement import as_fused, on_cuda, on_mps

assert_matches = functools.partial(agreement.assert_matches, **as_fused())
assert_module_agrees = functools.partial(agreement.assert_module_agrees, **as_fused())


def tokens(*shape):
    torch.manual_seed(1)
    return torch.randn(*shape, requires_grad=True)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"batch_first": True},
        {"bias": False},
        {"kdim": 6, "vdim": 4},
        {"add_bias_kv": True, "add_zero_attn": True},
    ],
)
def test_multihead_attention_agrees(options):
    torch.manual_seed(0)
    module = nn.MultiheadAttention(8, 2, **options)
    key = tokens(5, 3, options.get("kdim", 8))
    value = tokens(5, 3, options.get("vdim", 8))
    assert_module_agrees(module, tokens(5, 3, 8), key, value)


class Masked(nn.Module):
    def __init__(self, **masks):
        super().__init__()
        self.attention = nn.MultiheadAttention(8, 2, batch_first=True)
        for name, mask in masks.items():
            self.register_buffer(name, mask)
        self.names = list(masks)

    def forward(self, x):
        masks = {name: getattr(self, name) for name in self.names}
        return self.attention(x, x, x, need_weights=False, **masks)[0]


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize(
    "masks",
    [
        {"attn_mask": torch.ones(5, 5, dtype=torch.bool).triu(1)},
        {"key_padding_mask": torch.tensor([[False] * 5, [False] * 3 + [True] * 2])},
        {"attn_mask": torch.linspace(-1, 0, 25).view(5, 5)},
    ],
)
def test_masks_of_multihead_attention_agree(masks, training):
    torch.manual_seed(0)
    assert_module_agrees(Masked(**masks).train(training), tokens(2, 5, 8))


@pytest.mark.parametrize("options", [{}, {"norm_first": True}, {"activation": "gelu"}])
def test_encoder_layer_in_training_agrees(options):
    torch.manual_seed(0)
    layer = nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, batch_first=True, **options)
    assert_module_agrees(layer, tokens(3, 5, 8))


# The cpu takes a fused path here; mps has none, on a Mac neither.
@pytest.mark.parametrize("options", [{}, {"norm_first": True}, {"activation": "gelu"}])
def test_encoder_layer_without_gradients_agrees(options):
    torch.manual_seed(0)
    layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True, **options).eval()
    data = tokens(3, 5, 8).detach()
    with torch.no_grad():
        expected = layer(data)
        layer.to("mps")
        actual = layer(data.to("mps"))
    assert_matches(actual, expected, rtol=1e-6, atol=1e-6)


def test_encoder_layer_with_gradients_in_eval_agrees():
    torch.manual_seed(0)
    layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True).eval()
    assert_module_agrees(layer, tokens(3, 5, 8))


def test_encoder_with_padding_agrees():
    torch.manual_seed(0)
    layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
    encoder = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False).eval()
    padding = torch.tensor([[False] * 5, [False] * 3 + [True] * 2])
    data = tokens(2, 5, 8).detach()
    with torch.no_grad():
        expected = encoder(data, src_key_padding_mask=padding)
        encoder.to("mps")
        actual = encoder(data.to("mps"), src_key_padding_mask=padding.to("mps"))
    # The fast path leaves zeros where there is padding.
    assert_matches(actual[~padding.to("mps")], expected[~padding], rtol=1e-5, atol=1e-6)


def test_encoder_with_padding_as_nested_tensors_is_refused():
    layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
    encoder = nn.TransformerEncoder(layer, 2, enable_nested_tensor=True).eval().to("mps")
    padding = torch.tensor([[False] * 5, [False] * 3 + [True] * 2], device="mps")
    with torch.no_grad(), pytest.raises(NotImplementedError) as refused:
        encoder(tokens(2, 5, 8).detach().to("mps"), src_key_padding_mask=padding)
    assert str(refused.value).startswith(
        "The operator 'aten::_nested_tensor_from_mask_left_aligned' is not currently implemented"
    )


def test_decoder_layer_agrees():
    torch.manual_seed(0)
    layer = nn.TransformerDecoderLayer(8, 2, 16, dropout=0.0, batch_first=True)
    assert_module_agrees(layer, tokens(3, 5, 8), tokens(3, 4, 8))


def test_whole_transformer_agrees():
    torch.manual_seed(0)
    model = nn.Transformer(8, 2, 1, 1, 16, dropout=0.0, batch_first=True)
    left = 1e-4 if on_cuda() else 0  # of gradients that go through a dozen roundings
    assert_module_agrees(model, tokens(3, 5, 8), tokens(3, 4, 8), atol=left)


def test_causal_mask_is_made_on_mps():
    assert_matches(
        nn.Transformer.generate_square_subsequent_mask(4, device="mps"),
        nn.Transformer.generate_square_subsequent_mask(4),
    )


def test_training_with_dropout_is_reproducible():
    layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True).to("mps")
    data = on_mps(tokens(3, 5, 8))
    torch.manual_seed(3)
    first = layer(data)
    torch.manual_seed(3)
    assert torch.equal(layer(data), first)
    assert not torch.equal(layer(data), first)
    assert first.device.type == "mps"
