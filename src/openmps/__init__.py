"""PyTorch's `mps` device for every machine that is not a Mac.

Importing this package does nothing. `activate()` makes `device="mps"` real in this process.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from openmps.device.activation import activate, is_active

__all__ = ["__version__", "activate", "is_active"]
__version__ = "0.1.0"


def __getattr__(name: str) -> object:
    # On demand, so that the entry points, which every `import torch` loads, stay free of charge.
    if name in ("activate", "is_active"):
        from openmps.device import activation

        return getattr(activation, name)
    raise AttributeError(f"module 'openmps' has no attribute {name!r}")
