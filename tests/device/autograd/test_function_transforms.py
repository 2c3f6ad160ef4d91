from __future__ import annotations

import pytest
import torch
from torch.func import (
    functional_call,
    functionalize,
    grad,
    grad_and_value,
    hessian,
    jacfwd,
    jacrev,
    jvp,
    linearize,
    stack_module_state,
    vjp,
    vmap,
)

from ..agreement import assert_agrees, assert_matches


def energy(x):
    return (x.sin() * x**2).sum()


def network(x, w):
    return torch.tanh(x @ w)


@pytest.mark.parametrize(
    "function",
    [
        lambda a, b: a * b + 1,
        torch.dot,
        torch.maximum,
        lambda a, b: torch.cat([a, b]).sort().values,
        lambda a, b: torch.nn.functional.softmax(a, 0) - b.mean(),
        lambda a, b: a.unsqueeze(0) @ b.unsqueeze(1),
        lambda a, b: torch.where(a > b, a, b).cumsum(0),
        lambda a, b: torch.atan2(a, b)[1:],
        lambda a, b: torch.linalg.vector_norm(a - b),
    ],
)
def test_vmap_agrees(function):
    torch.manual_seed(0)
    assert_agrees(vmap(function), torch.randn(5, 3), torch.randn(5, 3))


def test_vmap_over_other_dimensions():
    torch.manual_seed(0)
    mapped = vmap(lambda a, b: a * b, in_dims=(1, None), out_dims=1)
    assert_agrees(mapped, torch.randn(3, 5), torch.randn(3))


def test_nested_vmap_makes_an_outer_product():
    outer = vmap(vmap(torch.mul, in_dims=(None, 0)), in_dims=(0, None))
    assert_agrees(outer, torch.randn(3), torch.randn(4))


def test_vmap_in_chunks():
    assert_agrees(vmap(energy, chunk_size=2), torch.randn(5, 3))


def test_vmap_writes_in_place():
    def write(a, b):
        c = a.clone()
        c.add_(b)
        c[0] = 7
        return c

    assert_agrees(vmap(write), torch.randn(5, 3), torch.randn(5, 3))


def test_vmap_over_attention():
    torch.manual_seed(0)
    shape = (3, 2, 4, 5, 8)
    attend = torch.nn.functional.scaled_dot_product_attention
    query, key, value = (torch.randn(shape) for _ in range(3))
    mps = vmap(attend)(query.to("mps"), key.to("mps"), value.to("mps"))
    assert mps.device.type == "mps"
    # The cpu maps its flash kernel; batching rules may pick another one on a device.
    torch.testing.assert_close(mps.cpu(), attend(query, key, value))


# Of the CPU's kernel, in newer releases.
@pytest.mark.filterwarnings("ignore:There is a performance drop")
def test_gradient_of_vmapped_attention():
    torch.manual_seed(0)
    attend = torch.nn.functional.scaled_dot_product_attention

    def loss(q, k, v):
        return attend(q, k, v).square().sum()

    inputs = [torch.randn(3, 2, 4, 8) for _ in range(3)]
    got = vmap(grad(loss, argnums=(0, 1, 2)))(*[t.to("mps") for t in inputs])
    want = vmap(grad(loss, argnums=(0, 1, 2)))(*inputs)
    for g, w in zip(got, want, strict=True):
        assert g.device.type == "mps"
        torch.testing.assert_close(g.cpu(), w)


@pytest.mark.parametrize("randomness", ["same", "different"])
def test_vmap_randomness(randomness):
    rows = torch.zeros(4, 100, device="mps")
    out = vmap(lambda t: t + torch.rand_like(t), randomness=randomness)(rows)
    assert out.device.type == "mps"
    assert torch.equal(out[0], out[1]) == (randomness == "same")


def test_vmap_randomness_is_refused_by_default():
    with pytest.raises(RuntimeError, match="vmap: called random operation"):
        vmap(torch.rand_like)(torch.zeros(4, 3, device="mps"))


def test_grad_and_nested_grad():
    assert_agrees(grad(energy), torch.randn(4))
    assert_agrees(grad_and_value(energy), torch.randn(4))
    assert_agrees(vmap(grad(grad(lambda x: x.sin() * x**3))), torch.randn(4))


def test_grad_with_respect_to_several_arguments():
    loss = lambda x, w: network(x, w).square().sum()  # noqa: E731
    assert_agrees(grad(loss, argnums=(0, 1)), torch.randn(2, 3), torch.randn(3, 4))


def test_per_sample_gradients():
    torch.manual_seed(0)
    loss = lambda w, x: network(x, w).square().sum()  # noqa: E731
    assert_agrees(vmap(grad(loss), in_dims=(None, 0)), torch.randn(3, 4), torch.randn(5, 3))


def test_jvp_agrees():
    assert_agrees(
        lambda x, t: jvp(lambda y: y.sin().cumsum(0), (x,), (t,)), torch.randn(4), torch.randn(4)
    )


def test_vjp_agrees():
    def pull_back(x, c):
        out, pull = vjp(lambda y: y.sin().cumsum(0), x)
        return out, pull(c)[0]

    assert_agrees(pull_back, torch.randn(4), torch.randn(4))


@pytest.mark.filterwarnings("ignore:Attempted to insert a get_attr Node")
def test_linearize_agrees():
    def linear(x, t):
        out, push = linearize(lambda y: y.sin() * 2, x)
        return out, push(t)

    assert_agrees(linear, torch.randn(4), torch.randn(4))


@pytest.mark.parametrize("jacobian", [jacrev, jacfwd])
def test_jacobians_agree(jacobian):
    torch.manual_seed(0)
    assert_agrees(jacobian(network, argnums=1), torch.randn(2, 3), torch.randn(3, 4))


def test_hessian_agrees():
    assert_agrees(hessian(energy), torch.randn(4))


def test_functional_call_uses_the_given_parameters():
    module = torch.nn.Linear(3, 2).to("mps")
    parameters = {
        "weight": torch.ones(2, 3, device="mps"),
        "bias": torch.zeros(2, device="mps"),
    }
    out = functional_call(module, parameters, (torch.arange(3.0, device="mps"),))
    assert_matches(out, torch.tensor([3.0, 3.0]))


def test_an_ensemble_of_modules_runs_as_one():
    torch.manual_seed(0)
    modules = [torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.GELU()) for _ in range(3)]
    data = torch.randn(5, 3)
    want = torch.stack([m(data) for m in modules])
    on_mps = [m.to("mps") for m in modules]
    parameters, buffers = stack_module_state(on_mps)
    run = lambda p, b, x: functional_call(modules[0], (p, b), (x,))  # noqa: E731
    got = vmap(run, in_dims=(0, 0, None))(parameters, buffers, data.to("mps"))
    assert got.device.type == "mps"
    torch.testing.assert_close(got.detach().cpu(), want.detach())


def test_batch_norm_per_sample_gradients_without_running_statistics():
    torch.manual_seed(0)

    def loss(w, x):
        return torch.nn.functional.group_norm(x[None] * w, 2).square().sum()

    assert_agrees(vmap(grad(loss), in_dims=(None, 0)), torch.randn(4), torch.randn(3, 4))


def test_functionalize_removes_mutation():
    def mutate(x):
        y = x.clone()
        y[0].add_(1)
        y.resize_(2, 2)
        return y * 2

    assert_agrees(functionalize(mutate), torch.randn(4))
