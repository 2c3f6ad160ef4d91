"""`openmps ops`: which operators of the installed torch a Mac has. torch itself is not imported."""

from __future__ import annotations

import difflib
import fnmatch
import json
from collections import Counter
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from openmps.device.rules import installed_operators
from openmps.errors import OpenmpsError
from openmps.mac.operators import Operator, Operators, Status

_STYLES = {Status.FALLS_BACK: "yellow", Status.MISSING: "red"}
_WIDTH_OF_A_PIPE = 200  # no name is folded: what comes next may be grep


def list_operators(pattern: str, *, as_json: bool) -> None:
    operators = installed_operators(_torch_folder())
    found = find(operators, pattern)
    if as_json:
        print(json.dumps(_as_json(found, operators), indent=2))
    else:
        _print_table(found)


def find(operators: Operators, pattern: str) -> list[Operator]:
    """Those whose name contains the pattern, or matches it as a glob; "aten::" may be left out."""
    wanted = pattern.strip().lower()
    glob = wanted if any(sign in wanted for sign in "*?[") else f"*{wanted}*"
    found = [
        operator
        for operator in operators.dense.values()
        if any(fnmatch.fnmatchcase(name.lower(), glob) for name in _names(operator))
    ]
    if not found:
        bare = {_names(operator)[1] for operator in operators.dense.values()}
        close = difflib.get_close_matches(wanted.strip("*"), sorted(bare), n=3, cutoff=0.5)
        raise OpenmpsError(
            "no operator has such a name",
            found=repr(pattern),
            next_step=("did you mean " + ", ".join(close))
            if close
            else "use a part of a name, such as conv, or a glob, such as 'linalg_*'",
        )
    return sorted(found, key=lambda operator: operator.name)


def _names(operator: Operator) -> tuple[str, str]:
    return operator.name, operator.name.split("::", 1)[1]


def _torch_folder() -> Path:
    spec = find_spec("torch")
    if spec is None or spec.origin is None:
        raise OpenmpsError(
            "torch is not installed, and its operators are what this lists",
            next_step="install torch into this Python",
        )
    return Path(spec.origin).parent


def _print_table(operators: list[Operator]) -> None:
    console = Console()
    if not console.is_terminal:
        console = Console(width=_WIDTH_OF_A_PIPE)
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("operator", overflow="fold")
    table.add_column("status", no_wrap=True)
    table.add_column("the error names", overflow="fold")
    for operator in operators:
        table.add_row(
            escape(operator.name),
            operator.status.value,
            escape(operator.refused_as),
            style=_STYLES.get(operator.status),
        )
    console.print(table)
    counts = ", ".join(f"{count} {status}" for status, count in _counts(operators).items())
    noun = "operator" if len(operators) == 1 else "operators"
    console.print(
        f"{len(operators)} {noun} with torch {version('torch')}: {counts}",
        markup=False,
        highlight=False,
    )


def _counts(operators: list[Operator]) -> dict[str, int]:
    counts = Counter(operator.status for operator in operators)
    return {status.value: counts[status] for status in Status}


def _as_json(found: list[Operator], operators: Operators) -> dict[str, object]:
    return {
        "torch": version("torch"),
        "counts": _counts(found),
        "operators": [
            {
                "name": operator.name,
                "status": operator.status.value,
                "error_names": operator.refused_as or None,
                "sparse": operator.name in operators.sparse,
            }
            for operator in found
        ],
    }
