"""The module around the function of 32 lanes: its entry, what it keeps of the thread's module, and
what it declares."""

from __future__ import annotations

import re

from openmps.emit.ir import Function, Module, UnsupportedIR
from openmps.emit.ir_text import Cursor
from openmps.emit.lane_values import ALL_LANES, MASK, Writer

SIMDGROUP = "openmps_simdgroup"
VARIABLES = "openmps_variables"  # exported: the bytes that variables in threadgroup memory take
_BODY = "openmps_lanes_body"
_KEPT_ATTRIBUTES = ("target-cpu", "target-features", "tune-cpu")


def module_text(module: Module, function: Function, writer: Writer) -> str:
    body = "\n".join([*writer.allocas, *writer.lines])
    attributes = _attributes(function.attributes)
    helpers = [text for name, text in module.definitions.items() if f"@{name}(" in body]
    declared = {n: d for n, d in writer.declarations.items() if n not in module.definitions}
    for name, line in module.declarations.items():
        if any(f"@{name}(" in text for text in (body, *helpers)):
            declared.setdefault(name, re.sub(r" #\d+$", "", line))
    for variable in writer.variable_bytes:
        if any(variable in text for text in helpers):
            raise UnsupportedIR("threadgroup memory in a function that was not inlined", variable)
    parameters = "ptr %launch, ptr %threadgroup, i32 %simdgroup"
    lines = [
        *module.header,
        "",
        *(line for line in module.globals if " thread_local " not in line and line[:6] != "@llvm."),
        f"@{VARIABLES} = constant i32 {writer.threadgroup_bytes}",
        "",
        *(re.sub(r" #\d+(?= )", "", text) for text in helpers),
        f"define internal void @{_BODY}({parameters}, {MASK} %live) "
        f"alwaysinline nounwind {attributes} {{",
        body,
        "}",
        "",
        # Twice the code: loads and stores of a whole simdgroup need no mask.
        f"define void @{SIMDGROUP}({parameters}) nounwind {attributes} {{",
        "  %address = getelementptr i8, ptr %threadgroup, i64 24",
        "  %threads = load i32, ptr %address, align 4",
        "  %first = shl i32 %simdgroup, 5",
        "  %left = sub i32 %threads, %first",
        "  %whole = icmp uge i32 %left, 32",
        "  br i1 %whole, label %all, label %some",
        "all:",
        f"  call void @{_BODY}(ptr %launch, ptr %threadgroup, i32 %simdgroup, {MASK} {ALL_LANES})",
        "  ret void",
        "some:",
        "  %bit = shl i32 1, %left",
        "  %bits = sub i32 %bit, 1",
        f"  %live = bitcast i32 %bits to {MASK}",
        f"  call void @{_BODY}(ptr %launch, ptr %threadgroup, i32 %simdgroup, {MASK} %live)",
        "  ret void",
        "}",
        "",
        *sorted(set(declared.values())),
        "",
        '!0 = !{!"branch_weights", i32 2000, i32 1}',
        "",
    ]
    return "\n".join(lines)


def variable_bytes(module: Module) -> dict[str, int]:
    """The sizes of the module's thread_local variables: threadgroup memory, before the pass."""
    found = {}
    for line in module.globals:
        if " thread_local " not in line:
            continue
        name = line.partition(" = ")[0]
        kind = re.search(r" (?:global|constant) ", line)
        if kind is None:
            raise UnsupportedIR("a thread_local variable", line)
        found[name] = Cursor(line, module.types, kind.end()).type().size
    return found


def _attributes(quoted: str) -> str:
    kept = [
        f'"{key}"="{value}"'
        for key, value in re.findall(r'"([^"]*)"="([^"]*)"', quoted)
        if key in _KEPT_ATTRIBUTES
    ]
    if "+avx512f" in quoted:
        kept += ['"prefer-vector-width"="512"', '"min-legal-vector-width"="512"']
    return " ".join(kept)
