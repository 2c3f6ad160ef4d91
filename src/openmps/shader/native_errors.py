"""Failures that PyTorch's own Metal binding has no words for, in the words they come out in."""

from __future__ import annotations


def cast_error(value: object) -> RuntimeError:
    """What pybind11 says when a Python value is not of the C++ type asked for."""
    return RuntimeError(
        f"Unable to cast Python instance of type {type(value)} to C++ type '?' (#define "
        "PYBIND11_DETAILED_ERROR_MESSAGES or compile in debug mode for details)"
    )


def failed_check(condition: str) -> RuntimeError:
    """What TORCH_CHECK says where nobody wrote a message."""
    return RuntimeError(
        f"Expected {condition} to be true, but got false.  (Could this error message be "
        "improved?  If so, please report an enhancement request to PyTorch.)"
    )
