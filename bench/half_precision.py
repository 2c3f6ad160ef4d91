"""What float16 and bfloat16 cost on mps, over float32 on mps: products, layers, two small models.

    scripts/bench half_precision

Goal: at most 1.5 of float32's time, on any processor. ONEDNN_MAX_CPU_ISA=AVX2 with
ATEN_CPU_CAPABILITY=avx2 shows what an older processor would do.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import nn

import openmps
from openmps.bench.measure import alternate

GOAL = 1.5
SECONDS = 0.02  # of one side in a round, about


def on_mps(*shape: int) -> Callable[[torch.dtype], torch.Tensor]:
    return lambda dtype: torch.randn(shape).to("mps", dtype)


class UNet(nn.Module):
    """Two levels, a block of attention in the middle: a diffusion model's parts."""

    def __init__(self, channels: int = 64) -> None:
        super().__init__()
        wide = 2 * channels
        self.first = nn.Conv2d(4, channels, 3, padding=1)
        self.down = nn.Conv2d(channels, wide, 3, stride=2, padding=1)
        self.norms = nn.ModuleList(nn.GroupNorm(32, size) for size in (channels, wide, wide))
        self.middle = nn.Conv2d(wide, wide, 3, padding=1)
        self.attention = nn.Linear(wide, 3 * wide)
        self.projection = nn.Linear(wide, wide)
        self.up = nn.ConvTranspose2d(wide, channels, 2, stride=2)
        self.last = nn.Conv2d(2 * channels, 4, 3, padding=1)

    def forward(self, noise: torch.Tensor) -> torch.Tensor:
        high = F.silu(self.norms[0](self.first(noise)))
        low = F.silu(self.norms[1](self.down(high)))
        low = low + F.silu(self.norms[2](self.middle(low)))
        _, wide, height, width = low.shape
        tokens = self.attention(low.flatten(2).mT).chunk(3, -1)
        heads = [t.unflatten(-1, (4, wide // 4)).transpose(1, 2) for t in tokens]
        mixed = F.scaled_dot_product_attention(*heads).transpose(1, 2).flatten(2)
        low = low + self.projection(mixed).mT.unflatten(-1, (height, width))
        return self.last(torch.cat([high, self.up(low)], 1))


class Decoder(nn.Module):
    """A language model that adds one token to its cache."""

    def __init__(self, width: int = 512, layers: int = 4, past: int = 256) -> None:
        super().__init__()
        self.heads, self.past = width // 64, past
        self.blocks = nn.ModuleList(
            nn.ModuleDict(
                {
                    "norm": nn.LayerNorm(width),
                    "mix": nn.Linear(width, 3 * width),
                    "out": nn.Linear(width, width),
                    "second": nn.LayerNorm(width),
                    "up": nn.Linear(width, 4 * width),
                    "down": nn.Linear(4 * width, width),
                }
            )
            for _ in range(layers)
        )
        self.words = nn.Linear(width, 8000, bias=False)
        self.register_buffer("keys", torch.randn(layers, 1, self.heads, past, 64))
        self.register_buffer("values", torch.randn(layers, 1, self.heads, past, 64))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for i, block in enumerate(self.blocks):
            mixed = block["mix"](block["norm"](x)).unflatten(-1, (3, self.heads, 64))
            query, key, value = (t.transpose(1, 2) for t in mixed.unbind(2))
            keys, values = torch.cat([self.keys[i], key], 2), torch.cat([self.values[i], value], 2)
            out = F.scaled_dot_product_attention(query, keys, values)
            x = x + block["out"](out.transpose(1, 2).flatten(2))
            x = x + block["down"](F.gelu(block["up"](block["second"](x))))
        return self.words(x)


def model(
    make: Callable[[], nn.Module], *shape: int
) -> Callable[[torch.dtype], Callable[[], object]]:
    def on(dtype: torch.dtype) -> Callable[[], object]:
        torch.manual_seed(0)
        module = make().to("mps", dtype).eval()
        data = on_mps(*shape)(dtype)
        return lambda: module(data)

    return on


def call(
    function: Callable[..., object], *shapes: tuple[int, ...], **options: object
) -> Callable[[torch.dtype], Callable[[], object]]:
    def on(dtype: torch.dtype) -> Callable[[], object]:
        tensors = [on_mps(*shape)(dtype) for shape in shapes]
        return lambda: function(*tensors, **options)

    return on


CASES = {
    "product 512 x 512 x 512": call(torch.mm, (512, 512), (512, 512)),
    "batch of 12 products 128 x 64 x 128": call(torch.bmm, (12, 128, 64), (12, 64, 128)),
    "linear, 128 rows, 768 to 3072": call(F.linear, (128, 768), (3072, 768), (3072,)),
    "linear, 1 row, 2048 to 8192": call(F.linear, (1, 2048), (8192, 2048)),
    "linear, 4 rows, 2048 to 2048": call(F.linear, (4, 2048), (2048, 2048), (2048,)),
    "matrix and vector, by columns": call(lambda a, v: a.t() @ v, (2048, 2048), (2048,)),
    "convolution 3x3, 64 channels": call(F.conv2d, (1, 64, 32, 32), (64, 64, 3, 3), padding=1),
    "convolution 1x1": call(F.conv2d, (1, 64, 32, 32), (128, 64, 1, 1)),
    "depthwise convolution": call(F.conv2d, (1, 64, 56, 56), (64, 1, 3, 3), padding=1, groups=64),
    "transposed convolution": call(F.conv_transpose2d, (1, 64, 16, 16), (64, 64, 2, 2), stride=2),
    "attention, 256 queries": call(
        F.scaled_dot_product_attention, *[(1, 12, 256, 64)] * 3, is_causal=True
    ),
    "attention, 1 query, 512 keys": call(
        F.scaled_dot_product_attention, (1, 12, 1, 64), *[(1, 12, 512, 64)] * 2
    ),
    "layer norm": call(F.layer_norm, (128, 768), normalized_shape=(768,)),
    "U-Net": model(UNet, 1, 4, 32, 32),
    "GPT, one token": model(Decoder, 1, 1, 512),
}


@torch.no_grad()
def main() -> None:
    openmps.activate(engine="cpu")
    torch.set_num_threads(1)
    print(f"{'':38} {'float32 us':>11} {'float16':>8} {'bfloat16':>9}")
    for name, on in CASES.items():
        base = on(torch.float32)
        once = alternate(base, base, calls=1, rounds=3).base_s
        calls = max(1, int(SECONDS / once))
        pairs = [
            alternate(base, on(dtype), calls=calls, rounds=11)
            for dtype in (torch.float16, torch.bfloat16)
        ]
        ratios = [1 / pair.speed for pair in pairs]
        above = "  above the goal" if max(ratios) > GOAL else ""
        print(
            f"{name:38} {pairs[0].base_s * 1e6:11.1f} {ratios[0]:8.2f} {ratios[1]:9.2f}{above}",
            flush=True,
        )


if __name__ == "__main__":
    main()
