"""PTX that asks before it relies on an alignment, but only where it must."""

from __future__ import annotations

import pytest

from openmps.emit.ptx.make_defined import make_ptx_defined

HEAD = """\
.visible .entry openmps_cuda(
\t.param .align 16 .b8 openmps_cuda_param_0[992]
)
"""


def function(*lines: str) -> str:
    return HEAD + "{\n" + "".join(f"\t{line}\n" for line in lines) + "}\n"


def after(*lines: str, buffer_alignment: int = 16) -> list[str]:
    text = make_ptx_defined(function(*lines), buffer_alignment)
    assert text.startswith(HEAD + "{\n")
    assert text.endswith("}\n")
    return [line.strip() for line in text[len(HEAD) + 2 : -2].splitlines()]


def guarded(*lines: str, buffer_alignment: int = 16) -> bool:
    return any("%openmps_off" in line for line in after(*lines, buffer_alignment=buffer_alignment))


BUFFER = "ld.param.u64 \t%rd1, [openmps_cuda_param_0+8];"
THREAD = "mov.u32 \t%r1, %tid.x;"
LOAD_FOUR = "ld.global.v4.f32 \t{%f1, %f2, %f3, %f4}, [%rd3];"


def test_a_shift_counts_the_low_bits() -> None:
    assert after("shl.b32 \t%r1, %r2, %r3;", "shr.s64 \t%rd1, %rd2, %r3;") == [
        "{ .reg .b32 %openmps_count;",
        "and.b32 \t%openmps_count, %r3, 31;",
        "shl.b32 \t%r1, %r2, %openmps_count; }",
        "{ .reg .b32 %openmps_count;",
        "and.b32 \t%openmps_count, %r3, 63;",
        "shr.s64 \t%rd1, %rd2, %openmps_count; }",
    ]


def test_a_shift_of_16_bits_counts_as_the_promoted_one() -> None:
    assert "and.b32 \t%openmps_count, %r3, 31;" in after("shr.u16 \t%rs1, %rs2, %r3;")


def test_a_shift_by_a_constant_stays() -> None:
    line = "shl.b32 \t%r1, %r2, 3;"
    assert after(line) == [line]


def test_whole_vectors_from_a_buffer_stay() -> None:
    lines = (BUFFER, THREAD, "mul.wide.u32 \t%rd2, %r1, 16;", "add.s64 \t%rd3, %rd1, %rd2;")
    assert after(*lines, LOAD_FOUR) == [*lines, LOAD_FOUR]


def test_a_vector_at_any_element_is_loaded_whole_or_in_elements() -> None:
    lines = (BUFFER, THREAD, "mul.wide.u32 \t%rd2, %r1, 4;", "add.s64 \t%rd3, %rd1, %rd2;")
    load = "ld.global.v2.f32 \t{%f1, %f2}, [%rd3+4];"
    assert after(*lines, load)[4:] == [
        "{ .reg .pred %openmps_off; .reg .b64 %openmps_whole, %openmps_byte;",
        ".reg .b64 %openmps_at, %openmps_low;",
        "mov.b64 \t%openmps_at, %rd3;",
        "add.s64 \t%openmps_at, %openmps_at, 4;",
        "and.b64 \t%openmps_low, %openmps_at, 7;",
        "setp.ne.b64 \t%openmps_off, %openmps_low, 0;",
        "@!%openmps_off ld.global.v2.f32 \t{%f1, %f2}, [%openmps_at];",
        "@%openmps_off ld.global.f32 \t%f1, [%openmps_at+0];",
        "@%openmps_off ld.global.f32 \t%f2, [%openmps_at+4];",
        "}",
    ]


def test_a_word_at_any_byte_is_stored_whole_or_in_bytes() -> None:
    lines = (BUFFER, "cvt.u64.u32 \t%rd2, %r1;", "add.s64 \t%rd3, %rd1, %rd2;", THREAD)
    text = after(*lines, "st.global.u16 \t[%rd3], %rs1;")
    assert "@%openmps_off bra \t$openmps_off_0;" in text
    assert text[text.index("$openmps_off_0:") :] == [
        "$openmps_off_0:",
        "{ .reg .b16 %openmps_part; mov.b16 \t%openmps_part, %rs1;",
        "cvt.u64.u16 \t%openmps_whole, %openmps_part; }",
        "shr.b64 \t%openmps_byte, %openmps_whole, 0;",
        "st.global.u8 \t[%openmps_at+0], %openmps_byte;",
        "shr.b64 \t%openmps_byte, %openmps_whole, 8;",
        "st.global.u8 \t[%openmps_at+1], %openmps_byte;",
        "$openmps_done_0:",
        "}",
    ]


def test_a_short_loaded_by_bytes_keeps_its_sign() -> None:
    lines = (BUFFER, "cvt.u64.u32 \t%rd2, %r1;", "add.s64 \t%rd3, %rd1, %rd2;", THREAD)
    assert "cvt.s32.s16 \t%r2, %openmps_whole;" in after(*lines, "ld.global.s16 \t%r2, [%rd3];")


@pytest.mark.parametrize(("alignment", "asks"), [(16, False), (8, True), (4, True)])
def test_how_buffers_are_bound_decides(alignment: int, asks: bool) -> None:
    lines = (BUFFER, "cvta.to.global.u64 \t%rd3, %rd1;", LOAD_FOUR)
    assert guarded(*lines, buffer_alignment=alignment) is asks


def test_an_address_that_walks_by_its_width_stays_aligned() -> None:
    walk = (BUFFER, "mov.u64 \t%rd3, %rd1;", LOAD_FOUR)
    assert not guarded(*walk, "add.s64 \t%rd3, %rd3, 16;")
    assert guarded(*walk, "add.s64 \t%rd3, %rd3, 4;")


def test_what_is_loaded_counts_as_an_address_of_elements_but_not_as_a_multiple() -> None:
    loaded = (BUFFER, "ld.global.u64 \t%rd2, [%rd1];")
    assert not guarded(*loaded, "ld.f32 \t%f1, [%rd2];")
    assert guarded(*loaded, "ld.v4.f32 \t{%f1, %f2, %f3, %f4}, [%rd2];")
    index = (*loaded, "shl.b64 \t%rd4, %rd2, 2;", "add.s64 \t%rd3, %rd1, %rd4;")
    assert not guarded(*index, "ld.global.f32 \t%f1, [%rd3];")
    assert guarded(*index, LOAD_FOUR)


def test_shared_memory_has_narrow_addresses() -> None:
    variable = ".shared .align 16 .b8 cells[64];"
    load = "ld.shared.v2.f32 \t{%f1, %f2}, [cells+{}];"
    assert not guarded(variable, load.replace("{}", "8"))
    assert "mov.b32 \t%openmps_at, cells;" in after(variable, load.replace("{}", "4"))


def test_variables_that_nothing_names_are_dropped() -> None:
    used = ".global .align 4 .u32 used = 3;\n"
    unused = ".global .align 4 .b8 unused[8] = {1, 2};\n"
    visible = ".visible .global .align 4 .u32 openmps_max_threads = 1024;\n"
    body = function("ld.global.u32 \t%r1, [used];")
    assert make_ptx_defined(unused + used + visible + body) == used + visible + body
