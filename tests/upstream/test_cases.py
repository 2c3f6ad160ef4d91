from __future__ import annotations

import pytest

from .cases import Case, describe, select

OPS = {"sum", "masked_sum", "nn_functional_relu", "add"}


@pytest.mark.parametrize(
    ("name", "op", "dtype"),
    [
        ("TestConsistencyMPS.test_output_match_add_mps_float32", "add", "float32"),
        ("TestConsistencyMPS.test_output_match_masked_sum_mps_bool", "masked_sum", "bool"),
        ("TestErrorInputsMPS.test_error_inputs_nn_functional_relu_mps", "nn_functional_relu", ""),
        ("TestNNMPS.test_no_operator_mps_bfloat16", "", "bfloat16"),
        ("TestMPS.test_fill_torch_float16", "", "float16"),
        ("TestMPS.test_fill_int8", "", "int8"),
        ("TestMPS.test_plain", "", ""),
    ],
)
def test_names_tell_operator_and_dtype(name: str, op: str, dtype: str) -> None:
    assert describe(name, OPS) == Case(name, op, dtype)


CASES = [Case(f"{group}.test_{letter}") for group in ("TestA", "TestB") for letter in "abcde"]


@pytest.mark.parametrize(
    ("patterns", "every", "chosen"),
    [
        (["test_c"], 1, ["TestA.test_c", "TestB.test_c"]),
        (["TestB.*"], 2, ["TestB.test_a", "TestB.test_c", "TestB.test_e"]),
        (["A.*_a", "B.test_b"], 1, ["TestB.test_b"]),  # a glob is of the whole name
        ([], 4, ["TestA.test_a", "TestA.test_e", "TestB.test_a", "TestB.test_e"]),
    ],
)
def test_choosing(patterns: list[str], every: int, chosen: list[str]) -> None:
    assert [case.name for case in select(CASES, patterns, every)] == chosen
