"""What a newer compiler might print is understood or refused, and never skipped."""

from __future__ import annotations

import warnings

import pytest

from openmps.emit.ir.call_numbers import number_calls
from openmps.emit.ir.instructions import read_function
from openmps.emit.ir.make_defined import make_ir_defined
from openmps.emit.ir.model import UnsupportedIR
from openmps.emit.ir.text import parse_module
from openmps.emit.lanes.vectorise import vectorise
from openmps.emit.ptx.alignment import UnsupportedPTX
from openmps.emit.ptx.make_defined import make_ptx_defined
from openmps.targets import tested_compilers

ARGUMENTS = "ptr %0, ptr %1, i32 %2, i32 %3, i32 %4, i32 %5, i32 %6"
GROUPS = 'attributes #0 = { "target-cpu"="x86-64-v3" }\n'


def module(*lines: str, before: str = "", end: str = "ret void") -> str:
    body = "".join(f"  {line}\n" for line in (*lines, end))
    return f"{before}define void @openmps_thread({ARGUMENTS}) #0 {{\n{body}}}\n{GROUPS}"


def read(*lines: str) -> list[str]:
    """The operations that were read, without the return."""
    function = read_function(parse_module(module(*lines)), "openmps_thread")
    return [i.op for block in function.blocks.values() for i in block.instructions][:-1]


UNDERSTOOD = {
    "getelementptr": "%a = getelementptr inbounds nuw i8, ptr %0, i64 4",
    "trunc": "%a = trunc nuw nsw i32 %2 to i16",
    "icmp": "%a = icmp samesign ult i32 %2, 9",
    "zext": "%a = zext nneg i32 %2 to i64",
    "or": "%a = or disjoint i32 %2, 1",
    "add": "%a = add <2 x i32> splat (i32 1), <i32 2, i32 poison>",
    "load": "%a = load i32, ptr %0, align 4, !range !7, !noundef !8",
    "fcmp": "%a = fcmp nnan ninf nsz olt float 1.0, 0x7FF8000000000000",
    "call": "%a = tail call range(i32 0, 33) i32 @f(ptr nonnull captures(none) %0) #0",
}


@pytest.mark.parametrize("op", UNDERSTOOD)
def test_flags_and_promises_are_understood(op: str) -> None:
    assert read(UNDERSTOOD[op]) == [op]


def test_debug_records_say_nothing() -> None:
    record = "  #dbg_value(i32 %2, !4, !DIExpression(), !5)"
    assert read(record, "fence seq_cst") == ["fence"]


REFUSED = (
    "%a = add strange i32 %2, 1",
    "%a = frobnicate i32 %2",
    "%a = load i32, ptr %0, nontemporal 1",
    "%a = load atomic i32, ptr %0 relaxed, align 4",
    "%a = load i32, ptr addrspace(3) %0",
    "%a = alloca i32, align 4, addrspace(5)",
    "%a = add i32 %2, u0x10",
    "%a = fadd float %2, +qnan",
    "%a = fadd b32 %2, %3",
    "%a = fadd <vscale x 4 x float> %2, %2",
    '%a = call i32 @f(i32 %2) [ "clang.arc"(ptr %0) ]',
    "call void @f(i32 inreg %2)",
    "call void @f(i32 unheard_of(3) %2)",
    "call swiftcc void @f(i32 %2)",
    "call unheard_of void @f(i32 %2)",
)


@pytest.mark.parametrize("line", REFUSED)
def test_an_instruction_that_is_not_understood_is_refused(line: str) -> None:
    with pytest.raises(UnsupportedIR) as refused:
        read(line)
    assert line in str(refused.value)


@pytest.mark.parametrize("line", ["ifunc @x", "new thing @openmps_max_threads"])
def test_a_line_of_a_module_that_is_not_understood_is_refused(line: str) -> None:
    with pytest.raises(UnsupportedIR, match="a line that the pass does not know"):
        parse_module(module(before=line + "\n"))


def test_metadata_is_taken_from_variables_and_not_from_their_text() -> None:
    kept = '@text = constant [5 x i8] c", !x\\00", align 1'
    made = parse_module(kept + ", !dbg !3\ndeclare !dbg !4 void @f()\n")
    assert made.globals == [kept]
    assert made.declarations == {"f": "declare void @f()"}
    with pytest.raises(UnsupportedIR, match="metadata in a place"):
        parse_module("@x = constant i32 1 !strange !3\n")


def test_a_function_without_its_attributes_is_refused() -> None:
    unlisted = module().replace("attributes #0", "attributes #1")
    with pytest.raises(UnsupportedIR, match="attributes that the module does not list"):
        vectorise(unlisted, axis="x")
    unnamed = module().replace("target-cpu", "cpu-of-target")
    with pytest.raises(UnsupportedIR, match="does not name its processor"):
        vectorise(unnamed, axis="x")


RECURSIVE = """\
define internal fastcc zeroext i1 @f(i8 signext %0) unnamed_addr #0 {
  %2 = load i8, ptr null, align 1, !range !9, !noundef !10
  %3 = call fastcc zeroext i1 @f(i8 signext %2) #0
  ret i1 %3
}
"""


def test_what_stays_a_function_is_called_as_it_is_defined() -> None:
    call = "%a = tail call fastcc noundef zeroext i1 @f(i8 noundef signext %x)"
    lines = ("%x = trunc i32 %2 to i8", call, "store i1 %a, ptr %0, align 1")
    text = vectorise(module(*lines, before=RECURSIVE), axis="x")
    assert text.count("call fastcc zeroext i1 @f(i8 signext %v") == 2
    assert "getelementptr i1," not in text, "bits of a vector have no addresses"
    assert "!range" not in text
    assert '@f(i8 signext %0) unnamed_addr "probe-stack"="inline-asm" {' in text


def test_values_in_memory_are_passed_as_they_are_defined() -> None:
    call = "call void @f(ptr noundef align 4 sret(%P) %0, ptr byval(%P) align 8 %1, ptr align 2 %0)"
    before = "%P = type { i32, i32 }\ndeclare void @f(ptr, ptr, ptr)\n"
    text = vectorise(module(call, before=before), axis="x")
    assert "@f(ptr sret(%P) %launch, ptr byval(%P) align 8 %threadgroup, ptr %launch)" in text


def test_variables_of_threadgroups_are_known_however_they_are_printed() -> None:
    variable = "@cells = internal thread_local(localdynamic) global [4 x i32] undef, align 4\n"
    address = "%a = call ptr @llvm.threadlocal.address.p0(ptr @cells)"
    store = "store i32 1, ptr %a, align 4"
    text = vectorise(module(address, store, before=variable), axis="x")
    assert "@cells" not in text
    direct = module("store i32 %2, ptr @cells, align 4", before=variable)
    with pytest.raises(UnsupportedIR, match="a variable in threadgroup memory"):
        vectorise(direct, axis="x")


class TestTolerance:
    @pytest.mark.parametrize(
        ("line", "expected"),
        [
            ("%1 = load ptr, ptr %2, align 8, !align !4", "%1 = load ptr, ptr %2, align 1"),
            ("%1 = load i32, ptr %alloca, align 4", "%1 = load i32, ptr %alloca, align 1"),
            ("%1 = load atomic i32, ptr %2 monotonic, align 4", None),
            ("store atomic i32 %1, ptr %2 monotonic, align 4", None),
            ("%1 = atomicrmw add ptr %2, i32 1 monotonic, align 4", None),
            ("%1 = alloca i32, align 4", None),
            ("%align = load i32, ptr %dereferenceable, align 1", None),
            (
                "call void @align(ptr align 4 dereferenceable(8) %1)",
                "call void @align(ptr align 1 %1)",
            ),
            ("%1 = shl i32 %2, 31", None),
        ],
    )
    def test_alignments_of_what_is_not_atomic(self, line: str, expected: str | None) -> None:
        assert make_ir_defined(f"  {line}\n") == f"  {expected or line}\n"

    @pytest.mark.parametrize(
        ("line", "count", "shift"),
        [
            ("%1 = shl i32 %2, %3", "%low.1 = and i32 %3, 31", "%1 = shl i32 %2, %low.1"),
            ("%1 = shl i32 %2, 40", "%low.1 = and i32 40, 31", "%1 = shl i32 %2, %low.1"),
            (
                "%dereferenceable = ashr exact i64 %2, %align-3",
                "%low.dereferenceable = and i64 %align-3, 63",
                "%dereferenceable = ashr i64 %2, %low.dereferenceable",
            ),
            (
                "%1 = lshr <2 x i16> splat (i16 8), %3",
                "%low.1 = and <2 x i16> %3, <i16 15, i16 15>",
                "%1 = lshr <2 x i16> splat (i16 8), %low.1",
            ),
            (
                '%"a b" = shl nuw nsw i8 poison, %3',
                '%"low.a b" = and i8 %3, 7',
                '%"a b" = shl i8 poison, %"low.a b"',
            ),
        ],
    )
    def test_every_shift_counts_the_low_bits(self, line: str, count: str, shift: str) -> None:
        assert make_ir_defined(f"  {line}\n") == f"  {count}\n  {shift}\n"

    @pytest.mark.parametrize(
        "line",
        [
            "%1 = load i32, ptr %2, align(4)",
            "call void @f(ptr align=4 %1)",
            "call void @f(ptr dereferenceable(8, 4) %1)",
            "%1 = load ptr, ptr %2, align 1, !align !{i64 4}",
            'call void @llvm.assume(i1 true) [ "align"(ptr %1, i64 16) ]',
            "%1 = shl strange i32 %2, %3",
            "%1 = shl i24 %2, %3",
            "%1 = shl i32 %2, %3 modulo",
            "%1 = add i32 %2, lshr (i32 %3, i32 %4)",
        ],
    )
    def test_other_forms_are_refused(self, line: str) -> None:
        with pytest.raises(UnsupportedIR) as refused:
            make_ir_defined(f"  {line}\n")
        assert line.split(",")[0] in str(refused.value)


class TestSites:
    BARRIER = "call void @openmps_threadgroup_barrier()"

    def test_instructions_need_not_be_understood(self) -> None:
        text = number_calls(module("%a = frobnicate i32 %2", self.BARRIER))
        assert "  call void @openmps_at(i32 1)\n  " + self.BARRIER in text

    @pytest.mark.parametrize(
        "text",
        [
            module("condbr i1 %2, %x, %y", BARRIER, end="depart"),
            module(BARRIER, end="br label %nowhere"),
            module("invoke void @openmps_threadgroup_barrier() to label %1"),
            module(BARRIER).replace("define void", "function void"),
        ],
    )
    def test_what_is_not_understood_is_refused(self, text: str) -> None:
        with pytest.raises(UnsupportedIR):
            number_calls(text)


def ptx(line: str, registers: str = "") -> str:
    return f".visible .entry f()\n{{\n{registers}\t{line}\n\tret;\n}}\n"


class TestPtx:
    @pytest.mark.parametrize(
        "line",
        [
            "ld.relaxed.gpu.u32 %r1, [%rd1];",
            "ld.param.b64 \t%rd1, [openmps_cuda_param_0+8];",
            "shl.b32 \t%r1, %r2, 3;",
            "mov.b32 \t%shl.b32, %r1; // ld.global.u32",
        ],
    )
    def test_what_may_stay_stays(self, line: str) -> None:
        assert make_ptx_defined(ptx(line)) == ptx(line)

    @pytest.mark.parametrize(
        "line",
        [
            "ld.global.L1::no_allocate.u32 \t%r1, [%rd1];",
            "ld.weak.global.u32 \t%r1, [%rd1];",
            "ld.global.b128 \t%rq1, [%rd1];",
            "@%p1 ld.global.u32 \t%r1, [%rd1];",
            "ld.const.u32 \t%r1, [%rd1];",
            "ldu.global.u32 \t%r1, [%rd1];",
            "st.global.u32 [%rd1], %r1;",
            "@%p1 shl.b32 \t%r1, %r2, %r3;",
            "shl.b32 %r1, %r2, %r3;",
            "shl.b128 \t%r1, %r2, %r3;",
            "shf.l.clamp.b32 \t%r1, %r2, %r3, %r4;",
            "{ .reg .b32 t; shr.u32 t, %r1, %r2; }",
        ],
    )
    def test_other_loads_stores_and_shifts_are_refused(self, line: str) -> None:
        with pytest.raises(UnsupportedPTX, match="not understood") as refused:
            make_ptx_defined(ptx(line))
        assert line in str(refused.value)

    def test_functions_that_begin_differently_are_refused(self) -> None:
        text = ptx("ld.global.u32 \t%r1, [%rd1];").replace(")\n{", ") {")
        with pytest.raises(UnsupportedPTX, match="outside of a function"):
            make_ptx_defined(text)

    def test_registers_of_unknown_kinds_are_refused(self) -> None:
        with pytest.raises(UnsupportedPTX, match="%r: 64 bits"):
            make_ptx_defined(ptx("ret;", "\t.reg .b64 \t%r<4>;\n"))
        with pytest.raises(UnsupportedPTX, match="width is not known"):
            make_ptx_defined(ptx("st.global.u32 \t[%rd1], %q1;"))

    def test_a_register_that_is_also_set_elsewhere_is_not_known(self) -> None:
        known = "mov.u64 \t%rd1, 16;\n\tld.global.u32 \t%r1, [%rd1];"
        assert "%openmps_off" not in make_ptx_defined(ptx(known))
        assert "%openmps_off" in make_ptx_defined(ptx(known + "\n\tset anew %rd1;"))


class TestReleases:
    @pytest.fixture(autouse=True)
    def forgets(self) -> None:
        tested_compilers._warn_of_clang.cache_clear()
        tested_compilers._warn_of_ptx.cache_clear()

    def ident(self, name: str) -> str:
        return f'!llvm.ident = !{{!0}}\n\n!0 = !{{!"{name}"}}\n'

    def test_the_tested_ones_are_taken_without_a_word(self) -> None:
        tested_compilers.look_at_clang(self.ident("clang version 22.1.8"))
        tested_compilers.look_at_clang(self.ident("Debian clang version 22.0.0 (1)"))
        tested_compilers.look_at_ptx("//\n.version 9.5\n.target sm_90\n")
        tested_compilers.look_at_ptx(".version 8.8\n")

    @pytest.mark.parametrize(
        "name", ["Debian clang version 19.1.7 (3~deb12u1)", "Apple clang version 22.0.0"]
    )
    def test_another_clang_is_named_once(self, name: str) -> None:
        expected = rf"compiled by {name.split(' (')[0]}.*tested with clang 22: .*'ziglang>="
        with pytest.warns(RuntimeWarning, match=expected):
            tested_compilers.look_at_clang(self.ident(name))
        with warnings.catch_warnings(record=True) as more:
            tested_compilers.look_at_clang(self.ident(name))
        assert not more

    def test_a_clang_without_a_name_is_told(self) -> None:
        with pytest.warns(RuntimeWarning, match="does not name its release"):
            tested_compilers.look_at_clang("define void @f() {\n}\n")

    @pytest.mark.parametrize("text", [".version 9.6\n", ".version 10.0\n", "no header"])
    def test_a_newer_nvrtc_is_told(self, text: str) -> None:
        with pytest.warns(RuntimeWarning, match=r"tested with PTX up to 9\.5.*nvrtc>=13\.0,<13\.6"):
            tested_compilers.look_at_ptx(text)
