"""Runs a page's Python blocks in order in one namespace: python run_blocks.py BLOCKS.json

A `print(...)  # text` must print that text. The page's line numbers are those of the errors.
"""

from __future__ import annotations

import ast
import contextlib
import io
import json
import sys
from pathlib import Path


def run_block(page: str, line: int, text: str, namespace: dict[str, object]) -> None:
    lines = text.splitlines()
    for statement in ast.parse(text).body:
        printed = io.StringIO()
        module = ast.increment_lineno(ast.Module([statement], []), line - 1)
        with contextlib.redirect_stdout(printed):
            exec(compile(module, page, "exec"), namespace)
        _, comment, shown = lines[statement.end_lineno - line].partition("  # ")
        if comment and _is_print(statement):
            told = printed.getvalue().rstrip("\n")
            place = f"{page}:{statement.end_lineno}"
            assert told == shown, f"{place} prints {told!r}, and the page says {shown!r}"


def _is_print(statement: ast.stmt) -> bool:
    return (
        isinstance(statement, ast.Expr)
        and isinstance(statement.value, ast.Call)
        and isinstance(statement.value.func, ast.Name)
        and statement.value.func.id == "print"
    )


def main() -> None:
    namespace: dict[str, object] = {"__name__": "__main__"}
    for page, line, text in json.loads(Path(sys.argv[1]).read_text()):
        run_block(page, line, text, namespace)


if __name__ == "__main__":
    main()
