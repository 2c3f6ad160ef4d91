"""scaled_dot_product_attention: which operator runs, and what it refuses."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.functional import scaled_dot_product_attention as attend
from torch.utils._python_dispatch import TorchDispatchMode

NATIVE = "aten._scaled_dot_product_attention_math_for_mps.default"
KERNELS = (SDPBackend.MATH, SDPBackend.FLASH_ATTENTION, SDPBackend.EFFICIENT_ATTENTION)
QUERY = torch.linspace(-1, 1, 256).reshape(1, 4, 4, 16).to("mps")
TRAINED = QUERY.clone().requires_grad_()


class Operators(TorchDispatchMode):
    def __init__(self) -> None:
        super().__init__()
        self.names: list[str] = []

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        self.names.append(str(func))
        return func(*args, **(kwargs or {}))


def operators_of(query: torch.Tensor) -> list[str]:
    with Operators() as operators:
        attend(query, query, query)
    return operators.names


def test_without_gradients_one_operator_runs() -> None:
    assert operators_of(QUERY) == [NATIVE]


def test_without_gradient_mode_one_operator_runs() -> None:
    with torch.no_grad():
        assert operators_of(QUERY.clone().requires_grad_()) == [NATIVE]


@pytest.mark.cpu_engine("with gradients a card runs its fused kernels")
def test_with_gradients_the_plain_formula_runs() -> None:
    names = operators_of(QUERY.clone().requires_grad_())
    assert names.count("aten.bmm.default") == 2
    assert any("softmax" in name for name in names)
    assert not any("scaled_dot_product" in name for name in names)


@pytest.mark.cpu_engine("with gradients a card runs its fused kernels, which keep no weights")
def test_with_gradients_the_weights_take_their_memory() -> None:
    query = torch.zeros(1, 1, 2048, 8, device="mps", requires_grad=True)
    before = torch.mps.current_allocated_memory()
    out = attend(query, query, query)
    assert torch.mps.current_allocated_memory() - before > 2048 * 2048 * 4
    del out


@pytest.mark.parametrize("backend", list(KERNELS))
def test_asking_for_a_kernel_changes_nothing(backend: SDPBackend, engine: str) -> None:
    with sdpa_kernel([backend]):
        assert operators_of(QUERY) == [NATIVE]
        result = attend(QUERY, QUERY, QUERY)
        assert torch.backends.cuda.math_sdp_enabled() is (backend is SDPBackend.MATH)
    # On a card, MATH takes the plain formula instead of a fused kernel: other last bits.
    tolerance = {"rtol": 0.0, "atol": 0.0} if engine == "cpu" else {}
    torch.testing.assert_close(result, attend(QUERY, QUERY, QUERY), **tolerance)


@pytest.mark.parametrize("backend", KERNELS)
def test_nor_with_gradients(backend: SDPBackend) -> None:
    query = QUERY.clone().requires_grad_()
    with sdpa_kernel([backend]):
        attend(query, QUERY, QUERY).square().sum().backward()
    twin = QUERY.clone().requires_grad_()
    attend(twin, QUERY, QUERY).square().sum().backward()
    torch.testing.assert_close(query.grad, twin.grad)


def test_the_operator_gives_two_tensors() -> None:
    out, weights = torch.ops.aten._scaled_dot_product_attention_math_for_mps(QUERY, QUERY, QUERY)
    assert torch.equal(out, attend(QUERY, QUERY, QUERY))
    assert weights.device == torch.device("mps:0")


REFUSED = {
    "dropout": (
        lambda: attend(QUERY, QUERY, QUERY, dropout_p=0.5),
        NotImplementedError,
        "scaled_dot_product_attention for MPS does not support dropout.",
    ),
    "integers": (
        lambda: attend(QUERY.int(), QUERY.int(), QUERY.int()),
        NotImplementedError,
        "scaled_dot_product_attention for MPS does not support dtype Int",
    ),
    "groups that do not divide": (
        lambda: attend(QUERY, QUERY[:, :3], QUERY[:, :3], enable_gqa=True),
        RuntimeError,
        "For GQA, the query tensor's head dimension (4) must be divisible by the key tensor's head "
        "dimension (3).",
    ),
    "a mask and a causal one for short queries": (
        lambda: attend(QUERY, QUERY, QUERY, torch.ones(4, 4, device="mps"), is_causal=True),
        RuntimeError,
        "_scaled_dot_product_attention: Explicit attn_mask should not be set when is_causal=True",
    ),
    "a mask and a causal one, with gradients": (
        lambda: attend(TRAINED, QUERY, QUERY, torch.ones(4, 4, device="mps"), is_causal=True),
        RuntimeError,
        "_scaled_dot_product_attention: Explicit attn_mask should not be set when is_causal=True",
    ),
    "two dtypes": (
        lambda: attend(QUERY, QUERY.half(), QUERY),
        RuntimeError,
        "Expected query, key, and value to have the same dtype, but got query.dtype: float "
        "key.dtype: c10::Half and value.dtype: float instead.",
    ),
    "two devices": (
        lambda: attend(QUERY, QUERY.cpu(), QUERY),
        RuntimeError,
        "Expected query, key, and value to have the same device type, but got query.device: mps:0 "
        "key.device: cpu and value.device: mps:0 instead.",
    ),
}


CHECKS_GROUPS = pytest.mark.needs_torch(
    "2.12", "leaves it to the product to refuse uneven attention groups"
)


@pytest.mark.parametrize(
    "name",
    [pytest.param(n, marks=CHECKS_GROUPS if n.startswith("groups") else ()) for n in REFUSED],
)
def test_refused(name: str) -> None:
    call, error, text = REFUSED[name]
    with pytest.raises(error) as refused:
        call()
    assert str(refused.value) == text


def test_long_queries_take_a_mask_and_a_causal_one_without_gradients() -> None:
    query = torch.linspace(-1, 1, 16 * 64, device="mps").reshape(1, 1, 16, 64)
    bias = torch.linspace(-2, 2, 256, device="mps").reshape(16, 16)
    later = torch.ones(16, 16, dtype=torch.bool, device="mps").triu(1)
    out = attend(query, query, query, bias, is_causal=True)
    torch.testing.assert_close(
        out, attend(query, query, query, bias.masked_fill(later, -torch.inf))
    )


def test_dropout_runs_with_gradients() -> None:
    query = QUERY.clone().requires_grad_()
    attend(query, QUERY, QUERY, dropout_p=0.5).sum().backward()
    assert query.grad.shape == QUERY.shape
