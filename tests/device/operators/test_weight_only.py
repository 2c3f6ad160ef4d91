"""Products with weights of 4 and 8 bits: a Mac's layout, numbers and refusals."""

from __future__ import annotations

import pytest
import torch

FLOATS = [torch.float32, torch.float16, torch.bfloat16]
TOLERANCE = {torch.float32: 1e-5, torch.float16: 2e-3, torch.bfloat16: 2e-2}


def random_weights(rows: int, columns: int) -> torch.Tensor:
    generator = torch.Generator().manual_seed(rows + columns)
    return torch.randint(0, 16, (rows, columns), generator=generator, dtype=torch.uint8)


def pack(weights: torch.Tensor, tiles: int) -> torch.Tensor:
    """Two weights in a byte, the first one in its upper half: what the operator takes."""
    pairs = weights[:, ::2] << 4 | weights[:, 1::2]
    return torch.ops.aten._convert_weight_to_int4pack(pairs.to("mps"), tiles)


def test_packing_swaps_the_halves_of_each_byte() -> None:
    given = torch.arange(256, dtype=torch.uint8).reshape(8, 32)
    packed = torch.ops.aten._convert_weight_to_int4pack(given.to("mps"), 2)
    assert packed.shape == (1, 2, 32, 1)
    assert packed.dtype == torch.int32
    assert packed.device == torch.device("mps:0")
    expected = torch.tensor([(byte & 15) << 4 | byte >> 4 for byte in range(256)])
    assert packed.cpu().view(torch.uint8).flatten().tolist() == expected.tolist()


@pytest.mark.parametrize(("tiles", "shape"), [(2, (2, 8, 32, 1)), (8, (2, 2, 32, 4))])
def test_the_shape_is_that_of_other_devices(tiles: int, shape: tuple[int, ...]) -> None:
    assert pack(random_weights(16, 256), tiles).shape == shape


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize(("m", "n", "k", "group"), [(1, 32, 128, 32), (5, 8, 320, 128)])
def test_int4_product(dtype: torch.dtype, m: int, n: int, k: int, group: int) -> None:
    torch.manual_seed(3)
    groups = -(-k // group)
    weights = random_weights(n, k)
    x = torch.randn(m, k).to(dtype)
    scales = (torch.rand(groups, n) / 8 + 0.01).to(dtype)
    zeros = torch.randn(groups, n).to(dtype)
    out = torch.ops.aten._weight_int4pack_mm(
        x.to("mps"), pack(weights, 2), group, torch.stack([scales, zeros], 2).to("mps")
    )
    offsets = (zeros - scales * 8).double()  # rounded to the dtype, as the kernel does
    columns = torch.arange(k) // group
    plain = weights * scales.double()[columns].T + offsets[columns].T
    expected = x.double() @ plain.T
    assert out.dtype == dtype
    assert out.device.type == "mps"
    torch.testing.assert_close(
        out.cpu().double(), expected, rtol=TOLERANCE[dtype], atol=TOLERANCE[dtype] * k**0.5
    )


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize("m", [1, 11, 12, 33])
def test_int8_product(dtype: torch.dtype, m: int) -> None:
    torch.manual_seed(m)
    x = torch.randn(m, 64).to(dtype)
    weights = torch.randint(-128, 128, (32, 64), dtype=torch.int8)
    scales = (torch.rand(32) / 128).to(dtype)
    out = torch.ops.aten._weight_int8pack_mm(x.to("mps"), weights.to("mps"), scales.to("mps"))
    expected = x.double() @ weights.double().T * scales.double()
    assert out.dtype == dtype
    torch.testing.assert_close(
        out.cpu().double(), expected, rtol=TOLERANCE[dtype], atol=TOLERANCE[dtype] * 8
    )


def on_mps(*shape: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    return torch.zeros(shape, dtype=dtype, device="mps")


@pytest.mark.parametrize(
    ("weight", "tiles", "text"),
    [
        (on_mps(8, 4, 4, dtype=torch.uint8), 2, " : expect weight to be 2D tensor."),
        (on_mps(8, 32, dtype=torch.int32), 2, " : expect weight to be kByte."),
        (on_mps(8, 32, dtype=torch.uint8), 3, " : innerKTiles need to be 2, 4, or 8, got 3"),
    ],
)
def test_what_packing_refuses(weight: torch.Tensor, tiles: int, text: str) -> None:
    with pytest.raises(RuntimeError) as error:
        torch.ops.aten._convert_weight_to_int4pack(weight, tiles)
    assert str(error.value) == f"_convert_weight_to_int4pack_mps{text}"


A = on_mps(2, 64)
B4 = on_mps(1, 2, 32, 1, dtype=torch.int32)
SCALES4 = on_mps(2, 8, 2)


@pytest.mark.parametrize(
    ("a", "b", "group", "scales", "text"),
    [
        (A.int(), B4, 32, SCALES4, " : expect A to be either 32-bit or 16-bit float tensor."),
        (on_mps(64, 2).T, B4, 32, SCALES4, " : expect A to be contiguous."),
        (on_mps(2, 64, 1), B4, 32, SCALES4, " : expect A to be 2D tensor."),
        (A, B4.float(), 32, SCALES4, " : expect B to be int32 tensor."),
        (A, B4.transpose(1, 2), 32, SCALES4, " : expect B to be contiguous."),
        (A, B4[0], 32, SCALES4, " : expect B to 4d tensor."),
        (A, B4, 16, SCALES4, ": expect qGroupSize to be 32, 64, 128 or 256, got 16"),
        (
            A, B4, 32, on_mps(2, 4, 2),
            ": expect qScaleAndZeros to be 3d tensor with sizes [:, 8, 2]",
        ),
        (
            A, B4, 32, SCALES4.half(),
            " : qScaleAndZeros is Half, but a Mac reads it as Float, the type of A: convert it",
        ),
        (
            on_mps(2, 128), B4, 32, SCALES4,
            " : A has 128 columns, but B holds weights for 64 and qScaleAndZeros for 64: a Mac "
            "would read past their end",
        ),
    ],
)  # fmt: skip
def test_what_int4_refuses(
    a: torch.Tensor, b: torch.Tensor, group: int, scales: torch.Tensor, text: str
) -> None:
    with pytest.raises(RuntimeError) as error:
        torch.ops.aten._weight_int4pack_mm(a, b, group, scales)
    assert str(error.value) == f"_weight_int4pack_mm_mps{text}"


B8 = on_mps(32, 64, dtype=torch.int8)


@pytest.mark.parametrize(
    ("a", "b", "scales", "text"),
    [
        (A.int(), B8, on_mps(32), " : expect A to be either 32-bit or 16-bit float tensor."),
        (A, B8.float(), on_mps(32), " : expect B to be int8 tensor."),
        (A, B8.T, on_mps(64), " : expect B to be contiguous."),
        (A, B8[:, :32].contiguous(), on_mps(32), " : expect B.size(1) == 64"),
        (A, B8, on_mps(31), " : expect scales to be 1d tensor with size 32"),
    ],
)
def test_what_int8_refuses(
    a: torch.Tensor, b: torch.Tensor, scales: torch.Tensor, text: str
) -> None:
    with pytest.raises(RuntimeError) as error:
        torch.ops.aten._weight_int8pack_mm(a, b, scales)
    assert str(error.value) == f"_weight_int8pack_mm_mps{text}"


def test_int8_wants_multiples_of_32() -> None:
    with pytest.raises(RuntimeError) as error:
        torch.ops.aten._weight_int8pack_mm(A, B8[:30].contiguous(), on_mps(30))
    assert str(error.value).startswith(
        "Expected N % 32 == 0 && K % 32 == 0 to be true, but got false."
    )


def test_cpu_tensors_are_refused() -> None:
    with pytest.raises(RuntimeError, match="Passed CPU tensor to MPS op"):
        torch.ops.aten._weight_int8pack_mm(A, B8.cpu(), on_mps(32))
