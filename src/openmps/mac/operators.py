"""Which operators a Mac has: read from the installed torch, so every release has its own truth.

torch's packaged `native_functions.yaml` names the devices that each operator has a kernel for. What
it does not say (registrations made by hand in the Mac build, other libraries) is written below.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from enum import Enum
from typing import NamedTuple


class Status(str, Enum):
    NATIVE = "native"  # has a kernel for Macs
    COMPOSITE = "composite"  # made of other operators, which may be missing themselves
    FALLS_BACK = "falls back"  # always runs on the CPU, with a warning
    MISSING = "missing"  # an error, or the CPU where PYTORCH_ENABLE_MPS_FALLBACK is set


class Operator(NamedTuple):
    name: str  # as the dispatcher knows it: "aten::add.Tensor"
    status: Status
    refused_as: str = ""  # the name in the error of a missing operator: often that of its out form


class Operators(NamedTuple):
    dense: dict[str, Operator]
    sparse: frozenset[str]  # names with a kernel for sparse mps tensors


# MPSFallback.mm registers these to run on the CPU whatever the variable says; and once the second
# one has a kernel for Macs, no longer.
_ALWAYS_ON_CPU = {
    "aten::embedding_renorm_": "",
    "aten::linalg_svd": "aten::_linalg_svd.U",
    "aten::linalg_svd.U": "aten::_linalg_svd.U",
}

# Registered by torch's Python code, on every platform.
_IN_PYTHON = ("aten::linalg_lu_solve.out", "aten::linalg_lu_solve")

# Kernels for Macs that other libraries bring, in their Mac builds.
_ELSEWHERE = (
    "torchvision::nms",
    "torchvision::roi_align",
    "torchvision::_roi_align_backward",
    "torchvision::roi_pool",
    "torchvision::_roi_pool_backward",
    "torchvision::ps_roi_align",
    "torchvision::_ps_roi_align_backward",
    "torchvision::ps_roi_pool",
    "torchvision::_ps_roi_pool_backward",
)

_COMPOSITE_KEYS = (
    "CompositeImplicitAutograd",
    "CompositeExplicitAutograd",
    "CompositeExplicitAutogradNonFunctional",
)


class _Entry(NamedTuple):
    """One function of the file, as far as devices go."""

    name: str
    decomposes: bool  # into other operators, on every device and under autograd, too
    keys: frozenset[str]
    delegate: str  # the out form that a structured function is generated from
    generated: tuple[str, ...]


def read_operators(native_functions: str) -> Operators:
    """The operators of the torch whose `native_functions.yaml` this is."""
    entries = {entry.name: entry for entry in _entries(native_functions)}
    dense = {}
    for entry in entries.values():
        dense[f"aten::{entry.name}"] = _classify(entry, entries)
        for name in entry.generated:
            dense.setdefault(f"aten::{name}", Operator(f"aten::{name}", Status.COMPOSITE))
    for name, until in _ALWAYS_ON_CPU.items():
        if name in dense and (not until or dense[until].status is not Status.NATIVE):
            dense[name] = Operator(name, Status.FALLS_BACK)
    for name in (*_IN_PYTHON, *_ELSEWHERE):
        dense[name] = Operator(name, Status.NATIVE)
    sparse = frozenset(
        f"aten::{entry.name}"
        for entry in entries.values()
        if _has_kernel(entry, entries, "SparseMPS")
    )
    return Operators(dense, sparse)


def _classify(entry: _Entry, entries: dict[str, _Entry]) -> Operator:
    name = f"aten::{entry.name}"
    if _has_kernel(entry, entries, "MPS"):
        return Operator(name, Status.NATIVE)
    if entry.decomposes or _is_composite(entry):
        return Operator(name, Status.COMPOSITE)
    if entry.delegate:
        if _is_composite(entries[entry.delegate]):
            return Operator(name, Status.COMPOSITE)
        # A generated wrapper calls the out form, so that is what the error names.
        return Operator(name, Status.MISSING, f"aten::{entry.delegate}")
    return Operator(name, Status.MISSING, name)


def _is_composite(entry: _Entry) -> bool:
    return any(key in entry.keys for key in _COMPOSITE_KEYS)


def _has_kernel(entry: _Entry, entries: dict[str, _Entry], key: str) -> bool:
    if key in entry.keys:
        return True
    return bool(entry.delegate) and key in entries[entry.delegate].keys


# The file is YAML, of which it uses four kinds of lines. PyYAML is not among torch's dependencies.
_FUNCTION = re.compile(r"- func: ([\w.]+)\(")
_FIELD = re.compile(r"  (\w+):\s*(.*)")
_KERNEL = re.compile(r"    ([\w, ]+): ")


def _entries(text: str) -> Iterator[_Entry]:
    name, keys, fields = "", set[str](), dict[str, str]()
    field = ""
    for line in text.splitlines():
        if function := _FUNCTION.match(line):
            if name:
                yield _entry(name, keys, fields)
            name, keys, fields, field = function[1], set(), {}, ""
        elif match := _FIELD.match(line):
            field = match[1]
            fields[field] = match[2].split("#")[0].strip()
        elif field == "dispatch" and (kernel := _KERNEL.match(line)):
            keys.update(part.strip() for part in kernel[1].split(","))
    if name:
        yield _entry(name, keys, fields)


def _entry(name: str, keys: set[str], fields: dict[str, str]) -> _Entry:
    delegate = fields.get("structured_delegate", "")
    # `dispatch: {}` means no kernel at all; only a function that says nothing decomposes.
    decomposes = "CompositeImplicitAutograd" in keys or not ("dispatch" in fields or delegate)
    generated = _names(fields.get("autogen", ""))
    # torchgen makes no forms of what decomposes, unless it is a core operator.
    if decomposes and "core" not in _names(fields.get("tags", "")):
        generated = ()
    return _Entry(name, decomposes, frozenset(keys), delegate, generated)


def _names(listed: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in listed.strip("[]").split(",") if part.strip())
