"""The declarations of a program: what is kept, what is dropped, which functions are kernels.

No name is looked up and no type is known: only brackets, keywords and attributes are read. What
this misunderstands, the C++ compiler refuses afterwards at the right place.
"""

from __future__ import annotations

from dataclasses import dataclass

from openmps.msl.attributes import Attribute, fold_attributes
from openmps.msl.declarations import CLASS_KEYS, Declaration, DeclarationReader
from openmps.msl.diagnostics import refuse
from openmps.msl.kernels import KernelDefinition, parse_parameters, types_only
from openmps.msl.rewrite import ADDRESS_SPACES, Rewriter
from openmps.msl.source import Token
from openmps.msl.threadgroup import threadgroup_variables
from openmps.msl.tokens import closing_angle


@dataclass(frozen=True)
class Instantiation:
    """`template [[host_name("x")]] kernel void f<float>(...);`, or a plain kernel's own name."""

    host_name: str
    declarator: tuple[int, int]
    signature: str
    scope: tuple[str, ...]
    token: Token


# GNU attributes of functions that run when a library is loaded, or that stand in for others.
_AT_LOAD = frozenset({"constructor", "destructor", "init_priority", "ifunc", "section", "alias"})


def refuse_foreign(tokens: list[Token]) -> None:
    """Nothing may reach the C++ compiler as a directive or as assembly: both can open files. And
    nothing may run outside a launch."""
    for at, token in enumerate(tokens):
        if token.text in ("__attribute__", "__attribute"):
            _refuse_at_load(tokens, at + 1)
        if token.text in ("#", "##", "\\", "@") and token.kind == "operator":
            refuse(token.place, f"stray '{token.text}' in program")
        if token.kind == "id" and token.text in ("asm", "__asm", "__asm__"):
            refuse(token.place, "inline assembly is not part of the Metal language")


def _refuse_at_load(tokens: list[Token], begin: int) -> None:
    """Of an `__attribute__` whose brackets open at `begin`."""
    depth = 0
    for token in tokens[begin:]:
        depth += (token.text == "(") - (token.text == ")")
        if depth <= 0:
            break
        if token.kind == "id" and token.text.strip("_") in _AT_LOAD:
            refuse(token.place, f"attribute '{token.text}' is not part of the Metal language")


class Program(DeclarationReader):
    """Reads all declarations on construction; the results are its public attributes."""

    def __init__(self, tokens: list[Token]) -> None:
        refuse_foreign(tokens)
        super().__init__(fold_attributes(tokens))
        self.kernels: list[KernelDefinition] = []
        self.instantiations: list[Instantiation] = []
        self.bodies: dict[str, list[tuple[int, int]]] = {}  # function or class name: its tokens
        self.function_constants: dict[str, str] = {}  # name: index, a C++ expression
        self._members: set[str] = set()
        self._seen: dict[tuple[str, ...], str] = {}
        # (begin, end) of tokens to print, or C++ to print instead.
        self._plan: list[tuple[int, int] | Token] = []
        self._scope(0, len(self.tokens), (), in_class=False)
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
        if text == "namespace" or (text == "inline" and self.text(at + 1) == "namespace"):
            return self._namespace(at, end, scope)
        if text == "extern" and self.kind(at + 1) == "string" and self.text(at + 2) == "{":
            close = self.partner[at + 2]
            self._keep(at, at + 3)
            self._scope(at + 3, close, scope, in_class)
            self._keep(close, close + 1)
            return close + 1
        if text in ("using", "typedef", "static_assert"):
            stop = self.semicolon(at, end)
            self._keep(at, stop)
            return stop
        found = self.measure(at, end)
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
        while position < end and self.text(position) not in ("{", ";", "="):
            if self.kind(position) == "id" and self.text(position) not in ("namespace", "inline"):
                name.append(self.text(position))
            position += 1
        if position >= end or self.text(position) != "{":
            stop = self.semicolon(at, end)
            self._keep(at, stop)
            return stop
        close = self.partner[position]
        self._keep(at, position + 1)
        self._scope(position + 1, close, (*scope, *name), in_class=False)
        self._keep(close, close + 1)
        return close + 1

    # ---- kinds of declarations

    def _instantiation(self, found: Declaration, scope: tuple[str, ...]) -> None:
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
        if self.text(at) == "decltype" and self.text(at + 1) == "(":
            at = self.partner[at + 1] + 1
        elif self.text(at) == "void":
            at += 1  # what follows may begin with `::`
        else:
            at += 1
            while self.text(at) == "::":
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

    def _function(self, found: Declaration, scope: tuple[str, ...], in_class: bool) -> None:
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
        found: Declaration,
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

    def _template_parameters(self, found: Declaration) -> dict[str, str]:
        """The names in order, each with the text of its default."""
        names: dict[str, str] = {}
        tokens = self.tokens
        if self.text(found.begin) != "template":
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
        found: Declaration,
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
        # `constant` says const, too: next to `device const` it makes no other body.
        body = self._erased(body_begin, found.end, "const")
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

    def _erased(self, begin: int, end: int, *more: str) -> str:
        return " ".join(
            token.text
            for token in self.tokens[begin:end]
            if token.kind != "attribute"
            and token.text not in ADDRESS_SPACES
            and token.text not in ("inline", "static", "kernel", "METAL_FUNC", *more)
        )

    def _class(self, found: Declaration, scope: tuple[str, ...], in_class: bool) -> None:
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
        name = next((word for word in head if word not in CLASS_KEYS and word != "final"), "")
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

    def _variable(self, found: Declaration, in_class: bool) -> None:
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

    def _function_constant(self, found: Declaration, at: int, argument: list[Token]) -> None:
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
            if self.kind(at) == "id" and self.text(at + 1) in (";", ",", "=", "[", "{", ":"):
                self._members.add(self.text(at))

    # ---- function bodies

    def _body(self, begin: int, end: int) -> None:
        """Keeps a body, but for variables in threadgroup memory."""
        kept = begin
        for start, stop, storage in threadgroup_variables(self, begin, end):
            self._keep(kept, start)
            self._plan += storage
            kept = stop
        self._keep(kept, end)

    # ---- small questions

    def _function_name(self, head: int, opening: int) -> str:
        for at in range(opening - 1, head - 1, -1):
            if self.text(at) == "operator":
                return "operator" + "".join(t.text for t in self.tokens[at + 1 : opening])
        return self.text(opening - 1)

    def _host_name(self, begin: int, end: int) -> str | None:
        for token in self.tokens[begin:end]:
            if isinstance(token, Attribute):
                argument = token.argument("host_name")
                if argument is not None:
                    return "".join(t.text[1:-1] for t in argument if t.kind == "string")
        return None
