"""copy_ and transfers, as a Mac does them."""

from __future__ import annotations

import pytest
import torch

TABLE = torch.arange(12.0).reshape(3, 4)
PAIRS = [("mps", "mps"), ("mps", "cpu"), ("cpu", "mps")]


@pytest.mark.parametrize(("to", "source"), PAIRS)
def test_sizes_that_do_not_match_are_refused_as_everywhere(to: str, source: str) -> None:
    with pytest.raises(RuntimeError) as refused:
        torch.zeros(4, device=to).copy_(TABLE.to(source))
    assert str(refused.value) == "output with shape [4] doesn't match the broadcast shape [3, 4]"
    with pytest.raises(RuntimeError) as refused:
        torch.zeros(0, device=to).copy_(TABLE.to(source))
    assert str(refused.value) == (
        "The size of tensor a (0) must match the size of tensor b (4) at non-singleton dimension 1"
    )
    with pytest.raises(RuntimeError, match=r"^The size of tensor a \(3\) must match the size of"):
        torch.zeros(3, device=to).copy_(torch.empty(0, device=source))
    empty = torch.empty(0, 3, 4, device=to)
    assert empty.copy_(TABLE.to(source)).shape == (0, 3, 4)


FLOAT8 = [torch.float8_e4m3fn, torch.float8_e5m2, torch.float8_e4m3fnuz, torch.float8_e5m2fnuz]


@pytest.mark.parametrize("dtype", FLOAT8)
def test_bytes_of_float8_are_moved_and_nothing_else(dtype: torch.dtype) -> None:
    table = TABLE.to(dtype)
    moved = table.to("mps")
    assert torch.equal(moved.clone().cpu().float(), table.float())
    for fails in (
        lambda: moved.to(torch.float32),
        lambda: moved.to("cpu", torch.float32),
        lambda: TABLE.to("mps").to(dtype),
        lambda: moved.t().contiguous(),
    ):
        with pytest.raises(RuntimeError) as refused:
            fails()
        name = str(dtype).removeprefix("torch.f")
        assert str(refused.value) == f"Undefined type F{name}"
    assert TABLE.to("mps", dtype).dtype == dtype  # the CPU's cast


# The kernel behind copy_ has rules of its own, which only this operator shows.
copy_from = torch.ops.aten._copy_from


def test_the_kernel_resizes_an_empty_destination() -> None:
    destination = torch.empty(0, device="mps")
    copy_from(TABLE.to("mps"), destination)
    assert destination.tolist() == TABLE.tolist()


def test_the_kernel_takes_an_empty_source_for_nothing_to_do() -> None:
    destination = torch.ones(3, device="mps")
    copy_from(torch.empty(0, device="mps"), destination)
    assert destination.tolist() == [1.0, 1.0, 1.0]


def test_the_kernel_refuses_too_few_dimensions() -> None:
    with pytest.raises(RuntimeError) as refused:
        copy_from(TABLE[:1].to("mps"), torch.zeros(4, device="mps"))
    assert str(refused.value) == "Destination [4] doesn't match the broadcast shape [1, 4]"


@pytest.mark.parametrize(("to", "source"), PAIRS)
def test_sources_are_broadcast(to: str, source: str) -> None:
    destination = torch.zeros(3, 4, device=to)
    assert destination.copy_(TABLE[0].to(source)).tolist() == TABLE[:1].repeat(3, 1).tolist()
    assert destination.copy_(TABLE[:, :1].to(source)).tolist() == TABLE[:, :1].repeat(1, 4).tolist()
    assert destination.copy_(torch.tensor(7.0, device=source)).tolist() == [[7.0] * 4] * 3


@pytest.mark.parametrize(("to", "source"), PAIRS)
def test_dtypes_are_converted(to: str, source: str) -> None:
    destination = torch.zeros(3, 4, dtype=torch.int32, device=to)
    destination.copy_((TABLE + 0.75).to(source))
    assert destination.tolist() == TABLE.int().tolist()


@pytest.mark.parametrize("blocking", [True, False])
def test_strided_sides_are_copied(blocking: bool) -> None:
    base = torch.zeros(4, 6, device="mps")
    base.t()[::2].copy_(TABLE, non_blocking=not blocking)
    back = torch.empty(4, 3)
    back.t().copy_(base.t()[::2], non_blocking=not blocking)
    torch.mps.synchronize()
    assert back.tolist() == TABLE.t().tolist()
    assert base[:, 1::2].count_nonzero().item() == 0


def test_moving_without_blocking_pins_nothing() -> None:
    moved = TABLE.to("mps").to("cpu", non_blocking=True)
    torch.mps.synchronize()
    assert moved.tolist() == TABLE.tolist()
    assert not moved.is_pinned()


@pytest.mark.parametrize("bit", ["conj", "neg"])
def test_lazy_bits_are_resolved(bit: str) -> None:
    numbers = torch.tensor([1 + 2j, 3 - 4j])
    lazy = numbers.to("mps").conj() if bit == "conj" else numbers.to("mps").conj().imag
    expected = numbers.conj() if bit == "conj" else numbers.conj().imag
    assert torch.empty_like(expected).copy_(lazy).tolist() == expected.tolist()
    assert torch.empty(2, dtype=lazy.dtype, device="mps").copy_(lazy).tolist() == expected.tolist()
