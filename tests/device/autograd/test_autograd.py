from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
import torch
from torch.utils.checkpoint import checkpoint

from ..agreement import assert_agrees, assert_matches, assert_module_agrees


def leaf(*values):
    return torch.tensor(values, device="mps", requires_grad=True)


def test_backward_fills_grad_on_mps():
    tensor = leaf(1.0, 2.0, 3.0)
    (tensor**2).sum().backward()
    assert_matches(tensor.grad, torch.tensor([2.0, 4.0, 6.0]))


def test_backward_twice_accumulates_into_the_same_tensor():
    tensor = leaf(1.0, 2.0)
    (tensor * 3).sum().backward()
    first = tensor.grad
    (tensor * 3).sum().backward()
    assert tensor.grad is first
    assert_matches(tensor.grad, torch.tensor([6.0, 6.0]))


def test_backward_twice_through_a_freed_graph_raises():
    loss = (leaf(1.0, 2.0) ** 2).sum()
    loss.backward()
    with pytest.raises(RuntimeError, match="backward through the graph a second time"):
        loss.backward()


def test_retain_graph_keeps_the_graph():
    tensor = leaf(1.0, 2.0)
    loss = (tensor**2).sum()
    loss.backward(retain_graph=True)
    loss.backward()
    assert_matches(tensor.grad, torch.tensor([4.0, 8.0]))


def test_backward_of_a_vector_needs_a_gradient():
    tensor = leaf(1.0, 2.0)
    with pytest.raises(RuntimeError, match="only for scalar outputs"):
        (tensor * 2).backward()
    (tensor * 2).backward(torch.tensor([1.0, 10.0], device="mps"))
    assert_matches(tensor.grad, torch.tensor([2.0, 20.0]))


@pytest.mark.parametrize(
    "function",
    [
        lambda x, w: (x @ w).tanh(),
        lambda x, w: torch.softmax(x @ w, -1),
        lambda x, w: torch.nn.functional.layer_norm(x @ w, (5,)),
        lambda x, w: torch.einsum("ij,jk->ik", x, w).sigmoid(),
        lambda x, w: torch.cat([x, w.t()]).sort(0).values,
        lambda x, w: torch.linalg.norm(x @ w, dim=1),
        lambda x, w: torch.logsumexp(x @ w, 0),
        lambda x, w: (x @ w).cumsum(0).prod(1),
        lambda x, w: torch.where(x > 0, x, x.exp()).std(0) + w.mean(1),
        lambda x, w: (x.unsqueeze(-1) - w).abs().amin(1),
        lambda x, w: x.to(torch.float16).to(torch.float32) @ w,
    ],
)
def test_gradients_equal_those_of_the_cpu(function):
    torch.manual_seed(0)
    assert_agrees(
        function, torch.randn(4, 3, requires_grad=True), torch.randn(3, 5, requires_grad=True)
    )


def test_gradients_through_a_fallback_equal_those_of_the_cpu(fallback):
    torch.manual_seed(0)
    with fallback("aten::_linalg_svd.U"):
        assert_agrees(
            lambda x, w: torch.linalg.svdvals(x @ w),
            torch.randn(4, 3, requires_grad=True),
            torch.randn(3, 5, requires_grad=True),
        )


def test_double_backward_equals_that_of_the_cpu():
    def curvature(x, w):
        loss = (torch.tanh(x @ w) ** 3).sum()
        (gradient,) = torch.autograd.grad(loss, x, create_graph=True)
        return gradient

    torch.manual_seed(0)
    assert_agrees(
        curvature, torch.randn(4, 3, requires_grad=True), torch.randn(3, 5, requires_grad=True)
    )


def test_double_backward_through_convolution_and_normalisation():
    def penalty(x, w):
        out = torch.nn.functional.conv2d(x, w, padding=1)
        out = torch.nn.functional.group_norm(torch.nn.functional.silu(out), 2)
        (gradient,) = torch.autograd.grad(out.square().sum(), x, create_graph=True)
        return gradient.flatten(1).norm(dim=1)

    torch.manual_seed(0)
    assert_agrees(
        penalty,
        torch.randn(2, 3, 5, 5, requires_grad=True),
        torch.randn(4, 3, 3, 3, requires_grad=True),
    )


def test_third_derivative():
    tensor = leaf(2.0)
    value = tensor**4
    for _ in range(3):
        (value,) = torch.autograd.grad(value.sum(), tensor, create_graph=True)
    assert_matches(value.detach(), torch.tensor([48.0]))


@pytest.mark.filterwarnings("ignore:Input #0 requires gradient and is not a double")
def test_gradcheck_against_finite_differences():
    # Double precision has no place on mps; float32 needs wide steps.
    tensor = torch.linspace(0.5, 1.5, 6, device="mps").view(2, 3).requires_grad_()
    assert torch.autograd.gradcheck(
        lambda t: (t * t.t().reshape(2, 3)).sum(1), (tensor,), eps=1e-2, atol=1e-2, rtol=1e-2
    )


def test_tensor_hook_sees_and_replaces_the_gradient():
    tensor = leaf(1.0, 2.0)
    seen = []
    handle = tensor.register_hook(lambda g: (seen.append(g), g * 10)[1])
    (tensor * 2).sum().backward()
    assert_matches(seen, [torch.tensor([2.0, 2.0])])
    assert_matches(tensor.grad, torch.tensor([20.0, 20.0]))
    handle.remove()
    (tensor * 2).sum().backward()
    assert_matches(tensor.grad, torch.tensor([22.0, 22.0]))


def test_post_accumulate_hook_sees_the_accumulated_gradient():
    tensor = leaf(1.0, 2.0)
    seen = []
    tensor.register_post_accumulate_grad_hook(lambda t: seen.append(t.grad.clone()))
    for _ in range(2):
        (tensor * 2).sum().backward()
    assert_matches(seen, [torch.tensor([2.0, 2.0]), torch.tensor([4.0, 4.0])])


def test_module_hooks_see_mps_tensors():
    module = torch.nn.Linear(2, 2).to("mps")
    seen = []
    module.register_forward_pre_hook(lambda m, args: seen.append(args[0]))
    module.register_forward_hook(lambda m, args, out: seen.append(out))
    module.register_full_backward_pre_hook(lambda m, g: seen.append(g[0]))
    module.register_full_backward_hook(lambda m, gi, go: seen.append(gi[0]))
    module(torch.ones(1, 2, device="mps", requires_grad=True)).sum().backward()
    assert [t.device.type for t in seen] == ["mps"] * 4


def test_graph_node_hooks_see_mps_gradients():
    tensor = leaf(1.0, 2.0)
    out = (tensor * 2).exp()
    seen = []
    out.grad_fn.register_prehook(lambda grads: seen.append(grads[0]))
    out.grad_fn.register_hook(lambda gi, go: seen.append(gi[0]))
    out.sum().backward()
    expected = torch.exp(torch.tensor([2.0, 4.0]))
    assert_matches(seen, [torch.ones(2).expand(2).as_strided((2,), (0,)), expected])


def test_retain_grad_keeps_the_gradient_of_a_middle_tensor():
    middle = leaf(1.0, 2.0) * 3
    middle.retain_grad()
    (middle**2).sum().backward()
    assert_matches(middle.grad, torch.tensor([6.0, 12.0]))


class Cube(torch.autograd.Function):
    @staticmethod
    def forward(ctx, tensor, scale):
        ctx.save_for_backward(tensor)
        ctx.scale = scale
        return tensor**3 * scale

    @staticmethod
    def backward(ctx, gradient):
        (tensor,) = ctx.saved_tensors
        return gradient * 3 * tensor**2 * ctx.scale, None


class DoubleInPlace(torch.autograd.Function):
    @staticmethod
    def forward(ctx, tensor):
        tensor.mul_(2)
        ctx.mark_dirty(tensor)
        return tensor

    @staticmethod
    def backward(ctx, gradient):
        return gradient * 2


def test_custom_function_has_first_and_second_derivatives():
    def second(x):
        (gradient,) = torch.autograd.grad(Cube.apply(x, 2.0).sum(), x, create_graph=True)
        return gradient

    assert_agrees(lambda x: Cube.apply(x, 2.0), torch.randn(4, requires_grad=True))
    assert_agrees(second, torch.randn(4, requires_grad=True))


def test_custom_function_may_write_in_place():
    assert_agrees(lambda x: DoubleInPlace.apply(x.clone()) ** 2, torch.randn(4, requires_grad=True))


@pytest.mark.parametrize("reentrant", [True, False])
def test_checkpoint_recomputes_the_same_gradients(reentrant):
    class Block(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.linear = torch.nn.Linear(3, 5)

        def forward(self, x):
            return checkpoint(lambda a: self.linear(a).relu().exp(), x, use_reentrant=reentrant)

    torch.manual_seed(0)
    assert_module_agrees(Block(), torch.randn(4, 3, requires_grad=True))


def test_no_grad_records_nothing():
    tensor = leaf(1.0, 2.0)
    with torch.no_grad():
        out = tensor * 2
    assert_matches(out, torch.tensor([2.0, 4.0]))
    assert out.grad_fn is None


def test_writing_to_a_leaf_needs_no_grad():
    tensor = leaf(1.0, 2.0)
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad"):
        tensor.add_(1)
    with torch.no_grad():
        tensor.add_(1)
    assert_matches(tensor.detach(), torch.tensor([2.0, 3.0]))


def test_inference_mode_makes_inference_tensors():
    with torch.inference_mode():
        tensor = torch.ones(3, device="mps")
        result = tensor * 2
        result.add_(1)
        view = result[1:]
        view.zero_()
    assert result.is_inference()
    assert view.is_inference()
    assert_matches(result, torch.tensor([3.0, 0.0, 0.0]))


def test_inference_tensors_outside_inference_mode():
    with torch.inference_mode():
        tensor = torch.ones(3, device="mps")
    other = leaf(1.0, 2.0, 3.0)
    assert_matches(tensor + 1, torch.full((3,), 2.0))
    with pytest.raises(RuntimeError, match="Inference tensors cannot be saved for backward"):
        other * tensor
    with pytest.raises(RuntimeError, match="Inplace update to inference tensor outside"):
        tensor.add_(0)
    assert_matches((other * tensor.clone()).detach(), torch.tensor([1.0, 2.0, 3.0]))


def test_a_thread_that_begins_in_inference_mode_reads_normal_tensors():
    """Its first headers are made in that mode, and stand for tensors that count their versions."""
    weight = torch.arange(12.0, device="mps").reshape(4, 3)
    rows = torch.tensor([2, 0], device="mps")

    @torch.inference_mode()
    def look() -> tuple[list[list[float]], torch.Tensor]:
        return weight.index_select(0, rows).tolist(), weight.unbind()[1]

    with ThreadPoolExecutor(1) as threads:
        found, view = threads.submit(look).result()
    assert found == [[6, 7, 8], [0, 1, 2]]
    assert not view.is_inference()
    assert view._version == 0


def test_inference_mode_may_write_to_normal_tensors():
    tensor = torch.ones(3, device="mps")
    with torch.inference_mode():
        tensor.add_(1)
        tensor[0] = 5
        view = tensor[1:]
    assert not tensor.is_inference()
    assert not view.is_inference()
    assert_matches(tensor, torch.tensor([5.0, 2.0, 2.0]))


def test_changing_a_saved_tensor_in_place_is_detected():
    tensor = leaf(1.0, 2.0)
    middle = tensor * 2
    out = middle**2
    middle.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        out.sum().backward()


def test_changing_a_saved_tensor_through_a_view_is_detected():
    tensor = leaf(1.0, 2.0)
    middle = tensor * 2
    out = middle.exp()
    out[0].zero_()
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        out.sum().backward()


@pytest.mark.filterwarnings("ignore:Anomaly Detection has been enabled")
def test_anomaly_mode_names_the_function_that_made_nan():
    tensor = leaf(-1.0)
    with torch.autograd.detect_anomaly():
        loss = torch.sqrt(tensor).sum()
        with (
            pytest.warns(UserWarning, match="Error detected in Sqrt"),
            pytest.raises(RuntimeError, match="SqrtBackward0' returned nan"),
        ):
            loss.backward()


def test_writing_through_views_keeps_gradients_right():
    def write(x, v):
        copy = x.clone()
        copy[0].mul_(3)
        copy.t()[1].add_(v)
        copy.diagonal().copy_(v[:3])
        return copy**2

    assert_agrees(write, torch.randn(3, 4, requires_grad=True), torch.randn(3, requires_grad=True))


def test_multi_output_views_refuse_in_place_writes_under_grad():
    tensor = leaf(1.0, 2.0) * 1
    first, _ = tensor.unbind()
    with pytest.raises(RuntimeError, match="a view and is being modified inplace"):
        first.mul_(2)


def test_copies_between_devices_carry_gradients():
    cpu = torch.tensor([1.0, 2.0], requires_grad=True)
    mps = leaf(3.0, 4.0)
    (cpu.to("mps") * mps).cpu().sum().backward()
    assert cpu.grad.device.type == "cpu"
    torch.testing.assert_close(cpu.grad, torch.tensor([3.0, 4.0]), rtol=0, atol=0)
    assert_matches(mps.grad, torch.tensor([1.0, 2.0]))


def test_copy_into_a_middle_tensor_carries_gradients():
    source = torch.tensor([1.0, 2.0], requires_grad=True)
    target = torch.zeros(2, device="mps")
    target.copy_(source)
    (target * 3).sum().backward()
    torch.testing.assert_close(source.grad, torch.tensor([3.0, 3.0]), rtol=0, atol=0)


def test_assigning_a_cpu_gradient_to_an_mps_tensor_raises():
    tensor = leaf(1.0, 2.0)
    with pytest.raises(RuntimeError, match="device"):
        tensor.grad = torch.ones(2)


def test_forward_mode_derivative():
    primal, tangent = torch.randn(4), torch.randn(4)

    def derivative(p, t):
        with torch.autograd.forward_ad.dual_level():
            dual = torch.autograd.forward_ad.make_dual(p, t)
            out = torch.autograd.forward_ad.unpack_dual((dual * 2).sin().cumsum(0))
            return out.primal, out.tangent

    assert_agrees(derivative, primal, tangent)


def test_saved_tensor_hooks_may_move_tensors_to_the_cpu():
    tensor = leaf(1.0, 2.0)
    with torch.autograd.graph.save_on_cpu():
        loss = (tensor.exp() * tensor).sum()
    loss.backward()
    values = torch.tensor([1.0, 2.0])
    assert_matches(tensor.grad, values.exp() * values + values.exp())


def test_functional_jacobian_and_hessian():
    def energy(x):
        return (x.sin() * x**2).sum()

    assert_agrees(lambda x: torch.autograd.functional.jacobian(torch.sin, x), torch.randn(3))
    assert_agrees(lambda x: torch.autograd.functional.hessian(energy, x), torch.randn(3))


def test_unused_inputs_have_no_gradient():
    used, unused = leaf(1.0), leaf(1.0)
    assert torch.autograd.grad((used * 2).sum(), [used, unused], allow_unused=True)[1] is None
    (zero,) = torch.autograd.grad(
        (used * 2).sum(), [unused], allow_unused=True, materialize_grads=True
    )
    assert_matches(zero, torch.zeros(1))


def test_clipping_gradients():
    def clipped(device):
        module = torch.nn.Linear(3, 3)
        torch.nn.init.ones_(module.weight)
        torch.nn.init.ones_(module.bias)
        module.to(device)
        module(torch.full((2, 3), 5.0, device=device)).square().sum().backward()
        norm = torch.nn.utils.clip_grad_norm_(module.parameters(), 1.0)
        torch.nn.utils.clip_grad_value_(module.parameters(), 0.3)
        return [norm, module.weight.grad, module.bias.grad]

    assert_matches(clipped("mps"), clipped("cpu"))


def test_gradient_checkpoint_early_stop_with_nested_blocks():
    def inner(x):
        return checkpoint(torch.sin, x, use_reentrant=False) * x

    assert_agrees(
        lambda x: checkpoint(inner, x, use_reentrant=False), torch.randn(4, requires_grad=True)
    )


@pytest.mark.cpu_engine("a queue is kept fed by autograd's own thread")
def test_backward_runs_in_the_calling_thread():
    """A second thread would bring a second team of OpenMP workers, in the first one's way."""
    threads = []
    x = torch.ones(3, device="mps", requires_grad=True)
    x.register_hook(lambda grad: threads.append(threading.get_ident()))
    (x * 2).sum().backward()
    assert threads == [threading.get_ident()]
