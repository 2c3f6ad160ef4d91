"""What autocast does on mps is torch's own list, compiled into every build: a Mac's.

That list takes batch norms in float32. CUDA's does not, which halves the bytes that a convolutional
network moves; people who are here for a GPU's speed can ask for it.
"""

from __future__ import annotations

from typing import Any

_registered: list[Any] = []  # an override lasts as long as its library object


def leave_batch_norms_alone() -> None:
    import torch

    library: Any = torch.library.Library("aten", "IMPL")  # type: ignore[no-untyped-call]
    fallthrough = torch.library.fallthrough_kernel
    library.impl("batch_norm", fallthrough, "AutocastMPS", allow_override=True)
    _registered.append(library)
