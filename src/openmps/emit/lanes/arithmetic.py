"""Arithmetic on lanes: scalar where a scalar says it all, else 32 wide."""

from __future__ import annotations

from openmps.emit.ir.model import DOUBLE, FAST_MATH, I1, I32, Instruction, Operand, Type
from openmps.emit.lanes.values import ALL_LANES, Values, element_of_size, vector
from openmps.emit.lanes.width import WIDTH

_DIVISIONS = ("udiv", "sdiv", "urem", "srem")


def emit_arithmetic(values: Values, i: Instruction) -> None:
    stride = values.lanes.strides[i.result]
    if stride == 0 and all(values.uniform(o) for o in i.operands):
        values.define_scalar(i, _scalar(values, i, i.flags))
        return
    if stride is not None:
        # Lane 0's value may lie outside what the wrap flags promise for active lanes.
        values.define_scalar(i, _scalar(values, i, ""))
        return
    values.define_vector(i, _vector(values, i))
    if i.result in values.lanes.possible:
        _shadow(values, i)


def _scalar(values: Values, i: Instruction, flags: str) -> str:
    operands = [values.scalar(o) for o in i.operands]
    return _write(values, i, flags, [o.type.text for o in i.operands], operands, i.type.text)


def _vector(values: Values, i: Instruction) -> str:
    if i.op == "ptradd":
        return _vector_address(values, i)
    operands = [values.vector(o) for o in i.operands]
    if i.op in _DIVISIONS:
        return _safe_division(values, i, operands)
    if i.op == "select" and values.uniform(i.operands[0]):
        kinds = ["i1", vector(i.type), vector(i.type)]
        operands[0] = values.scalar(i.operands[0])
        return _write(values, i, "", kinds, operands, vector(i.type))
    # Wrap flags would make lanes that are off poison, which a test of the whole mask would see.
    flags = "".join(f + " " for f in i.flags.split() if f in FAST_MATH)
    kinds = [vector(o.type) for o in i.operands]
    return _write(values, i, flags, kinds, operands, vector(i.type))


def _write(
    values: Values, i: Instruction, flags: str, kinds: list[str], operands: list[str], result: str
) -> str:
    let = values.out.let
    if i.op in ("icmp", "fcmp"):
        return let(f"{i.op} {flags}{i.detail} {kinds[0]} {operands[0]}, {operands[1]}")
    if i.op == "select":
        typed = ", ".join(f"{kind} {text}" for kind, text in zip(kinds, operands, strict=True))
        return let(f"select {flags}{typed}")
    if i.op == "ptradd":
        return _address(values, i, operands)
    if i.op in ("fneg", "freeze"):
        return let(f"{i.op} {flags}{kinds[0]} {operands[0]}")
    if len(operands) == 1:
        return let(f"{i.op} {flags}{kinds[0]} {operands[0]} to {result}")
    return let(f"{i.op} {flags}{kinds[0]} {operands[0]}, {operands[1]}")


def _address(values: Values, i: Instruction, operands: list[str]) -> str:
    factor = values.lanes.private.factor(i.result)
    let = values.out.let
    text = operands[0]
    for operand, index, scale in zip(i.operands[1:], operands[1:], i.indices, strict=True):
        step = f"{operand.type.text} {index}"
        text = let(f"getelementptr {element_of_size(scale * factor)}, ptr {text}, {step}")
    if i.offset:
        text = let(f"getelementptr i8, ptr {text}, i64 {i.offset * factor}")
    return text


def _vector_address(values: Values, i: Instruction) -> str:
    """Keeps a uniform base scalar: gathers are much better with one base and 32 offsets."""
    factor = values.lanes.private.factor(i.result)
    let = values.out.let
    pointers = f"<{WIDTH} x ptr>"
    base = i.operands[0]
    indices = sorted(
        zip(i.operands[1:], i.indices, strict=True), key=lambda pair: not values.uniform(pair[0])
    )
    wide = not values.uniform(base)
    text = values.vector(base) if wide else values.scalar(base)
    if i.offset:
        text = let(
            f"getelementptr i8, {pointers if wide else 'ptr'} {text}, i64 {i.offset * factor}"
        )
    for operand, scale in indices:
        kind = pointers if wide else "ptr"
        if values.uniform(operand):
            step = f"{operand.type.text} {values.scalar(operand)}"
        else:
            step = f"{vector(operand.type)} {values.vector(operand)}"
            wide = True
        text = let(f"getelementptr {element_of_size(scale * factor)}, {kind} {text}, {step}")
    return text


def _shadow(values: Values, i: Instruction) -> None:
    """Lane 0's value for a stride that holds only if `?ok` turns out true."""
    out = values.out
    if i.op in ("zext", "sext"):
        operand = i.operands[0]
        stride = values.lanes.possible[i.result]
        base = values.scalar(operand)
        reach = stride * (WIDTH - 1)
        if i.op == "zext":
            limit = (1 << 32) - 1 - reach if reach >= 0 else 0
            ok = (
                out.let(f"icmp ule i32 {base}, {_i32(limit)}")
                if reach >= 0
                else out.let(f"icmp uge i32 {base}, {_i32(-reach)}")
            )
        elif reach >= 0:
            ok = out.let(f"icmp sle i32 {base}, {(1 << 31) - 1 - reach}")
        else:
            ok = out.let(f"icmp sge i32 {base}, {-(1 << 31) - reach}")
        values.define_scalar(i, out.let(f"{i.op} i32 {base} to i64"), "?base")
        values.define_scalar(i, ok, "?ok", I1)
        return
    operands = []
    checks = []
    for operand in i.operands:
        if operand.value[0] == "%" and values.lanes.strides[operand.value] is None:
            shadow = Operand(operand.type, operand.value + "?base")
            operands.append(values.scalar(shadow))
            checks.append(values.scalar(Operand(I1, operand.value + "?ok")))
        else:
            operands.append(values.scalar(operand))
    kinds = [o.type.text for o in i.operands]
    values.define_scalar(i, _write(values, i, "", kinds, operands, i.type.text), "?base")
    ok = checks[0]
    for check in checks[1:]:
        ok = out.let(f"and i1 {ok}, {check}")
    values.define_scalar(i, ok, "?ok", I1)


def _i32(value: int) -> str:
    return str(value & 0xFFFFFFFF)


def _safe_division(values: Values, i: Instruction, operands: list[str]) -> str:
    whole = vector(i.type)
    divisor = operands[1]
    # Lanes that are off may hold zero, and must not trap.
    if i.operands[1].value[0] == "%" and values.mask != ALL_LANES:
        divisor = values.blend(i.type, values.mask, divisor, f"splat ({i.type.text} 1)")
    elif i.operands[1].value[0] != "%":
        return values.out.let(f"{i.op} {whole} {operands[0]}, {divisor}")
    if i.type.bits > 32:
        return values.out.let(f"{i.op} {whole} {operands[0]}, {divisor}")
    quotient, remainder = divide(values, i.type, operands[0], divisor, signed=i.op[0] == "s")
    return quotient if i.op.endswith("div") else remainder


def divide(values: Values, kind: Type, left: str, right: str, *, signed: bool) -> tuple[str, str]:
    """Quotient and remainder of integers of at most 32 bits, by way of double, which is exact:
    quotients of such numbers differ from the next integer by more than a rounding."""
    out = values.out
    whole, wide = vector(kind), vector(DOUBLE)
    to, back = ("sitofp", "fptosi") if signed else ("uitofp", "fptoui")
    floats = [out.let(f"{to} {whole} {text} to {wide}") for text in (left, right)]
    ratio = out.let(f"fdiv {wide} {floats[0]}, {floats[1]}")
    quotient = out.let(f"{back} {wide} {ratio} to {vector(I32)}")
    if kind != I32:
        quotient = out.let(f"trunc {vector(I32)} {quotient} to {whole}")
    product = out.let(f"mul {whole} {quotient}, {right}")
    return quotient, out.let(f"sub {whole} {left}, {product}")
