"""What a kernel asks of the machine: atomics, barriers, simdgroup functions, matrices."""

from __future__ import annotations

from openmps.msl.kernels import Kernel
from openmps.msl.library import Library

# By how names begin, the most demanding first. A name counts for the first row that fits.
_BEGINNINGS = (
    ("matrix", ("simdgroup_matrix", "simdgroup_multiply", "simdgroup_load", "simdgroup_store",
                "simdgroup_float", "simdgroup_half", "simdgroup_bfloat", "make_filled_simdgroup")),
    ("simd", ("simd_", "quad_", "simdgroup_barrier", "__metal_simd", "__metal_quad")),
    ("barrier", ("threadgroup_barrier",)),
    ("atomic", ("atomic_",)),
)  # fmt: skip


def kernel_class(library: Library, kernel: Kernel) -> str:
    """The most demanding thing that the kernel, or anything it may call, names; else plain.

    Names are not looked up, so a name that is mentioned and not used counts as well.
    """
    found = {_feature(name) for name in _names(library, kernel.function)}
    return next((feature for feature, _ in _BEGINNINGS if feature in found), "plain")


def _feature(name: str) -> str:
    return next((word for word, begins in _BEGINNINGS if name.startswith(begins)), "")


def _names(library: Library, function: str) -> set[str]:
    program = library.program
    pending, seen = [function], {function}
    while pending:
        for begin, end in program.bodies.get(pending.pop(), ()):
            for token in program.tokens[begin:end]:
                if token.kind == "id" and token.text not in seen:
                    seen.add(token.text)
                    pending.append(token.text)
    return seen
