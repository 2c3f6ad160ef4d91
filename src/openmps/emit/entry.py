"""The C++ text of one kernel: the program, then the function that the runtime enters."""

from __future__ import annotations

from openmps.msl.compiler_messages import ENTRY, INSTANCES, PROGRAM
from openmps.msl.kernels import Kernel, Parameter
from openmps.msl.library import Library


def emit_program(library: Library, back_edges: bool = False) -> str:
    """The program alone, in its namespace. The caller may put more after it.

    back_edges: whether lanes wait for each other at the end of a loop's body (msl/back_edges.py).
    """
    return ("#define OPENMPS_BACK_EDGES 1\n" if back_edges else "") + (
        '#include "msl/metal.h"\n#include "msl/program.h"\n'
        "namespace msl {\n"
        "#ifdef __clang__\n"
        # Inlined, and gone if this kernel does not call it.
        "#pragma clang attribute push(__attribute__((always_inline, internal_linkage)), "
        "apply_to = function)\n"
        "#endif\n"
        f'#line 1 "{PROGRAM}"\n{library.cpp}'
        f'#line 1 "{ENTRY}"\n'
        "#ifdef __clang__\n#pragma clang attribute pop\n#endif\n"
        "}  // namespace msl\n"
    )


def emit_check(library: Library, names: list[str]) -> str:
    """The program with these kernels instantiated, to be checked and not run."""
    lines = [emit_program(library)]
    for number, name in enumerate(names):
        lines.append(_instance(library, library.kernels[name], f"openmps_kernel_{number}"))
    return "".join(lines)


def emit_kernel(library: Library, kernel: Kernel, entry: str, *, back_edges: bool = False) -> str:
    """The program with one entry: plain or thread (see include/msl/launch/launch.h)."""
    path = "".join(f"{name}::" for name in kernel.scope)
    arguments = [f"msl::{path}openmps_kernel", *map(slot, kernel.parameters)]
    limit = kernel.max_threads or "1024"
    return (
        emit_program(library, back_edges)
        + _instance(
            library,
            kernel,
            "openmps_kernel",
            f"inline constexpr unsigned openmps_limit = unsigned({limit});",
        )
        + 'extern "C" {\n'
        '__attribute__((visibility("default"))) extern const unsigned openmps_max_threads;\n'
        f"const unsigned openmps_max_threads = msl::{path}openmps_limit;\n}}\n"
        + f"OPENMPS_{entry.upper()}_ENTRY({', '.join(arguments)})\n"
    )


def kernel_address(kernel: Kernel) -> str:
    """A C++ expression for the kernel's function, in the kernel's own namespace."""
    address = f"&{_qualified(kernel)}"
    if kernel.signature:
        address = f"static_cast<void (*)({kernel.signature})>({address})"
    return address


def _qualified(kernel: Kernel) -> str:
    """`max` alone would also name the library's, where the program says `using namespace metal`."""
    if not kernel.expression.startswith(kernel.function):
        return kernel.expression
    return "".join(f"{name}::" for name in ("msl", *kernel.scope)) + kernel.expression


def emit_in_scope(library: Library, kernel: Kernel, instance: str, more: str = "") -> str:
    """Text for the kernel's own namespace: one line that instantiates it, and `more`."""
    number = 1 + list(library.kernels).index(kernel.name)
    opening = "".join(f"namespace {name} {{ " for name in ("msl", *kernel.scope))
    return (
        f'{opening}\n#line {number} "{INSTANCES}"\n{instance}\n#line 1 "{ENTRY}"\n{more}\n'
        f"{'}' * (1 + len(kernel.scope))}\n"
    )


def _instance(library: Library, kernel: Kernel, name: str, more: str = "") -> str:
    line = f"static constexpr auto {name} = {kernel_address(kernel)};"
    return emit_in_scope(library, kernel, line, more)


def slot(parameter: Parameter) -> str:
    """Where the parameter's value comes from, for include/msl/launch/entry.h."""
    if parameter.kind == "buffer":
        return str(parameter.index)
    if parameter.kind == "threadgroup":
        return f"msl::openmps_slot::threadgroup + {parameter.index}"
    return f"msl::openmps_slot::{parameter.position}"
