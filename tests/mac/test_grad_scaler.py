"""torch.amp.GradScaler("mps") and its kernels' checks."""

from __future__ import annotations

import warnings

import pytest
import torch

ONE = torch.ones(1, device="mps")
unscale = torch._amp_foreach_non_finite_check_and_unscale_

REFUSED = {
    "inv_scale must be a MPS tensor.": lambda: unscale([ONE], ONE, torch.ones(1)),
    "found_inf must be a MPS tensor.": lambda: unscale([ONE], torch.ones(1), ONE),
    "inv_scale must be a 1-element tensor.": lambda: unscale([ONE], ONE, ONE.repeat(2)),
    "found_inf must be a 1-element tensor.": lambda: unscale([ONE], ONE.repeat(2), ONE),
    "inv_scale must be a float tensor.": lambda: unscale([ONE], ONE, ONE.half()),
    "found_inf must be a float tensor.": lambda: unscale([ONE], ONE.half(), ONE),
    "scaled_grads must be MPS tensors.": lambda: unscale([torch.ones(1)], ONE, ONE),
    "one of scaled_grads was not a MPS tensor.": lambda: unscale([ONE, torch.ones(1)], ONE, ONE),
}


@pytest.mark.parametrize("text", REFUSED)
def test_arguments_are_checked(text: str) -> None:
    with pytest.raises(RuntimeError) as refused:
        REFUSED[text]()
    assert str(refused.value) == text


def test_no_gradients_are_nothing_to_do() -> None:
    unscale([], ONE, ONE)


def test_gradients_are_unscaled_in_place() -> None:
    gradients = [torch.full((2,), 8.0, device="mps"), torch.full((3,), 4.0, device="mps").half()]
    found = torch.zeros(1, device="mps")
    unscale(gradients, found, torch.tensor([0.25], device="mps"))
    assert [gradient.tolist() for gradient in gradients] == [[2.0] * 2, [1.0] * 3]
    assert found.item() == 0.0


@pytest.mark.parametrize("bad", [float("inf"), float("nan")])
def test_what_is_not_finite_is_found(bad: float) -> None:
    found = torch.zeros(1, device="mps")
    unscale([torch.tensor([1.0, bad], device="mps")], found, ONE)
    assert found.item() == 1.0


def test_a_scaler_warns_of_nothing_skips_bad_steps_and_backs_off() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        scaler = torch.amp.GradScaler("mps", init_scale=8.0, growth_interval=1)
    parameter = torch.nn.Parameter(torch.ones(2, device="mps"))
    optimizer = torch.optim.SGD([parameter], lr=1.0)

    scaler.scale((parameter * 2).sum()).backward()
    assert parameter.grad.tolist() == [16.0, 16.0]
    scaler.step(optimizer)
    scaler.update()
    assert parameter.tolist() == [-1.0, -1.0]
    assert scaler.get_scale() == 16.0

    optimizer.zero_grad()
    scaler.scale((parameter * float("inf")).sum()).backward()
    scaler.step(optimizer)
    scaler.update()
    assert parameter.tolist() == [-1.0, -1.0]
    assert scaler.get_scale() == 8.0
