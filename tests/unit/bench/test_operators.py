"""How bench/operators.py chooses arguments and calls an operator too slow, with made-up figures."""

from __future__ import annotations

import sys
import time
from dataclasses import replace
from types import ModuleType

import pytest
import torch

from openmps.bench.measure import Pair

from .loading import ROOT, load

sys.path.insert(0, str(ROOT / "bench"))  # as a script of bench/ sees its neighbours
try:
    import operator_cases as cases
    import operator_recipes as recipes
    import operator_samples as samples
    import operator_sweep as sweeping
    import operator_verdicts as verdicts

    cpu: ModuleType = load("bench/operators.py")
    cuda: ModuleType = load("bench/gpu_operators.py")
finally:
    sys.path.remove(str(ROOT / "bench"))

OPERATORS = samples.operators()
LIMITS = verdicts.Limits(typed_us=0.6, boxed_us=1.0)
SMALL = verdicts.Figure("add", "small", 1.0, 1.5, 0.5, calls=1, boxed=())
LARGE = verdicts.Figure("add", "large", 100.0, 109.0, 9.0, calls=1, boxed=())


def test_the_database_is_there_with_its_variants_in_place_and_lists() -> None:
    assert {"add", "add_", "_foreach_add", "_foreach_add_", "zeros", "view"} <= set(OPERATORS)
    assert OPERATORS["add_"].in_place
    assert OPERATORS["zeros"].factory


def test_small_arguments_are_few_and_have_dimensions() -> None:
    number = samples.small_sample(OPERATORS["add"])
    sample = samples.take(OPERATORS["add"], number, 1, gradients=False)
    assert any(tensor.dim() for tensor in sample.tensors())
    assert 0 < sample.elements <= samples.SMALL_ELEMENTS


def test_large_arguments_are_the_databases_with_larger_sizes() -> None:
    planned = samples.plan(OPERATORS["exp"], 1 << 12, lambda _: 0.0, most_s=1.0)
    large = planned.large_sample(OPERATORS["exp"], False)
    assert 1 << 12 <= large.elements <= 1 << 16
    assert samples.database.S == 5


def test_arguments_do_not_grow_once_a_call_takes_long() -> None:
    slow = samples.plan(OPERATORS["exp"], 1 << 20, lambda s: s.elements * 1e-3, most_s=0.5)
    assert slow.large_sample(OPERATORS["exp"], False).elements <= 500


def test_gradients_are_asked_for_where_the_database_has_them() -> None:
    planned = samples.plan(OPERATORS["exp"], 1 << 8, lambda _: 0.0, most_s=1.0)
    assert all(t.requires_grad for t in planned.small_sample(OPERATORS["exp"], True).tensors())


@pytest.mark.filterwarnings("ignore")  # operators that are deprecated on every device
@pytest.mark.parametrize("name", sorted(recipes.RECIPES))
def test_a_recipe_is_of_an_operator_and_works(name: str) -> None:
    sample = samples.from_recipe(OPERATORS[name], 4, False)
    assert samples.works(OPERATORS[name], sample)


@pytest.mark.parametrize("engine", ["cpu", "cuda"])
def test_an_exception_is_of_an_operator_and_has_a_reason(engine: str) -> None:
    for key, reason in verdicts.EXCEPTIONS[engine].items():
        name, _, variant = key.partition(" ")
        assert name in OPERATORS
        assert variant in ("", *cases.VARIANTS)
        assert len(reason) > 20


@pytest.mark.parametrize(
    ("figure", "slow"),
    [
        (SMALL, False),
        (replace(SMALL, over_us=0.7), True),
        (replace(SMALL, over_us=0.7, boxed=("aten::add.Tensor",)), False),
        (replace(SMALL, over_us=1.1, boxed=("aten::add.Tensor",)), True),
        (replace(SMALL, over_us=1.1, calls=2), False),  # 0.6 for each operator in it
        (replace(SMALL, over_us=2.0, base_us=100.0), False),  # noise of a long call
        (LARGE, False),
        (replace(LARGE, over_us=11.0), True),
        (replace(LARGE, over_us=0.5, base_us=1.0), False),  # a view is never large
    ],
)
def test_what_is_too_slow(figure: verdicts.Figure, slow: bool) -> None:
    report = verdicts.Report([figure], LIMITS, {})
    assert bool(report.outliers()) == slow
    assert report.by_variant()[cases.VARIANTS.index(figure.variant)][1:] == (1, int(not slow), 0)


def test_the_worst_come_first_and_exceptions_apart() -> None:
    worst, bad, known = (
        replace(SMALL, operator=name, over_us=over)
        for name, over in (("mul", 9.0), ("sub", 3.0), ("div", 50.0))
    )
    report = verdicts.Report([bad, worst, known], LIMITS, {"div small": "for a reason"})
    assert report.outliers() == [worst, bad]
    assert report.excepted() == [known]
    text = "\n".join(report.lines())
    assert text.index("mul") < text.index("sub") < text.index("for a reason")


class MadeUp:
    """add: slow in the first measurement alone. mul: always. sub: refused. div: fails."""

    def __init__(self) -> None:
        self.measured: list[tuple[str, int]] = []

    def open(self, name: str) -> dict[str, tuple[int, tuple[str, ...]]]:
        if name == "sub":
            raise sweeping.Refused(name)
        if name == "div":
            raise ValueError("unexpected")
        self.name = name
        return {"small": (1, ())}

    def base_seconds(self, variant: str) -> float:
        return 1e-6

    def measure(self, variant: str, calls: int, rounds: int) -> Pair:
        self.measured.append((self.name, rounds))
        slow = self.name == "mul" or self.measured.count((self.name, rounds)) == len(self.measured)
        return Pair([1e-6] * rounds, [9e-6 if slow else 1e-6] * rounds)


def sweep_of(*names: str, seconds: float = 60.0) -> sweeping.Sweep:
    efforts = (sweeping.Effort(1e-3, 1e-3, 2), sweeping.Effort(1e-3, 1e-3, 5))
    sweep = sweeping.Sweep(MadeUp(), LIMITS, efforts, time.monotonic() + seconds)
    sweep.run(names, lambda _: None)
    sweep.confirm(lambda _: None)
    return sweep


def test_an_outlier_is_measured_again_and_longer() -> None:
    sweep = sweep_of("add", "mul")
    by_name = {figure.operator: figure for figure in sweep.figures}
    assert by_name["add"].over_us == pytest.approx(0.0)
    assert by_name["mul"].over_us == pytest.approx(8.0)
    # add: quickly, longer. mul: quickly, longer, and once more at the end.
    assert sweep.measurer.measured == [("add", 2), ("add", 5), ("mul", 2), ("mul", 5), ("mul", 5)]


def test_what_was_not_measured_is_told() -> None:
    sweep = sweep_of("sub", "div")
    assert sweep.refused == ["sub"]
    assert sweep.broken == {"div": "ValueError: unexpected"}
    assert sweep_of("add", seconds=-1.0).not_reached == ["add"]


def test_variants_of_one_operator_run_on_the_cpu() -> None:
    op = OPERATORS["exp"]
    found = cases.calls(op, samples.Plan(0, 0, 1), "cpu")
    assert tuple(found) == cases.VARIANTS
    assert cases.leaves_in(found["small"]) == 1
    assert cases.leaves_in(found["small+grad"]) >= 2
    assert torch.is_tensor(found["small"]())


def test_kernels_are_counted_through_operators_that_are_made_of_others() -> None:
    x = torch.ones(3, device="mps")
    assert cases.kernels_in(lambda: x.exp()) == (1, [])
    assert cases.kernels_in(lambda: torch._foreach_exp([x, x])) == (2, [])
    assert cases.kernels_in(lambda: x.digamma()) == (1, ["aten::digamma"])
