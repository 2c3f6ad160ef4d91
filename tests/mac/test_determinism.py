"""torch.use_deterministic_algorithms: what alerts on a Mac, and what fills new memory."""

from __future__ import annotations

import math
import threading
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
import torch
from torch.nn import functional as F
from torch.torch_version import TorchVersion

TABLE = torch.arange(1.0, 13.0, device="mps").reshape(3, 4)
WHOLE = TABLE.long()
ROW = torch.tensor([0], device="mps")
CELLS = torch.zeros(3, 4, dtype=torch.long, device="mps")


IMAGE = torch.arange(64.0, device="mps").view(1, 4, 4, 4)


def differentiate(function: Callable[..., torch.Tensor], *given: torch.Tensor) -> None:
    leaves = [tensor.clone().requires_grad_() for tensor in given]
    function(*leaves).sum().backward()


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
    # Of these PyTorch's kernels for NVIDIA GPUs say that they are not deterministic.
    "product": lambda: TABLE @ TABLE.T,
    "batched product": lambda: torch.bmm(TABLE[None], TABLE.T[None]),
    "linear": lambda: differentiate(torch.nn.Linear(4, 2, device="mps"), TABLE),
    "convolution": lambda: differentiate(F.conv2d, IMAGE, IMAGE),
    "median with indices": lambda: TABLE.median(0),
    "histc": lambda: TABLE.histc(4),
    "bincount with weights": lambda: WHOLE.flatten().bincount(TABLE.flatten()),
    "embedding": lambda: differentiate(lambda t: F.embedding(ROW, t), TABLE),
    "interpolated": lambda: differentiate(
        lambda t: F.interpolate(t, scale_factor=2, mode="linear"), IMAGE[0]
    ),
    "unpooled": lambda: F.max_unpool2d(*F.max_pool2d(IMAGE, 2, return_indices=True), 2),
    "reflected": lambda: differentiate(lambda t: F.pad(t, (1, 1), mode="reflect"), IMAGE[0]),
    "replicated": lambda: differentiate(lambda t: F.pad(t, (1,) * 4, mode="replicate"), IMAGE),
    "adaptive pool": lambda: differentiate(lambda t: F.adaptive_avg_pool2d(t, 2), IMAGE),
    "adaptive max pool": lambda: differentiate(lambda t: F.adaptive_max_pool2d(t, 2), IMAGE),
    "max pool of volumes": lambda: differentiate(lambda t: F.max_pool3d(t, 2), IMAGE[None]),
    "loss of images": lambda: differentiate(
        lambda t: F.nll_loss(t, torch.zeros(1, 4, 4, dtype=torch.long, device="mps")), IMAGE
    ),
    "attention": lambda: differentiate(F.scaled_dot_product_attention, IMAGE, IMAGE, IMAGE),
}


def enlarge(mode: str) -> None:
    differentiate(lambda image: F.interpolate(image, scale_factor=2, mode=mode), IMAGE)


# Where algorithms are to be deterministic, `interpolate` composes these of others on every device
# but the CPU, and their gradients of index_put, once for each pixel that one is made of: bilinear
# always did, bicubic does since torch 2.15.
COMPOSED = {"bilinear": 4}
if TorchVersion(torch.__version__) >= "2.15":
    COMPOSED["bicubic"] = 16
else:
    SILENT["bicubic"] = lambda: enlarge("bicubic")


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
def test_a_warning_where_only_warnings_are_wanted(name: str) -> None:
    operator, call = ALERTS[name]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warnings.filterwarnings("ignore", r"index_reduce\(\) is in beta")
        call()
    assert len(caught) == 1, [str(warning.message) for warning in caught]
    assert str(caught[0].message).startswith(
        f"{operator} does not have a deterministic implementation, but you set "
        "'torch.use_deterministic_algorithms(True, warn_only=True)'. "
    )


@pytest.mark.usefixtures("deterministic")
@pytest.mark.parametrize("mode", COMPOSED)
def test_a_gradient_that_is_composed_of_index_put_is_refused(mode: str) -> None:
    with pytest.raises(RuntimeError, match=r"^index_put_with_accumulate_mps does not have a"):
        enlarge(mode)


@pytest.mark.usefixtures("warn_only")
@pytest.mark.parametrize("mode", COMPOSED)
def test_a_gradient_that_is_composed_of_index_put_warns_each_time(mode: str) -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        enlarge(mode)
    said = [str(warning.message).split(" does not have a determ")[0] for warning in caught]
    assert said == ["index_put_with_accumulate_mps"] * COMPOSED[mode]


@pytest.mark.usefixtures("deterministic")
@pytest.mark.parametrize("name", cases(SILENT))
def test_other_operators_run(name: str) -> None:
    SILENT[name]()
    assert not torch.is_deterministic_algorithms_warn_only_enabled()
    assert torch.are_deterministic_algorithms_enabled()


@pytest.mark.usefixtures("warn_only")
@pytest.mark.parametrize("name", cases(SILENT))
def test_other_operators_say_nothing(name: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", r"index_reduce\(\) is in beta")
        SILENT[name]()
    assert torch.is_deterministic_algorithms_warn_only_enabled()


@pytest.mark.usefixtures("deterministic")
def test_other_warnings_pass() -> None:
    out = torch.empty(2, device="mps")
    with pytest.warns(UserWarning, match="output with one or more elements was resized"):
        torch.add(TABLE, TABLE, out=out)


@pytest.mark.usefixtures("deterministic")
def test_threads_do_not_take_each_other_for_silent() -> None:
    """Alerts are a setting of the whole process, and silence is for one call of one thread."""
    stop = threading.Event()

    def multiply() -> None:
        while not stop.is_set():
            TABLE @ TABLE.T

    with ThreadPoolExecutor() as pool:
        working = [pool.submit(multiply) for _ in range(2)]
        try:
            for _ in range(200):
                with pytest.raises(RuntimeError, match="does not have a deterministic"):
                    TABLE.kthvalue(1)
        finally:
            stop.set()
        for work in working:
            work.result()
    assert not torch.is_deterministic_algorithms_warn_only_enabled()


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


@pytest.mark.usefixtures("deterministic")
def test_what_only_the_cpu_refuses_is_computed() -> None:
    image = torch.arange(72.0).view(1, 2, 6, 6)
    pooled, where = F.max_pool2d(image, 2, return_indices=True)
    volumes, places = F.max_pool3d(image[None], (1, 2, 2), return_indices=True)
    torch.use_deterministic_algorithms(False)
    flat = F.max_unpool2d(pooled, where, 2)
    deep = F.max_unpool3d(volumes, places, (1, 2, 2))
    torch.use_deterministic_algorithms(True)

    assert torch.equal(F.max_unpool2d(pooled.to("mps"), where.to("mps"), 2).cpu(), flat)
    assert torch.equal(F.max_unpool3d(volumes.to("mps"), places.to("mps"), (1, 2, 2)).cpu(), deep)
    out = torch.empty(0, device="mps")
    torch._C._nn.max_unpool2d(pooled.to("mps"), where.to("mps"), [6, 6], out=out)
    assert torch.equal(out.cpu(), flat)
    laid = pooled.to("mps", memory_format=torch.channels_last)
    unpooled = F.max_unpool2d(laid, where.to("mps"), 2)
    assert unpooled.is_contiguous(memory_format=torch.channels_last)
    assert torch.equal(unpooled.cpu(), flat)


@pytest.mark.needs_operators("aten::put_")
@pytest.mark.usefixtures("deterministic")
def test_put_is_computed() -> None:
    index = torch.tensor([[0, -1], [5, 3]], device="mps")
    table = TABLE.clone().put_(index, -torch.ones(2, 2, device="mps"))
    assert (table.flatten() < 0).nonzero().flatten().tolist() == [0, 3, 5, 11]
