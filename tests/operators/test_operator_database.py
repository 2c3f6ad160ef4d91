"""PyTorch's own operator database: every float32 sample, forward and backward, against the CPU."""

from __future__ import annotations

import warnings
from typing import Any

import pytest
import torch
from torch.testing import assert_close
from torch.utils._pytree import tree_leaves, tree_map

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from torch.testing._internal.common_methods_invocations import op_db

# The values are random or undefined: shapes, dtypes and devices are compared, values are not.
RANDOM = {
    "bernoulli", "cauchy", "empty", "empty_like", "empty_permuted", "empty_strided", "exponential",
    "geometric", "log_normal", "multinomial", "new_empty", "new_empty_strided",
    "nn.functional.alpha_dropout", "nn.functional.dropout", "nn.functional.dropout2d",
    "nn.functional.dropout3d", "nn.functional.feature_alpha_dropout",
    "nn.functional.fractional_max_pool2d", "nn.functional.fractional_max_pool3d",
    "nn.functional.rrelu", "normal", "pca_lowrank", "rand_like", "randint", "randint_like", "randn",
    "randn_like", "svd_lowrank", "uniform",
}  # fmt: skip

# Written for another device, or for sparse CSR tensors, which PyTorch refuses on a Mac too.
NOT_FOR_MPS = {
    "jiterator_unary", "jiterator_binary", "jiterator_4inputs_with_extra_args",
    "jiterator_binary_return_by_ref", "jiterator_2inputs_2outputs",
    "sparse.mm.reduce", "sparse.sampled_addmm",
}  # fmt: skip

# Operators whose other arguments must be on the CPU.
INDICES_ON_CPU = {"tensor_split"}

# Not the same kernel order as on the CPU, so not the same last bit.
INEXACT = {"inner", "tensordot", "linalg.lstsq", "linalg.lstsq.grad_oriented"}


def name_of(op: Any) -> str:
    return f"{op.name}.{op.variant_test_name}" if op.variant_test_name else op.name


DATABASE = [
    op
    for op in op_db
    if torch.float32 in op.supported_dtypes("cpu") and name_of(op) not in NOT_FOR_MPS
]


def to_mps(value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        source = value.detach()
        if source.layout == torch.strided and not (source.is_conj() or source.is_neg()):
            # With its whole storage: some samples look at what lies around the tensor.
            moved = torch.empty(0, dtype=source.dtype, device="mps").set_(
                source.untyped_storage().mps(),
                source.storage_offset(),
                source.size(),
                source.stride(),
            )
        else:
            moved = source.to("mps")
        return moved.requires_grad_(value.requires_grad)
    if isinstance(value, torch.device) or (isinstance(value, str) and value == "cpu"):
        return torch.device("mps")
    return value


def dense(tensor: torch.Tensor) -> torch.Tensor:
    return tensor if tensor.layout == torch.strided else tensor.to_dense()


def tensors(value: Any) -> list[torch.Tensor]:
    return [leaf for leaf in tree_leaves(value) if isinstance(leaf, torch.Tensor)]


def compare(got: torch.Tensor, want: torch.Tensor, *, exact: bool) -> None:
    assert got.device == torch.device("mps:0")
    tolerance = {"rtol": 0.0, "atol": 0.0} if exact else {}
    assert_close(dense(got).cpu(), dense(want).cpu(), equal_nan=True, **tolerance)


def gradients(results: list[torch.Tensor], inputs: list[torch.Tensor]) -> tuple[Any, ...]:
    scalars = [result.abs().sum() if result.is_complex() else result.sum() for result in results]
    return torch.autograd.grad(scalars, inputs, allow_unused=True)


@pytest.mark.filterwarnings("ignore")  # samples that are deprecated on every device
@pytest.mark.parametrize("op", DATABASE, ids=name_of)
def test_mps_agrees_with_the_cpu(op: Any) -> None:
    differentiable = op.supports_autograd and torch.float32 in op.supported_backward_dtypes("cpu")
    exact = name_of(op) not in INEXACT
    compared = 0
    for sample in op.sample_inputs("cpu", torch.float32, requires_grad=differentiable):
        arguments = (sample.input, sample.args, sample.kwargs)
        random = op.name in RANDOM or sample.kwargs.get("dropout_p", 0.0) > 0
        if op.name in INDICES_ON_CPU:
            on_mps = (to_mps(sample.input), *arguments[1:])
        else:
            on_mps = tree_map(to_mps, arguments)
        if op.is_factory_function:
            on_mps[2].setdefault("device", "mps")
        torch.manual_seed(0)
        want = op(arguments[0], *arguments[1], **arguments[2])
        torch.manual_seed(0)
        got = op(on_mps[0], *on_mps[1], **on_mps[2])
        assert len(tensors(got)) == len(tensors(want))
        for result, expected in zip(tensors(got), tensors(want), strict=True):
            if random:
                assert result.device == torch.device("mps:0")
                assert (result.shape, result.dtype) == (expected.shape, expected.dtype)
            else:
                compare(result, expected, exact=exact)
        compared += 1
        if not differentiable or random:
            continue
        wanted = [t for t in tensors(want) if t.requires_grad]
        gotten = [t for t in tensors(got) if t.requires_grad]
        assert len(wanted) == len(gotten)
        if not wanted:
            continue
        inputs = [t for t in tensors(arguments) if t.requires_grad]
        inputs_on_mps = [t for t in tensors(on_mps) if t.requires_grad]
        for grad, expected_grad in zip(
            gradients(gotten, inputs_on_mps), gradients(wanted, inputs), strict=True
        ):
            assert (grad is None) == (expected_grad is None)
            if grad is not None:
                compare(grad, expected_grad, exact=False)
    assert compared > 0
