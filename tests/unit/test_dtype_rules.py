"""The dtype rules of a Mac: what the tables say once they are spelled out per operator."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from openmps.device.rules import installed_operators
from openmps.mac.dtype_names import mask, number
from openmps.mac.dtypes import (
    REFUSED,
    WIDENED,
    WIDENED_ON_CPU,
    WIDENED_ON_CUDA,
    Refusal,
    expand,
    expand_widened,
)
from openmps.mac.operators import Status


@torch.jit.script
def scalar_type(tensor: torch.Tensor) -> int:
    """TorchScript's dtypes are the numbers of C++."""
    return tensor.dtype


def installed_names(*statuses: Status) -> list[str]:
    operators = installed_operators(Path(torch.__file__).parent).dense.values()
    return [operator.name for operator in operators if not statuses or operator.status in statuses]


def text_for(name: str, dtype: str, macos: tuple[int, int] = (26, 0)) -> str | None:
    """The first refusal of a dtype, as the core would find it, before its placeholders."""
    for rule in expand([name], macos).get(name, ()):
        if rule.dtypes >> number(dtype) & 1:
            return f"{rule.error}: {rule.text}"
    return None


@pytest.mark.parametrize(
    "dtype",
    ["uint8", "int8", "int16", "int32", "int64", "uint16", "uint32", "uint64", "bool", "float16",
     "bfloat16", "float32", "float64", "complex64", "complex128", "float8_e4m3fn", "float8_e5m2",
     "float8_e4m3fnuz", "float8_e5m2fnuz", "float8_e8m0fnu"],
)  # fmt: skip
def test_numbers_are_those_of_torch(dtype: str) -> None:
    assert scalar_type(torch.empty(0, dtype=getattr(torch, dtype))) == number(dtype)


def test_groups() -> None:
    assert mask("floating") == 1 << 6 | 1 << 5 | 1 << 15
    assert mask("bool uint8") == 1 << 11 | 1 << 0
    assert mask("unsigned") == 0b111 << 27


def test_everything_else_leaves_out_double_precision() -> None:
    others = mask("!floating")
    assert not others & (mask("floating") | mask("float64 complex128"))
    assert others & mask("float8") == mask("float8")
    assert others | mask("floating") == mask("!")


def test_a_name_covers_overloads_out_and_in_place() -> None:
    found = expand(["aten::sin", "aten::sin.out", "aten::sin_", "aten::sinh", "aten::relu6"])
    assert set(found) == {"aten::sin", "aten::sin.out", "aten::sin_", "aten::sinh"}
    assert found["aten::sin"] == found["aten::sin_"] == found["aten::sin.out"]


def test_names_without_a_namespace() -> None:
    assert expand(["sin"])["sin"] == expand(["aten::sin"])["aten::sin"]


def test_a_name_with_an_underscore_is_the_in_place_form_only() -> None:
    assert "aten::fill_.Scalar" in expand(["aten::fill_.Scalar"])
    assert "aten::fill.Scalar" not in expand(["aten::fill.Scalar"])


def test_a_full_name_is_that_overload_only() -> None:
    assert text_for("aten::round.decimals", "int64") == (
        "RuntimeError: Failed to create function state object for: "
        "round_decimals_{layout}_{metal}_{metal}_long"
    )
    assert text_for("aten::round", "int64") is None


def test_dunder_names_are_kept() -> None:
    assert text_for("aten::__lshift__.Tensor", "bool") == (
        "NotImplementedError: bitwise_left_shift not implemented for {dtype}"
    )


@pytest.mark.parametrize(
    ("name", "dtype", "expected"),
    [
        (
            "sin",
            "uint16",
            "RuntimeError: Failed to create function state object for: "
            "{op}_{layout}_castout_{metal}",
        ),
        (
            "special_bessel_j0",
            "complex64",
            "RuntimeError: Failed to create function state object for: "
            "bessel_j0_forward_{layout}_castout_{metal}",
        ),
        ("_log_softmax", "int64", "NotImplementedError: MPS doesn't know how to do exponent_i64"),
        (
            "_log_softmax",
            "bool",
            "NotImplementedError: log_softmax for bool is not supported for MPS",
        ),
        ("_softmax", "int32", "RuntimeError: softmax only supported for floating types"),
        ("gcd", "float32", "NotImplementedError: {op}_mps not implemented for {dtype}"),
        (
            "nextafter",
            "int64",
            "TypeError: nextafter_mps not implemented for non-floating types",
        ),
        (
            "special_hermite_polynomial_he",
            "complex64",
            "TypeError: hermite_polynomial_he_mps not implemented for non-floating types",
        ),
        (
            "convolution",
            "int64",
            "RuntimeError: Convolution is supported only for Floating types",
        ),
        ("linear", "int8", "RuntimeError: MPS device does not support linear for non-float inputs"),
        (
            "linalg_lu_factor_ex",
            "complex64",
            "RuntimeError: linalg.lu_factor(): MPS doesn't support complex types.",
        ),
        (
            "upsample_bicubic2d",
            "uint8",
            "RuntimeError: Failed to create function state object for: upsample_bicubic2d_{metal}",
        ),
        (
            "_upsample_bilinear2d_aa",
            "uint8",
            "RuntimeError: _upsample_bilineard2d_aa_out_mps only supports floating-point dtypes",
        ),
        (
            "binary_cross_entropy.out",
            "int32",
            "RuntimeError: binary_cross_entropy_out_mps: only defined for floating types",
        ),
        ("renorm", "complex64", "RuntimeError: Failed to create function state object for: "
         "renorm_{metal}"),
        ("glu", "bool", "RuntimeError: {op}: MPSGraph does not support {dtype}"),
        ("var.correction", "complex64", "RuntimeError: {op}: MPSGraph does not support {dtype}"),
        ("mul.Tensor", "float8_e4m3fn", "RuntimeError: Undefined type {dtype}"),
        (
            "pow.Tensor_Tensor",
            "float8_e5m2",
            "TypeError: Trying to convert {dtype} to the MPS backend but it does not have support "
            "for that dtype.",
        ),
    ],
)  # fmt: skip
def test_refused(name: str, dtype: str, expected: str) -> None:
    assert text_for(name, dtype) == expected


@pytest.mark.parametrize(
    ("name", "dtypes"),
    [
        ("sin", "floating integral bool complex"),
        ("add.Tensor", "floating integral bool complex"),
        ("eq.Tensor", "floating integral bool complex"),
        ("bitwise_and.Tensor", "integral bool"),
        ("mm", "floating integral complex"),
        ("relu", "floating integral bool"),
        ("sort.stable", "floating integral bool unsigned"),
        ("cat", "floating integral bool complex unsigned"),
        ("fill_.Scalar", "floating integral bool complex unsigned"),
        ("copy_", "floating integral bool complex unsigned float8"),
        ("_fft_r2c", "float32 float16"),
        ("convolution", "floating complex"),
    ],
)
def test_taken(name: str, dtypes: str) -> None:
    refused = 0
    for rule in expand([name]).get(name, ()):
        refused |= rule.dtypes
    assert refused & mask(dtypes) == 0


def test_older_releases(monkeypatch: pytest.MonkeyPatch) -> None:
    rule = Refusal("sin", "float32", "RuntimeError", "too old", macos_below="15.1")
    monkeypatch.setattr("openmps.mac.dtypes.REFUSED", (rule,))
    assert text_for("sin", "float32", macos=(15, 0)) == "RuntimeError: too old"
    assert text_for("sin", "float32", macos=(14, 4)) == "RuntimeError: too old"
    assert text_for("sin", "float32", macos=(15, 1)) is None
    assert expand(["sin"]) == {}


def test_widened() -> None:
    found = expand_widened(["aten::ceil", "aten::avg_pool3d", "aten::sin"])
    assert found["aten::ceil"] == ((mask("bool"), number("uint8"), "first"),)
    assert found["aten::avg_pool3d"] == (
        (mask("float16 bfloat16"), number("float32"), "first"),
        (mask("bool uint8 int8 int16 int32"), number("float32"), "first"),
    )
    assert found["aten::sin"] == ((mask("complex32"), number("complex64"), "first"),)


def test_widened_on_cuda() -> None:
    found = expand_widened(["aten::mm", "aten::angle", "aten::sin"], WIDENED_ON_CUDA)
    assert found["aten::mm"] == ((mask("uint8 int8 int16 int32 int64"), -1, "first"),)
    assert found["aten::angle"] == ((mask("float16 bfloat16"), number("float32"), "first"),)
    assert "aten::sin" not in found


@pytest.mark.parametrize(
    "name",
    ["max_unpool2d", "max_pool2d_with_indices_backward", "nll_loss_forward", "gather", "kthvalue"],
)
def test_indices_and_targets_are_not_widened(name: str) -> None:
    assert not any(rule.dtypes & mask("int64") for rule in expand_widened([name])[name])


def test_what_is_widened_is_not_refused() -> None:
    names = installed_names()
    refusals = expand(names)
    clashes = []
    for name, widened in expand_widened(names).items():
        bits = 0
        for rule in refusals.get(name, ()):
            bits |= rule.dtypes if rule.of in ("first", "any", "common", "every") else 0
        clashes += [name for rule in widened if rule.dtypes & bits]
    assert clashes == []


@pytest.mark.parametrize(
    "rules",
    [REFUSED, WIDENED, WIDENED_ON_CPU, WIDENED_ON_CUDA],
    ids=["refused", "widened", "widened_on_cpu", "widened_on_cuda"],
)
def test_every_name_in_the_tables_exists(rules: tuple[Refusal, ...]) -> None:
    table = {name.removeprefix("aten::") for name in installed_names()}
    operators = {name.partition(".")[0] for name in table}
    named = {token for rule in rules for token in rule.operators.split()}
    unknown = {
        token for token in named if token not in table | operators and f"{token}_" not in operators
    }
    assert unknown == set()


def test_every_argument_in_the_tables_exists() -> None:
    names = [*installed_names(Status.NATIVE), "aten::convolution", "aten::convolution_backward"]
    for name, rules in expand(names).items():
        operator, _, overload = name.removeprefix("aten::").partition(".")
        schema = getattr(getattr(torch.ops.aten, operator), overload or "default")._schema
        arguments = {argument.name for argument in schema.arguments}
        for rule in rules:
            assert rule.of in {"first", "any", "every", "common"} | arguments, (name, rule)


@pytest.mark.parametrize("rule", REFUSED, ids=lambda rule: rule.operators.split()[0])
def test_each_rule_is_well_formed(rule: Refusal) -> None:
    assert rule.error in {"RuntimeError", "NotImplementedError", "TypeError"}
    assert mask(rule.dtypes)
    rule.text.format(dtype="", metal="", op="", layout="")
