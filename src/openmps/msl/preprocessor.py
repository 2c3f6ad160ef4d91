"""Directives and macros, as Metal's compiler sees them. Every token keeps its place.

Our own, because the target's preprocessor would bring its own macros, open any file that a shader
names, and lose the columns that error messages need.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from openmps.msl.conditions import evaluate
from openmps.msl.diagnostics import refuse
from openmps.msl.lexer import tokenize
from openmps.msl.source import SourceFile, Token

# Gives the text of a header, or None if there is none of that name: (name, file that asks).
FindHeader = Callable[[str, SourceFile], "SourceFile | None"]

DEEPEST_INCLUDE = 100
MOST_TOKENS = 2_000_000

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


@dataclass(frozen=True)
class Macro:
    name: str
    body: tuple[Token, ...]
    parameters: tuple[str, ...] | None = None  # None: takes no parentheses
    variadic: bool = False


class Preprocessor:
    def __init__(self, defines: Mapping[str, str], find_header: FindHeader) -> None:
        self._macros: dict[str, Macro] = {}
        self._find_header = find_header
        self._seen_once: set[str] = set()
        self._counter = 0
        self._made = 0
        for name, value in defines.items():
            body = tokenize(SourceFile("<built-in>", value))[0]
            self._macros[name] = Macro(name, tuple(body))

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
                    self._expand_into(text, out)
                    text = []
                taken = reading and self._condition(word, line)
                # Inside a skipped branch every alternative counts as taken before.
                branches.append((taken, taken or not reading, line[0]))
                reading = taken
            elif word in ("elif", "else", "endif", "elifdef", "elifndef"):
                if not branches:
                    refuse(line[0].place, f"#{word} without #if")
                if text:
                    self._expand_into(text, out)
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
                    self._expand_into(text, out)
                    text = []
                self._directive(word, line, file, out, depth)
        if branches:
            refuse(branches[-1][2].place, "unterminated conditional directive")
        if text:
            self._expand_into(text, out)

    def _directive(
        self, word: str, line: list[Token], file: SourceFile, out: list[Token], depth: int
    ) -> None:
        if word == "define":
            self._define(line)
        elif word == "undef":
            if len(line) > 2:
                self._macros.pop(line[2].text, None)
        elif word in ("include", "import"):
            self._include(line, file, out, depth, once=word == "import")
        elif word == "pragma":
            self._pragma(line, file, out)
        elif word == "error":
            said = _spelling(line[2:])
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
        self._expand_into(resolved, expanded)
        return evaluate(expanded, line[1]) != 0

    def _is_defined(self, name: str) -> bool:
        return name in self._macros or name in BUILT_IN or name in ("__LINE__", "__FILE__")

    def _define(self, line: list[Token]) -> None:
        if len(line) < 3 or line[2].kind != "id":
            refuse(line[1].place, "macro name missing")
        name, rest = line[2], line[3:]
        if name.text == "defined":
            refuse(name.place, "'defined' cannot be used as a macro name")
        if not rest or rest[0].text != "(" or rest[0].space:
            self._macros[name.text] = Macro(name.text, tuple(rest))
            return
        parameters: list[str] = []
        variadic = False
        at = 1
        while at < len(rest) and rest[at].text != ")":
            token = rest[at]
            if token.text == "...":
                variadic = True
                parameters.append("__VA_ARGS__")
            elif token.kind == "id":
                parameters.append(token.text)
                if at + 1 < len(rest) and rest[at + 1].text == "...":
                    variadic = True
                    at += 1
            else:
                refuse(token.place, "invalid token in macro parameter list")
            at += 1
            if at < len(rest) and rest[at].text == ",":
                at += 1
            elif at < len(rest) and rest[at].text != ")":
                refuse(rest[at].place, "expected comma in macro parameter list")
        if at >= len(rest):
            refuse(name.place, "missing ')' in macro parameter list")
        self._macros[name.text] = Macro(
            name.text, tuple(rest[at + 1 :]), tuple(parameters), variadic
        )

    def _include(
        self, line: list[Token], file: SourceFile, out: list[Token], depth: int, once: bool
    ) -> None:
        rest = line[2:]
        if rest and rest[0].kind == "id":
            expanded: list[Token] = []
            self._expand_into(rest, expanded)
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
            self._expand_into(line[2:], expanded)
            text = "#pragma " + _spelling(expanded)
            out.append(line[0].like(text, "pragma"))

    # ---- macros

    def _expand_into(self, tokens: list[Token], out: list[Token]) -> None:
        """Appends `tokens`, macros expanded, to `out`."""
        macros = self._macros
        pending = tokens[::-1]  # a stack: the next token is the last
        while pending:
            token = pending.pop()
            name = token.text
            if token.kind != "id" or name in token.hidden:
                out.append(token)
                continue
            macro = macros.get(name)
            if macro is None:
                if name.startswith("__") or name == "_Pragma":
                    self._special(token, pending, out)
                else:
                    out.append(token)
                continue
            if macro.parameters is None:
                body = self._place_body(macro, token, {}, {})
            else:
                if not pending or pending[-1].text != "(":
                    out.append(token)
                    continue
                given = self._arguments(macro, token, pending)
                expanded = {}
                for key, argument in given.items():
                    result: list[Token] = []
                    self._expand_into(argument, result)
                    expanded[key] = result
                body = self._place_body(macro, token, given, expanded)
            self._made += len(body)
            if self._made > MOST_TOKENS:
                refuse(token.place, f"macro '{name}' expands to too many tokens")
            body.reverse()
            pending += body

    def _special(self, token: Token, pending: list[Token], out: list[Token]) -> None:
        name = token.text
        if name == "__LINE__":
            out.append(token.like(str(token.place.line), "number"))
        elif name == "__FILE__":
            quoted = token.file.name.replace("\\", "\\\\").replace('"', '\\"')
            out.append(token.like(f'"{quoted}"', "string"))
        elif name == "__COUNTER__":
            out.append(token.like(str(self._counter), "number"))
            self._counter += 1
        elif name in ("_Pragma", "__pragma") and pending and pending[-1].text == "(":
            while pending and pending[-1].text != ")":
                inner = pending.pop()
                if inner.kind == "string" and inner.text[1:].startswith(("clang loop", "unroll")):
                    words = inner.text[1:-1].replace('\\"', '"')
                    out.append(token.like("#pragma " + words, "pragma"))
            if pending:
                pending.pop()
        else:
            out.append(token)

    def _arguments(self, macro: Macro, call: Token, pending: list[Token]) -> dict[str, list[Token]]:
        """Takes `( ... )` off the stack and names its parts after the macro's parameters."""
        parameters = macro.parameters
        assert parameters is not None
        pending.pop()
        parts: list[list[Token]] = [[]]
        depth = 0
        while True:
            if not pending:
                refuse(call.place, f"unterminated call of macro '{macro.name}'")
            token = pending.pop()
            text = token.text
            if text == "(":
                depth += 1
            elif text == ")":
                if depth == 0:
                    break
                depth -= 1
            elif (
                text == ","
                and depth == 0
                and not (macro.variadic and len(parts) == len(parameters))
            ):
                parts.append([])
                continue
            parts[-1].append(token)
        if not parameters and parts == [[]]:
            return {}
        if macro.variadic and len(parts) == len(parameters) - 1:
            parts.append([])
        if len(parts) != len(parameters):
            few = "few" if len(parts) < len(parameters) else "many"
            refuse(call.place, f"too {few} arguments provided to macro '{macro.name}'")
        return dict(zip(parameters, parts, strict=True))

    def _place_body(
        self,
        macro: Macro,
        call: Token,
        given: dict[str, list[Token]],
        expanded: dict[str, list[Token]],
    ) -> list[Token]:
        """The macro's body at the place of its call, parameters replaced, # and ## done."""
        hidden = call.hidden | {macro.name}
        file, position = call.file, call.position
        body = macro.body
        out: list[Token] = []
        at, end = 0, len(body)
        while at < end:
            token = body[at]
            text = token.text
            if text == "#" and macro.parameters is not None and at + 1 < end:
                argument = given.get(body[at + 1].text)
                if argument is not None:
                    out.append(Token("string", _quote(_spelling(argument)), file, position))
                    at += 2
                    continue
            if text == "##" and out and at + 1 < end:
                right = body[at + 1]
                argument = given.get(right.text)
                pieces = [right] if argument is None else argument
                if argument is not None and out[-1].text == "," and right.text == "__VA_ARGS__":
                    # GNU: `, ## __VA_ARGS__` drops the comma if nothing follows.
                    if argument:
                        out += [self._moved(t, hidden, file, position) for t in argument]
                    else:
                        out.pop()
                elif pieces:
                    left = out.pop()
                    if left.kind == "nothing":
                        out.append(self._moved(pieces[0], hidden, file, position))
                    else:
                        out.append(self._pasted(left, pieces[0], hidden))
                    out += [self._moved(t, hidden, file, position) for t in pieces[1:]]
                at += 2
                continue
            if text == "__VA_OPT__" and macro.variadic and at + 1 < end:
                close = _matching(body, at + 1)
                if given.get("__VA_ARGS__"):
                    inner = Macro(macro.name, body[at + 2 : close], macro.parameters, True)
                    out += self._place_body(inner, call, given, expanded)
                at = close + 1
                continue
            if text in given:
                pasted_next = at + 1 < end and body[at + 1].text == "##"
                argument = given[text] if pasted_next else expanded[text]
                if argument:
                    out += [self._moved(t, hidden, file, position) for t in argument]
                elif pasted_next:
                    out.append(Token("nothing", "", file, position))
            else:
                out.append(Token(token.kind, text, file, position, token.space, hidden))
            at += 1
        return [token for token in out if token.kind != "nothing"]

    @staticmethod
    def _moved(token: Token, hidden: frozenset[str], file: SourceFile, position: int) -> Token:
        # An argument's own hidden set stays; the macro's name joins it only for its own tokens.
        return Token(token.kind, token.text, file, position, token.space, token.hidden)

    @staticmethod
    def _pasted(left: Token, right: Token, hidden: frozenset[str]) -> Token:
        joined = tokenize(SourceFile(left.file.name, left.text + right.text))[0]
        if len(joined) != 1:
            refuse(left.place, f"pasting formed '{left.text}{right.text}', an invalid token")
        return Token(joined[0].kind, joined[0].text, left.file, left.position, left.space, hidden)


def _is_metal_header(name: str) -> bool:
    return name.startswith(("metal_", "simd/", "metal/")) or name in (
        "metal", "simd", "TargetConditionals.h", "Availability.h",
    )  # fmt: skip


def _matching(body: tuple[Token, ...], opening: int) -> int:
    depth = 0
    for at in range(opening, len(body)):
        depth += (body[at].text == "(") - (body[at].text == ")")
        if depth == 0:
            return at
    refuse(body[opening].place, "missing ')' after __VA_OPT__")


def _spelling(tokens: list[Token]) -> str:
    parts: list[str] = []
    for number, token in enumerate(tokens):
        parts.append(" " + token.text if token.space and number else token.text)
    return "".join(parts)


def _quote(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
