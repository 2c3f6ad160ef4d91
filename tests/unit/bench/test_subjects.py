"""What `openmps bench` measures, and in which sizes."""

from __future__ import annotations

import json
import signal
from pathlib import Path

import pytest

from openmps.bench import probe
from openmps.bench.machine import available_bytes, processor
from openmps.bench.measure import alternate
from openmps.bench.subjects import (
    DEFAULT,
    MODELS,
    QUICK,
    SUBJECTS,
    Case,
    check_fits,
    model_cases,
    parse_only,
    product_cases,
)
from openmps.errors import OpenmpsError

GIB = 1 << 30


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("", list(SUBJECTS)),
        ("vgg16, Matmul", ["matmul", "VGG-16"]),
        ("bert", ["BERT-base"]),
        ("BERT-base,resnet_50", ["ResNet-50", "BERT-base"]),
    ],
)
def test_names_are_forgiving(text: str, names: list[str]) -> None:
    assert parse_only(text) == names


def test_an_unknown_name_is_answered_with_the_nearest() -> None:
    with pytest.raises(OpenmpsError) as error:
        parse_only("matmul,resnet")
    assert str(error.value) == (
        "--only does not know this benchmark\n  found: 'resnet'\n"
        "  next: did you mean ResNet-50? use a list of matmul, ResNet-50, BERT-base, VGG-16"
    )


def test_products_are_as_large_as_the_time_allows() -> None:
    cases = list(product_cases({"float32": 100e9, "float16": 1e9}, DEFAULT))
    assert [case.side for case in cases if case.mode == "float32"] == [256, 512, 1024, 2048]
    assert [case.side for case in cases if case.mode == "float16"] == [256, 512]
    # Even where nothing is quick enough.
    assert list(product_cases({"float32": 1.0}, QUICK)) == [Case("matmul", "float32", 256)]


@pytest.mark.parametrize(
    ("flops", "free_gib", "sizes"),
    [
        (1e15, 1000, ["128 x 224 px", "64 x 128 tokens", "64 x 224 px"]),  # as announced
        (100e9, 20, ["8 x 224 px", "2 x 128 tokens", "2 x 224 px"]),
        (100e9, 4.5, ["8 x 224 px", "1 x 128 tokens", "2 x 224 px"]),  # less memory
        (1e9, 20, ["1 x 64 px", "1 x 32 tokens", "1 x 32 px"]),
    ],
)
def test_models_fit_time_and_memory(flops: float, free_gib: float, sizes: list[str]) -> None:
    chosen = [model_cases(model, flops, free_gib * GIB, DEFAULT) for model in MODELS.values()]
    assert [cases[0].size for cases in chosen] == sizes
    for cases in chosen:
        assert [case.mode for case in cases] == ["evaluation", "training"]
        assert cases[0]._replace(mode="training") == cases[1]


def test_where_nothing_fits_it_is_told() -> None:
    smallest = model_cases(MODELS["BERT-base"], 1e15, 1 * GIB, DEFAULT)
    assert smallest[0].size == "1 x 32 tokens"
    with pytest.raises(OpenmpsError, match="1 x 32 tokens does not fit this machine"):
        check_fits(smallest, 1 * GIB)


def test_a_batch_that_is_asked_for_is_taken_or_refused() -> None:
    vgg = MODELS["VGG-16"]
    assert model_cases(vgg, 1e9, 100 * GIB, QUICK, batch=3)[0].size == "3 x 224 px"
    with pytest.raises(OpenmpsError) as error:
        check_fits(model_cases(vgg, 1e9, 8 * GIB, QUICK, batch=1000), 8 * GIB)
    assert error.value.problem == "VGG-16 with 1000 x 224 px does not fit this machine"
    assert error.value.found == ("about 543.3 GiB for the CPU's and mps' copies; 8.0 GiB are free")
    assert error.value.next_step == "give a smaller --batch, or leave the model out with --only"


def test_a_model_that_does_not_fit_the_mac_is_told_before_it_is_measured() -> None:
    case = Case("BERT-base", "training", 128, 64)
    check_fits([case, Case("matmul", "float32", 8192)], 1000 * GIB, "M1 8GB", 40 * GIB)
    with pytest.raises(OpenmpsError, match="BERT-base with 64 x 128 tokens does not fit M1 8GB"):
        check_fits([case], 1000 * GIB, "M1 8GB", 9 * GIB)


def test_slow_calls_get_fewer_rounds_and_none_fewer_than_three() -> None:
    assert [DEFAULT.rounds_of(s) for s in (0.01, 1.0, 2.0, 60.0)] == [9, 8, 4, 3]


def test_rates_are_of_floating_point_operations_or_of_items() -> None:
    product, model = Case("matmul", "float16", 1000), Case("VGG-16", "training", 32, 8)
    assert (product.work, product.unit, product.size) == (2.0, "GFLOP/s", "1000 x 1000")
    assert (model.work, model.unit, model.name) == (8.0, "items/s", "VGG-16, training")


def machine(root: Path, meminfo: str, limit: str, used: str) -> Path:
    for name, text in (
        ("proc/meminfo", meminfo),
        ("proc/cpuinfo", "processor : 0\nmodel name\t: A Chip  \n"),
        ("sys/fs/cgroup/memory.max", limit),
        ("sys/fs/cgroup/memory.current", used),
    ):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return root


def test_memory_of_the_machine_and_of_its_container(tmp_path: Path) -> None:
    meminfo = "MemTotal: 9000 kB\nMemAvailable:    4000 kB\n"
    assert available_bytes(machine(tmp_path, meminfo, "max\n", "1\n")) == 4000 * 1024
    assert available_bytes(machine(tmp_path, meminfo, "3000000\n", "1000000\n")) == 2_000_000
    assert available_bytes(machine(tmp_path, meminfo, "10\n", "20\n")) == 0
    assert processor(tmp_path) == "A Chip"
    assert available_bytes(tmp_path / "nowhere") > 0


def test_a_processor_that_dies_of_amx_is_asked_again_without(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    answers = {
        "": (-signal.SIGILL, {"float32": 1.0, "float16": 2.0}, ""),
        "AVX512_CORE_FP16": (0, {"float32": 1.0, "float16": 2.0, "bfloat16": 3.0}, ""),
    }
    monkeypatch.setattr(
        probe, "_ask", lambda environment: answers[environment.get("ONEDNN_MAX_CPU_ISA", "")]
    )
    found = probe.probe()
    assert found.flops == {"float32": 1.0, "float16": 2.0, "bfloat16": 3.0}
    assert found.environment == {"ONEDNN_MAX_CPU_ISA": "AVX512_CORE_FP16"}


def test_a_dtype_that_ends_the_probe_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(probe, "_ask", lambda environment: (-11, {"float32": 1.0}, ""))
    assert probe.probe() == ({"float32": 1.0}, {})


def test_a_torch_that_does_not_multiply_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(probe, "_ask", lambda environment: (1, {}, "x\nImportError: no torch\n"))
    with pytest.raises(OpenmpsError, match=r"(?s)cannot multiply.*ImportError: no torch.*doctor"):
        probe.probe()


def test_the_probe_measures(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(probe, "_SECONDS", 0.001)
        patch.setattr(probe, "DTYPES", ("float32",))  # which every processor survives
        probe.main()
    pairs = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    # No probe at all would be infinitely fast.
    assert [pair[0] for pair in pairs] == ["float32"]
    assert 1e6 < pairs[0][1] < 1e16


def test_sides_alternate_and_wait_before_the_clock() -> None:
    seen: list[str] = []
    pair = alternate(
        lambda: seen.append("b"),
        lambda: seen.append("o"),
        calls=2,
        rounds=2,
        wait=lambda: seen.append("w"),
        after_round=lambda: seen.append("|"),
    )
    assert "".join(seen) == "woowwbbw|wbbwwoow|woowwbbw|"
    assert (len(pair.base), len(pair.other)) == (2, 2)
    seen.clear()
    alternate(lambda: seen.append("b"), lambda: seen.append("o"), calls=1, rounds=1, warm_up=False)
    assert seen == ["b", "o"]
