"""`openmps bench`, in sizes of seconds."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
import torch

from openmps.cli.main import app
from openmps.errors import OpenmpsError


def bench(python: Any, *arguments: str, **variables: str) -> Any:
    return python("-m", "openmps", "bench", *arguments, COLUMNS="160", **variables)


def test_a_run_with_its_table_chart_and_json(python, tmp_path: Path, engine: str) -> None:
    only = ("--quick", "--only", "matmul,resnet50")
    done = bench(python, *only, "--json", "now.json", "--chart", "now.svg", "--mac", "M3 Max 64GB")
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.startswith(f"mps (M3 Max 64GB, macOS 26.0; engine {engine}) and the CPU (")
    assert "Speed-up over the CPU\nResNet-50  training   █" in done.stdout
    report = json.loads((tmp_path / "now.json").read_text())
    assert report["schema"] == "openmps-bench/1"
    assert (report["mac"], report["engine"]) == ("M3 Max 64GB, macOS 26.0", engine)
    names = {row["name"] for row in report["rows"]}
    assert {"matmul, float32", "ResNet-50, training", "ResNet-50, evaluation"} <= names
    for row in report["rows"]:
        assert row["failed"] == ""
        # The median of the rounds' ratios, which is not the ratio of the medians.
        assert row["speedup"] > 0
        assert row["spread"] >= 0
        assert row["rounds"] >= 3
        work = row["batch"] if row["unit"] == "items/s" else 2e-9 * row["side"] ** 3
        assert row["mps"] == pytest.approx(work / row["mps_seconds"])
    # The page names every key.
    docs = (Path(__file__).parents[2] / "docs" / "bench.md").read_text()
    for key in (*report, *report["rows"][0]):
        assert f"`{key}`" in docs, key
    svg = ElementTree.fromstring((tmp_path / "now.svg").read_text())
    bars = [path.get("class") for path in svg.iter("{http://www.w3.org/2000/svg}path")]
    assert bars == ["training", "evaluation"]


def earlier(path: Path, **speedups: float) -> None:
    """A run whose speed-ups of products of float32 were these, by side."""
    rows = [
        {
            "subject": "matmul",
            "mode": "float32",
            "side": int(side.removeprefix("side")),
            "batch": 1,
            "cpu_seconds": speedup,
            "mps_seconds": 1.0,
            "rounds": 3,
            "failed": "",
        }
        for side, speedup in speedups.items()
    ]
    about = {"schema": "openmps-bench/1", "torch": "1.0", "mac": "M1 8GB", "engine": "cpu"}
    path.write_text(json.dumps({**about, "rows": rows}))


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., int]:
    """The command in this process, which has the device already, on a CPU said to be slow."""
    from openmps.bench.probe import Probe
    from openmps.cli import bench as command

    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OPENMPS", "1")
    monkeypatch.setattr(command, "probe", lambda: Probe({"float32": 1e9}, {}))

    def run(*arguments: str) -> int:
        with pytest.raises(SystemExit) as ended:
            app(["bench", *arguments])
        return int(ended.value.code or 0)

    return run


def test_an_earlier_run_is_measured_again_and_compared(
    here: Callable[..., int], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    # Of two sizes that nobody would choose: one was far slower then, one far faster.
    earlier(tmp_path / "old.json", side100=1e-9, side101=1e9)
    assert here("--quick", "--compare", "old.json", "--json", "-") == 1
    out, err = capsys.readouterr()
    report = json.loads(out)  # and nothing else: the table is on stderr
    assert [row["size"] for row in report["rows"]] == ["100 x 100", "101 x 101"]
    assert [change["slower"] for change in report["changes"]] == [False, True]
    assert "Now over before (torch 1.0, M1 8GB, engine cpu)" in err
    assert "1 of 2 slower by more than 10% (by their speed-up)" in err


def test_an_earlier_run_that_was_not_faster_is_no_reason_to_fail(
    here: Callable[..., int], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    earlier(tmp_path / "old.json", side100=1e-9)
    assert here("--quick", "--compare", "old.json") == 0
    out, err = capsys.readouterr()
    assert "0 of 1 slower" in out
    assert err == ""


def test_a_wrong_result_is_no_result(
    here: Callable[..., int], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    right = torch.Tensor.__matmul__

    def wrong(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        return right(a, b) * (2 if a.device.type == "mps" else 1)

    monkeypatch.setattr(torch.Tensor, "__matmul__", wrong)
    assert here("--quick", "--only", "matmul") == 1
    assert "matmul, float32, 256 x 256: the results differ: cpu 64" in capsys.readouterr().out


def test_sizes_that_do_not_fit_are_told_before_anything_is_measured(
    here: Callable[..., int],
) -> None:
    with pytest.raises(OpenmpsError, match="with 1000000 x 128 tokens does not fit this machine"):
        app(["bench", "--only", "bert", "--batch", "1000000"])


BAD = [
    (["--only", "matmull"], "did you mean matmul?"),
    (["--compare", "nowhere.json"], "nowhere.json: No such file or directory"),
    (["--compare", "text.json"], "text.json: Expecting value"),
    (["--compare", "old.json", "--only", "vgg16"], "it has matmul"),
    (["--json", "no/such/folder.json"], "the report cannot be written there"),
    (["--chart", "."], "the report cannot be written there"),
    (["--chart", "x.svg", "--only", "matmul"], "--chart draws models, and --only names none"),
    (["--batch", "0"], "--batch must be at least 1"),
    (["--tolerance", "1.5"], "--tolerance must be from 0 to 1"),
    (["--mac", "M99"], "no such Mac"),
    (["--engine", "abacus"], "no such engine"),
]


@pytest.mark.parametrize(("arguments", "told"), BAD, ids=[told for _, told in BAD])
def test_bad_input_is_told_at_once(python, tmp_path: Path, arguments: list[str], told: str) -> None:
    (tmp_path / "text.json").write_text("hello")
    earlier(tmp_path / "old.json", side100=1.0)
    done = bench(python, *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert told in done.stderr
    assert "next:" in done.stderr
    assert "Traceback" not in done.stderr
