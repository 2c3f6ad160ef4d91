"""The declarations of a program: what is kept, what is dropped, which functions are kernels.

No name is looked up and no type is known: only brackets, keywords and attributes are read. What
this misunderstands, the C++ compiler refuses afterwards at the right place.
"""

from __future__ import annotations

from dataclasses import dataclass

from openmps.msl.attributes import Attribute, fold_attributes
from openmps.msl.diagnostics import refuse
from openmps.msl.kernels import KernelDefinition, parse_parameters, types_only
from openmps.msl.rewrite import ADDRESS_SPACES, Rewriter
from openmps.msl.source import Token
from openmps.msl.tokens import closing_angle, partners

_CLASS_KEYS = frozenset({"struct", "class", "union", "enum"})
_NOT_PARAMETERS = frozenset(
    {"decltype", "alignas", "noexcept", "__attribute__", "sizeof", "explicit", "requires"}
)
_BEFORE_STORAGE = frozenset({"static", "volatile", "alignas", "const"})


@dataclass(frozen=True)
class Instantiation:
    """`template [[host_name("x")]] kernel void f<float>(...);`, or a plain kernel's own name."""

    host_name: str
    declarator: tuple[int, int]
    signature: str
    scope: tuple[str, ...]
    token: Token


@dataclass(frozen=True)
class _Declaration:
    begin: int
    end: int
    parameters: int | None  # the index of `(`
    body: int | None  # the index of a function's `{`
    class_body: int | None  # the index of a class's `{`
    head: int  # first token after `template <...>`


def refuse_foreign(tokens: list[Token]) -> None:
    """Nothing may reach the C++ compiler as a directive or as assembly: both can open files."""
    for token in tokens:
        if token.text in ("#", "##", "\\", "@") and token.kind == "operator":
            refuse(token.place, f"stray '{token.text}' in program")
        if token.kind == "id" and token.text in ("asm", "__asm", "__asm__"):
            refuse(token.place, "inline assembly is not part of the Metal language")


class Program:
    """Reads all declarations on construction; the results are its public attributes."""

    def __init__(self, tokens: list[Token]) -> None:
        refuse_foreign(tokens)
        self.tokens = tokens = fold_attributes(tokens)
        self.partner = partners(tokens)
        self._opening = {close: opening for opening, close in self.partner.items()}
        self.kernels: list[KernelDefinition] = []
        self.instantiations: list[Instantiation] = []
        self.bodies: dict[str, list[tuple[int, int]]] = {}  # function or class name: its tokens
        self.function_constants: dict[str, str] = {}  # name: index, a C++ expression
        self._members: set[str] = set()
        self._seen: dict[tuple[str, ...], str] = {}
        # (begin, end) of tokens to print, or C++ to print instead.
        self._plan: list[tuple[int, int] | Token] = []
        self._scope(0, len(tokens), (), in_class=False)
        self._rewriter = Rewriter(frozenset(self._members), self.function_constants)

    def rewritten(self) -> list[Token]:
        out: list[Token] = []
        for step in self._plan:
            if isinstance(step, Token):
                out.append(step)
            else:
                out += self._rewriter.rewrite(self.tokens[step[0] : step[1]])
        return out

    def rewrite_range(self, begin: int, end: int) -> str:
        return " ".join(t.text for t in self._rewriter.rewrite(self.tokens[begin:end]))

    # ---- declarations

    def _keep(self, begin: int, end: int) -> None:
        if begin < end:
            self._plan.append((begin, end))

    def _scope(self, begin: int, end: int, scope: tuple[str, ...], in_class: bool) -> None:
        at = begin
        while at < end:
            at = self._declaration(at, end, scope, in_class)

    def _declaration(self, at: int, end: int, scope: tuple[str, ...], in_class: bool) -> int:
        tokens = self.tokens
        token = tokens[at]
        text = token.text
        if text == ";" or token.kind == "pragma":
            self._keep(at, at + 1)
            return at + 1
        if in_class and text in ("public", "private", "protected"):
            self._keep(at, min(at + 2, end))
            return at + 2
        if text == "namespace" or (text == "inline" and self._text(at + 1) == "namespace"):
            return self._namespace(at, end, scope)
        if text == "extern" and self._kind(at + 1) == "string" and self._text(at + 2) == "{":
            close = self.partner[at + 2]
            self._keep(at, at + 3)
            self._scope(at + 3, close, scope, in_class)
            self._keep(close, close + 1)
            return close + 1
        if text in ("using", "typedef", "static_assert"):
            stop = self._semicolon(at, end)
            self._keep(at, stop)
            return stop
        found = self._measure(at, end)
        if tokens[found.head].text == "template":
            self._instantiation(found, scope)
        elif found.parameters is not None and (found.class_body is None):
            self._function(found, scope, in_class)
        elif found.class_body is not None:
            self._class(found, scope, in_class)
        else:
            self._variable(found, in_class)
        return found.end

    def _namespace(self, at: int, end: int, scope: tuple[str, ...]) -> int:
        name: list[str] = []
        position = at
        while position < end and self._text(position) not in ("{", ";", "="):
            if self._kind(position) == "id" and self._text(position) not in ("namespace", "inline"):
                name.append(self._text(position))
            position += 1
        if position >= end or self._text(position) != "{":
            stop = self._semicolon(at, end)
            self._keep(at, stop)
            return stop
        close = self.partner[position]
        self._keep(at, position + 1)
        self._scope(position + 1, close, (*scope, *name), in_class=False)
        self._keep(close, close + 1)
        return close + 1

    def _semicolon(self, at: int, end: int) -> int:
        """Just past the `;` that ends the statement at `at`."""
        position = at
        while position < end:
            text = self._text(position)
            if text in ("(", "[", "{"):
                position = self.partner.get(position, position)
            elif text == ";":
                return position + 1
            position += 1
        refuse(self.tokens[min(end, len(self.tokens)) - 1].place, "expected ';'")

    def _measure(self, begin: int, end: int) -> _Declaration:
        """Where the declaration at `begin` ends, and what it is made of."""
        tokens, partner = self.tokens, self.partner
        at = begin
        while self._text(at) == "template" and self._text(at + 1) == "<":
            close = closing_angle(tokens, at + 1, end, partner)
            if close is None:
                refuse(tokens[at + 1].place, "expected '>'")
            at = close + 1
        head = min(at, end - 1)
        parameters = body = class_body = None
        is_class = assigned = False
        while at < end:
            token = tokens[at]
            text = token.text
            if token.kind == "id":
                if text in _CLASS_KEYS and parameters is None and not assigned:
                    is_class = True
                elif text == "operator":
                    at = self._after_operator_name(at, end)
                    continue
            elif token.kind == "operator":
                if text == "<" and not assigned and tokens[at - 1].kind == "id":
                    close = closing_angle(tokens, at, end, partner)
                    if close is not None:
                        at = close + 1
                        continue
                elif text == "(":
                    before = self._text(at - 1) if at > begin else ""
                    if parameters is None and not assigned and before not in _NOT_PARAMETERS:
                        parameters = at
                    at = partner[at]
                elif text == "[":
                    at = partner[at]
                elif text == "=":
                    assigned = True
                elif text == ":" and parameters is not None and not assigned:
                    at = self._after_member_initialisers(at + 1, end)
                    continue
                elif text == "{":
                    close = partner[at]
                    if assigned or (is_class and class_body is not None):
                        at = close
                    elif is_class and parameters is None:
                        class_body = at
                        at = close
                    elif parameters is not None:
                        body = at
                        return _Declaration(begin, close + 1, parameters, body, None, head)
                    else:
                        at = close
                elif text == ";":
                    return _Declaration(begin, at + 1, parameters, None, class_body, head)
            at += 1
        last = tokens[max(begin, min(at, len(tokens)) - 1)]
        refuse(last.place, "expected ';' after this declaration")

    def _after_operator_name(self, at: int, end: int) -> int:
        at += 1
        if self._text(at) == "(" and self._text(at + 1) == ")":
            return at + 2
        while at < end and self._text(at) not in ("(", ";", "{"):
            at += 1
        return at

    def _after_member_initialisers(self, at: int, end: int) -> int:
        """Past `a(1), b{2}`: the index of the constructor's body."""
        while at < end:
            while at < end and self._text(at) not in ("(", "{", ";"):
                if self._text(at) == "<":
                    close = closing_angle(self.tokens, at, end, self.partner)
                    at = close if close is not None else at
                at += 1
            if at >= end or self._text(at) == ";":
                return at
            at = self.partner[at] + 1
            if self._text(at) == "...":
                at += 1
            if self._text(at) != ",":
                return at
            at += 1
        return at

    # ---- kinds of declarations

    def _instantiation(self, found: _Declaration, scope: tuple[str, ...]) -> None:
        tokens = self.tokens
        host_name = self._host_name(found.begin, found.end)
        if host_name is None:
            # An instantiation that nobody can ask for by name.
            return
        end = found.end - 1
        at = found.head + 1
        while at < end and (tokens[at].kind == "attribute" or tokens[at].text == "kernel"):
            at += 1
        # The type: void, decltype(...), or the name of a function type.
        if self._text(at) == "decltype" and self._text(at + 1) == "(":
            at = self.partner[at + 1] + 1
        elif self._text(at) == "void":
            at += 1  # what follows may begin with `::`
        elif self._text(at) == "void":
            at += 1
        else:
            at += 1
            while self._text(at) == "::":
                at += 2
        while at < end and (tokens[at].kind == "attribute" or tokens[at].text == "kernel"):
            at += 1
        signature = ""
        stop = end
        if found.parameters is not None and found.parameters >= at:
            stop = found.parameters
            close = self.partner[stop]
            signature = types_only(tokens, stop + 1, close, self.partner)
        if at >= stop:
            refuse(tokens[found.begin].place, "expected the kernel to instantiate")
        self.instantiations.append(
            Instantiation(host_name, (at, stop), signature, scope, tokens[found.begin])
        )

    def _function(self, found: _Declaration, scope: tuple[str, ...], in_class: bool) -> None:
        tokens = self.tokens
        opening = found.parameters
        assert opening is not None
        closing = self.partner[opening]
        name = self._function_name(found.head, opening)
        body_begin = found.body if found.body is not None else found.end
        attributes = [t for t in tokens[found.begin : opening] if isinstance(t, Attribute)]
        is_kernel = not in_class and (
            any(t.text == "kernel" and t.kind == "id" for t in tokens[found.head : opening])
            or any("kernel" in attribute.names() for attribute in attributes)
        )
        if found.body is not None:
            self.bodies.setdefault(name, []).append((opening, found.end))
        if in_class:
            self._members.add(name)
        if self._is_repeated(found, scope, name, opening, closing, body_begin):
            return
        if is_kernel and found.body is not None:
            self._kernel(found, scope, name, attributes, opening, closing)
        at = found.begin
        for position in range(found.begin, opening):
            if tokens[position].text == "kernel" and tokens[position].kind == "id" and is_kernel:
                self._keep(at, position)
                at = position + 1
        self._keep(at, body_begin)
        if found.body is not None:
            self._body(found.body, found.end)

    def _kernel(
        self,
        found: _Declaration,
        scope: tuple[str, ...],
        name: str,
        attributes: list[Attribute],
        opening: int,
        closing: int,
    ) -> None:
        tokens = self.tokens
        max_threads: tuple[Token, ...] = ()
        for attribute in attributes:
            argument = attribute.argument("max_total_threads_per_threadgroup")
            if argument:
                max_threads = tuple(argument)
        names = self._template_parameters(found)
        if not any(t.text in ("void", "auto") for t in tokens[found.head : opening - 1]):
            refuse(
                tokens[opening - 1].place,
                "kernel must have void return type",
                kernel=name,
                next_step="return results through a buffer",
            )
        self.kernels.append(
            KernelDefinition(
                name=name,
                scope=scope,
                template_parameters=tuple(names),
                template_defaults=tuple(names.values()),
                is_template=found.head > found.begin and bool(names),
                parameters=parse_parameters(tokens, opening + 1, closing, self.partner, name),
                max_threads=max_threads,
                place=tokens[opening - 1].place,
                body=(opening, found.end),
            )
        )
        if not names:
            host_name = self._host_name(found.begin, opening)
            if host_name is None and found.head > found.begin:
                # An explicit specialisation: its primary template's instantiation names it.
                return
            self.instantiations.append(
                Instantiation(
                    host_name or name,
                    (opening - 1, opening),
                    types_only(tokens, opening + 1, closing, self.partner),
                    scope,
                    tokens[opening - 1],
                )
            )

    def _template_parameters(self, found: _Declaration) -> dict[str, str]:
        """The names in order, each with the text of its default."""
        names: dict[str, str] = {}
        tokens = self.tokens
        if self._text(found.begin) != "template":
            return names
        close = closing_angle(tokens, found.begin + 1, found.head, self.partner)
        assert close is not None
        depth, last = 0, ""
        default_begin = 0
        for at in range(found.begin + 2, close + 1):
            text = tokens[at].text
            if text == "<":
                depth += 1
            elif text in (">", ">>") and at < close:
                depth -= len(text)
            elif depth <= 0 and (text == "," or at == close):
                default = tokens[default_begin:at] if default_begin else []
                if last:
                    names[last] = " ".join(token.text for token in default)
                last, default_begin = "", 0
            elif depth <= 0 and text == "=":
                default_begin = at + 1
            elif tokens[at].kind == "id" and depth <= 0 and not default_begin:
                last = text
        return names

    def _is_repeated(
        self,
        found: _Declaration,
        scope: tuple[str, ...],
        name: str,
        opening: int,
        closing: int,
        body_begin: int,
    ) -> bool:
        """Whether this is an earlier function again, now that address spaces are gone."""
        tokens = self.tokens
        if not any(t.kind == "id" and t.text in ADDRESS_SPACES for t in tokens[opening:body_begin]):
            return False
        trailing = "const" if "const" in (t.text for t in tokens[closing:body_begin]) else ""
        key = (
            *scope,
            "definition" if found.body is not None else "declaration",
            self._erased(found.begin, found.head),
            self._erased(found.head, opening - 1),
            name,
            types_only(tokens, opening + 1, closing, self.partner),
            trailing,
        )
        body = self._erased(body_begin, found.end)
        if key not in self._seen:
            self._seen[key] = body
            return False
        if self._seen[key] != body and found.body is not None:
            refuse(
                tokens[opening - 1].place,
                f"overloads of '{name}' for different address spaces have different bodies",
                next_step="give them different names: openmps has one address space",
            )
        return True

    def _erased(self, begin: int, end: int) -> str:
        return " ".join(
            token.text
            for token in self.tokens[begin:end]
            if token.kind != "attribute"
            and token.text not in ADDRESS_SPACES
            and token.text not in ("inline", "static", "kernel", "METAL_FUNC")
        )

    def _class(self, found: _Declaration, scope: tuple[str, ...], in_class: bool) -> None:
        opening = found.class_body
        assert opening is not None
        closing = self.partner[opening]
        tokens = self.tokens
        head = [t.text for t in tokens[found.head : opening] if t.kind == "id"]
        if any(word in ADDRESS_SPACES for word in head):
            key = (*scope, self._erased(found.begin, found.head), self._erased(found.head, opening))
            if key in self._seen:
                return
            self._seen[key] = ""
        # `struct A : B<int> {` is named A.
        name = next((word for word in head if word not in _CLASS_KEYS and word != "final"), "")
        if name:
            self.bodies.setdefault(name, []).append((opening, closing))
        self._keep(found.begin, opening + 1)
        if "enum" in head:
            self._keep(opening + 1, closing)
        else:
            # Specialisations share a name: the whole head tells their members apart.
            inside = (*scope, self._erased(found.begin, opening))
            self._scope(opening + 1, closing, inside, in_class=True)
        self._keep(closing, found.end)
        if in_class:
            self._name_members(closing + 1, found.end)

    def _variable(self, found: _Declaration, in_class: bool) -> None:
        tokens = self.tokens
        if in_class:
            self._name_members(found.head, found.end)
        for at in range(found.begin, found.end):
            token = tokens[at]
            if isinstance(token, Attribute):
                argument = token.argument("function_constant")
                if argument is not None:
                    self._function_constant(found, at, argument)
                    return
        self._keep(found.begin, found.end)

    def _function_constant(self, found: _Declaration, at: int, argument: list[Token]) -> None:
        tokens = self.tokens
        # A number, or an expression of constants that only the C++ compiler can evaluate.
        index = " ".join(token.text for token in argument)
        if not index or tokens[at - 1].kind != "id":
            refuse(tokens[at].place, "'function_constant' needs an integer index")
        name = tokens[at - 1]
        self.function_constants[name.text] = index
        kept = [
            t
            for t in tokens[found.begin : at - 1]
            if t.kind != "attribute"
            and t.text not in ADDRESS_SPACES
            and t.text not in ("const", "static", "constexpr")
        ]
        type_text = " ".join(t.text for t in kept)
        self._plan.append(
            name.like(
                f"static constexpr {type_text} {name.text} = "
                f"openmps_constant_value<({index}), {type_text}>();"
            )
        )

    def _name_members(self, begin: int, end: int) -> None:
        for at in range(begin, end - 1):
            if self._kind(at) == "id" and self._text(at + 1) in (";", ",", "=", "[", "{", ":"):
                self._members.add(self._text(at))

    # ---- function bodies

    def _body(self, begin: int, end: int) -> None:
        """Keeps a body; turns variables in threadgroup memory into storage of the group."""
        tokens = self.tokens
        kept = at = begin
        while at < end:
            token = tokens[at]
            if (
                token.kind == "id"
                and token.text == "threadgroup"
                and (start := self._statement_start(at, begin)) is not None
            ):
                stop = self._semicolon(at, end)
                storage = self._threadgroup_storage(start, at, stop)
                if storage is not None:
                    self._keep(kept, start)
                    self._plan += storage
                    kept = at = stop
                    continue
            at += 1
        self._keep(kept, end)

    def _statement_start(self, at: int, begin: int) -> int | None:
        """Where the statement begins whose specifiers reach up to `at`; None if inside one."""
        start = at
        while start > begin:
            before = self.tokens[start - 1]
            if before.kind in ("attribute",) or before.text in _BEFORE_STORAGE:
                start -= 1
            elif before.text == ")" and self._text(self._opening[start - 1] - 1) == "alignas":
                start = self._opening[start - 1] - 1
            else:
                break
        before = self.tokens[start - 1]
        # A label or `case 0:` may stand before it.
        starts = before.kind == "pragma" or before.text in (";", "{", "}", ":")
        return start if starts else None

    def _threadgroup_storage(self, start: int, at: int, stop: int) -> list[Token] | None:
        """C++ for `threadgroup T x[N], y;`, or None if this declares a pointer or reference."""
        tokens = self.tokens
        position = at + 1
        name = -1
        while position < stop - 1:
            text = tokens[position].text
            if tokens[position].kind == "id":
                name = position
            elif text == "<":
                close = closing_angle(tokens, position, stop, self.partner)
                if close is None:
                    return None
                position = close
            elif text in ("*", "&", "&&"):
                return None
            elif text in ("[", "{", "=", ",", "("):
                break
            position += 1
        if name <= at + 1 and not (name > at):
            return None
        kept_type = [
            t
            for t in tokens[at + 1 : name]
            if t.kind != "attribute"
            and t.text not in ("const", "volatile", "static")
            and t.text not in ADDRESS_SPACES
        ]
        if not kept_type:
            return None
        out: list[Token] = []
        position = name
        while position < stop - 1:
            declared = tokens[position]
            if declared.kind != "id":
                return None
            end = position + 1
            while self._text(end) == "[":
                end = self.partner[end] + 1
            bounds = (position + 1, end)
            # Metal ignores initialisers here.
            while end < stop - 1 and self._text(end) != ",":
                end = self.partner.get(end, end) + 1
            out += self._storage_tokens(declared, kept_type, bounds)
            position = end + 1
        return out

    def _storage_tokens(
        self, name: Token, type_tokens: list[Token], bounds: tuple[int, int]
    ) -> list[Token]:
        rewriter = Rewriter(frozenset(), {})
        of_type = [*type_tokens, *self.tokens[bounds[0] : bounds[1]]]
        storage = f"openmps_storage_of_{name.text}"
        return [
            name.like("OPENMPS_SHARED openmps_threadgroup<"),
            *rewriter.rewrite(of_type),
            name.like(f"> {storage}; auto& {name.text} = {storage}.object();"),
        ]

    # ---- small questions

    def _text(self, at: int) -> str:
        return self.tokens[at].text if 0 <= at < len(self.tokens) else ""

    def _kind(self, at: int) -> str:
        return self.tokens[at].kind if 0 <= at < len(self.tokens) else ""

    def _function_name(self, head: int, opening: int) -> str:
        for at in range(opening - 1, head - 1, -1):
            if self._text(at) == "operator":
                return "operator" + "".join(t.text for t in self.tokens[at + 1 : opening])
        return self._text(opening - 1)

    def _host_name(self, begin: int, end: int) -> str | None:
        for token in self.tokens[begin:end]:
            if isinstance(token, Attribute):
                argument = token.argument("host_name")
                if argument is not None:
                    return "".join(t.text[1:-1] for t in argument if t.kind == "string")
        return None
