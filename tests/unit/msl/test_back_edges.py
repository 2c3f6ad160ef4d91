from __future__ import annotations

import pytest

from openmps.msl.library import parse_library


@pytest.mark.parametrize(
    ("body", "marked"),
    [
        ("for (a; b; c) d;", "for (a; b; OPENMPS_BACK_EDGE_AND c) d;"),
        ("for (;;) d;", "for (;; OPENMPS_BACK_EDGE) d;"),
        ("for (int x : y) d;", "for (int x : y) d;"),
        ("while (b) { d; }", "for (; b; OPENMPS_BACK_EDGE) { d; }"),
        ("while (int x = f(1)) d;", "for (; int x = f(1); OPENMPS_BACK_EDGE) d;"),
        ("do { d; } while (b);", "do { d; } while (OPENMPS_BACK_EDGE_AND b);"),
        ("do d; while (b);", "do d; while (OPENMPS_BACK_EDGE_AND b);"),
        ("do { while (x) d; } while (b);",
         "do { for (; x; OPENMPS_BACK_EDGE) d; } while (OPENMPS_BACK_EDGE_AND b);"),
        ("do while (x) d; while (b);",
         "do for (; x; OPENMPS_BACK_EDGE) d; while (OPENMPS_BACK_EDGE_AND b);"),
        ("for (a; b < (c ? d : 0); e) g;",
         "for (a; b < (c ? d : OPENMPS_SECOND_ARM(0, d)); OPENMPS_BACK_EDGE_AND e) g;"),
        ("for (a; [](int q) { return q; }(1); c) d;",
         "for (a; [](int q) { return q; }(1); OPENMPS_BACK_EDGE_AND c) d;"),
    ],
)  # fmt: skip
def test_marks_every_loop(body: str, marked: str) -> None:
    def text(source: str) -> str:
        return source.replace(" ", "").replace("\n", "")

    assert text(parse_library(f"void f() {{ {body} }}").cpp) == text(f"void f() {{ {marked} }}")
