"""Kernels as the host sees them: name, parameters, how to call them from C++."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NoReturn

from openmps.layouts import BUFFERS
from openmps.msl.attributes import GRID_ONLY, POSITIONS, Attribute
from openmps.msl.diagnostics import refuse
from openmps.msl.rewrite import ADDRESS_SPACES
from openmps.msl.source import Place, Token
from openmps.msl.tokens import split_list

_IGNORED = frozenset({"function_constant", "maybe_unused", "host_name", "user", "coherent"})
# A thread's position is a whole number, or two or three.
_NO_POSITION = frozenset(
    {"bool", "half", "float", "bfloat", "float2", "float3", "half2", "half3", "uint4", "ushort4",
     "int4", "float4", "half4"}
)  # fmt: skip
_TEXTURES = ("texture", "depth2d", "depthcube", "sampler")


@dataclass(frozen=True)
class Parameter:
    """kind: buffer, threadgroup (dynamic memory) or position (see attributes.POSITIONS)."""

    kind: str
    index: int
    name: str
    type: str
    is_pointer: bool

    @property
    def position(self) -> str:
        return POSITIONS[self.index] if self.kind == "position" else ""


@dataclass(frozen=True)
class KernelDefinition:
    """A kernel function or function template, as it is written."""

    name: str
    scope: tuple[str, ...]
    template_parameters: tuple[str, ...]
    template_defaults: tuple[str, ...]  # a text for each parameter; empty if it has no default
    is_template: bool
    parameters: tuple[Parameter, ...]
    max_threads: tuple[Token, ...]
    place: Place
    body: tuple[int, int]


@dataclass(frozen=True)
class Kernel:
    """One kernel that the host can ask for.

    expression   the C++ name of the function, template arguments included, in `scope`
    signature    parameter types, where the name alone is ambiguous; else empty
    max_threads  a C++ expression for max_total_threads_per_threadgroup; empty if there is none
    place        of its definition; instance_place: of the line that instantiates it
    uses         of "atomic", "barrier", "simd", "matrix": what it may call, or more; and
                 "threadgroup" if it may name memory of the threadgroup
    """

    name: str
    function: str
    expression: str
    scope: tuple[str, ...]
    signature: str
    parameters: tuple[Parameter, ...]
    max_threads: str
    uses: frozenset[str]
    place: Place
    instance_place: Place

    @property
    def coordinates(self) -> bool:
        """Whether its threads may wait for or share with each other. Never falsely False."""
        return bool(self.uses - {"atomic"})

    @property
    def looks_at_grid_only(self) -> bool:
        """Whether the kernel cannot tell how the grid is cut into threadgroups."""
        return all(
            parameter.kind == "buffer" or parameter.position in GRID_ONLY
            for parameter in self.parameters
        )

    @property
    def kind(self) -> str:
        """The most demanding thing it does, or plain."""
        found = [use for use in ("matrix", "simd", "barrier", "atomic") if use in self.uses]
        return found[0] if found else "plain"


def parse_parameters(
    tokens: list[Token], begin: int, end: int, partner: dict[int, int], kernel: str
) -> tuple[Parameter, ...]:
    """The kernel's parameters; those without an index take the next free one, in order."""
    found: list[Parameter] = []
    next_buffer = next_threadgroup = 0
    taken: set[tuple[str, int]] = set()
    for start, stop in split_list(tokens, begin, end, partner):
        part = tokens[start:stop]
        if not part or (len(part) == 1 and part[0].text == "void"):
            continue
        plain = [token for token in part if token.kind != "attribute"]
        if not plain:
            refuse(part[0].place, "expected a parameter", kernel=kernel)
        name, type_text = _name_and_type(plain)
        is_pointer = any(token.text in ("*", "[") for token in plain)
        is_indirect = is_pointer or any(token.text == "&" for token in plain)
        kind, index = "", -1
        for attribute in part:
            if isinstance(attribute, Attribute):
                kind_and_index = _binding(attribute, kernel)
                if kind_and_index is not None:
                    kind, index = kind_and_index
        for token in plain:
            if token.kind == "id" and token.text.startswith(_TEXTURES):
                _refuse_texture(token, token.text, kernel)
        if not kind and is_indirect:
            shared = any(token.text == "threadgroup" for token in plain)
            kind = "threadgroup" if shared else "buffer"
            index = next_threadgroup if shared else next_buffer
        if not kind:
            refuse(
                plain[0].place,
                f"parameter '{name}' has no attribute that says what it is",
                kernel=kernel,
                next_step="write [[thread_position_in_grid]] or the like after it, or make it a "
                "reference in an address space (constant T&)",
            )
        if index >= BUFFERS:
            refuse(
                plain[0].place,
                f"'{kind}' attribute parameter is out of bounds: must be between 0 and "
                f"{BUFFERS - 1}",
                kernel=kernel,
                next_step="pass tensors as a list, to a struct of device pointers",
            )
        if kind == "buffer":
            next_buffer = index + 1
        elif kind == "threadgroup":
            next_threadgroup = index + 1
        elif is_indirect or type_text in _NO_POSITION:
            refuse(
                plain[0].place,
                f"type '{type_text}' is not valid for attribute '{POSITIONS[index]}'",
                kernel=kernel,
                next_step="use uint or ushort, or a vector of two or three of them",
            )
        optional = any(isinstance(t, Attribute) and t.argument("function_constant") for t in part)
        if not optional and kind != "position":
            if (kind, index) in taken:
                refuse(
                    plain[0].place,
                    f"cannot reserve '{kind}' resource location at index {index}",
                    kernel=kernel,
                    next_step="give each parameter an index of its own",
                )
            taken.add((kind, index))
        found.append(Parameter(kind, index, name, type_text, is_pointer))
    return tuple(found)


def _refuse_texture(token: Token, name: str, kernel: str) -> NoReturn:
    refuse(
        token.place,
        f"'{name}': textures and samplers are not supported",
        kernel=kernel,
        next_step="pass the data as a buffer; torch.mps cannot bind textures either",
    )


def _binding(attribute: Attribute, kernel: str) -> tuple[str, int] | None:
    for kind in ("buffer", "threadgroup", "id"):
        argument = attribute.argument(kind)
        if argument is not None and kind != "id":
            text = "".join(token.text for token in argument)
            if not text.isdigit():
                refuse(attribute.place, f"'{kind}' needs an integer index", kernel=kernel)
            return kind, int(text)
    for name in attribute.names():
        if name in POSITIONS:
            return "position", POSITIONS.index(name)
        if name in ("texture", "sampler"):
            _refuse_texture(attribute, name, kernel)
        if name not in _IGNORED and name not in ("buffer", "threadgroup", "id"):
            refuse(
                attribute.place,
                f"attribute '{name}' is not supported on a kernel's parameter",
                kernel=kernel,
                next_step="see docs/metal.md for the attributes that are",
            )
    return None


def _name_and_type(plain: list[Token]) -> tuple[str, str]:
    """Splits a parameter without attributes into its name and the text of its type."""
    stop = next((at for at, token in enumerate(plain) if token.text == "="), len(plain))
    plain = plain[:stop]
    depth = 0
    named = -1
    for at, token in enumerate(plain):
        if token.text == "<":
            depth += 1
        elif token.text in (">", ">>"):
            depth -= len(token.text)
        elif token.text == "[" and depth == 0:
            break
        elif token.kind == "id" and depth == 0:
            named = at
    if named <= 0:
        return "", " ".join(token.text for token in plain)
    return plain[named].text, " ".join(token.text for at, token in enumerate(plain) if at != named)


def types_only(tokens: list[Token], begin: int, end: int, partner: dict[int, int]) -> str:
    """The parameter types of a list, names and defaults and address spaces gone, as one text."""
    texts = []
    for start, stop in split_list(tokens, begin, end, partner):
        plain = [
            token.like("const") if token.text == "constant" else token
            for token in tokens[start:stop]
            if token.kind != "attribute"
            and (token.text == "constant" or token.text not in ADDRESS_SPACES)
        ]
        kept: list[Token] = []
        for token in plain:
            if not (token.text == "const" and kept and kept[-1].text == "const"):
                kept.append(token)
        texts.append(_type_of(kept))
    return ", ".join(texts)


_TYPE_WORDS = frozenset({"const", "volatile", "unsigned", "signed", "typename", "struct", "class"})


def _type_of(plain: list[Token]) -> str:
    stop = next((at for at, token in enumerate(plain) if token.text == "="), len(plain))
    plain = plain[:stop]
    depth = 0
    named = -1
    names = 0
    for at, token in enumerate(plain):
        if token.text == "<":
            depth += 1
        elif token.text in (">", ">>"):
            depth -= len(token.text)
        elif token.text in ("[", "(") and depth == 0:
            break
        elif (
            token.kind == "id"
            and depth == 0
            and token.text not in _TYPE_WORDS
            and (at == 0 or plain[at - 1].text != "::")
        ):
            names += 1
            if at + 1 == len(plain) or plain[at + 1].text not in ("::", "<"):
                named = at
    # One name alone is the type of an unnamed parameter.
    if names < 2 and not (named > 0 and any(t.text in ("*", "&", ">") for t in plain[:named])):
        named = -1
    return " ".join(token.text for at, token in enumerate(plain) if at != named)
