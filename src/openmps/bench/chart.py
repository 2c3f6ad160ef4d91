"""A bar chart: how much faster each model is on mps than on the CPU, in training and in evaluation,
as in PyTorch's announcement for Macs.

Plain SVG that follows the reader's light or dark theme.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple
from xml.sax.saxutils import escape

WIDTH, HEIGHT = 760, 420
LEFT, RIGHT, TOP, BOTTOM = 64, 24, 92, 64  # margins around the plot
BAR, GAP = 64, 10
MODES = ("training", "evaluation")

STYLE = """
  text { font-family: system-ui, -apple-system, "Segoe UI", Helvetica, Arial, sans-serif }
  .page { fill: #ffffff } .title { fill: #1f2328; font-size: 19px; font-weight: 600 }
  .note, .tick { fill: #59636e; font-size: 13px } .label { fill: #1f2328; font-size: 15px }
  .value { fill: #1f2328; font-size: 14px; font-weight: 600;
           stroke: #ffffff; stroke-width: 4px; stroke-linejoin: round; paint-order: stroke }
  .line { stroke: #d1d9e0; stroke-width: 1 } .floor { stroke: #818b98; stroke-width: 1.5 }
  .training { fill: #0969da } .evaluation { fill: #8250df }
  @media (prefers-color-scheme: dark) {
    .page { fill: #0d1117 } .title, .label, .value { fill: #f0f6fc }
    .value { stroke: #0d1117 }
    .note, .tick { fill: #9198a1 } .line { stroke: #2f353d } .floor { stroke: #656c76 }
    .training { fill: #4493f8 } .evaluation { fill: #ab7df8 }
  }
"""


class Speedup(NamedTuple):
    model: str
    training: float
    evaluation: float


def axis(highest: float) -> list[float]:
    """Ticks from 0 in steps of 1, 2 or 5 times a power of ten; the last is above every bar."""
    rough = highest / 5
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(s * power for s in (1, 2, 5, 10) if s * power >= rough)
    return [step * n for n in range(math.ceil(highest * 1.02 / step) + 1)]


def amount(speedup: float) -> str:
    return f"{speedup:.1f}x" if speedup < 10 else f"{speedup:.0f}x"


def text(x: float, y: float, kind: str, words: str, anchor: str = "middle") -> str:
    return f'<text x="{x:g}" y="{y:g}" class="{kind}" text-anchor="{anchor}">{escape(words)}</text>'


def legend() -> Iterator[str]:
    x = LEFT
    for mode in MODES:
        yield f'<rect x="{x}" y="63" width="12" height="12" rx="3" class="{mode}"/>'
        yield text(x + 18, 74, "note", mode.capitalize(), "start")
        x += 100


def grid(ticks: Sequence[float], floor: float, scale: float) -> Iterator[str]:
    for tick in ticks:
        y = floor - tick * scale
        kind = "line" if tick else "floor"
        yield f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:g}" y2="{y:g}" class="{kind}"/>'
        yield text(LEFT - 8, y + 4, "tick", f"{tick:g}x", "end")


def bars(speedups: Sequence[Speedup], floor: float, scale: float) -> Iterator[str]:
    room = (WIDTH - LEFT - RIGHT) / len(speedups)
    bar = min(BAR, (room - 3 * GAP) / 2)
    for number, speedup in enumerate(speedups):
        centre = LEFT + room * (number + 0.5)
        sides = ((centre - GAP / 2 - bar, "training"), (centre + GAP / 2, "evaluation"))
        for x, mode in sides:
            value = getattr(speedup, mode)
            height = value * scale
            round_top = min(4.0, height)
            yield (
                f'<path class="{mode}" d="M{x:g} {floor:g}v{-(height - round_top):g}'
                f"q0 {-round_top:g} {round_top:g} {-round_top:g}h{bar - 2 * round_top:g}"
                f'q{round_top:g} 0 {round_top:g} {round_top:g}V{floor:g}z"/>'
            )
            yield text(x + bar / 2, floor - height - 7, "value", amount(value))
        yield text(centre, floor + 24, "label", speedup.model)


def draw(speedups: Sequence[Speedup], title: str, note: str) -> str:
    floor = HEIGHT - BOTTOM
    ticks = axis(max(max(s.training, s.evaluation) for s in speedups))
    scale = (floor - TOP - 16) / ticks[-1]
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" '
        f'width="{WIDTH}" height="{HEIGHT}" role="img" aria-label="Speed-up over the CPU">',
        f"<style>{STYLE}</style>",
        f'<rect class="page" width="{WIDTH}" height="{HEIGHT}" rx="10"/>',
        text(LEFT, 38, "title", title, "start"),
        *legend(),
        *grid(ticks, floor, scale),
        *bars(speedups, floor, scale),
        text(LEFT, HEIGHT - 14, "note", note, "start"),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"
