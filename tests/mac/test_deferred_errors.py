"""Errors that a Mac's kernels find while running: told when the program next waits."""

from __future__ import annotations

import traceback

import pytest
import torch
from torch.nn import functional as F


def on_mps(values) -> torch.Tensor:
    return torch.tensor(values, device="mps")


def everywhere(index: int, *shape: int) -> torch.Tensor:
    return torch.full(shape, index, device="mps")


TABLE = torch.arange(12.0, device="mps").reshape(3, 4)
ONES = torch.ones(1, 4, device="mps")

ERRORS = {
    "index": (lambda: TABLE[on_mps([5])], "index 5 is out of bounds for dimension 0 with size 3"),
    "index from the end": (
        lambda: TABLE[on_mps([-4])],
        "index -4 is out of bounds for dimension 0 with size 3",
    ),
    "second index": (
        lambda: TABLE[on_mps([0]), on_mps([9])],
        "index 9 is out of bounds for dimension 1 with size 4",
    ),
    # The kernel counts the indices it is given, not the dimensions of the tensor.
    "only the second index": (
        lambda: TABLE[:, on_mps([9])],
        "index 9 is out of bounds for dimension 0 with size 4",
    ),
    "index_put_": (
        lambda: TABLE.clone().index_put_((on_mps([7]),), ONES),
        "index 7 is out of bounds for dimension 0 with size 3",
    ),
    "index_put": (
        lambda: torch.index_put(TABLE, (on_mps([7]),), ONES, accumulate=True),
        "index 7 is out of bounds for dimension 0 with size 3",
    ),
    "assignment": (
        lambda: TABLE.clone().__setitem__(on_mps([7]), ONES),
        "index 7 is out of bounds for dimension 0 with size 3",
    ),
    "gather": (
        lambda: TABLE.gather(0, everywhere(3, 1, 4)),
        "gather: index 3 is out of bounds for dimension with size 3",
    ),
    "gather from what is not dense": (
        lambda: TABLE.t().gather(0, everywhere(-1, 4, 3)),
        "gather: index -1 is out of bounds for dimension 0 with size 4",
    ),
    "scatter_": (
        lambda: TABLE.clone().scatter_(0, everywhere(3, 3, 4), 1.0),
        "scatter: index 3 is out of bounds for dimension with size 3",
    ),
    "scatter_ into a part": (
        lambda: TABLE.clone().scatter_(1, everywhere(4, 2, 2), 1.0),
        "scatter: index 4 is out of bounds for dimension 1 with size 4",
    ),
    "scatter": (
        lambda: TABLE.scatter(1, everywhere(4, 3, 4), TABLE),
        "scatter: index 4 is out of bounds for dimension with size 4",
    ),
    "scatter_add": (
        lambda: TABLE.scatter_add(1, everywhere(4, 3, 4), TABLE),
        "scatter: index 4 is out of bounds for dimension with size 4",
    ),
    "scatter_reduce": (
        lambda: TABLE.scatter_reduce(1, everywhere(4, 3, 4), TABLE, "amax"),
        "scatter: index 4 is out of bounds for dimension with size 4",
    ),
    "one_hot": (
        lambda: F.one_hot(on_mps([0, 5]), 3),
        "scatter: index 5 is out of bounds for dimension with size 3",
    ),
    "embedding_bag": (
        lambda: F.embedding_bag(on_mps([[0, 9]]), TABLE),
        "Index 1 is out of bounds: 9, range 0 to 3",
    ),
    "max_unpool1d": (
        lambda: F.max_unpool1d(torch.ones(1, 1, 2, device="mps"), everywhere(99, 1, 1, 2), 2),
        "Found an invalid max index: 99 (size_prod is 4)",
    ),
    "max_unpool2d": (
        lambda: F.max_unpool2d(torch.ones(1, 1, 2, 2, device="mps"), everywhere(-1, 1, 1, 2, 2), 2),
        "Found an invalid max index: -1 (size_prod is 16)",
    ),
    "max_unpool3d": (
        lambda: F.max_unpool3d(
            torch.ones(1, 1, 2, 2, 2, device="mps"), everywhere(64, 1, 1, 2, 2, 2), 2
        ),
        "Found an invalid max index: 64 (size_prod is 64)",
    ),
    "bernoulli": (
        lambda: torch.bernoulli(torch.full((4,), 2.0, device="mps")),
        "bernoulli_mps_ expects p to be in [0, 1]",
    ),
    "bernoulli_": (
        lambda: torch.zeros(4, device="mps").bernoulli_(torch.full((4,), -1.0, device="mps")),
        "bernoulli_mps_ expects p to be in [0, 1]",
    ),
    "_assert_async": (lambda: torch._assert_async(on_mps(0), "no rain"), "no rain"),
    "_assert_async without words": (lambda: torch._assert_async(on_mps(False)), ""),
}

# Every call at which a Mac waits for the device and looks at what its kernels reported.
WAITS = {
    "item": lambda t: t[0, 0].item(),
    "bool": lambda t: bool(t[0, 0]),
    "tolist": lambda t: t.tolist(),
    "cpu": lambda t: t.cpu(),
    "to another dtype on the cpu": lambda t: t.to("cpu", torch.float16),
    "copy_ to the cpu": lambda t: torch.empty(3, 4).copy_(t),
    "copy_ from the cpu": lambda t: t.clone().copy_(torch.zeros(3, 4)),
    "numpy": lambda t: t.numpy(force=True),
    "repr": lambda t: repr(t),
    "equal": lambda t: torch.equal(t, t.clone()),
    "nonzero": lambda t: t.nonzero(),
    "a mask": lambda t: t[t > 1],
    "masked_select": lambda t: t.masked_select(t > 1),
    "unique": lambda t: t.unique(),
    "bincount": lambda t: t[0].long().bincount(),
    "a tensor from numbers": lambda t: torch.tensor([1.0], device="mps"),
    "synchronize": lambda t: torch.mps.synchronize(),
    "accelerator.synchronize": lambda t: torch.accelerator.synchronize(),
    "stream.synchronize": lambda t: torch.Stream("mps").synchronize(),
}

FAULT = "index 5 is out of bounds for dimension 0 with size 3"


FIVE = on_mps([5])


def fail() -> None:
    TABLE[FIVE]


def told() -> str:
    with pytest.raises(torch.AcceleratorError) as failed:
        torch.mps.synchronize()
    assert failed.value.error_code == 1
    return str(failed.value)


@pytest.mark.parametrize("name", ERRORS)
def test_the_call_returns_and_the_next_wait_raises(name: str) -> None:
    call, text = ERRORS[name]
    call()
    assert told() == text
    torch.mps.synchronize()


@pytest.mark.parametrize("name", WAITS)
def test_every_wait_raises(name: str) -> None:
    tensor = TABLE.clone()
    fail()
    with pytest.raises(torch.AcceleratorError) as failed:
        WAITS[name](tensor)
    assert str(failed.value) == FAULT
    # torch's printing turns torch.func off, for as long as a frame of it lives.
    traceback.clear_frames(failed.tb)
    WAITS[name](tensor)


def test_an_accelerator_error_is_a_runtime_error() -> None:
    fail()
    with pytest.raises(RuntimeError):
        torch.mps.synchronize()


def test_what_does_not_wait_does_not_raise() -> None:
    fail()
    result = (TABLE + 1).t() @ TABLE
    result.copy_(result.clone())
    event = torch.mps.Event()
    event.record()
    event.wait()
    event.synchronize()  # waits, but looks at no reports
    assert event.query()
    TABLE.to("cpu", non_blocking=True)
    assert told() == FAULT


def test_elapsed_time_waits() -> None:
    start, end = torch.mps.Event(enable_timing=True), torch.mps.Event(enable_timing=True)
    start.record()
    fail()
    end.record()
    with pytest.raises(torch.AcceleratorError) as failed:
        start.elapsed_time(end)
    assert str(failed.value) == FAULT


def test_the_first_of_many_is_told_and_the_others_are_forgotten() -> None:
    no = on_mps(0)
    fail()
    TABLE.gather(0, everywhere(3, 1, 4))
    torch._assert_async(no, "last")
    assert told() == FAULT
    torch.mps.synchronize()


def test_more_errors_than_a_mac_keeps() -> None:
    for index in [on_mps([index]) for index in range(100, 140)]:
        TABLE[index]
    assert told() == "index 100 is out of bounds for dimension 0 with size 3"
    torch.mps.synchronize()


def test_everything_works_after_an_error() -> None:
    fail()
    told()
    assert TABLE[on_mps([2])].tolist() == [[8.0, 9.0, 10.0, 11.0]]
    assert TABLE.tolist() == torch.arange(12.0).reshape(3, 4).tolist()


@pytest.mark.cpu_engine("a GPU writes to the nearest place that there is")
def test_what_a_failing_operator_did_not_write_is_intact() -> None:
    tensor = torch.zeros(3, device="mps")
    tensor[on_mps([7])] = torch.ones(1, device="mps")
    told()
    assert tensor.tolist() == [0.0, 0.0, 0.0]


@pytest.mark.cpu_engine("a GPU gathers from the nearest place that there is")
def test_gather_gives_zero_where_there_is_nothing() -> None:
    gathered = torch.tensor([5.0, 6.0], device="mps").gather(0, on_mps([1, 9, 0]))
    told()
    assert gathered.tolist() == [6.0, 0.0, 5.0]


def test_gradients_are_deferred_too() -> None:
    table = TABLE.clone().requires_grad_()
    picked = table[on_mps([1, 5])].sum()
    assert told() == FAULT
    picked.backward()
    assert told() == FAULT
    assert table.grad.shape == (3, 4)


@pytest.mark.parametrize(
    "select",
    [
        lambda index: TABLE.index_select(0, index),
        lambda index: F.embedding(index, TABLE),
        lambda index: torch.nn.Embedding(3, 4, device="mps")(index),
    ],
)
def test_selections_look_at_nothing(select) -> None:
    assert select(on_mps([1, 7])).shape == (2, 4)
    torch.mps.synchronize()
    assert select(on_mps([1]))[0].shape == (4,)


def test_an_index_one_too_far_passes_in_a_bag() -> None:
    F.embedding_bag(on_mps([[0, 3]]), TABLE)
    torch.mps.synchronize()


@pytest.mark.parametrize(
    ("value", "message", "text"),
    [
        (torch.ones(0), "", "Boolean value of Tensor with no values is ambiguous"),
        (torch.ones(2), "", "Boolean value of Tensor with more than one value is ambiguous"),
        (torch.ones(1), "x" * 250, "Message length must be smaller than 250"),
    ],
)
def test_a_bad_assertion_is_refused_at_once(value: torch.Tensor, message: str, text: str) -> None:
    with pytest.raises(RuntimeError) as refused:
        torch._assert_async(value.to("mps"), message)
    assert not isinstance(refused.value, torch.AcceleratorError)
    assert str(refused.value) == text


def test_an_assertion_that_holds_reports_nothing() -> None:
    torch._assert_async(on_mps(1), "x" * 249)
    torch.mps.synchronize()


def test_python_integers_out_of_range_raise_at_once() -> None:
    with pytest.raises(IndexError):
        TABLE[7]
    torch.mps.synchronize()
