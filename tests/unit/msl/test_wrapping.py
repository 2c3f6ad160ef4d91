"""Which operators are marked as wrapping, where nothing but their neighbours is known."""

from __future__ import annotations

import pytest

from openmps.msl.library import parse_library


@pytest.mark.parametrize(
    ("body", "marked"),
    [
        ("x = a + b - c * d;",
         "x = a + OPENMPS_WRAP(+) b - OPENMPS_WRAP(-) c * OPENMPS_WRAP(*) d;"),
        ("x = (a + 1) * f(b)[2];", "x = (a + OPENMPS_WRAP(+) 1) * OPENMPS_WRAP(*) f(b)[2];"),
        ("x = v.xy - 1;", "x = v.template openmps_get<0, 1>() - OPENMPS_WRAP(-) 1;"),
        ("a += b; a -= b; *p *= b;",
         "a += OPENMPS_WRAP(=) b; a -= OPENMPS_WRAP(=) b; *p *= OPENMPS_WRAP(=) b;"),
        ("x = -a * -b.c[1] + -(d);",
         "x = OPENMPS_NEGATIVE(a) * OPENMPS_WRAP(*) OPENMPS_NEGATIVE(b.c[1]) + OPENMPS_WRAP(+) "
         "OPENMPS_NEGATIVE((d));"),
        ("x = (int)-a;", "x = (int)OPENMPS_NEGATIVE(a);"),
        ("return -a < b;", "return OPENMPS_NEGATIVE(a) < b;"),
        ("++a; --b[i]; c++; p->d--; x = (*q)++;",
         "OPENMPS_INCREMENT(a); OPENMPS_DECREMENT(b[i]); OPENMPS_INCREMENT_AFTER(c); "
         "OPENMPS_DECREMENT_AFTER(p->d); x = OPENMPS_INCREMENT_AFTER((*q));"),
        ("a[i++] = -b[-c];",
         "a[OPENMPS_INCREMENT_AFTER(i)] = OPENMPS_NEGATIVE(b[-c]);"),
        ("x = y[f(i + 1)] + z[(i + 1) & 3];",
         "x = y[f(i + OPENMPS_WRAP(+) 1)] + OPENMPS_WRAP(+) z[(i + OPENMPS_WRAP(+) 1) & 3];"),
        ("x = 1.0h - a / -b; x = a++ - b; x = a > -b;",
         "x = half(1.0f) - OPENMPS_WRAP(-) a / openmps_guard / OPENMPS_NEGATIVE(b); "
         "x = OPENMPS_INCREMENT_AFTER(a) - OPENMPS_WRAP(-) b; x = a > OPENMPS_NEGATIVE(b);"),
        ("for (int k = 1; k > 0; k *= 2) y;", "for (int k = 1; k > 0; k *= OPENMPS_WRAP(=) 2) y;"),
        ("x = static_cast<int>(Number) - a;", "x = static_cast<int>(Number) - OPENMPS_WRAP(-) a;"),
        ("x = sizeof(int) * n;", "x = sizeof(int) * OPENMPS_WRAP(*) n;"),
        ("x = N * n;", "x = N * OPENMPS_WRAP(*) n;"),
    ],
)  # fmt: skip
def test_marks_arithmetic(body: str, marked: str) -> None:
    assert squeezed(body) == without_spaces(marked)


@pytest.mark.parametrize(
    "body",
    [
        "x = y[(i + 1) * n - j[k + 2]];",  # indices, and steps of loops
        "for (int i = n; i < m; i += 2) y;",
        "for (int i = n; i < m; ++i, j--) y;",
        "float* x = a; T* y = b; uint2* z; S* s; Number* n; const int* c; auto* d;",  # declarators
        "Record* r; const Unknown* u; typename T::type* x; vec<T, 2>* y; decltype(x)* z;",
        "f((S*)a, (vec<int, 2>*)b);",
        "x = (int)+a; x = (T)+a; x = (vec<int, 2>)+a; x = (const uint)+a; x = (Number)*a;",  # casts
        "x = -1; x = -1.5f; x = - -1; x = -f<int>(a); x = -float2{a};",  # what may be no operand
        "x = int2{a} - b; x = n<int> - b; x = a<b> - c;",
        "x = 2.0f * a - 1e-3f;",  # literals that say what it is
        "if (a) *p = b; else *p = c; switch (a) *p = b; return *p;",
        "x = (a + ...);",
    ],
)
def test_leaves_alone(body: str) -> None:
    assert squeezed(body) == without_spaces(body)


@pytest.mark.parametrize("operator", ["+", "-", "*", "+=", "++"])
def test_leaves_declared_operators_alone(operator: str) -> None:
    declared = f"S operator{operator}(S a, S b);"
    assert without_spaces(parse_library(declared).cpp) == without_spaces(declared)


def squeezed(body: str) -> str:
    """What a function's body became."""
    head = "struct S {}; typedef struct { int m; } Record; typedef int Number; "
    head += "template <typename T, int N> void f() {"
    text = without_spaces(parse_library(f"{head} {body} }}").cpp).replace(
        "OPENMPS_BACK_EDGE_AND", ""
    )
    begin = without_spaces(head)
    assert text.startswith(begin)
    return text.removeprefix(begin).removesuffix("}")


def without_spaces(text: str) -> str:
    return "".join(text.split())
