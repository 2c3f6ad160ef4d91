from __future__ import annotations

import pytest

from openmps.msl.compiler_messages import readable


@pytest.mark.parametrize(
    ("gcc", "clang"),
    [
        ("'lost' was not declared in this scope", "use of undeclared identifier 'lost'"),
        (
            "'flaot' was not declared in this scope; did you mean 'float'?",
            "use of undeclared identifier 'flaot'; did you mean 'float'?",
        ),
        (
            "assignment of read-only location '*(in + ((sizetype)(((long unsigned int)i) * 4)))'",
            "read-only variable is not assignable",
        ),
        (
            "request for member 'y' in 'x', which is of non-class type 'float'",
            "member reference base type 'float' is not a structure or union",
        ),
        ("expected ',' or ';' before 'out'", "expected ';' before 'out'"),
        (
            "no match for 'operator=' (operand types are 'float4' {aka 'float4'} and 'int')",
            "no match for 'operator=' (operand types are 'float4' and 'int')",
        ),
    ],
)
def test_gcc_speaks_as_clang(gcc: str, clang: str) -> None:
    assert readable(gcc) == clang
