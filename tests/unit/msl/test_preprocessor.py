from __future__ import annotations

import pytest

from openmps.errors import ShaderSyntaxError
from openmps.msl.preprocessor import Preprocessor
from openmps.msl.source import SourceFile

HEADERS = {
    "a.h": "#pragma once\nint a;\n",
    "guarded.h": "#ifndef G\n#define G\nint g;\n#endif\n",
    "loop.h": '#include "loop.h"\n',
}


def find_header(name: str, _asking: SourceFile) -> SourceFile | None:
    return SourceFile(name, HEADERS[name]) if name in HEADERS else None


def run(text: str) -> str:
    tokens = Preprocessor({"__METAL_VERSION__": "400"}, find_header).run(SourceFile("s", text))
    return " ".join(token.text for token in tokens)


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("a // b\n/* c\n */ d", "a d"),
        ("#define N 4\nint x[N];", "int x [ 4 ] ;"),
        ("#define A B\n#define B A\nA B", "A B"),
        ("#define F(x) x+x\nF(1) F (2) F", "1 + 1 2 + 2 F"),
        ("#define F(x, y) x y\nF((1, 2), [3])", "( 1 , 2 ) [ 3 ]"),
        ("#define F(x) G(x)\n#define G(x) <x>\nF(F(1))", "< < 1 > >"),
        ("#define CAT(a, b) a##b\nCAT(x, 1) CAT(, y) CAT(z, )", "x1 y z"),
        ("#define CAT(a, b) a##b\n#define TWO 2\nCAT(TWO, TWO)", "TWOTWO"),
        ('#define S(x) #x\nS(a  +b) S("q\\n")', '"a +b" "\\"q\\\\n\\""'),
        ("#define V(f, ...) f(__VA_ARGS__)\nV(g) V(g, 1) V(g, 1, 2)", "g ( ) g ( 1 ) g ( 1 , 2 )"),
        ("#define V(f, ...) f(0, ##__VA_ARGS__)\nV(g) V(g, 1)", "g ( 0 ) g ( 0 , 1 )"),
        ("#define V(f, ...) f(0 __VA_OPT__(,) __VA_ARGS__)\nV(g) V(g, 1)", "g ( 0 ) g ( 0 , 1 )"),
        ("#define F(x) \\\n  x\nF(1)", "1"),
        ("#define F(x) [x]\nF(\n1\n)", "[ 1 ]"),
        ("#define X 1\n#undef X\nX", "X"),
        ("__LINE__\n__LINE__ __FILE__", '1 2 "s"'),
        ("#if 1\na\n#elif 1\nb\n#else\nc\n#endif", "a"),
        ("#if 0\na\n#elif 0\nb\n#else\nc\n#endif", "c"),
        ("#if 0\n#if 1\na\n#else\nb\n#endif\n#endif", ""),
        ("#if defined(N) || !defined M\na\n#endif", "a"),
        ("#if __METAL_VERSION__ >= 320 && (1 ? 2 : 0) == 2\na\n#endif", "a"),
        ("#if -7 / 2 == -3 && -7 % 2 == -1 && (1 << 4) == 0x10 && 010 == 8\na\n#endif", "a"),
        ("#ifdef M_PI_F\na\n#endif", "a"),
        ("#if __has_include(<metal_stdlib>) && !__has_include(<nothing.h>)\na\n#endif", "a"),
        ("#include <metal_stdlib>\n#include <metal_simdgroup_matrix>\na", "a"),
        ('#include "a.h"\n#include <a.h>', "int a ;"),
        ('#include "guarded.h"\n#include "guarded.h"', "int g ;"),
        ("_Pragma(\"METAL fp contract(off)\") a", "a"),
        ("#pragma METAL internals : enable\na", "a"),
        ("#pragma unroll(4)\nfor", "#pragma unroll(4) for"),
        ('#define P _Pragma("clang loop unroll(full)")\nP x', "#pragma clang loop unroll(full) x"),
        ("#if 0\nit's fine\n#endif\na", "a"),
    ],
)  # fmt: skip
def test_expands(source: str, expected: str) -> None:
    assert run(source) == expected


@pytest.mark.parametrize(
    ("source", "place", "message"),
    [
        ('a\n  #include "b.h"', "s:2:12", "'b.h' file not found"),
        ("#include </etc/passwd>", "s:1:10", "'/etc/passwd' file not found"),
        ("#include <metal_tensor>", "s:1:10", "Metal 4 tensors are not supported"),
        ("#if 1\na", "s:1:1", "unterminated conditional"),
        ("#endif", "s:1:1", "#endif without #if"),
        ("#if\n#endif", "s:1:2", "expected value"),
        ("#if 1 +\n#endif", "s:1:2", "expected value"),
        ("#if 1 / 0\n#endif", "s:1:2", "division by zero"),
        ("#if (1\n#endif", "s:1:5", "expected ')'"),
        ("#define F(x) x\nF(1, 2)", "s:2:1", "too many arguments"),
        ("#define F(x, y) x\nF(1)", "s:2:1", "too few arguments"),
        ("#define F(x) x\nF(1", "s:2:1", "unterminated call"),
        ("#define P(a, b) a##b\nP(+, 1x)", "s:2:1", "invalid token"),
        ("#define 1", "s:1:2", "macro name missing"),
        ("#error no\tway", "s:1:2", "no way"),
        ("#nonsense", "s:1:2", "invalid preprocessing directive"),
        ("x = \"abc", "s:1:5", "missing terminating"),
        ("x /* abc", "s:1:3", "unterminated /* comment"),
        ("x = \u00e9;", "s:1:5", "unexpected character"),
        ('#include "loop.h"', "loop.h:1:1", "nested too deeply"),
    ],
)  # fmt: skip
def test_refuses(source: str, place: str, message: str) -> None:
    with pytest.raises(ShaderSyntaxError, match="error:") as caught:
        run(source)
    assert caught.value.place == place
    assert message in caught.value.message


def test_exploding_macros_are_refused() -> None:
    lines = ["#define A0 x x x x x x x x x x"]
    lines += [f"#define A{n} " + f"A{n - 1} " * 10 for n in range(1, 12)]
    with pytest.raises(ShaderSyntaxError, match="too many tokens"):
        run("\n".join([*lines, "A11"]))


def test_tokens_of_a_macro_lie_at_its_call() -> None:
    source = SourceFile("s", "#define F(x) (x + 1)\n  int y = F(2);")
    tokens = Preprocessor({}, find_header).run(source)
    plus = next(token for token in tokens if token.text == "+")
    assert str(plus.place) == "s:2:11"
