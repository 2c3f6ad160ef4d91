"""What a Mac's operators refuse over shapes, modes and mismatches, word for word."""

from __future__ import annotations

import pytest
import torch
from torch.nn import functional as F

TABLE = torch.arange(12.0, device="mps").reshape(3, 4)
HALF = TABLE.half()
WHOLE = TABLE.int()

NOT_DIVISIBLE = (
    "Non-divisible input sizes are not implemented on MPS device yet. For now, you can manually "
    "transfer tensor to cpu in this case. Please refer to [this issue]"
    "(https://github.com/pytorch/pytorch/issues/96056)"
)
SHRINKS_UNEVENLY = (
    f"Adaptive pool MPS: input sizes must be divisible by output sizes. {NOT_DIVISIBLE}"
)
GROWS_UNEVENLY = (
    f"Adaptive pool MPS: output sizes must be divisible by input sizes. {NOT_DIVISIBLE}"
)
BOTH_WAYS = (
    "Adaptive pool MPS: Input height and width must both be greater than, or equal to, or lesser "
    "than output height and width"
)


def image(*size: int) -> torch.Tensor:
    return torch.ones(1, 1, *size, device="mps")


def volume(dtype: torch.dtype) -> torch.Tensor:
    return torch.ones(1, 1, 2, 2, 2, device="mps", dtype=dtype)


REFUSED = {
    "adaptive average, shrinking": (
        lambda: F.adaptive_avg_pool2d(image(5, 5), 2),
        SHRINKS_UNEVENLY,
    ),
    "adaptive average, one side": (
        lambda: F.adaptive_avg_pool2d(image(4, 5), 2),
        SHRINKS_UNEVENLY,
    ),
    "adaptive average, growing": (lambda: F.adaptive_avg_pool2d(image(2, 2), 3), GROWS_UNEVENLY),
    "adaptive average, both ways": (lambda: F.adaptive_avg_pool2d(image(2, 6), 3), BOTH_WAYS),
    "adaptive average of a line": (
        lambda: F.adaptive_avg_pool1d(torch.ones(1, 5, device="mps"), 2),
        SHRINKS_UNEVENLY,
    ),
    "adaptive maximum, both ways": (lambda: F.adaptive_max_pool2d(image(2, 6), 3), BOTH_WAYS),
    "mm": (
        lambda: torch.mm(TABLE, HALF.t()),
        "expected mat1 and mat2 to have the same dtype, but got: float != c10::Half",
    ),
    "matmul": (
        lambda: HALF @ TABLE.t(),
        "expected mat1 and mat2 to have the same dtype, but got: c10::Half != float",
    ),
    "bmm": (
        lambda: torch.bmm(TABLE[None], HALF.t()[None]),
        "Expected arguments of same type but got float and c10::Half",
    ),
    "dot": (
        lambda: torch.dot(TABLE[0], HALF[0]),
        "dot : expected both vectors to have same dtype, but found Float and Half",
    ),
    "vdot": (
        lambda: torch.vdot(TABLE[0], HALF[0]),
        "dot : expected both vectors to have same dtype, but found Float and Half",
    ),
    "addr_, not a matrix": (
        lambda: torch.zeros((), device="mps").addr_(TABLE[0], TABLE[0]),
        "tensors must be 2-D",
    ),
    "addr_, rows": (
        lambda: torch.zeros(1, 4, device="mps").addr_(TABLE[:, 0], TABLE[0]),
        "vec1_ dim 0 must match vec1 dim 0",
    ),
    "addr_, columns": (
        lambda: torch.zeros(3, 1, device="mps").addr_(TABLE[:, 0], TABLE[0]),
        "vec1_ dim 1 must match vec2 dim 0",
    ),
    "linear, input": (
        lambda: F.linear(WHOLE, WHOLE),
        "MPS device does not support linear for non-float inputs",
    ),
    "linear, weight": (
        lambda: F.linear(TABLE, WHOLE),
        "MPS device does not support linear for non-float weights",
    ),
    "linear, bias": (
        lambda: F.linear(TABLE, TABLE, WHOLE[0, :3]),
        "MPS device does not support linear for non-float bias",
    ),
    "linear, input elsewhere": (
        lambda: F.linear(TABLE.cpu(), TABLE),
        "Tensor for argument input is on cpu but expected on mps",
    ),
    "linear, weight elsewhere": (
        lambda: F.linear(TABLE, TABLE.cpu()),
        "Tensor for argument weight is on cpu but expected on mps",
    ),
    "linear, bias elsewhere": (
        lambda: F.linear(TABLE, TABLE, torch.ones(3)),
        "Tensor for argument bias is on cpu but expected on mps",
    ),
    "transposed convolution of volumes in float16": (
        lambda: F.conv_transpose3d(volume(torch.float16), volume(torch.float16)),
        "ConvTranspose 3D with BF16 or FP16 types is not supported on MPS",
    ),
    "transposed convolution of volumes in bfloat16": (
        lambda: F.conv_transpose3d(volume(torch.bfloat16), volume(torch.bfloat16)),
        "ConvTranspose 3D with BF16 or FP16 types is not supported on MPS",
    ),
    "convolution, weight elsewhere": (
        lambda: F.conv2d(image(4, 4), torch.ones(1, 1, 2, 2)),
        "Input type (MPSFloatType) and weight type (torch.FloatTensor) should be the same",
    ),
    "convolution, weight of another dtype": (
        lambda: F.conv2d(image(4, 4), image(2, 2).half()),
        "Input type (MPSFloatType) and weight type (MPSHalfType) should be the same",
    ),
    "convolution, input elsewhere": (
        lambda: F.conv2d(torch.ones(1, 1, 4, 4), image(2, 2)),
        "slow_conv2d_forward_mps: input(device='cpu') and weight(device=mps:0')  must be on the "
        "same device",
    ),
    "more than 16 indices": (
        lambda: torch.ones(1, device="mps").view([1] * 17)[
            tuple(torch.zeros(1, dtype=torch.long, device="mps") for _ in range(17))
        ],
        "Current limit allows up to 16 indices to be used in MPS indexing kernels",
    ),
    "recurrent projections": (
        lambda: torch.nn.LSTM(4, 4, proj_size=2, device="mps")(TABLE),
        "LSTM with projections is not currently supported with MPS.",
    ),
    "lu_factor without pivoting": (
        lambda: torch.linalg.lu_factor(torch.eye(2, device="mps"), pivot=False),
        "linalg.lu_factor(): MPS doesn't allow pivot == False.",
    ),
    "repeat_interleave": (
        lambda: torch.repeat_interleave(torch.ones(2, device="mps", dtype=torch.int16)),
        "repeats has to be Long or Int tensor",
    ),
    "mean of truth values": (
        lambda: (TABLE > 3).scatter_reduce(0, WHOLE.long() * 0, TABLE > 4, "mean"),
        "scatter_reduce: reduce='mean' not implemented for 'Bool'",
    ),
    "one number of an empty tensor": (
        lambda: torch.ops.aten._local_scalar_dense(torch.empty(0, device="mps")),
        "_local_scalar_dense: Empty tensor not supported",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name: str) -> None:
    call, text = REFUSED[name]
    with pytest.raises(RuntimeError) as refused:
        call()
    assert type(refused.value) is RuntimeError
    assert str(refused.value) == text


@pytest.mark.needs_operators("aten::grid_sampler_3d_backward")
def test_grid_sampling_of_volumes_has_two_gradients_only() -> None:
    volumes = torch.ones(1, 1, 2, 2, 2, device="mps")
    grid = torch.zeros(1, 1, 1, 1, 3, device="mps")
    with pytest.raises(NotImplementedError) as refused:
        torch.ops.aten.grid_sampler_3d_backward(
            grid[..., :1].reshape(1, 1, 1, 1, 1), volumes, grid, 2, 0, False, [True, True]
        )
    assert str(refused.value) == (
        "grid_sampler_3d backward on MPS only supports bilinear and nearest interpolation"
    )


def test_sizes_that_divide_are_pooled() -> None:
    data = torch.arange(36.0).reshape(1, 1, 6, 6)
    for size in ((3, 2), (6, 6), (1, 1), (12, 18)):
        expected = F.adaptive_avg_pool2d(data, size)
        torch.testing.assert_close(F.adaptive_avg_pool2d(data.to("mps"), size).cpu(), expected)


def test_a_maximum_needs_no_sizes_that_divide() -> None:
    data = torch.arange(25.0).reshape(1, 1, 5, 5)
    expected = F.adaptive_max_pool2d(data, 2)
    assert F.adaptive_max_pool2d(data.to("mps"), 2).tolist() == expected.tolist()


@pytest.mark.parametrize("dtype", [torch.uint8, torch.int16, torch.int64])
def test_adaptive_averages_of_integers_are_integers(dtype: torch.dtype) -> None:
    data = torch.arange(16, dtype=dtype, device="mps").view(1, 1, 4, 4)
    pooled = F.adaptive_avg_pool2d(data, 2)
    assert pooled.dtype == dtype
    assert pooled.tolist() == [[[[2, 4], [10, 12]]]]


def test_sixteen_indices_are_taken() -> None:
    first = torch.zeros(1, dtype=torch.long, device="mps")
    assert torch.ones([1] * 16, device="mps")[(first,) * 16].tolist() == [1.0]


ONE_TIME_WARNINGS = """
import torch
from torch.nn import functional as F
for _ in range(2):
    F.avg_pool2d(torch.ones(1, 4, 4, device="mps").long(), 2, divisor_override=3)
    F.pad(torch.ones(1, 1, 1, 1, device="mps"), (1,) * 8)
"""
DECOMPOSITIONS = """
import torch
for size in (513, 513, 512):
    torch.linalg.qr(torch.eye(size, device="mps"))
"""


def test_detours_over_the_cpu_warn_once(python) -> None:
    done = python("-W", "always", "-c", ONE_TIME_WARNINGS, OPENMPS="1")
    assert done.returncode == 0, done.stderr
    for text in (
        "MPS: passing divisor to Average Pooling op with int64 input is not supported on MPS "
        "backend. Falling back on CPU. This may have performance implications.",
        "MPS: The constant padding of more than 3 dimensions is not currently supported natively. "
        "It uses View Ops default implementation to run. This may have performance implications.",
    ):
        assert done.stderr.count(f"UserWarning: {text} (Triggered") == 1, done.stderr
    assert done.stderr.count("Warning:") == 2


@pytest.mark.needs_operators("aten::linalg_qr.out")
def test_large_decompositions_on_the_cpu_warn_once(python) -> None:
    done = python("-W", "always", "-c", DECOMPOSITIONS, OPENMPS="1")
    assert done.returncode == 0, done.stderr
    text = (
        "linalg_qr: MPS implementation is currently limited to min(m,n) <= 512, falling back to "
        "CPU."
    )
    assert done.stderr.count(f"UserWarning: {text} (Triggered") == 1, done.stderr
    assert done.stderr.count("Warning:") == 1


MANY_CHANNELS = """
import torch
from torch.nn import functional as F
weight = torch.zeros(65537, 1, 1, 1, device="mps")
try:
    print(F.conv2d(torch.zeros(1, 1, 1, 1, device="mps"), weight).shape)
except NotImplementedError as error:
    print(repr(str(error)))
"""


@pytest.mark.parametrize(
    ("macos", "printed"),
    [
        ("14.4", "'Output channels > 65536 not supported at the MPS device. '"),
        ("15.0", "'Output channels > 65536 not supported at the MPS device. '"),
        ("15.1", "torch.Size([1, 65537, 1, 1])"),
    ],
)
def test_many_channels_need_a_recent_macos(python, macos: str, printed: str) -> None:
    done = python("-c", MANY_CHANNELS, OPENMPS="1", OPENMPS_MACOS=macos)
    assert done.stdout == f"{printed}\n", done.stderr
