"""The models that are measured, written out: no download, no torchvision, no transformers."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional

BERT_WORDS = 30522
_BERT_WIDTH, _BERT_HEADS, _BERT_INNER, _BERT_LONGEST = 768, 12, 3072, 512


def _normed(width_in: int, width: int, kernel: int, stride: int = 1) -> list[nn.Module]:
    convolution = nn.Conv2d(width_in, width, kernel, stride, kernel // 2, bias=False)
    return [convolution, nn.BatchNorm2d(width)]


class _Residual(nn.Module):
    """A body, and a way around it that fits its result."""

    def __init__(self, body: Sequence[nn.Module], width_in: int, width: int, stride: int) -> None:
        super().__init__()
        self.body = nn.Sequential(*body)
        changes = stride != 1 or width_in != width
        self.skip: nn.Module = (
            nn.Sequential(*_normed(width_in, width, 1, stride)) if changes else nn.Identity()
        )
        self.relu = nn.ReLU(inplace=True)

    def forward(self, x: Tensor) -> Tensor:
        result: Tensor = self.relu(self.body(x) + self.skip(x))
        return result


def _basic(width_in: int, width: int, stride: int) -> _Residual:
    body = [
        *_normed(width_in, width, 3, stride),
        nn.ReLU(inplace=True),
        *_normed(width, width, 3),
    ]
    return _Residual(body, width_in, width, stride)


def _bottleneck(width_in: int, width: int, stride: int) -> _Residual:
    body = [
        *_normed(width_in, width, 1),
        nn.ReLU(inplace=True),
        *_normed(width, width, 3, stride),
        nn.ReLU(inplace=True),
        *_normed(width, 4 * width, 1),
    ]
    return _Residual(body, width_in, 4 * width, stride)


def _resnet(blocks: Sequence[int], *, bottlenecks: bool) -> nn.Module:
    layers = [*_normed(3, 64, 7, 2), nn.ReLU(inplace=True), nn.MaxPool2d(3, 2, 1)]
    width_in = 64
    for stage, count in enumerate(blocks):
        width = 64 << stage
        for block in range(count):
            stride = 2 if stage and not block else 1
            make = _bottleneck if bottlenecks else _basic
            layers.append(make(width_in, width, stride))
            width_in = 4 * width if bottlenecks else width
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(width_in, 1000))


def resnet18() -> nn.Module:
    return _resnet((2, 2, 2, 2), bottlenecks=False)


def resnet50() -> nn.Module:
    return _resnet((3, 4, 6, 3), bottlenecks=True)


def _vgg(convolutions: Sequence[int], dropout: float) -> nn.Module:
    layers: list[nn.Module] = []
    width_in = 3
    for width, count in zip((64, 128, 256, 512, 512), convolutions, strict=True):
        for _ in range(count):
            layers += [nn.Conv2d(width_in, width, 3, padding=1), nn.ReLU(inplace=True)]
            width_in = width
        layers.append(nn.MaxPool2d(2))
    layers += [nn.AdaptiveAvgPool2d(7), nn.Flatten()]
    for width in (512 * 49, 4096):
        layers += [nn.Linear(width, 4096), nn.ReLU(inplace=True), nn.Dropout(dropout)]
    return nn.Sequential(*layers, nn.Linear(4096, 1000))


def vgg11() -> nn.Module:
    """Without dropout, so that its losses can be compared: the CPU draws other numbers."""
    return _vgg((1, 1, 2, 2, 2), dropout=0.0)


def vgg16() -> nn.Module:
    return _vgg((2, 2, 3, 3, 3), dropout=0.5)


class _BertLayer(nn.Module):
    def __init__(self, dropout: float) -> None:
        super().__init__()
        self.dropout = dropout
        self.query, self.key, self.value, self.out = (
            nn.Linear(_BERT_WIDTH, _BERT_WIDTH) for _ in range(4)
        )
        self.after_attention = nn.LayerNorm(_BERT_WIDTH)
        self.inner = nn.Linear(_BERT_WIDTH, _BERT_INNER)
        self.outer = nn.Linear(_BERT_INNER, _BERT_WIDTH)
        self.after_all = nn.LayerNorm(_BERT_WIDTH)

    def forward(self, x: Tensor) -> Tensor:
        attended = self._drop(self.out(self._attend(x)))
        x = self.after_attention(x + attended)
        inner = functional.gelu(self.inner(x))
        result: Tensor = self.after_all(x + self._drop(self.outer(inner)))
        return result

    def _attend(self, x: Tensor) -> Tensor:
        query, key, value = (
            part(x).unflatten(-1, (_BERT_HEADS, -1)).transpose(1, 2)
            for part in (self.query, self.key, self.value)
        )
        dropout = self.dropout if self.training else 0.0
        attended = functional.scaled_dot_product_attention(query, key, value, dropout_p=dropout)
        return attended.transpose(1, 2).flatten(2)

    def _drop(self, x: Tensor) -> Tensor:
        return functional.dropout(x, self.dropout, self.training)


class Bert(nn.Module):
    """A classifier of BERT-base's width. With dropout, the CPU and mps draw different numbers."""

    def __init__(self, layers: int, dropout: float) -> None:
        super().__init__()
        self.words = nn.Embedding(BERT_WORDS, _BERT_WIDTH)
        self.positions = nn.Embedding(_BERT_LONGEST, _BERT_WIDTH)
        self.embedded = nn.Sequential(nn.LayerNorm(_BERT_WIDTH), nn.Dropout(dropout))
        self.layers = nn.Sequential(*(_BertLayer(dropout) for _ in range(layers)))
        self.pooled = nn.Sequential(
            nn.Linear(_BERT_WIDTH, _BERT_WIDTH), nn.Tanh(), nn.Dropout(dropout)
        )
        self.head = nn.Linear(_BERT_WIDTH, 2)

    def forward(self, tokens: Tensor) -> Tensor:
        positions = torch.arange(tokens.shape[1], device=tokens.device)
        hidden = self.layers(self.embedded(self.words(tokens) + self.positions(positions)))
        result: Tensor = self.head(self.pooled(hidden[:, 0]))
        return result


def bert_base() -> nn.Module:
    return Bert(12, dropout=0.1)
