"""How much memory Metal recommends using (recommendedMaxWorkingSetSize), by RAM and macOS.

Recovered from what Metal programs printed on real machines. That the change came with macOS 26 is
inferred: the same chip with the same memory printed both values.
"""

from __future__ import annotations

import math

from openmps.mac.macos import Release

_GIB = 1 << 30
_PAGE = 16 << 10  # Apple silicon

# Before macOS 26, up to 32 GiB: two thirds as a 32-bit float, which is why machines where it comes
# out even still report one page more. Above, three quarters.
_TWO_THIRDS = 0.6666666865348816

# From macOS 26 on: share by RAM in GiB, from that size on. Seen at 16, 24, 32, 36, 48, 64, 128 and
# 256; 8, 18, 96, 192 and 512 were not seen and follow the next smaller size (8: the next larger).
_SHARES_FROM_26 = ((256, 0.87), (128, 0.84), (64, 0.81), (32, 0.78), (0, 0.74))


def recommended_bytes(memory_gb: int, macos: Release) -> int:
    share = _share(memory_gb, macos)
    return math.ceil(memory_gb * _GIB * share / _PAGE) * _PAGE


def _share(memory_gb: int, macos: Release) -> float:
    if macos < (26, 0):
        return _TWO_THIRDS if memory_gb <= 32 else 3 / 4
    return next(share for at_least, share in _SHARES_FROM_26 if memory_gb >= at_least)
