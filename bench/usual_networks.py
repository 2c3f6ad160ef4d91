"""Networks as people write them, with the optimizers and loops that come with them. No download.

Each is a `Job`: what one step of training (or one call of `generate`) is on a device. In two sizes:
for a GPU, and small enough for two cores.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import pairwise
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional


class Job(NamedTuple):
    """`batches` lie on the host, as a loader gives them; a step moves its batch to the device."""

    model: nn.Module
    batches: list[tuple[Tensor, ...]]
    loss: Callable[..., Tensor]  # of the model and a batch on the device
    optimizer: Callable[[Any], torch.optim.Optimizer]
    items: int
    clip: float | None = None
    average: bool = False  # whether an exponential moving average of the weights is kept


BATCHES = 4


def _batches(make: Callable[[], tuple[Tensor, ...]]) -> list[tuple[Tensor, ...]]:
    return [make() for _ in range(BATCHES)]


def _classified(model: nn.Module, inputs: Tensor, targets: Tensor) -> Tensor:
    return functional.cross_entropy(model(inputs), targets)


def _next_token(model: nn.Module, tokens: Tensor) -> Tensor:
    scores = model(tokens[:, :-1])
    return functional.cross_entropy(scores.flatten(0, 1), tokens[:, 1:].flatten())


# ---- transformers


class Block(nn.Module):
    def __init__(self, width: int, heads: int, *, causal: bool, dropout: float = 0.0) -> None:
        super().__init__()
        self.heads, self.causal, self.dropout = heads, causal, dropout
        self.before_attention = nn.LayerNorm(width)
        self.before_inner = nn.LayerNorm(width)
        self.parts = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)
        self.inner = nn.Sequential(
            nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width), nn.Dropout(dropout)
        )

    def forward(self, x: Tensor) -> Tensor:
        batch, length, width = x.shape
        parts = self.parts(self.before_attention(x)).view(batch, length, 3, self.heads, -1)
        query, key, value = parts.permute(2, 0, 3, 1, 4).unbind(0)
        attended = functional.scaled_dot_product_attention(query, key, value, is_causal=self.causal)
        x = x + self.out(attended.transpose(1, 2).reshape(batch, length, width))
        return x + self.inner(self.before_inner(x))


class VisionTransformer(nn.Module):
    def __init__(self, width: int, depth: int, heads: int, pixels: int, patch: int) -> None:
        super().__init__()
        self.patches = nn.Conv2d(3, width, patch, patch)
        self.first = nn.Parameter(torch.zeros(1, 1, width))
        self.places = nn.Parameter(torch.randn(1, (pixels // patch) ** 2 + 1, width) * 0.02)
        self.blocks = nn.Sequential(*(Block(width, heads, causal=False) for _ in range(depth)))
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, 1000)

    def forward(self, images: Tensor) -> Tensor:
        x = self.patches(images).flatten(2).transpose(1, 2)
        x = torch.cat([self.first.expand(len(x), -1, -1), x], dim=1) + self.places
        result: Tensor = self.head(self.norm(self.blocks(x))[:, 0])
        return result


def vision_transformer(small: bool) -> Job:
    batch, pixels = (4, 64) if small else (64, 224)
    model = (
        VisionTransformer(192, 4, 3, 64, 8) if small else VisionTransformer(768, 12, 12, 224, 16)
    )
    return Job(
        model,
        _batches(lambda: (torch.randn(batch, 3, pixels, pixels), torch.randint(1000, (batch,)))),
        _classified,
        lambda weights: torch.optim.AdamW(weights, lr=1e-4, weight_decay=0.05),
        batch,
        clip=1.0,
    )


class Gpt(nn.Module):
    def __init__(self, words: int, width: int, depth: int, heads: int, longest: int) -> None:
        super().__init__()
        self.words = nn.Embedding(words, width)
        self.places = nn.Embedding(longest, width)
        self.blocks = nn.Sequential(*(Block(width, heads, causal=True) for _ in range(depth)))
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, words, bias=False)
        self.head.weight = self.words.weight

    def forward(self, tokens: Tensor) -> Tensor:
        places = torch.arange(tokens.shape[1], device=tokens.device)
        x = self.words(tokens) + self.places(places)
        result: Tensor = self.head(self.norm(self.blocks(x)))
        return result


def gpt(small: bool) -> Job:
    batch, length, words = (4, 64, 1000) if small else (8, 1024, 50257)
    model = Gpt(words, 128, 4, 4, 64) if small else Gpt(words, 768, 12, 12, 1024)
    nn.init.normal_(model.words.weight, std=0.02)
    return Job(
        model,
        _batches(lambda: (torch.randint(words, (batch, length + 1)),)),
        _next_token,
        lambda weights: torch.optim.AdamW(weights, lr=3e-4, betas=(0.9, 0.95)),
        batch,
        clip=1.0,
    )


# ---- convolutions


class Squeeze(nn.Module):
    def __init__(self, width: int, squeezed: int) -> None:
        super().__init__()
        self.down, self.up = nn.Conv2d(width, squeezed, 1), nn.Conv2d(squeezed, width, 1)

    def forward(self, x: Tensor) -> Tensor:
        scale = self.up(functional.silu(self.down(x.mean((2, 3), keepdim=True))))
        return x * scale.sigmoid()


class Inverted(nn.Module):
    """An inverted residual with a depthwise convolution, as in MobileNet and EfficientNet."""

    def __init__(self, before: int, after: int, stride: int, kernel: int) -> None:
        super().__init__()
        width = 6 * before
        self.skips = stride == 1 and before == after
        self.body = nn.Sequential(
            nn.Conv2d(before, width, 1, bias=False),
            nn.BatchNorm2d(width),
            nn.SiLU(inplace=True),
            nn.Conv2d(width, width, kernel, stride, kernel // 2, groups=width, bias=False),
            nn.BatchNorm2d(width),
            nn.SiLU(inplace=True),
            Squeeze(width, before // 4),
            nn.Conv2d(width, after, 1, bias=False),
            nn.BatchNorm2d(after),
        )

    def forward(self, x: Tensor) -> Tensor:
        result: Tensor = self.body(x)
        return x + result if self.skips else result


def depthwise(small: bool) -> Job:
    batch, pixels = (4, 64) if small else (64, 224)
    stages = (
        [(16, 24, 2, 3), (24, 24, 1, 3), (24, 40, 2, 5)]
        if small
        else [
            *[(16, 24, 2, 3), (24, 24, 1, 3), (24, 40, 2, 5), (40, 40, 1, 5), (40, 80, 2, 3)],
            *[(80, 80, 1, 3), (80, 80, 1, 3), (80, 112, 1, 5), (112, 112, 1, 5), (112, 112, 1, 5)],
            *[(112, 192, 2, 5), (192, 192, 1, 5), (192, 192, 1, 5), (192, 320, 1, 3)],
        ]
    )
    last = stages[-1][1]
    model = nn.Sequential(
        nn.Conv2d(3, 16, 3, 2, 1, bias=False),
        nn.BatchNorm2d(16),
        nn.SiLU(inplace=True),
        *(Inverted(*stage) for stage in stages),
        nn.Conv2d(last, 4 * last, 1, bias=False),
        nn.BatchNorm2d(4 * last),
        nn.SiLU(inplace=True),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Linear(4 * last, 1000),
    )
    return Job(
        model,
        _batches(lambda: (torch.randn(batch, 3, pixels, pixels), torch.randint(1000, (batch,)))),
        _classified,
        lambda weights: torch.optim.RMSprop(weights, lr=1e-3, momentum=0.9, weight_decay=1e-5),
        batch,
    )


class Stage(nn.Module):
    """A residual block of a diffusion U-Net, and attention where the picture is small."""

    def __init__(self, before: int, after: int, times: int, *, attends: bool) -> None:
        super().__init__()
        self.first = nn.Sequential(
            nn.GroupNorm(8, before), nn.SiLU(), nn.Conv2d(before, after, 3, padding=1)
        )
        self.time = nn.Linear(times, after)
        self.second = nn.Sequential(
            nn.GroupNorm(8, after), nn.SiLU(), nn.Conv2d(after, after, 3, padding=1)
        )
        self.skip = nn.Conv2d(before, after, 1) if before != after else nn.Identity()
        self.norm = nn.GroupNorm(8, after) if attends else None
        self.parts = nn.Linear(after, 3 * after)
        self.out = nn.Linear(after, after)

    def forward(self, x: Tensor, time: Tensor) -> Tensor:
        inner = self.first(x) + self.time(functional.silu(time))[:, :, None, None]
        x = self.skip(x) + self.second(inner)
        return x if self.norm is None else x + self._attended(self.norm(x))

    def _attended(self, x: Tensor) -> Tensor:
        batch, width, rows, columns = x.shape
        parts = self.parts(x.flatten(2).transpose(1, 2)).view(batch, rows * columns, 3, 4, -1)
        query, key, value = parts.permute(2, 0, 3, 1, 4)
        attended = functional.scaled_dot_product_attention(query, key, value)
        attended = self.out(attended.transpose(1, 2).reshape(batch, rows * columns, width))
        return attended.transpose(1, 2).reshape(batch, width, rows, columns)


class UNet(nn.Module):
    def __init__(self, widths: tuple[int, ...]) -> None:
        super().__init__()
        self.width = widths[0]
        times = 4 * self.width
        self.time = nn.Sequential(nn.Linear(self.width, times), nn.SiLU(), nn.Linear(times, times))
        self.enter = nn.Conv2d(3, self.width, 3, padding=1)
        pairs = list(pairwise(widths))
        last = len(pairs) - 1
        self.down = nn.ModuleList(
            Stage(a, b, times, attends=i == last) for i, (a, b) in enumerate(pairs)
        )
        self.middle = Stage(widths[-1], widths[-1], times, attends=True)
        self.up = nn.ModuleList(
            Stage(2 * b, a, times, attends=i == last) for i, (a, b) in reversed([*enumerate(pairs)])
        )
        self.leave = nn.Sequential(
            nn.GroupNorm(8, self.width), nn.SiLU(), nn.Conv2d(self.width, 3, 3, padding=1)
        )

    def forward(self, x: Tensor, steps: Tensor) -> Tensor:
        half = self.width // 2
        rates = torch.exp(-math.log(10000) * torch.arange(half, device=x.device) / half)
        angles = steps[:, None].float() * rates[None]
        time = self.time(torch.cat([angles.sin(), angles.cos()], dim=-1))
        x = self.enter(x)
        kept = []
        for stage in self.down:
            x = stage(x, time)
            kept.append(x)
            x = functional.avg_pool2d(x, 2)
        x = self.middle(x, time)
        for stage in self.up:
            x = functional.interpolate(x, scale_factor=2.0, mode="nearest")
            x = stage(torch.cat([x, kept.pop()], dim=1), time)
        result: Tensor = self.leave(x)
        return result


def _denoised(model: nn.Module, images: Tensor, steps: Tensor) -> Tensor:
    noise = torch.randn_like(images)
    part = (steps.float() / 1000)[:, None, None, None]
    noisy = (1 - part).sqrt() * images + part.sqrt() * noise
    return functional.mse_loss(model(noisy, steps), noise)


def diffusion(small: bool) -> Job:
    batch, pixels = (2, 32) if small else (32, 64)
    model = UNet((32, 64, 96) if small else (128, 256, 384, 512))
    return Job(
        model,
        _batches(lambda: (torch.randn(batch, 3, pixels, pixels), torch.randint(1000, (batch,)))),
        _denoised,
        lambda weights: torch.optim.AdamW(weights, lr=1e-4),
        batch,
        clip=1.0,
        average=True,
    )


# ---- others


class Tagger(nn.Module):
    def __init__(self, words: int, width: int, layers: int) -> None:
        super().__init__()
        self.words = nn.Embedding(words, width)
        self.memory = nn.LSTM(width, width, layers, batch_first=True)
        self.head = nn.Linear(width, words)

    def forward(self, tokens: Tensor) -> Tensor:
        result: Tensor = self.head(self.memory(self.words(tokens))[0])
        return result


def lstm(small: bool) -> Job:
    batch, length, words, width = (8, 32, 500, 128) if small else (64, 128, 10000, 650)
    return Job(
        Tagger(words, width, 2),
        _batches(lambda: (torch.randint(words, (batch, length + 1)),)),
        _next_token,
        lambda weights: torch.optim.Adam(weights, lr=1e-3),
        batch,
        clip=0.25,
    )


class Messages(nn.Module):
    """Each node gets the mean of what its neighbours say."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.says = nn.Linear(2 * width, width)
        self.hears = nn.Linear(2 * width, width)

    def forward(self, x: Tensor, edges: Tensor) -> Tensor:
        source, target = edges
        said = functional.relu(self.says(torch.cat([x[source], x[target]], dim=-1)))
        heard = torch.zeros_like(x, dtype=said.dtype).index_add_(0, target, said)
        count = torch.zeros(len(x), device=x.device, dtype=said.dtype)
        count.scatter_add_(0, target, torch.ones_like(target, dtype=said.dtype))
        heard = heard / count.clamp(min=1).unsqueeze(-1)
        return x + functional.relu(self.hears(torch.cat([x, heard], dim=-1)))


class GraphNetwork(nn.Module):
    def __init__(self, features: int, width: int, layers: int) -> None:
        super().__init__()
        self.enter = nn.Linear(features, width)
        self.layers = nn.ModuleList(Messages(width) for _ in range(layers))
        self.head = nn.Linear(width, 16)

    def forward(self, x: Tensor, edges: Tensor) -> Tensor:
        x = self.enter(x)
        for layer in self.layers:
            x = layer(x, edges)
        result: Tensor = self.head(x)
        return result


def graph_network(small: bool) -> Job:
    nodes, edges, width = (500, 2000, 32) if small else (50_000, 500_000, 128)

    def one() -> tuple[Tensor, ...]:
        return (
            torch.randn(nodes, 64),
            torch.randint(nodes, (2, edges)),
            torch.randint(16, (nodes,)),
        )

    def loss(model: nn.Module, x: Tensor, edges: Tensor, targets: Tensor) -> Tensor:
        return functional.cross_entropy(model(x, edges), targets)

    return Job(
        GraphNetwork(64, width, 4),
        _batches(one),
        loss,
        lambda weights: torch.optim.Adam(weights, lr=1e-3),
        nodes,
    )


class Recommender(nn.Module):
    """Sums of embeddings for what there are several of, embeddings for the rest, then layers."""

    def __init__(self, rows: int, fields: int, width: int, hidden: int) -> None:
        super().__init__()
        self.several = nn.EmbeddingBag(rows, width, mode="sum")
        self.single = nn.ModuleList(nn.Embedding(rows, width) for _ in range(fields))
        self.numbers = nn.Sequential(nn.Linear(13, hidden), nn.ReLU(), nn.Linear(hidden, width))
        self.top = nn.Sequential(
            nn.Linear((fields + 2) * width, hidden), nn.ReLU(), nn.Linear(hidden, 1)
        )

    def forward(self, numbers: Tensor, single: Tensor, several: Tensor, starts: Tensor) -> Tensor:
        parts = [self.numbers(numbers), self.several(several, starts)]
        parts += [table(single[:, i]) for i, table in enumerate(self.single)]
        result: Tensor = self.top(torch.cat(parts, dim=1)).squeeze(1)
        return result


def recommender(small: bool) -> Job:
    batch, rows, width, hidden = (1024, 1000, 16, 128) if small else (8192, 100_000, 64, 512)

    def one() -> tuple[Tensor, ...]:
        return (
            torch.randn(batch, 13),
            torch.randint(rows, (batch, 8)),
            torch.randint(rows, (batch * 10,)),
            torch.arange(0, batch * 10, 10),
            torch.randint(2, (batch,)).float(),
        )

    def loss(model: nn.Module, *batch: Tensor) -> Tensor:
        return functional.binary_cross_entropy_with_logits(model(*batch[:-1]), batch[-1])

    return Job(
        Recommender(rows, 8, width, hidden),
        _batches(one),
        loss,
        lambda weights: torch.optim.Adagrad(weights, lr=1e-2),
        batch,
    )


JOBS: dict[str, Callable[[bool], Job]] = {
    "vision transformer": vision_transformer,
    "depthwise convolutions": depthwise,
    "GPT": gpt,
    "LSTM": lstm,
    "diffusion U-Net": diffusion,
    "graph network": graph_network,
    "recommender": recommender,
}
