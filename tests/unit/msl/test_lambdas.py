from __future__ import annotations

import pytest

from openmps.errors import ShaderSyntaxError
from openmps.msl.library import LanguageOptions, parse_library

OLD = LanguageOptions(version=310)


def body(text: str) -> str:
    return f"kernel void k(device float* x, uint i [[thread_position_in_grid]]) {{\n{text}\n}}"


@pytest.mark.parametrize(
    "text",
    [
        "auto f = [](float v) { return v; };",
        "auto f = [=] { return 1; };",
        "x[0] = use([&](int a) { return a; });",
        "return [i]() {}();",
        "x[[i] { return i; }()] = 1;",
    ],
)
def test_lambdas_are_refused_before_version_3_2(text: str) -> None:
    with pytest.raises(ShaderSyntaxError, match=r"^program_source:2:\d+: error: lambda"):
        parse_library(body(text), options=OLD)
    parse_library(body(text), options=LanguageOptions(version=320))


@pytest.mark.parametrize(
    "text",
    [
        "float a[3] = {1, 2, 3}; x[i] = a[i % 3];",
        "auto [a, b] = pair(); x[i] = a[i](b);",
        "x[i] = table()[2];",
        "threadgroup float (&shared)[32] = memory; x[i] = shared[0];",
        "[[unroll]] for (int n = 0; n < 3; n++) { x[n] = 1; }",
        "if (i) [[likely]] { x[i] = 1; }",
    ],
)
def test_other_brackets_are_no_lambdas(text: str) -> None:
    parse_library(body(text), options=OLD)
