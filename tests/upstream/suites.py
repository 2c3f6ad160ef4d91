"""Which test files of PyTorch have cases for mps, and how their cases are told from the others."""

from __future__ import annotations

import unittest
from typing import Any

# Named as PyTorch's run_test.py names them: the file below test/, without its ending.
OWN = "test_mps"
GENERIC = (
    "test_accelerator",
    "test_autograd",
    "test_content_store",
    "test_dlpack",
    "test_indexing",
    "test_modules",
    "test_nn",
    "test_optim",
    "test_reductions",
    "test_sparse",
    "test_torch",
    "test_transformers",
    "test_view_ops",
    "distributions/test_distributions",
    "nn/test_convolution",
    "nn/test_dropout",
    "nn/test_pooling",
)


# Cases of classes that are made for other devices, which fail on a Mac as well, and why: from
# PyTorch's sources. Patterns of whole names.
SAME_ON_A_MAC = {
    "TestTorchDeviceTypeMPS.test_deepcopy_mps_*": "Tensor.__deepcopy__ clones what is on mps",
    "TestTorchDeviceTypeMPS.test_grad_scal*_deprecated_warning_mps": "torch.mps has no amp",
    "TestTorchDeviceTypeMPS.test_grad_scaling_state_dict_mps": "asks for a torch.FloatTensor",
    "TestTorchDeviceTypeMPS.test_nondeterministic_alert_MaxUnpool*": "a Mac's kernels do not alert",
}


def make_all_for_mps() -> None:
    """Must come before a file's import. Device-generic classes that their file makes for other
    devices only are made for mps, too, and marked: nobody has said there what a Mac does."""
    from torch.testing._internal import common_device_type

    original = common_device_type.instantiate_device_type_tests

    def instantiate(tests: type, scope: dict[str, Any], *args: Any, **options: Any) -> None:
        expected = options.pop("allow_mps", False)
        name = f"{tests.__name__}MPS"
        original(tests, scope, *args, allow_mps=True, **options)
        if name in scope and not expected:
            scope[name].made_for_mps_by_us = True

    common_device_type.instantiate_device_type_tests = instantiate


def is_generic(case: unittest.TestCase) -> bool:
    return getattr(type(case), "device_type", None) == "mps"


def says_nothing_of_macs(case: unittest.TestCase) -> bool:
    return getattr(type(case), "made_for_mps_by_us", False)
