"""Rows of `openmps bench`: their JSON, their texts, and what changed since an earlier run."""

from __future__ import annotations

import io
import json
import math
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from openmps.bench.chart import Speedup
from openmps.bench.measure import Pair
from openmps.bench.report import (
    SCHEMA,
    Change,
    Earlier,
    Row,
    changes,
    read_earlier,
    speedups,
)
from openmps.bench.subjects import Case
from openmps.cli import bench
from openmps.cli.bench_text import print_bars, print_changes, print_rows
from openmps.errors import OpenmpsError

PRODUCT = Row(Case("matmul", "float32", 1000), 0.02, 0.01, 7)
TRAINING = Row(Case("ResNet-50", "training", 224, 8), 4.0, 2.0, 5)
EVALUATION = Row(Case("ResNet-50", "evaluation", 224, 8), 1.0, 1.25, 5)
FAILED = Row.without_figures(Case("VGG-16", "training", 32, 1), "RuntimeError: [out] of memory")
ROWS = [PRODUCT, EVALUATION, TRAINING, FAILED]
ABOUT: dict[str, Any] = {"schema": SCHEMA, "torch": "2.13.0", "mac": "M4 16GB", "engine": "cpu"}


def written(path: Path, rows: list[Row], **other: object) -> Path:
    path.write_text(json.dumps({**ABOUT, "rows": [row.as_json() for row in rows], **other}))
    return path


def printed(encoding: str = "utf-8", width: int = 100) -> tuple[Console, io.TextIOWrapper]:
    file = io.TextIOWrapper(io.BytesIO(), encoding=encoding)
    return Console(file=file, width=width, highlight=False), file


def text(file: io.TextIOWrapper) -> list[str]:
    file.flush()
    assert isinstance(file.buffer, io.BytesIO)
    return [line.rstrip() for line in file.buffer.getvalue().decode(file.encoding).splitlines()]


def test_a_row_as_json() -> None:
    assert PRODUCT.as_json() == {
        "name": "matmul, float32",
        "subject": "matmul",
        "mode": "float32",
        "side": 1000,
        "batch": 1,
        "size": "1000 x 1000",
        "unit": "GFLOP/s",
        "cpu_seconds": 0.02,
        "mps_seconds": 0.01,
        "cpu": 100.0,
        "mps": 200.0,
        "speedup": 2.0,
        "spread": 0.0,
        "rounds": 7,
        "failed": "",
    }
    assert FAILED.as_json()["speedup"] is None
    json.dumps(FAILED.as_json(), allow_nan=False)


def test_rows_survive_the_file_and_those_without_figures_are_left_out(tmp_path: Path) -> None:
    earlier = read_earlier(written(tmp_path / "old.json", ROWS))
    assert list(earlier.rows.values()) == [PRODUCT, EVALUATION, TRAINING]
    assert earlier.about == "torch 2.13.0, M4 16GB, engine cpu"


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (None, "No such file or directory"),
        ("", "Expecting value"),
        ("[]", "its schema is not openmps-bench/1"),
        ('{"schema": "openmps-check/1"}', "its schema is not openmps-bench/1"),
        (json.dumps(ABOUT), "no 'rows'"),
        (json.dumps({**ABOUT, "rows": [{}]}), "no 'subject'"),
        (json.dumps({**ABOUT, "rows": [3]}), "not subscriptable"),
        (json.dumps({**ABOUT, "rows": []}), "it has no figures"),
        (
            json.dumps({**ABOUT, "rows": [{**PRODUCT.as_json(), "subject": "GPT-9"}]}),
            "no benchmark is called 'GPT-9, float32'",
        ),
        (
            json.dumps({**ABOUT, "rows": [{**PRODUCT.as_json(), "mode": "int7"}]}),
            "no benchmark is called 'matmul, int7'",
        ),
        (
            json.dumps({**ABOUT, "rows": [{**PRODUCT.as_json(), "mps_seconds": 0}]}),
            "matmul, float32 has seconds that cannot be",
        ),
        ("\udcff", "can't decode"),
    ],
)
def test_a_file_that_is_no_report_is_refused(
    tmp_path: Path, content: str | None, told: str
) -> None:
    path = tmp_path / "old.json"
    if content is not None:
        path.write_bytes(content.encode(errors="surrogateescape"))
    with pytest.raises(OpenmpsError) as error:
        read_earlier(path)
    assert error.value.problem == "--compare cannot read this file"
    assert told in error.value.found
    assert error.value.next_step == "name a file that `openmps bench --json FILE` has written"


def test_what_counts_is_the_speed_up() -> None:
    # Everything is half as fast, as on a busy machine; and mps alone.
    busy = Change(Row(TRAINING.case, 8.0, 4.0, 5), TRAINING)
    slower = Change(Row(TRAINING.case, 4.0, 4.0, 5), TRAINING)
    assert (busy.cpu, busy.mps, busy.speedup) == (0.5, 0.5, 1.0)
    assert (slower.cpu, slower.mps, slower.speedup) == (1.0, 0.5, 0.5)
    assert [busy.is_slower(0.0), slower.is_slower(0.49), slower.is_slower(0.5)] == [
        False,
        True,
        False,
    ]
    assert slower.as_json(0.1)["slower"] is True


def test_only_what_both_runs_have_is_compared() -> None:
    earlier = Earlier("", {PRODUCT.case: PRODUCT, TRAINING.case: TRAINING})
    larger = Row(PRODUCT.case._replace(side=2000), 1.0, 1.0, 3)
    assert changes([larger, TRAINING, FAILED], earlier) == [Change(TRAINING, TRAINING)]


def test_bars_are_of_models_that_were_measured_in_both_modes() -> None:
    assert speedups(ROWS) == [Speedup("ResNet-50", 2.0, 0.8)]
    assert speedups([PRODUCT, TRAINING]) == []


def test_the_table() -> None:
    console, file = printed()
    print_rows(ROWS, console)
    assert text(file) == [
        "benchmark              size             cpu      mps  cpu  mps           speed-up",
        "matmul, float32        1000 x 1000  20.0 ms  10.0 ms  100  200  GFLOP/s     2.00x",
        "ResNet-50, evaluation  8 x 224 px    1.00 s   1.25 s    8  6.4  items/s     0.80x",
        "ResNet-50, training    8 x 224 px    4.00 s   2.00 s    2    4  items/s     2.00x",
        "VGG-16, training       1 x 32 px",
        "VGG-16, training, 1 x 32 px: RuntimeError: [out] of memory",
    ]


def test_an_unsteady_row_says_so() -> None:
    console, file = printed()
    print_rows([Row(PRODUCT.case, 0.02, 0.01, 7, "", 2.0, 0.25), TRAINING], console)
    assert text(file)[-1] == (
        "matmul, float32, 1000 x 1000: unsteady: the rounds differ, and the speed-up may be off by "
        "25%"
    )


@pytest.mark.parametrize(
    ("ratios", "speed", "spread"),
    [
        ([1.0] * 9, 1.0, 0.0),
        ([0.5, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0], 1.0, 0.0),
        ([0.8, 1.0, 1.0], 1.0, 0.2),
        ([0.5, 0.9, 1.0, 1.0, 1.0, 1.0, 1.0, 1.2, 9.0], 1.0, 0.0),
        ([0.5, 0.9, 0.9, 1.0, 1.0, 1.0, 1.2, 1.2, 9.0], 1.0, 0.2),
        ([1.0], 1.0, 0.0),
    ],
)
def test_the_spread_of_rounds(ratios: list[float], speed: float, spread: float) -> None:
    pair = Pair(ratios, [1.0] * len(ratios))
    assert pair.speed == speed
    assert pair.spread == pytest.approx(spread)


@pytest.mark.parametrize(("encoding", "sign"), [("utf-8", "█"), ("ascii", "#")])
def test_the_bars(encoding: str, sign: str) -> None:
    console, file = printed(encoding)
    print_bars(speedups(ROWS), console)
    assert text(file) == [
        "",
        "Speed-up over the CPU",
        f"ResNet-50  training   {sign * 48} 2.00x",
        f"           evaluation {sign * 19} 0.80x",
    ]


def test_bars_fit_a_narrow_terminal() -> None:
    console, file = printed(width=40)
    print_bars([Speedup("ResNet-50", 100.0, 0.01)], console)
    assert text(file)[2:] == [
        "ResNet-50  training   █████████ 100.00x",
        "           evaluation █ 0.01x",
    ]


def test_changes_are_listed_and_those_that_are_slower_counted() -> None:
    console, file = printed()
    slower = Change(Row(TRAINING.case, 4.0, 4.0, 5), TRAINING)
    print_changes([Change(PRODUCT, PRODUCT), slower], Earlier("torch 1", {}), 0.25, console)
    assert text(file) == [
        "",
        "Now over before (torch 1); above 1 is faster now",
        "benchmark            size          cpu   mps  speed-up",
        "matmul, float32      1000 x 1000  1.00  1.00      1.00",
        "ResNet-50, training  8 x 224 px   1.00  0.50      0.50",
        "1 of 2 slower by more than 25% (by their speed-up)",
    ]


def test_an_interrupted_run_keeps_what_it_has(monkeypatch: pytest.MonkeyPatch) -> None:
    def measured(*_: object) -> Any:
        yield PRODUCT
        raise KeyboardInterrupt

    monkeypatch.setattr(bench, "_measured", measured)
    console, _ = printed()
    outcome = bench._measure_all([PRODUCT.case], bench.QUICK, console, {})
    assert (outcome.rows, outcome.interrupted) == ([PRODUCT], True)


def test_what_fails_is_a_row_and_the_rest_is_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    from openmps.bench import work

    opened = []

    def open_work(case: Case) -> Any:
        opened.append(case)
        if case.subject == "VGG-16":
            raise RuntimeError("MPS backend out of memory\nand more")
        return object()

    monkeypatch.setattr(work, "open_work", open_work)
    monkeypatch.setattr(work, "measure", lambda case, *_: Row(case, 1.0, 1.0, 3))
    cases = [FAILED.case, EVALUATION.case, TRAINING.case, PRODUCT.case, PRODUCT.case]
    rows = list(bench._measured(cases, bench.QUICK, lambda *_: None))
    assert [row.failed for row in rows] == [
        "RuntimeError: MPS backend out of memory",
        "",
        "",
        "",
        "",
    ]
    # A model is opened once for both of its modes, a product for each row.
    assert opened == [cases[0], cases[1], cases[3], cases[4]]
    assert math.isnan(rows[0].mps_s)
