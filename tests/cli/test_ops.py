from __future__ import annotations

import json
from importlib.metadata import version

import pytest
import torch

from openmps.cli import ops
from openmps.errors import OpenmpsError


def listed(capsys: pytest.CaptureFixture[str], pattern: str = "") -> dict[str, dict]:
    ops.list_operators(pattern, as_json=True)
    return {each["name"]: each for each in json.loads(capsys.readouterr().out)["operators"]}


def test_every_status_is_told_with_the_name_that_the_error_gives(
    capsys: pytest.CaptureFixture[str],
) -> None:
    table = listed(capsys)
    for name, status, error_names in (
        ("aten::add.Tensor", "native", None),
        ("aten::relu", "native", None),
        ("aten::linear", "native", None),
        ("aten::matmul", "composite", None),
        ("aten::embedding_renorm_", "falls back", None),
        ("aten::logit_", "missing", "aten::logit_"),
        ("aten::special_airy_ai", "missing", "aten::special_airy_ai.out"),
        ("aten::fractional_max_pool2d", "missing", "aten::fractional_max_pool2d.output"),
        # Written with an empty list of devices, which is not the same as with none.
        ("aten::_nested_get_values", "missing", "aten::_nested_get_values"),
    ):
        assert (table[name]["status"], table[name]["error_names"]) == (status, error_names), name
    assert table["aten::mm"]["sparse"]
    assert not table["aten::linear"]["sparse"]


def test_the_error_gives_that_name(capsys: pytest.CaptureFixture[str]) -> None:
    x = torch.ones(2, device="mps")
    for operator, call in (
        ("aten::special_airy_ai", lambda: torch.special.airy_ai(x)),
        ("aten::logit_", lambda: x.logit_()),
    ):
        told = listed(capsys, operator)[operator]["error_names"]
        with pytest.raises(NotImplementedError, match=f"The operator '{told}' is not"):
            call()


def test_the_table_has_the_operators_that_torch_has(capsys: pytest.CaptureFixture[str]) -> None:
    ours = {name for name in listed(capsys) if name.startswith("aten::")}
    torchs = set(torch._C._dispatch_get_all_op_names())
    assert ours - torchs == set()
    # What is left is written in C++ and not in the table that torch packages.
    beyond = {name for name in torchs - ours if name.startswith("aten::")}
    assert {name for name in beyond if not name.startswith("aten::quantized_")} <= {
        "aten::get_gradients",
        "aten::shallow_copy_data_",  # torch 2.15
    }


@pytest.mark.parametrize(
    ("pattern", "names"),
    [
        ("heaviside", ["aten::heaviside", "aten::heaviside.out", "aten::heaviside_"]),
        ("HEAVISIDE_", ["aten::heaviside_"]),
        ("heaviside?", ["aten::heaviside_"]),
        ("aten::heavi*", ["aten::heaviside", "aten::heaviside.out", "aten::heaviside_"]),
        ("*vision::nms", ["torchvision::nms"]),
    ],
)
def test_patterns(capsys: pytest.CaptureFixture[str], pattern: str, names: list[str]) -> None:
    assert list(listed(capsys, pattern)) == names


def test_an_unknown_name_is_answered_with_near_ones() -> None:
    with pytest.raises(OpenmpsError, match="no operator has such a name") as error:
        ops.list_operators("heavyside", as_json=False)
    assert error.value.next_step.startswith("did you mean heaviside, ")
    with pytest.raises(OpenmpsError, match="a glob"):
        ops.list_operators("qqqqqqqqqqqq", as_json=False)


def test_without_torch_it_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ops, "find_spec", lambda name: None)
    with pytest.raises(OpenmpsError, match="install torch"):
        ops.list_operators("", as_json=True)


def test_the_table_and_its_summary(python) -> None:
    done = python("-m", "openmps", "ops", "embedding_renorm*")
    assert done.returncode == 0, done.stderr
    lines = [line.rstrip() for line in done.stdout.splitlines()]
    assert lines[0].split() == ["operator", "status", "the", "error", "names"]
    assert [line.split(maxsplit=1) for line in lines[1:-1]] == [
        ["aten::embedding_renorm", "composite"],
        ["aten::embedding_renorm.out", "composite"],
        ["aten::embedding_renorm_", "falls back"],
    ]
    counts = "0 native, 2 composite, 1 falls back, 0 missing"
    assert lines[-1] == f"3 operators with torch {version('torch')}: {counts}"
    done = python("-m", "openmps", "ops", "aten::special_airy_ai.*")
    _, row, summary = done.stdout.splitlines()
    assert row.split() == ["aten::special_airy_ai.out", "missing", "aten::special_airy_ai.out"]
    assert summary.startswith("1 operator with torch ")


def test_counts_are_those_of_the_list(capsys: pytest.CaptureFixture[str]) -> None:
    ops.list_operators("", as_json=True)
    made = json.loads(capsys.readouterr().out)
    assert made["torch"] == version("torch")
    statuses = [each["status"] for each in made["operators"]]
    assert made["counts"] == {
        status: statuses.count(status)
        for status in ("native", "composite", "falls back", "missing")
    }
    assert min(made["counts"].values()) > 0


def test_names_in_a_pipe_are_not_folded(python) -> None:
    name = "aten::_scaled_dot_product_flash_attention_for_cpu_backward"
    done = python("-m", "openmps", "ops", name, COLUMNS="40")
    assert done.stdout.splitlines()[1].split() == [name, "missing", name]


def test_torch_is_not_imported(python) -> None:
    code = (
        "import sys; from openmps.cli.main import app\n"
        "app(['ops', 'conv'], standalone_mode=False)\n"
        "assert 'torch' not in sys.modules"
    )
    done = python("-c", code)
    assert done.returncode == 0, done.stderr
