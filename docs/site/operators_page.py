"""The page of operators, and its data: the installed torch's table, as `openmps ops` reads it."""

from __future__ import annotations

import csv
import json
from collections import Counter
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

from openmps.device.rules import installed_operators
from openmps.mac.operators import Operator, Status

_FIRST_READ = "2.11"
_MEANING = {
    Status.NATIVE: "has a kernel for Macs",
    Status.COMPOSITE: "is made of other operators, each with a status of its own",
    Status.FALLS_BACK: "always runs on the CPU, with a warning",
    Status.MISSING: "raises `NotImplementedError`, or runs on the CPU where "
    "`PYTORCH_ENABLE_MPS_FALLBACK=1` is set",
}

_PAGE = """\
# Operators

What a Mac does with each operator of torch {torch}. This page is made from the table that the torch
wheel carries; `openmps ops` prints the same for the torch that you have.

| status | operators | |
| --- | --- | --- |
{counts}

<div id="operators" markdown>
<noscript>The list needs JavaScript; `openmps ops` prints it.</noscript>
</div>

*since*: the first torch release whose Mac build has a kernel of its own, of those read: 2.11, 2.12,
2.13 and 2.15. *the error names*: where that is not the operator itself. Sparse tensors and dtypes
have rules of their own.

<script src="assets/operators.js"></script>
"""


def operators_page() -> str:
    counts = Counter(operator.status for operator in _operators())
    rows = [f"| {each.value} | {counts[each]} | {_MEANING[each]} |" for each in Status]
    return _PAGE.format(torch=_release(), counts="\n".join(rows))


def operators_data() -> str:
    """A script that holds every operator: names of one status in one string, to keep it small."""
    since = native_since()
    names: dict[str, list[str]] = {status.value: [] for status in Status}
    for operator in sorted(_operators()):
        fields = [operator.name.removeprefix("aten::"), _since(operator, since), _error(operator)]
        names[operator.status.value].append("|".join(fields).rstrip("|"))
    joined = {status: " ".join(listed) for status, listed in names.items()}
    return f"const OPERATORS = {json.dumps(joined)};\n"


def native_since() -> dict[str, str]:
    with Path(__file__).with_name("native_since.csv").open() as file:
        rows = csv.DictReader(line for line in file if not line.startswith("#"))
        return {row["operator"]: row["torch"] for row in rows}


def _since(operator: Operator, since: dict[str, str]) -> str:
    if operator.name in since:
        return since[operator.name]
    known = operator.status is Status.NATIVE and operator.name.startswith("aten::")
    return _FIRST_READ if known else ""


def _error(operator: Operator) -> str:
    named = operator.refused_as.removeprefix("aten::")
    return "" if operator.refused_as == operator.name else named


def _operators() -> list[Operator]:
    spec = find_spec("torch")
    assert spec is not None
    assert spec.origin is not None
    return list(installed_operators(Path(spec.origin).parent).dense.values())


def _release() -> str:
    return version("torch").split("+")[0]
