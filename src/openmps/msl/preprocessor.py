"""Directives, as Metal's compiler sees them; macros.py expands. Every token keeps its place.

Our own, because the target's preprocessor would bring its own macros, open any file that a shader
names, and lose the columns that error messages need.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from openmps.msl.conditions import evaluate
from openmps.msl.diagnostics import refuse
from openmps.msl.lexer import tokenize
from openmps.msl.macros import Macros, spelling
from openmps.msl.source import SourceFile, Token

# Gives the text of a header, or None if there is none of that name: (name, file that asks).
FindHeader = Callable[[str, SourceFile], "SourceFile | None"]

DEEPEST_INCLUDE = 100

TENSOR_HEADERS = ("MetalPerformancePrimitives/", "metal_tensor", "metal_cooperative_tensor")

# Names that the kernels' own headers define: `#ifdef M_PI_F` must see them, nothing expands here.
BUILT_IN = frozenset(
    [
        "INFINITY",
        "NAN",
        "HUGE_VALF",
        "MAXFLOAT",
        "FLT_MAX",
        "FLT_MIN",
        "FLT_EPSILON",
        "M_PI_F",
        "M_PI_2_F",
        "M_PI_4_F",
        "M_E_F",
        "M_LOG2E_F",
        "M_LOG10E_F",
        "M_LN2_F",
        "M_LN10_F",
        "M_1_PI_F",
        "M_2_PI_F",
        "M_2_SQRTPI_F",
        "M_SQRT2_F",
        "M_SQRT1_2_F",
        "MAXHALF",
        "HALF_MAX",
        "HALF_MIN",
        "M_PI_H",
        "HUGE_VALH",
        "INT_MAX",
        "INT_MIN",
        "UINT_MAX",
        "LONG_MAX",
        "LONG_MIN",
        "ULONG_MAX",
        "CHAR_BIT",
        "METAL_FUNC",
        "METAL_CONST",
        "METAL_INTERNAL",
    ]
)


class Preprocessor:
    def __init__(self, defines: Mapping[str, str], find_header: FindHeader) -> None:
        self._macros = Macros(defines)
        self._find_header = find_header
        self._seen_once: set[str] = set()

    def run(self, file: SourceFile) -> list[Token]:
        out: list[Token] = []
        self._file(file, out, 0)
        return out

    # ---- directives

    def _file(self, file: SourceFile, out: list[Token], depth: int) -> None:
        if depth > DEEPEST_INCLUDE:
            refuse(file.place(0), "#include nested too deeply")
        # Each entry: [this branch is read, some branch was read, the #if token]
        branches: list[tuple[bool, bool, Token]] = []
        reading = True
        text: list[Token] = []
        for line in tokenize(file):
            if not line or line[0].text != "#" or line[0].kind != "operator":
                if reading:
                    text += line
                continue
            if len(line) == 1:
                continue
            word = line[1].text
            if word in ("if", "ifdef", "ifndef"):
                if text:
                    self._macros.expand(text, out)
                    text = []
                taken = reading and self._condition(word, line)
                # Inside a skipped branch every alternative counts as taken before.
                branches.append((taken, taken or not reading, line[0]))
                reading = taken
            elif word in ("elif", "else", "endif", "elifdef", "elifndef"):
                if not branches:
                    refuse(line[0].place, f"#{word} without #if")
                if text:
                    self._macros.expand(text, out)
                    text = []
                _, done, opening = branches.pop()
                outer = all(branch[0] for branch in branches)
                if word == "endif":
                    reading = outer
                else:
                    kind = {"elifdef": "ifdef", "elifndef": "ifndef"}.get(word, "if")
                    taken = outer and not done and (word == "else" or self._condition(kind, line))
                    branches.append((taken, done or taken, opening))
                    reading = taken
            elif reading:
                if text:
                    self._macros.expand(text, out)
                    text = []
                self._directive(word, line, file, out, depth)
        if branches:
            refuse(branches[-1][2].place, "unterminated conditional directive")
        if text:
            self._macros.expand(text, out)

    def _directive(
        self, word: str, line: list[Token], file: SourceFile, out: list[Token], depth: int
    ) -> None:
        if word == "define":
            self._macros.define(line)
        elif word == "undef":
            if len(line) > 2:
                self._macros.known.pop(line[2].text, None)
        elif word in ("include", "import"):
            self._include(line, file, out, depth, once=word == "import")
        elif word == "pragma":
            self._pragma(line, file, out)
        elif word == "error":
            said = spelling(line[2:])
            refuse(line[1].place, f'"{said}"' if said else "#error")
        elif word not in ("warning", "line", "ident", "region", "endregion"):
            refuse(line[1].place, "invalid preprocessing directive")

    def _condition(self, word: str, line: list[Token]) -> bool:
        rest = line[2:]
        if word != "if":
            if not rest or rest[0].kind != "id":
                refuse(line[1].place, "macro name missing")
            return self._is_defined(rest[0].text) == (word == "ifdef")
        if not rest:
            refuse(line[1].place, "expected value in expression")
        resolved: list[Token] = []
        at = 0
        while at < len(rest):
            token = rest[at]
            if token.text == "defined":
                named = rest[at + 1 : at + 4]
                if named and named[0].text == "(" and len(named) == 3 and named[2].text == ")":
                    name, at = named[1].text, at + 4
                elif named and named[0].kind == "id":
                    name, at = named[0].text, at + 2
                else:
                    refuse(token.place, "macro name missing after 'defined'")
                resolved.append(token.like("1" if self._is_defined(name) else "0", "number"))
            elif token.text in ("__has_include", "__has_include_next"):
                end = next((k for k in range(at, len(rest)) if rest[k].text == ")"), len(rest) - 1)
                name = "".join(t.text for t in rest[at + 2 : end]).strip('<>"')
                there = _is_metal_header(name) or self._find_header(name, token.file) is not None
                resolved.append(token.like("1" if there else "0", "number"))
                at = end + 1
            elif token.text in ("__has_builtin", "__has_feature", "__has_extension",
                                "__has_attribute", "__has_cpp_attribute"):  # fmt: skip
                end = next((k for k in range(at, len(rest)) if rest[k].text == ")"), len(rest) - 1)
                resolved.append(token.like("0", "number"))
                at = end + 1
            else:
                resolved.append(token)
                at += 1
        expanded: list[Token] = []
        self._macros.expand(resolved, expanded)
        return evaluate(expanded, line[1]) != 0

    def _is_defined(self, name: str) -> bool:
        return name in self._macros.known or name in BUILT_IN or name in ("__LINE__", "__FILE__")

    def _include(
        self, line: list[Token], file: SourceFile, out: list[Token], depth: int, once: bool
    ) -> None:
        rest = line[2:]
        if rest and rest[0].kind == "id":
            expanded: list[Token] = []
            self._macros.expand(rest, expanded)
            rest = expanded
        if rest and rest[0].kind == "string":
            name = rest[0].text[1:-1]
        elif rest and rest[0].text == "<":
            end = next((k for k, t in enumerate(rest) if t.text == ">"), None)
            if end is None:
                refuse(rest[0].place, "expected '>'")
            name = file.text[rest[0].position + 1 : rest[end].position].strip()
            if rest[0].file is not file:
                name = "".join(token.text for token in rest[1:end])
        else:
            refuse(line[1].place, 'expected "FILENAME" or <FILENAME>')
        if name.startswith(TENSOR_HEADERS):
            refuse(
                rest[0].place,
                f"<{name}>: Metal 4 tensors are not supported",
                next_step="use simdgroup_matrix (8x8), which works on every Mac with Apple silicon",
            )
        if _is_metal_header(name):
            return
        header = self._find_header(name, file)
        if header is None:
            refuse(
                rest[0].place,
                f"'{name}' file not found",
                next_step="a shader may include <metal_*> and torch's <c10/metal/*>; paste other "
                "headers into the source",
            )
        if header.name in self._seen_once:
            return
        if once:
            self._seen_once.add(header.name)
        self._file(header, out, depth + 1)

    def _pragma(self, line: list[Token], file: SourceFile, out: list[Token]) -> None:
        words = [token.text for token in line[2:4]]
        if words[:1] == ["once"]:
            self._seen_once.add(file.name)
        elif words[:1] == ["unroll"] or words == ["clang", "loop"]:
            expanded: list[Token] = []
            self._macros.expand(line[2:], expanded)
            text = "#pragma " + spelling(expanded)
            out.append(line[0].like(text, "pragma"))


def _is_metal_header(name: str) -> bool:
    return name.startswith(("metal_", "simd/", "metal/")) or name in (
        "metal", "simd", "TargetConditionals.h", "Availability.h",
    )  # fmt: skip
