"""What NVRTC says, told as other compilers would. The logs are NVRTC's own, of release 13.4."""

from __future__ import annotations

from openmps.msl.compiler_messages import explain
from openmps.msl.library import parse_library
from openmps.msl.nvrtc_messages import as_compiler_messages, shared_bytes

LOG = """\
openmps:program(1): error: expression must have class type but it has type "float"
  template <class T> struct A { T g(T x) { return x.y; } };
                                                  ^
          detected during:
            instantiation of "T A<T>::g(T) [with T=float]" at line 1 of header.h
            instantiation of "T mid(T) [with T=float]" at line 10

header.h(1): error: identifier "foo" is undefined
  template <class T> T mid(T x) { A<T> a; return a.g(x) + foo(x); }
                                                          ^
          detected during instantiation of "T mid(T) [with T=float]" at line 10 of openmps:program

openmps:program(12): warning #177-D: variable "x" was declared but never referenced
      int x;
          ^

2 errors detected in the compilation of "openmps:kernel".
"""


def test_lines_columns_and_who_asked() -> None:
    assert as_compiler_messages(LOG).splitlines() == [
        'openmps:program:1:49: error: expression must have class type but it has type "float"',
        "header.h:1:1: note: asked for here",
        "openmps:program:10:1: note: asked for here",
        'header.h:1:57: error: identifier "foo" is undefined',
        "openmps:program:10:1: note: asked for here",
        'openmps:program:12:9: warning: variable "x" was declared but never referenced',
    ]


def test_without_a_caret_it_is_the_first_column() -> None:
    log = (
        "openmps:program(3): catastrophic error: too deep\nopenmps:program(4): error: more\n  x\n ^"
    )
    assert as_compiler_messages(log).splitlines() == [
        "openmps:program:3:1: error: too deep",
        "openmps:program:4:1: error: more",
    ]


def test_other_lines_say_nothing() -> None:
    assert as_compiler_messages("ptxas info    : Used 12 registers\nat line 7\n") == ""


def test_the_way_back_to_the_shader() -> None:
    library = parse_library(
        "kernel void k(device float* x) {\n  float unused = 1; x[0] =   nothing;\n}"
    )
    printed = library.cpp.splitlines()
    (line,) = (n for n, text in enumerate(printed) if "nothing" in text)
    column = printed[line].index("nothing")
    log = (
        f'openmps:program({line + 1}): error: identifier "nothing" is undefined\n'
        f"  {printed[line]}\n  {' ' * column}^\n"
    )
    explained = explain(library, as_compiler_messages(log))
    assert str(explained) == (
        'program_source:2:30: error: identifier "nothing" is undefined\n'
        "    2 |   float unused = 1; x[0] =   nothing;\n"
        "      |                              ^\n"
        "  in kernel: k\n"
        "  next: declare it, or write `using namespace metal;` or metal:: before it"
    )


def test_how_much_shared_memory_was_too_much() -> None:
    text = "Entry function 'openmps_cuda' uses too much shared data (0x13880 bytes, 0xc000 max)"
    assert shared_bytes(f"ptxas info    : Used 12 registers\nptxas error   : {text}\n") == 80000
    assert shared_bytes(LOG) is None
