"""What autocast does on mps is torch's own list, compiled into every build: a Mac's.

That list takes batch norms in float32. CUDA's does not, which halves the bytes that a convolutional
network moves. On a GPU they are float32 to the program, and bfloat16 in memory until somebody asks
for the bytes (csrc/engine/cuda/lazy_bfloat16.h); people can also ask for a Mac's precision, or for
CUDA's dtypes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from openmps.device.core_interface import Core

_registered: list[Any] = []  # an override lasts as long as its library object


def take_batch_norms(core: Core, how: str) -> None:
    """`how` is mac, narrow or cuda."""
    if how == "narrow":
        core.narrow_autocast(True)
    elif how == "cuda":
        _leave_batch_norms_alone()


def _leave_batch_norms_alone() -> None:
    import torch

    library: Any = torch.library.Library("aten", "IMPL")  # type: ignore[no-untyped-call]
    fallthrough = torch.library.fallthrough_kernel
    library.impl("batch_norm", fallthrough, "AutocastMPS", allow_override=True)
    _registered.append(library)
