from __future__ import annotations

import pytest

from openmps.emit.ir.instructions import read_function
from openmps.emit.ir.model import UnsupportedIR
from openmps.emit.ir.text import parse_constant, parse_module
from openmps.emit.lanes.vectorise import uses, vectorise

MODULE = """
target triple = "x86_64-unknown-linux-gnu"
%struct.P = type { i8, i32, [3 x i16], double }
@table = internal constant [2 x float] [float 1.0, float 2.0], align 4, !dbg !3

define void @openmps_thread(ptr noundef %0, ptr %1, i32 %2, i32 %3, i32 %4, i32 %5, i32 %6) #0 {
  %8 = getelementptr inbounds nuw %struct.P, ptr %0, i64 0, i32 2, i64 1
  %9 = load atomic i32, ptr %0 monotonic, align 4, !tbaa !5
  switch i32 %9, label %10 [
    i32 1, label %10
    i32 -2, label %11
  ]

10:                                               ; preds = %7
  %x = tail call fast nofpclass(nan) float @f(float noundef 1.000000e+00, i32 range(i32 0, 5) %9) #1
  ret void

11:
  call void @openmps_threadgroup_barrier()
  unreachable
}
declare float @f(float, i32) #1
declare void @openmps_threadgroup_barrier()
attributes #0 = { nounwind "target-cpu"="generic" }
"""


def test_instructions_keep_their_parts() -> None:
    function = read_function(parse_module(MODULE), "openmps_thread")
    address, load, switch = function.blocks["%7"].instructions
    assert address.source.text == "%struct.P"
    assert [o.value for o in address.operands] == ["%0", "0", "2", "1"]
    assert load.ordering == "monotonic"
    assert switch.cases == ["1", "-2"]
    assert switch.targets == ["%10", "%10", "%11"]
    call = function.blocks["%10"].instructions[0]
    assert (call.detail, call.type.text) == ("f", "float")
    assert [o.value for o in call.operands] == ["1.000000e+00", "%9"]
    assert function.attributes == '"target-cpu"="generic"'


def test_layout_follows_the_abi() -> None:
    point = parse_module(MODULE).types["%struct.P"]
    assert [point.offset(k) for k in range(4)] == [0, 4, 8, 16]
    assert (point.size, point.align) == (24, 8)


def test_constants_become_leaves() -> None:
    module = parse_module(MODULE)
    kind = module.types["%struct.P"]
    text = "{ i8 1, i32 2, [3 x i16] zeroinitializer, double 0.0 }"
    assert [o.value for o in parse_constant(text, kind, {})] == ["1", "2", "0", "0", "0", "0.0"]


def test_uses_lists_lane_functions_and_atomics() -> None:
    assert uses(MODULE) == {"openmps_threadgroup_barrier", "atomic"}


def test_uses_names_functions_that_were_not_inlined() -> None:
    text = MODULE.replace(
        "declare float @f(float, i32) #1", "define float @f(float %0, i32 %1) {\n}"
    )
    assert "call:f" in uses(text)


def test_call_through_a_pointer_is_refused() -> None:
    text = MODULE.replace("call void @openmps_threadgroup_barrier()", "call void %0()", 1)
    with pytest.raises(UnsupportedIR, match="pointer") as caught:
        vectorise(text, axis="x")
    assert "call void %0()" in caught.value.instruction


def test_unknown_axis_is_an_error() -> None:
    with pytest.raises(ValueError, match="axis"):
        vectorise(MODULE, axis="w")


def test_thread_function_is_gone() -> None:
    text = vectorise(MODULE, axis="x")
    assert "@openmps_simdgroup(" in text
    assert "@openmps_thread(" not in text
    assert "!dbg" not in text
