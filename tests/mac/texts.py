"""What a Mac says, word for word."""

from __future__ import annotations

import torch

_ASK = (
    "If you want this op to be considered for addition please comment on "
    "https://github.com/pytorch/pytorch/issues/141287 and mention use-case, that resulted in "
    f"missing op as well as commit hash {torch.version.git_version}. "
)

NO_DOUBLE = (
    "Cannot convert a MPS Tensor to float64 dtype as the MPS framework doesn't support float64. "
    "Please use float32 instead."
)


def missing(operator: str) -> str:
    return (
        f"The operator '{operator}' is not currently implemented for the MPS device. {_ASK}"
        "As a temporary fix, you can set the environment variable `PYTORCH_ENABLE_MPS_FALLBACK=1` "
        "to use the CPU as a fallback for this op. WARNING: this will be slower than running "
        "natively on MPS."
    )


def missing_collective(operator: str) -> str:
    return (
        f"The distributed operator '{operator}' is not currently implemented for the MPS device. "
        f"{_ASK}Please note, that distributed operators can not fall back to CPU"
    )


def falls_back(operator: str) -> str:
    return (
        f"The operator '{operator}' is not currently supported on the MPS backend and will fall "
        "back to run on the CPU. This may have performance implications."
    )
