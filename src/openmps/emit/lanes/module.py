"""The module around the function of 32 lanes: its entry, what it keeps of the thread's module, and
what it declares."""

from __future__ import annotations

import re

from openmps.emit.ir.model import Function, Module, UnsupportedIR
from openmps.emit.ir.text import Cursor
from openmps.emit.lanes.values import LIVE, MASK, Writer

SIMDGROUP = "openmps_simdgroup"
VARIABLES = "openmps_variables"  # exported: the bytes that variables in threadgroup memory take
# Of these two a simdgroup runs one.
WHOLE = "openmps_whole_simdgroup"
PART = "openmps_part_of_simdgroup"
# What a stack is aligned to: no vector that is spilled then crosses one.
CACHE_LINE = 64
# Frames are touched page by page: none can jump over the guard below a stack.
_PROBES = '"probe-stack"="inline-asm"'
_THREAD_LOCAL = re.compile(r" thread_local[ (]")
_KEPT_ATTRIBUTES = ("target-cpu", "target-features", "tune-cpu")


def module_text(module: Module, function: Function, whole: Writer, part: Writer) -> str:
    """`whole` is written for a simdgroup of 32 threads, `part` for the last of a threadgroup, which
    may have fewer: what it is told is `%live`, the mask of those that there are."""
    bodies = ["\n".join([*writer.allocas, *writer.lines]) for writer in (whole, part)]
    attributes = f"nounwind {_attributes(function.attributes)}"
    helper_attributes = " ".join(_stack_attributes(function.attributes))
    aligned = f"noinline alignstack({CACHE_LINE}) {attributes}"
    helpers = [
        text for name, text in module.definitions.items() if any(f"@{name}(" in b for b in bodies)
    ]
    declared = {**whole.declarations, **part.declarations}
    declared = {n: d for n, d in declared.items() if n not in module.definitions}
    for name, line in module.declarations.items():
        if any(f"@{name}(" in text for text in (*bodies, *helpers)):
            declared.setdefault(name, re.sub(r" #\d+$", "", line))
    for variable in whole.variable_bytes:
        if any(variable in text for text in helpers):
            raise UnsupportedIR("threadgroup memory in a function that was not inlined", variable)
        if any(re.search(re.escape(variable) + r"(?![\w.$])", text) for text in bodies):
            raise UnsupportedIR("the address of a variable in threadgroup memory", variable)
    parameters = "ptr %launch, ptr %threadgroup, i32 %simdgroup"
    lines = [
        *module.header,
        "",
        *(g for g in module.globals if not _THREAD_LOCAL.search(g) and g[:6] != "@llvm."),
        f"@{VARIABLES} = constant i32 {whole.threadgroup_bytes}",
        "",
        *(_with_attributes(helper, helper_attributes) for helper in helpers),
        f"define internal void @{WHOLE}({parameters}) {aligned} {{",
        bodies[0],
        "}",
        "",
        f"define internal void @{PART}({parameters}, i32 %left) {aligned} {{",
        "  %bit = shl i32 1, %left",
        "  %bits = sub i32 %bit, 1",
        f"  {LIVE} = bitcast i32 %bits to {MASK}",
        bodies[1],
        "}",
        "",
        f"define void @{SIMDGROUP}({parameters}) {attributes} {{",
        "  %address = getelementptr i8, ptr %threadgroup, i64 24",
        "  %threads = load i32, ptr %address, align 4",
        "  %first = shl i32 %simdgroup, 5",
        "  %left = sub i32 %threads, %first",
        "  %all = icmp uge i32 %left, 32",
        "  br i1 %all, label %whole, label %part",
        "whole:",
        f"  tail call void @{WHOLE}(ptr %launch, ptr %threadgroup, i32 %simdgroup)",
        "  ret void",
        "part:",
        f"  tail call void @{PART}(ptr %launch, ptr %threadgroup, i32 %simdgroup, i32 %left)",
        "  ret void",
        "}",
        "",
        *sorted(set(declared.values())),
        "",
        '!0 = !{!"branch_weights", i32 2000, i32 1}',
        "",
    ]
    return "\n".join(lines)


_METADATA = re.compile(r", ![\w.]+ !\d+")


def _with_attributes(helper: str, attributes: str) -> str:
    """A function that was not inlined, without what the module around it no longer lists."""
    head, _, body = helper.partition("\n")
    head, groups = re.subn(r" #\d+(?= )", f" {attributes}", head)
    if groups != 1:
        raise UnsupportedIR("a function without a group of attributes", head)
    body = re.sub(r" #\d+(?=$|,)", "", _METADATA.sub("", body), flags=re.M)
    if found := re.search(r"^.*[ (](?:#|!)\d.*$", body, re.M):
        raise UnsupportedIR("metadata in a function that was not inlined", found[0])
    return f"{head}\n{body}"


def variable_bytes(module: Module) -> dict[str, int]:
    """The sizes of the module's thread_local variables: threadgroup memory, before the pass."""
    found = {}
    for line in module.globals:
        if not _THREAD_LOCAL.search(line):
            continue
        name = line.partition(" = ")[0]
        kind = re.search(r" (?:global|constant) ", line)
        if kind is None:
            raise UnsupportedIR("a thread_local variable", line)
        found[name] = Cursor(line, module.types, kind.end()).type().size
    return found


def _stack_attributes(attributes: str) -> list[str]:
    return [_PROBES, "safestack"] if "safestack" in attributes else [_PROBES]


def _attributes(quoted: str) -> str:
    kept = [
        f'"{key}"="{value}"'
        for key, value in re.findall(r'"([^"]*)"="([^"]*)"', quoted)
        if key in _KEPT_ATTRIBUTES
    ]
    if not kept:
        raise UnsupportedIR("a function that does not name its processor", quoted)
    kept += _stack_attributes(quoted)
    if "+avx512f" in quoted:
        kept += ['"prefer-vector-width"="512"', '"min-legal-vector-width"="512"']
    return " ".join(kept)
