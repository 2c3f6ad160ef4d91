"""How many threads of a simdgroup move together."""

from openmps.layouts import SIMD_WIDTH as WIDTH

__all__ = ["WIDTH"]
