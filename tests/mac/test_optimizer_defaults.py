"""Which implementation an optimizer takes on a Mac."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch.utils import _foreach_utils
from torch.utils._python_dispatch import TorchDispatchMode

from .texts import missing


class Operators(TorchDispatchMode):
    def __init__(self) -> None:
        super().__init__()
        self.names: set[str] = set()

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        self.names.add(func.name())
        return func(*args, **(kwargs or {}))


def parameter() -> torch.nn.Parameter:
    made = torch.nn.Parameter(torch.ones(2, device="mps"))
    made.grad = torch.full((2,), 0.5, device="mps")
    return made


def operators_of(optimizer: torch.optim.Optimizer) -> set[str]:
    with Operators() as operators:
        optimizer.step()
    return operators.names


def test_the_lists() -> None:
    assert "mps" in _foreach_utils._get_fused_kernels_supported_devices()
    assert "mps" not in _foreach_utils._get_foreach_kernels_supported_devices()


@pytest.mark.parametrize("kind", [torch.optim.Adam, torch.optim.AdamW, torch.optim.SGD])
def test_the_default_is_one_tensor_at_a_time(kind: type[torch.optim.Optimizer]) -> None:
    names = operators_of(kind([parameter(), parameter()], lr=0.1))
    assert not {name for name in names if "_foreach_" in name or "_fused_" in name}


@pytest.mark.parametrize("kind", [torch.optim.Adam, torch.optim.AdamW, torch.optim.SGD])
def test_foreach_works_when_asked_for(kind: type[torch.optim.Optimizer]) -> None:
    names = operators_of(kind([parameter(), parameter()], lr=0.1, foreach=True))
    assert {name for name in names if "_foreach_" in name}


@pytest.mark.parametrize(
    ("kind", "operator"),
    [
        (torch.optim.Adam, "aten::_fused_adam_"),
        (torch.optim.AdamW, "aten::_fused_adamw_"),
        (torch.optim.SGD, "aten::_fused_sgd_"),
    ],
)
def test_fused_kernels_run_when_asked_for(kind: type[torch.optim.Optimizer], operator: str) -> None:
    assert operator in operators_of(kind([parameter()], lr=0.1, fused=True))


def test_adagrad_has_no_fused_kernel() -> None:
    optimizer = torch.optim.Adagrad([parameter()], fused=True)
    with pytest.raises(NotImplementedError) as refused:
        optimizer.step()
    assert str(refused.value) == missing("aten::_fused_adagrad_")


def fused_adam(*lists: list[torch.Tensor], amsgrad: bool = False, lr: Any = 0.1) -> None:
    parameters, gradients, means, squares = lists[:4]
    largest = lists[4] if amsgrad else []
    torch._fused_adam_(
        parameters, gradients, means, squares, largest, [torch.ones((), device="mps")],
        lr=lr, beta1=0.9, beta2=0.99, weight_decay=0.0, eps=1e-8, amsgrad=amsgrad, maximize=False,
    )  # fmt: skip


def ones() -> torch.Tensor:
    return torch.ones(2, 2, device="mps")


UNLIKE = {
    "dtype": lambda: ones().half(),
    "device": lambda: torch.ones(2, 2),
}


@pytest.mark.parametrize("difference", ["dtype", "device"])
def test_fused_adam_wants_its_lists_alike(difference: str) -> None:
    odd = UNLIKE[difference]()
    with pytest.raises(RuntimeError) as refused:
        fused_adam([ones()], [odd], [ones()], [ones()])
    assert str(refused.value) == (
        "params, grads, exp_avgs, and exp_avg_sqs must have same dtype, device, and layout"
    )
    with pytest.raises(RuntimeError) as refused:
        fused_adam([ones()], [ones()], [ones()], [ones()], [odd], amsgrad=True)
    assert str(refused.value) == (
        "params, grads, exp_avgs, exp_avg_sqs, and max_exp_avg_sqs must have same dtype, device, "
        "and layout"
    )


def test_fused_adam_wants_the_strides_alike() -> None:
    with pytest.raises(RuntimeError) as refused:
        fused_adam([ones()], [ones()], [ones().t()], [ones()])
    assert str(refused.value).endswith("must have same dtype, device, and layout")


def test_a_learning_rate_on_the_cpu_is_read() -> None:
    plain, tensor = ones(), ones()
    fused_adam([plain], [ones()], [ones()], [ones()])
    fused_adam([tensor], [ones()], [ones()], [ones()], lr=torch.tensor(0.1))
    torch.testing.assert_close(tensor, plain)
