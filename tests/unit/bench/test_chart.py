"""The chart of the models' speed-ups, with made-up figures."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest

from openmps.bench import chart
from openmps.cli.bench import _chart_texts

from .loading import load

of_gpu = load("bench/chart.py")
TITLE = of_gpu.TITLE
FIGURES = [("ResNet-50", 47.3, 31.2), ("BERT-base", 28.1, 5.26), ("VGG-16", 98.7, 101.4)]
SVG = "{http://www.w3.org/2000/svg}"


def drawn(
    figures: list[tuple[str, float, float]] = FIGURES, texts: tuple[str, str] = (TITLE, "a < b & c")
) -> ElementTree.Element:
    speedups = [chart.Speedup(*f) for f in figures]
    return ElementTree.fromstring(chart.draw(speedups, *texts))


def boxes(svg: ElementTree.Element) -> list[tuple[float, float, float, float, str]]:
    """Where each text lies: left, top, right, bottom; widths of letters are on the safe side."""
    sizes = {"title": 19, "note": 13, "tick": 13, "label": 15, "value": 14}
    found = []
    for text in svg.iter(f"{SVG}text"):
        x, y, size = (
            float(text.get("x", "")),
            float(text.get("y", "")),
            sizes[text.get("class", "")],
        )
        words = text.text or ""
        width = 0.65 * size * len(words)
        left = x - {"start": 0.0, "middle": width / 2, "end": width}[text.get("text-anchor", "")]
        found.append((left, y - size, left + width, y + size / 4, words))
    return found


def heights(svg: ElementTree.Element, mode: str) -> list[float]:
    """Of the bars, from their paths: M x floor v -straight q .. -round .."""
    found = []
    for path in svg.iter(f"{SVG}path"):
        if path.get("class") == mode:
            straight, rest = path.get("d", "").split("v")[1].split("q", 1)
            found.append(-float(straight) - float(rest.split()[1]))
    return found


def test_bars_are_as_high_as_the_figures() -> None:
    svg = drawn()
    highest = heights(svg, "evaluation")[2]
    for mode, column in (("training", 1), ("evaluation", 2)):
        expected = [figure[column] / 101.4 * highest for figure in FIGURES]
        assert heights(svg, mode) == pytest.approx(expected, rel=1e-3)


@pytest.mark.parametrize("factor", [0.02, 1.0, 30.0])
@pytest.mark.parametrize("engine", ["cpu", "cuda", "native"])
def test_texts_lie_inside_and_do_not_overlap(factor: float, engine: str) -> None:
    texts = _chart_texts({"engine": engine, "threads": 128, "processor": "a long name " * 9})
    svg = drawn([(name, a * factor, b * factor) for name, a, b in FIGURES], texts)
    found = boxes(svg)
    for left, top, right, bottom, words in found:
        assert left >= 0, words
        assert top >= 0, words
        assert right <= chart.WIDTH, words
        assert bottom <= chart.HEIGHT, words
    for number, a in enumerate(found):
        for b in found[number + 1 :]:
            apart = a[2] <= b[0] or b[2] <= a[0] or a[3] <= b[1] or b[3] <= a[1]
            assert apart, (a[4], b[4])


def test_values_are_written_above_their_bars() -> None:
    words = [text.text for text in drawn().iter(f"{SVG}text") if text.get("class") == "value"]
    assert words == ["47x", "31x", "28x", "5.3x", "99x", "101x"]


@pytest.mark.parametrize(
    ("highest", "ticks"),
    [
        (98.7, [0, 20, 40, 60, 80, 100, 120]),
        (4.2, [0, 1, 2, 3, 4, 5]),
        (50, [0, 10, 20, 30, 40, 50, 60]),
    ],
)
def test_axis_has_round_numbers_and_ends_above_the_bars(highest: float, ticks: list[float]) -> None:
    assert chart.axis(highest) == ticks


def test_it_has_colours_for_both_themes() -> None:
    light, dark = chart.STYLE.split("@media (prefers-color-scheme: dark)")
    for part in ("page", "title", "note", "label", "value", "line", "floor", *chart.MODES):
        assert f".{part}" in light
        assert f".{part}" in dark


def rows(*figures: tuple[str, float]) -> str:
    return json.dumps({"rows": [{"what": what, "figure": figure} for what, figure in figures]})


def test_figures_are_read_by_model(tmp_path: Path) -> None:
    path = tmp_path / "gpu_models.json"
    path.write_text(
        rows(
            ("VGG-16, training, fp32", 0.99),
            ("VGG-16, evaluation, fp32: over the CPU engine", 20.0),
            ("VGG-16, training, fp32: over the CPU engine", 30.0),
        )
    )
    assert of_gpu.read(path) == [chart.Speedup("VGG-16", 30.0, 20.0)]


def test_figures_without_the_cpu_engine_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "gpu_models.json"
    path.write_text(rows(("VGG-16, training, fp32", 0.99)))
    with pytest.raises(SystemExit, match="no figures of the CPU engine"):
        of_gpu.read(path)
