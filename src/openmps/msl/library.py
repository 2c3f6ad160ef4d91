"""A whole shader: source in, C++ text and the table of its kernels out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property

from openmps.errors import ShaderSyntaxError
from openmps.msl.back_edges import mark_back_edges
from openmps.msl.diagnostics import finding, refuse
from openmps.msl.kernels import Kernel, KernelDefinition
from openmps.msl.lambdas import check_lambdas
from openmps.msl.preprocessor import Preprocessor
from openmps.msl.printer import PrintedText, print_tokens
from openmps.msl.program import Instantiation, Program
from openmps.msl.source import Place, SourceFile
from openmps.msl.tokens import split_list
from openmps.msl.wrapping import mark_wrapping

_USE_OF_NAME = {
    "threadgroup": "threadgroup",
    "threadgroup_barrier": "barrier",
    "simdgroup_barrier": "simd",
}
_USE_OF_PREFIX = (
    ("simdgroup_matrix", "matrix"),
    ("simdgroup_multiply", "matrix"),
    ("simdgroup_load", "matrix"),
    ("simdgroup_store", "matrix"),
    ("simdgroup_float8x8", "matrix"),
    ("simdgroup_half8x8", "matrix"),
    ("simdgroup_bfloat8x8", "matrix"),
    ("make_filled_simdgroup_matrix", "matrix"),
    ("make_diagonal_simdgroup_matrix", "matrix"),
    ("simd_", "simd"),
    ("quad_", "simd"),
    ("__metal_simd", "simd"),
    ("__metal_quad", "simd"),
    ("atomic_", "atomic"),
)


def no_header(name: str, _asking: SourceFile) -> SourceFile | None:
    return None


@dataclass(frozen=True)
class LanguageOptions:
    """version: 310 for Metal 3.1, ...; find_header: the only way for a shader to reach a file."""

    version: int = 400
    fast_math: bool = False
    find_header: Callable[[str, SourceFile], SourceFile | None] = field(default=no_header)

    def defines(self) -> dict[str, str]:
        made = {
            "__METAL__": "1",
            "__METAL_VERSION__": str(self.version),
            "__METAL_MACOS__": "1",
            "__HAVE_BFLOAT__": "1",
            "__HAVE_ATOMIC_FENCE__": "1",
            "__clang__": "1",
            "__cplusplus": "201703L" if self.version >= 400 else "201402L",
        }
        if self.fast_math:
            made["__FAST_MATH__"] = "1"
        return made


@dataclass(frozen=True)
class Library:
    """`text` holds everything but kernels' entry points; `kernels` is by host name, in order."""

    source: SourceFile
    options: LanguageOptions
    text: PrintedText
    kernels: dict[str, Kernel]
    function_constants: dict[str, str]
    definitions: tuple[KernelDefinition, ...]
    program: Program

    @cached_property
    def cpp(self) -> str:
        return self.text.text

    def kernel_at(self, place: Place) -> str:
        """The kernel function whose text holds `place`, or nothing."""
        tokens = self.program.tokens
        for definition in self.definitions:
            begin, end = tokens[definition.body[0]], tokens[definition.body[1] - 1]
            if begin.file is place.file:
                first, last = begin.place, end.place
                if (first.line, first.column) <= (place.line, place.column) and (
                    (place.line, place.column) <= (last.line, last.column)
                ):
                    return definition.name
        return ""


def parse_library(
    source: str, *, name: str = "program_source", options: LanguageOptions | None = None
) -> Library:
    """Reads a shader. Raises ShaderSyntaxError at the first thing that cannot be read."""
    options = options or LanguageOptions()
    file = SourceFile(name, source)
    try:
        tokens = Preprocessor(options.defines(), options.find_header).run(file)
        program = Program(tokens)
        check_lambdas(program, options.version)
        text = print_tokens(mark_back_edges(mark_wrapping(program.rewritten())))
    except RecursionError:
        raise ShaderSyntaxError(
            finding(file.place(0), "the program is nested too deeply"),
            place=str(file.place(0)),
            message="nested too deeply",
        ) from None
    kernels = {}
    for instance in program.instantiations:
        kernel = _kernel(program, instance)
        kernels[kernel.name] = kernel
    return Library(
        source=file,
        options=options,
        text=text,
        kernels=kernels,
        function_constants=program.function_constants,
        definitions=tuple(program.kernels),
        program=program,
    )


def _kernel(program: Program, instance: Instantiation) -> Kernel:
    tokens = program.tokens
    begin, end = instance.declarator
    expression = program.rewrite_range(begin, end)
    opening = next((at for at in range(begin, end) if tokens[at].text == "<"), end)
    deduced = opening == end
    function = tokens[opening - 1].text
    candidates = [d for d in program.kernels if d.name == function]
    if not candidates:
        refuse(
            instance.token.place,
            f"'{function}' is not a kernel of this program",
            next_step="the name in a host_name line must be a kernel that is defined above it",
        )
    arguments = _template_arguments(program, opening, end)
    definition = _choose(candidates, instance, len(arguments))
    given = (*arguments, *definition.template_defaults[len(arguments) :])
    meaning = dict(zip(definition.template_parameters, given, strict=False))
    substituted = [
        f"({meaning[token.text]})" if meaning.get(token.text) else token.text
        for token in definition.max_threads
    ]
    overloaded = sum(d.name == function and d.scope == definition.scope for d in candidates) > 1
    return Kernel(
        name=instance.host_name,
        function=function,
        expression=expression,
        scope=instance.scope,
        signature=instance.signature if overloaded or (deduced and definition.is_template) else "",
        parameters=definition.parameters,
        max_threads=" ".join(substituted),
        uses=_uses(program, definition),
        place=definition.place,
        instance_place=instance.token.place,
    )


def _choose(
    candidates: list[KernelDefinition], instance: Instantiation, arguments: int
) -> KernelDefinition:
    """Which of several kernels with one name: by place, parameters, template parameters."""
    wanted = instance.signature.count(",") + 1 if instance.signature else -1

    def likeness(definition: KernelDefinition) -> tuple[bool, bool, bool, bool]:
        return (
            definition.place == instance.token.place,
            len(definition.parameters) == wanted,
            len(definition.template_parameters) == arguments,
            len(definition.template_parameters) >= arguments,
        )

    return max(reversed(candidates), key=likeness)


def _template_arguments(program: Program, opening: int, end: int) -> list[str]:
    if opening >= end:
        return []
    return [
        program.rewrite_range(start, stop)
        for start, stop in split_list(program.tokens, opening + 1, end - 1, program.partner)
    ]


def _uses(program: Program, definition: KernelDefinition) -> frozenset[str]:
    """What the kernel, or anything that it may call, names."""
    found = {"threadgroup" for p in definition.parameters if p.kind == "threadgroup"}
    pending = [definition.name]
    visited = {definition.name}
    while pending:
        for begin, end in program.bodies.get(pending.pop(), ()):
            for token in program.tokens[begin:end]:
                text = token.text
                if token.kind != "id" or text in visited:
                    continue
                visited.add(text)
                use = _USE_OF_NAME.get(text) or next(
                    (use for prefix, use in _USE_OF_PREFIX if text.startswith(prefix)), None
                )
                if use is not None:
                    found.add(use)
                if text in program.bodies:
                    pending.append(text)
    return frozenset(found)
