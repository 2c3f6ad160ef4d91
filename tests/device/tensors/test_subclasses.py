from __future__ import annotations

import copy
import pickle

import pytest
import torch
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

from ..agreement import assert_matches


class Tagged(torch.Tensor):
    pass


class Boxed(torch.Tensor):
    """Wraps a tensor and forwards every operator to it."""

    @staticmethod
    def __new__(cls, inner):
        return torch.Tensor._make_wrapper_subclass(
            cls, inner.shape, dtype=inner.dtype, device=inner.device
        )

    def __init__(self, inner):
        self.inner = inner

    @classmethod
    def __torch_dispatch__(cls, function, types, args=(), kwargs=None):
        def unbox(value):
            return value.inner if isinstance(value, cls) else value

        result = function(*map(unbox, args), **(kwargs or {}))
        return cls(result) if isinstance(result, torch.Tensor) else result


class Recorder(TorchDispatchMode):
    def __init__(self):
        super().__init__()
        self.names = []

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        self.names.append(str(function))
        return function(*args, **(kwargs or {}))


def test_a_subclass_survives_operators_and_moves():
    tensor = torch.arange(3.0).as_subclass(Tagged).to("mps")
    assert type(tensor) is Tagged
    assert type(tensor * 2) is Tagged
    assert type(tensor[1:]) is Tagged
    assert_matches((tensor * 2).as_subclass(torch.Tensor), torch.arange(3.0) * 2)


def test_a_wrapper_subclass_claims_to_be_on_mps():
    boxed = Boxed(torch.arange(3.0, device="mps"))
    assert boxed.device == torch.device("mps:0")
    result = boxed * 2 + 1
    assert type(result) is Boxed
    assert_matches(result.inner, torch.arange(3.0) * 2 + 1)


def test_a_dispatch_mode_sees_the_operators():
    with Recorder() as recorder:
        result = torch.relu(torch.ones(2, device="mps")) @ torch.ones(2, device="mps")
    assert recorder.names.count("aten.relu.default") == 1
    assert recorder.names.count("aten.dot.default") == 1
    assert_matches(result, torch.tensor(2.0))


def test_a_function_mode_sees_the_calls():
    class Counter(TorchFunctionMode):
        calls = 0

        def __torch_function__(self, function, types, args=(), kwargs=None):
            Counter.calls += 1
            return function(*args, **(kwargs or {}))

    with Counter():
        result = torch.add(torch.ones(2, device="mps"), 1)
    assert Counter.calls == 2
    assert_matches(result, torch.full((2,), 2.0))


def test_a_parameter_subclass_trains():
    class Scale(torch.nn.Parameter):
        pass

    scale = Scale(torch.ones(2, device="mps"))
    (scale * 3).sum().backward()
    assert_matches(scale.grad, torch.full((2,), 3.0))


def test_jagged_nested_tensors_run_on_mps():
    parts = [torch.arange(6.0).view(3, 2), torch.arange(4.0).view(2, 2)]
    nested = torch.nested.nested_tensor(
        [p.to("mps") for p in parts], layout=torch.jagged, requires_grad=True
    )
    out = torch.sin(nested) * 2
    assert out.device.type == "mps"
    assert_matches([t.detach() for t in out.unbind()], [torch.sin(p) * 2 for p in parts])
    out.values().sum().backward()
    assert nested.grad.device.type == "mps"


def test_tensors_hash_by_identity():
    first, second = torch.ones(2, device="mps"), torch.ones(2, device="mps")
    assert len({first, second, first}) == 2


def test_python_attributes_stay_on_the_tensor():
    tensor = torch.arange(3.0, device="mps")
    tensor.note = "kept"
    views = [tensor[1:], tensor.detach()]
    tensor.add_(1)
    assert tensor.note == "kept"
    assert not any(hasattr(view, "note") for view in views)
    assert copy.deepcopy(tensor).note == "kept"


def test_generators_are_pickled_with_their_state():
    generator = torch.Generator(device="mps").manual_seed(4)
    torch.rand(5, device="mps", generator=generator)
    loaded = pickle.loads(pickle.dumps(generator))
    assert loaded.device.type == "mps"
    assert loaded.get_offset() == generator.get_offset()
    assert torch.equal(
        torch.rand(5, device="mps", generator=loaded),
        torch.rand(5, device="mps", generator=generator),
    )


def test_swapping_tensors_swaps_their_bytes():
    first, second = torch.zeros(2, device="mps"), torch.ones(3, device="mps")
    torch.utils.swap_tensors(first, second)
    assert_matches((first, second), (torch.ones(3), torch.zeros(2)))


def test_borrowed_bytes_do_not_resize():
    borrowed = torch.from_dlpack(torch.arange(3.0, device="mps"))
    with pytest.raises(RuntimeError, match="not resizable"):
        borrowed.resize_(100)
    with pytest.raises(RuntimeError, match="not allocated by the MPSAllocator"):
        torch._C._mps_host_alias_storage(borrowed.untyped_storage())
    assert_matches(borrowed[:2] + 1, torch.tensor([1.0, 2.0]))
