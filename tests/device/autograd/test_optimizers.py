from __future__ import annotations

import copy
import inspect
import warnings

import pytest
import torch
from torch import nn

from ..agreement import assert_matches

# What a class needs beyond its parameters.
NEEDS = {"SGD": {"lr": 0.1, "momentum": 0.9}, "Muon": {"lr": 0.1}}
OPTIMIZERS = {
    name: value
    for name, value in vars(torch.optim).items()
    if inspect.isclass(value)
    and issubclass(value, torch.optim.Optimizer)
    and value is not torch.optim.Optimizer
}
PLAIN = sorted(set(OPTIMIZERS) - {"SparseAdam", "LBFGS"})


def accepts(name, option):
    return option in inspect.signature(OPTIMIZERS[name]).parameters


def model(name="SGD"):
    torch.manual_seed(0)
    if name == "Muon":  # matrices only
        return nn.Sequential(nn.Linear(3, 4, bias=False), nn.Tanh(), nn.Linear(4, 2, bias=False))
    return nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2))


def loss_of(module, device):
    data = torch.linspace(-1, 1, 15, device=device).view(5, 3)
    return module(data).square().sum()


def trained(name, device, steps=3, **options):
    module = model(name).to(device)
    optimizer = OPTIMIZERS[name](module.parameters(), **NEEDS.get(name, {}), **options)
    for _ in range(steps):
        optimizer.zero_grad()
        loss_of(module, device).backward()
        optimizer.step()
    return module, optimizer


def assert_trains_alike(name, **options):
    got, got_optimizer = trained(name, "mps", **options)
    want, want_optimizer = trained(name, "cpu", **options)
    # foreach and fused kernels may round once where the plain ones round twice.
    assert_matches(
        dict(got.named_parameters()), dict(want.named_parameters()), rtol=1e-6, atol=1e-7
    )
    assert not torch.equal(want[0].weight, model(name)[0].weight)
    got_state, want_state = got_optimizer.state_dict(), want_optimizer.state_dict()
    assert got_state["state"].keys() == want_state["state"].keys()
    for key, entries in want_state["state"].items():
        assert got_state["state"][key].keys() == entries.keys()
        for entry, value in entries.items():
            if isinstance(value, torch.Tensor) and value.dim() > 0:
                assert got_state["state"][key][entry].device.type == "mps"


def test_every_optimizer_of_torch_is_tested():
    assert len(PLAIN) >= 12
    assert {"Adam", "AdamW", "SGD", "RMSprop", "Adagrad", "Adafactor"} <= set(PLAIN)


@pytest.mark.parametrize("name", PLAIN)
def test_plain_steps_agree(name):
    assert_trains_alike(name, **({"foreach": False} if accepts(name, "foreach") else {}))


@pytest.mark.parametrize("name", PLAIN)
def test_default_steps_agree(name):
    assert_trains_alike(name)


@pytest.mark.parametrize("name", [n for n in PLAIN if accepts(n, "foreach")])
def test_foreach_steps_agree(name):
    assert_trains_alike(name, foreach=True)


@pytest.mark.parametrize("name", [n for n in PLAIN if accepts(n, "fused") and n != "Adagrad"])
def test_fused_steps_agree(name):
    assert_trains_alike(name, fused=True)


@pytest.mark.parametrize("options", [{}, {"momentum": 0.9}, {"weight_decay": 0.1}], ids=str)
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=str)
def test_a_fused_step_of_sgd_in_half_precision_moves_every_element(dtype, options):
    start = torch.linspace(-1, 1, 100)

    def trained(dtype, device, **more):
        parameter = nn.Parameter(start.clone().to(device=device, dtype=dtype))
        optimizer = torch.optim.SGD([parameter], lr=0.1, **options, **more)
        for step in range(3):
            parameter.grad = (start + step).to(device=device, dtype=dtype)
            optimizer.step()
        return parameter.detach().float().cpu()

    precision = {torch.float16: 2e-3, torch.bfloat16: 2e-2}[dtype]
    got, want = trained(dtype, "mps", fused=True), trained(torch.float32, "cpu")
    torch.testing.assert_close(got, want, rtol=precision, atol=precision)


def test_fused_steps_that_a_mac_lacks_agree_through_the_fallback(fallback):
    with fallback("aten::_fused_adagrad_"):
        assert_trains_alike("Adagrad", fused=True)


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("Adam", {"amsgrad": True}),
        ("Adam", {"weight_decay": 0.1, "maximize": True}),
        ("AdamW", {"amsgrad": True, "fused": True}),
        ("Adam", {"capturable": False, "differentiable": False, "betas": (0.5, 0.6)}),
        ("SGD", {"nesterov": True, "weight_decay": 0.1}),
        ("SGD", {"nesterov": True, "fused": True}),
        ("RMSprop", {"centered": True, "momentum": 0.9}),
        ("RMSprop", {"centered": True, "momentum": 0.9, "foreach": True}),
        ("Adagrad", {"lr_decay": 0.1, "initial_accumulator_value": 0.5}),
        ("NAdam", {"decoupled_weight_decay": True, "weight_decay": 0.1}),
        ("Adam", {"lr": torch.tensor(0.01)}),
        ("AdamW", {"lr": torch.tensor([[0.01]]), "fused": True}),
    ],
)
def test_options_agree(name, options):
    options = copy.deepcopy(options)
    assert_trains_alike(name, **options)


def test_a_fused_step_takes_its_rate_from_a_tensor_of_any_shape():
    steps = {}
    for device in ("mps", "cpu"):
        parameter = nn.Parameter(torch.arange(3.0).to(device))
        parameter.grad = torch.ones_like(parameter)
        torch.optim.SGD([parameter], lr=torch.tensor([[0.5]]), fused=True).step()
        steps[device] = parameter.detach()
    assert_matches(steps["mps"], steps["cpu"])


def test_sparse_adam_agrees():
    def train(device):
        torch.manual_seed(0)
        table = nn.Embedding(6, 3, sparse=True).to("cpu").to(device)
        with torch.no_grad():
            table.weight.copy_(torch.arange(18.0).view(6, 3) / 10)
        optimizer = torch.optim.SparseAdam(table.parameters(), lr=0.1)
        for rows in ([0, 1, 1], [1, 5, 0]):
            optimizer.zero_grad()
            table(torch.tensor(rows, device=device)).square().sum().backward()
            assert table.weight.grad.is_sparse
            optimizer.step()
        return table.weight

    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Sparse invariant checks")
        assert_matches(train("mps"), train("cpu"))


@pytest.mark.parametrize("line_search", [None, "strong_wolfe"])
def test_lbfgs_agrees(line_search):
    def train(device):
        module = model().to(device)
        optimizer = torch.optim.LBFGS(module.parameters(), max_iter=5, line_search_fn=line_search)

        def closure():
            optimizer.zero_grad()
            loss = loss_of(module, device)
            loss.backward()
            return loss

        optimizer.step(closure)
        return dict(module.named_parameters())

    assert_matches(train("mps"), train("cpu"))


@pytest.mark.parametrize("name", ["Adam", "SGD", "RMSprop", "Adagrad"])
def test_state_dict_round_trip_continues_the_training(name):
    module, optimizer = trained(name, "mps", steps=2)
    fresh = OPTIMIZERS[name](module.parameters(), **NEEDS.get(name, {}))
    fresh.load_state_dict(copy.deepcopy(optimizer.state_dict()))
    fresh.zero_grad()
    loss_of(module, "mps").backward()
    fresh.step()
    want, _ = trained(name, "cpu", steps=3)
    assert_matches(
        dict(module.named_parameters()), dict(want.named_parameters()), rtol=1e-6, atol=1e-7
    )


def test_a_cpu_state_dict_moves_to_the_device_of_the_parameters():
    _, cpu = trained("Adam", "cpu", steps=2)
    module = model().to("mps")
    optimizer = torch.optim.Adam(module.parameters())
    optimizer.load_state_dict(cpu.state_dict())
    state = optimizer.state[module[0].weight]
    assert_matches(state["exp_avg"], next(iter(cpu.state.values()))["exp_avg"])
    assert state["step"].item() == 2


def test_moving_a_module_keeps_its_optimizer():
    module = model()
    optimizer = torch.optim.SGD(module.parameters(), lr=0.1)
    module.to("mps")
    loss_of(module, "mps").backward()
    optimizer.step()
    want = model()
    cpu = torch.optim.SGD(want.parameters(), lr=0.1)
    loss_of(want, "cpu").backward()
    cpu.step()
    assert_matches(dict(module.named_parameters()), dict(want.named_parameters()))


@pytest.mark.parametrize(
    "schedule",
    [
        lambda o: torch.optim.lr_scheduler.StepLR(o, 1, 0.5),
        lambda o: torch.optim.lr_scheduler.CosineAnnealingLR(o, 4),
        lambda o: torch.optim.lr_scheduler.OneCycleLR(o, 0.2, total_steps=10),
        lambda o: torch.optim.lr_scheduler.ExponentialLR(o, 0.7),
        lambda o: torch.optim.lr_scheduler.LambdaLR(o, lambda epoch: 1 / (epoch + 1)),
    ],
)
def test_schedules_agree(schedule):
    def train(device):
        module = model().to(device)
        optimizer = torch.optim.AdamW(module.parameters(), lr=0.05)
        scheduler = schedule(optimizer)
        for _ in range(4):
            optimizer.zero_grad()
            loss_of(module, device).backward()
            optimizer.step()
            scheduler.step()
        return dict(module.named_parameters()), scheduler.get_last_lr()

    assert_matches(train("mps"), train("cpu"), rtol=1e-6, atol=1e-7)


def test_plateau_schedule_takes_an_mps_loss():
    module = model().to("mps")
    optimizer = torch.optim.SGD(module.parameters(), lr=1.0)
    scheduler = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, patience=0, factor=0.5)
    for value in (1.0, 2.0, 3.0):
        optimizer.step()
        scheduler.step(torch.tensor(value, device="mps"))
    assert scheduler.get_last_lr() == [0.25]


def test_weight_averages_agree():
    def average(device):
        module = model().to(device)
        averaged = torch.optim.swa_utils.AveragedModel(module)
        optimizer = torch.optim.SGD(module.parameters(), lr=0.1)
        for _ in range(3):
            optimizer.zero_grad()
            loss_of(module, device).backward()
            optimizer.step()
            averaged.update_parameters(module)
        return dict(averaged.module.named_parameters())

    assert_matches(average("mps"), average("cpu"))


def test_zero_grad_with_and_without_none():
    module = model().to("mps")
    optimizer = torch.optim.SGD(module.parameters(), lr=0.1)
    loss_of(module, "mps").backward()
    optimizer.zero_grad(set_to_none=False)
    assert_matches(module[0].weight.grad, torch.zeros(4, 3))
    optimizer.zero_grad()
    assert module[0].weight.grad is None


def test_optimizer_in_the_backward_pass():
    module = model().to("mps")
    optimizers = {p: torch.optim.SGD([p], lr=0.1) for p in module.parameters()}

    def step(parameter):
        optimizers[parameter].step()
        optimizers[parameter].zero_grad()

    for parameter in module.parameters():
        parameter.register_post_accumulate_grad_hook(step)
    loss_of(module, "mps").backward()
    want, _ = trained("SGD", "cpu", steps=1)
    assert_matches(dict(module.named_parameters()), dict(want.named_parameters()))
