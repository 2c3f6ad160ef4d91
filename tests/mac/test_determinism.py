"""torch.use_deterministic_algorithms: what alerts on a Mac, and what fills new memory."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator
from typing import Any

import pytest
import torch

TABLE = torch.arange(1.0, 13.0, device="mps").reshape(3, 4)
WHOLE = TABLE.long()
ROW = torch.tensor([0], device="mps")
CELLS = torch.zeros(3, 4, dtype=torch.long, device="mps")


def index_reduce(table: torch.Tensor, reduce: str) -> torch.Tensor:
    return table.clone().index_reduce_(0, ROW, table[:1], reduce)


ALERTS = {
    "kthvalue": ("kthvalue MPS", lambda: TABLE.kthvalue(1)),
    "kthvalue of integers": ("kthvalue MPS", lambda: WHOLE.kthvalue(1)),
    "index_put": (
        "index_put_with_accumulate_mps",
        lambda: TABLE.clone().index_put_((ROW,), TABLE[:1], accumulate=True),
    ),
    "index_put of complex numbers": (
        "index_put_with_accumulate_mps",
        lambda: TABLE.cfloat().index_put_((ROW,), TABLE[:1].cfloat(), accumulate=True),
    ),
    "index_reduce prod": ("index_reduce_mps", lambda: index_reduce(TABLE, "prod")),
    "index_reduce mean": ("index_reduce_mps", lambda: index_reduce(TABLE, "mean")),
    "scatter_reduce sum": (
        "scatter_reduce_mps",
        lambda: TABLE.scatter_reduce(0, CELLS, TABLE, "sum"),
    ),
    "scatter_reduce prod": (
        "scatter_reduce_mps",
        lambda: TABLE.scatter_reduce(0, CELLS, TABLE, "prod"),
    ),
    "scatter_reduce mean": (
        "scatter_reduce_mps",
        lambda: TABLE.scatter_reduce(0, CELLS, TABLE, "mean"),
    ),
}
SILENT = {
    "index_put of integers": lambda: WHOLE.clone().index_put_((ROW,), WHOLE[:1], accumulate=True),
    "index_put": lambda: TABLE.clone().index_put_((ROW,), TABLE[:1]),
    "index_reduce amax": lambda: index_reduce(TABLE, "amax"),
    "index_reduce of integers": lambda: index_reduce(WHOLE.int(), "prod"),
    "scatter_reduce amax": lambda: TABLE.scatter_reduce(0, CELLS, TABLE, "amax"),
    "scatter_reduce of integers": lambda: WHOLE.scatter_reduce(0, CELLS, WHOLE, "sum"),
    "scatter": lambda: TABLE.scatter(0, CELLS, TABLE),
    "cumsum": lambda: TABLE.cumsum(0),
    "median": lambda: TABLE.median(),
}


def cases(table: dict[str, Any]) -> list[Any]:
    recent = pytest.mark.needs_operators("aten::index_reduce.out")
    return [pytest.param(name, marks=recent if "index_reduce" in name else ()) for name in table]


pytestmark = pytest.mark.filterwarnings(r"ignore:index_reduce\(\) is in beta")


@pytest.fixture
def deterministic() -> Iterator[None]:
    torch.use_deterministic_algorithms(True)
    yield
    torch.use_deterministic_algorithms(False)


@pytest.fixture
def warn_only() -> Iterator[None]:
    torch.use_deterministic_algorithms(True, warn_only=True)
    yield
    torch.use_deterministic_algorithms(False)


@pytest.mark.usefixtures("deterministic")
@pytest.mark.parametrize("name", cases(ALERTS))
def test_an_operator_without_a_deterministic_kernel_is_refused(name: str) -> None:
    operator, call = ALERTS[name]
    with pytest.raises(RuntimeError) as refused:
        call()
    assert str(refused.value).startswith(
        f"{operator} does not have a deterministic implementation, but you set "
        "'torch.use_deterministic_algorithms(True)'. "
    )


@pytest.mark.usefixtures("warn_only")
@pytest.mark.parametrize("name", cases(ALERTS))
def test_a_warning_where_only_warnings_are_wanted(name: str, engine: str) -> None:
    operator, call = ALERTS[name]
    start = (
        f"{operator} does not have a deterministic implementation, but you set "
        "'torch.use_deterministic_algorithms(True, warn_only=True)'. "
    )
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warnings.filterwarnings("ignore", r"index_reduce\(\) is in beta")
        call()
    texts = [str(warning.message) for warning in caught]
    assert texts[0].startswith(start)
    if engine == "cuda":  # whose kernels may have their own to say
        texts = [text for text in texts if "_cuda" not in text]
    assert len(texts) == 1, texts


@pytest.mark.usefixtures("deterministic")
@pytest.mark.parametrize("name", cases(SILENT))
def test_other_operators_run(name: str) -> None:
    SILENT[name]()


@pytest.mark.parametrize("name", cases(ALERTS))
def test_nothing_alerts_otherwise(name: str) -> None:
    ALERTS[name][1]()


@pytest.mark.usefixtures("deterministic")
def test_new_memory_is_filled() -> None:
    made = torch.empty(2, 2, device="mps"), torch.empty_strided((2,), (3,), device="mps")
    for tensor in (*made, torch.empty_like(TABLE), torch.empty(2, device="mps", dtype=torch.half)):
        assert tensor.isnan().all()
    assert torch.empty(1, dtype=torch.int32, device="mps").item() == 2**31 - 1
    assert torch.empty(1, dtype=torch.bool, device="mps").item() is True
    grown = torch.ones(1, device="mps").resize_(2).tolist()
    assert grown[0] == 1.0
    assert math.isnan(grown[1])


@pytest.mark.usefixtures("deterministic")
def test_filling_can_be_turned_off() -> None:
    torch.utils.deterministic.fill_uninitialized_memory = False
    try:
        tensor = torch.ones(1000, device="mps")
        where = tensor.data_ptr()
        del tensor
        again = torch.empty(1000, device="mps")
        if again.data_ptr() == where:
            assert not again.isnan().any()
    finally:
        torch.utils.deterministic.fill_uninitialized_memory = True
