"""PyTorch's own operator database: every float32 sample, forward and backward, against the CPU.

What a Mac refuses must be what the tables of PyTorch's own tests expect it to refuse; where a
missing operator is the reason, the sample then runs through the fallback and is compared, too.
"""

from __future__ import annotations

import ast
import contextlib
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import pytest
import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.testing import assert_close
from torch.utils._pytree import tree_leaves, tree_map

from openmps.device.activation import active
from openmps.device.core import find_torch
from openmps.device.rules import installed_operators
from openmps.mac.operators import Status

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


# A Mac's median of nothing is 0, where the CPU's is not a number.
NANS_ARE_ZEROS = {"masked.median"}

# More steps, each with a last bit of its own.
LOOSE = {"linalg.lstsq", "linalg.lstsq.grad_oriented"}

# On a card, gradients that are zero by terms of 1/sqrt(1e-5) = 316: rows of one element.
CANCELLING = {"native_layer_norm"}

# In PyTorch's table, yet made of operators that a Mac has: svd_lowrank fails there because it is
# random, grid_sample and pinv failed for reasons of their values until torch 2.12.
RUNS = {"masked.median", "nn.functional.grid_sample", "linalg.pinvsingular"}
OPERATORS = installed_operators(find_torch().folder).dense
if OPERATORS["aten::linalg_qr.out"].status is Status.NATIVE:
    RUNS.add("svd_lowrank")

# Not in the table, yet missing: the first is in another one, the second is not tested there.
UNLISTED = {"linalg.matrix_rank", "nn.functional.channel_shuffle"}

now = active()
ON_CUDA = now is not None and now.engine == "cuda"

DOUBLES = (torch.float64, torch.complex128)


def table(name: str) -> set[str]:
    """The operators of one of PyTorch's tables of what fails on a Mac, in float32."""
    file = Path(torch.__file__).parent / "testing" / "_internal" / "common_mps.py"
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        targets = [node.target] if isinstance(node, ast.AnnAssign) else getattr(node, "targets", [])
        if any(isinstance(target, ast.Name) and target.id == name for target in targets):
            expression = compile(ast.Expression(node.value), str(file), "eval")
            dtypes_of = eval(expression, {"torch": torch, "MACOS_VERSION": 26.0})
            return {
                operator
                for operator, dtypes in dtypes_of.items()
                if dtypes is None or torch.float32 in dtypes
            }
    raise LookupError(f"{file} has no {name}")


REFUSED = (table("UNIMPLEMENTED_XFAILLIST") | UNLISTED) - RUNS
REFUSED_GRADIENTS = table("XFAILLIST_GRAD")
if OPERATORS["aten::grid_sampler_2d_backward"].status is Status.MISSING:
    REFUSED_GRADIENTS.add("nn.functional.grid_sample")

REFUSALS = (
    "is not currently implemented for the MPS device",
    "the MPS framework doesn't support float64",
    "Adaptive pool MPS: ",
    "linalg.lu_factor(): MPS only supports floats.",
)


def name_of(op: Any) -> str:
    return f"{op.name}.{op.variant_test_name}" if op.variant_test_name else op.name


DATABASE = [
    op
    for op in op_db
    if torch.float32 in op.supported_dtypes("cpu") and name_of(op) not in NOT_FOR_MPS
]


def differs_on_cuda(op: Any) -> bool:
    """Whether PyTorch leaves `op` out of its own comparison of CUDA with the CPU.

    Its results may be right on both and yet not the same: pivots, series beyond their range.
    """
    return any(
        getattr(decorator, "test_name", None) == "test_compare_cpu"
        and decorator.device_type in (None, "cuda")
        and (decorator.dtypes is None or torch.float32 in decorator.dtypes)
        for decorator in op.decorators
    )


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


def compare(
    got: torch.Tensor,
    want: torch.Tensor,
    *,
    exact: bool,
    loose: bool = False,
    cancelling: bool = False,
) -> None:
    assert got.device == torch.device("mps:0")
    tolerance = {"rtol": 0.0, "atol": 0.0} if exact else {}
    if loose:
        tolerance = {"rtol": 1e-5, "atol": 5e-5}
    if ON_CUDA and (want.is_floating_point() or want.is_complex()):
        tolerance = on_cuda(dense(want).abs(), 316 if cancelling else 0)
    assert_close(dense(got).cpu(), dense(want).cpu(), equal_nan=True, **tolerance)


def on_cuda(sizes: torch.Tensor, terms: float) -> dict[str, float]:
    """Other kernels, in another order: an element may be a sum of terms as large as the largest."""
    largest = sizes.detach()[sizes.isfinite()].amax().item() if sizes.isfinite().any() else 0.0
    return {"rtol": 1e-4, "atol": max(5e-5, 1e-5 * largest, 1e-6 * terms)}


def gradients(results: list[torch.Tensor], inputs: list[torch.Tensor]) -> tuple[Any, ...]:
    scalars = [result.abs().sum() if result.is_complex() else result.sum() for result in results]
    return torch.autograd.grad(scalars, inputs, allow_unused=True, retain_graph=True)


def dropout(op: Any, sample: Any) -> float:
    if op.name == "nn.functional.multi_head_attention_forward":
        return float(sample.args[9])  # its eleventh parameter
    return float(sample.kwargs.get("dropout_p", 0.0))


Result = TypeVar("Result")


class Mac:
    """Runs things as a Mac does, and counts what it refuses."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.refused = 0
        self.monkeypatch = monkeypatch

    def run(self, call: Callable[[], Result]) -> Result | None:
        """Through the fallback if need be; None where that does not help."""
        for fallback in ("0", "1"):
            self.monkeypatch.setenv("PYTORCH_ENABLE_MPS_FALLBACK", fallback)
            try:
                return call()
            except (RuntimeError, TypeError) as error:
                if not any(text in str(error) for text in REFUSALS):
                    raise
                self.refused += 1
                if "PYTORCH_ENABLE_MPS_FALLBACK" not in str(error):
                    break
        return None


@pytest.mark.filterwarnings("ignore")  # samples that are deprecated on every device
@pytest.mark.parametrize("op", DATABASE, ids=name_of)
def test_mps_agrees_with_the_cpu(op: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    differentiable = op.supports_autograd and torch.float32 in op.supported_backward_dtypes("cpu")
    exact = name_of(op) not in INEXACT
    forward, backward = Mac(monkeypatch), Mac(monkeypatch)
    compared = 0
    asked_for_doubles = 0
    for sample in op.sample_inputs("cpu", torch.float32, requires_grad=differentiable):
        arguments = (sample.input, sample.args, sample.kwargs)
        if any(leaf in DOUBLES for leaf in tree_leaves(arguments) if isinstance(leaf, torch.dtype)):
            asked_for_doubles += 1  # the samples for mps do not, where it matters
            continue
        random = op.name in RANDOM or dropout(op, sample) > 0
        uncompared = random or (ON_CUDA and differs_on_cuda(op))
        if op.name in INDICES_ON_CPU:
            on_mps = (to_mps(sample.input), *arguments[1:])
        else:
            on_mps = forward.run(lambda arguments=arguments: tree_map(to_mps, arguments))
        if on_mps is None:
            continue
        if op.is_factory_function:
            on_mps[2].setdefault("device", "mps")
        torch.manual_seed(0)
        # With gradients, a Mac's attention is the plain formula.
        with sdpa_kernel(SDPBackend.MATH) if differentiable else contextlib.nullcontext():
            want = op(arguments[0], *arguments[1], **arguments[2])
        torch.manual_seed(0)
        got = forward.run(lambda on_mps=on_mps: op(on_mps[0], *on_mps[1], **on_mps[2]))
        if got is None:
            continue
        assert len(tensors(got)) == len(tensors(want))
        for result, expected in zip(tensors(got), tensors(want), strict=True):
            if uncompared:
                assert result.device == torch.device("mps:0")
                assert not random or (result.shape, result.dtype) == (
                    expected.shape,
                    expected.dtype,
                )
            else:
                if name_of(op) in NANS_ARE_ZEROS:
                    expected = expected.nan_to_num(nan=0.0)
                compare(result, expected, exact=exact)
        compared += 1
        if not differentiable or uncompared:
            continue
        wanted = [t for t in tensors(want) if t.requires_grad]
        gotten = [t for t in tensors(got) if t.requires_grad]
        assert len(wanted) == len(gotten)
        if not wanted:
            continue
        inputs = [t for t in tensors(arguments) if t.requires_grad]
        inputs_on_mps = [t for t in tensors(on_mps) if t.requires_grad]
        grads = backward.run(
            lambda results=gotten, inputs=inputs_on_mps: gradients(results, inputs)
        )
        for grad, expected_grad in zip(grads or (), gradients(wanted, inputs), strict=bool(grads)):
            assert (grad is None) == (expected_grad is None)
            if grad is not None:
                compare(
                    grad,
                    expected_grad,
                    exact=False,
                    loose=name_of(op) in LOOSE,
                    cancelling=name_of(op) in CANCELLING,
                )
    key = op.name + op.variant_test_name
    assert compared > 0 or asked_for_doubles > 0 or key in REFUSED
    if not asked_for_doubles:
        assert (forward.refused > 0) == (key in REFUSED)
    if forward.refused == 0:
        assert backward.refused == 0 or key in REFUSED_GRADIENTS
