"""On a GPU the weights of a recurrent layer move into one buffer, which nobody sees."""

from __future__ import annotations

import copy
import io
import warnings

import pytest
import torch
from torch import nn

from ..agreement import assert_matches, on_cuda

DATA = torch.linspace(-1, 1, 5 * 2 * 3).reshape(5, 2, 3)


def layers(**options):
    torch.manual_seed(0)
    module = nn.LSTM(3, 4, num_layers=2, **options)
    return module, copy.deepcopy(module).to("mps")


def assert_same(twin, module):
    assert_matches(twin(DATA.to("mps"))[0], module(DATA)[0], roundings=4)


def addresses(module):
    return [p.data_ptr() for p in module.parameters()]


@pytest.mark.cuda_engine("the CPU reads each weight where it is")
def test_weights_move_once():
    module, twin = layers()
    before = addresses(twin)
    assert_same(twin, module)
    after = addresses(twin)
    assert after != before
    spread = max(after) - min(after)
    assert spread < 2 * sum(p.nbytes for p in twin.parameters())
    assert_same(twin, module)
    assert addresses(twin) == after


def test_storages_stay_apart():
    module, twin = layers()
    assert_same(twin, module)
    for parameter in twin.parameters():
        assert parameter.untyped_storage().nbytes() == parameter.nbytes
        assert parameter.storage_offset() == 0
    assert_matches(
        {n: p.detach() for n, p in twin.named_parameters()},
        {n: p.detach() for n, p in module.named_parameters()},
    )


def test_memory_figures_do_not_change():
    _, twin = layers()
    data = DATA.to("mps")
    before = torch.mps.current_allocated_memory()
    with torch.no_grad():
        twin(data)
    assert torch.mps.current_allocated_memory() == before
    del twin
    assert torch.mps.current_allocated_memory() < before


def test_nothing_is_said_about_it():
    _, twin = layers()
    held = [p.detach() for p in twin.parameters()]  # so that they have to be copied
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        twin(DATA.to("mps"))
    assert len(held) == 8


def test_a_view_that_was_taken_before_sees_changes():
    module, twin = layers()
    view = twin.weight_hh_l1.detach()[1]
    assert_same(twin, module)
    for each in (module, twin):
        with torch.no_grad():
            each.weight_hh_l1.fill_(0.5)
    assert view.eq(0.5).all()
    assert_same(twin, module)


def test_an_optimizers_steps_count():
    module, twin = layers()
    for each, data in ((module, DATA), (twin, DATA.to("mps"))):
        optimizer = torch.optim.SGD(each.parameters(), lr=0.1)
        for _ in range(3):
            optimizer.zero_grad()
            each(data)[0].square().sum().backward()
            optimizer.step()
    assert_matches(
        {n: p.detach() for n, p in twin.named_parameters()},
        {n: p.detach() for n, p in module.named_parameters()},
        roundings=16,
    )


def test_copies_and_files_have_the_weights():
    module, twin = layers()
    assert_same(twin, module)
    assert_same(copy.deepcopy(twin), module)
    file = io.BytesIO()
    torch.save(twin.state_dict(), file)
    single = sum(p.nbytes for p in twin.parameters())
    assert len(file.getvalue()) < single + 16384
    file.seek(0)
    again = nn.LSTM(3, 4, num_layers=2, device="mps")
    again.load_state_dict(torch.load(file))
    assert_same(again, module)
    assert_matches(
        {n: p.detach().to("mps") for n, p in copy.deepcopy(twin).cpu().named_parameters()},
        {n: p.detach() for n, p in module.named_parameters()},
    )


def test_weights_of_two_layers_at_once():
    torch.manual_seed(0)
    first, second = nn.GRU(3, 4), nn.GRU(3, 4)
    second.weight_hh_l0 = first.weight_hh_l0
    on_device = copy.deepcopy(nn.ModuleList([first, second])).to("mps")
    for _ in range(2):
        for module, twin in zip((first, second), on_device, strict=True):
            assert_same(twin, module)


def test_weights_that_are_results_have_gradients():
    torch.manual_seed(0)
    module = nn.utils.parametrizations.weight_norm(nn.GRU(3, 4), "weight_hh_l0")
    twin = copy.deepcopy(module).to("mps")
    grads = []
    for each, data in ((twin, DATA.to("mps")), (module, DATA)):
        each(data)[0].square().sum().backward()
        grads.append([p.grad for p in each.parameters()])
    assert_matches(grads[0], grads[1], roundings=8)


def test_weights_swapped_between_forward_and_backward():
    module, twin = layers()
    grads = []
    for each, data in ((twin, DATA.to("mps")), (module, DATA)):
        loss = each(data)[0].square().sum()
        other = copy.deepcopy(each)
        other(data)
        old = each.weight_ih_l0
        each.weight_ih_l0 = nn.Parameter(torch.zeros_like(old))
        loss.backward()
        grads.append([old.grad, each.weight_hh_l1.grad])
    assert_matches(grads[0], grads[1], roundings=8)


@pytest.mark.cuda_engine("cuDNN's buffers")
def test_a_second_module_over_the_same_bytes():
    module, twin = layers()
    assert on_cuda()
    assert_same(twin, module)
    shared = nn.LSTM(3, 4, num_layers=2, device="mps")
    for name, parameter in twin.named_parameters():
        setattr(shared, name, parameter)
    del twin
    assert_same(shared, module)
