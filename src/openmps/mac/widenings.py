"""Dtypes that an operator takes on a Mac and not on PyTorch's CPU or CUDA: computed in another one.

Read in the types that the Mac's kernels are instantiated for and in the suite's `dtypesIfMPS`,
which its `test_dtypes` checks on Macs; found by running every operator's samples on the CPU.
"""

from __future__ import annotations

from typing import NamedTuple

HOST = "host"  # computed on the CPU: copied there and back


# Whose dtype decides, of the tensors that an operator reads (its results' if it reads none):
FIRST = "first"  # the first one's; others are indices, targets, weights or statistics
COMMON = "common"  # the one that all are promoted to, Python numbers included
SAME = "same"  # everyone's: PyTorch refuses to mix them, in its own words


class Widened(NamedTuple):
    operators: str  # as in refusals
    dtypes: str
    through: str  # a dtype with a kernel: the result is cast back; or HOST, in their own
    of: str = FIRST


_CHEBYSHEV = " ".join(
    f"special_{prefix}chebyshev_polynomial_{kind}" for prefix in ("", "shifted_") for kind in "tuvw"
)
_SPECIAL = (
    "special_bessel_j0 special_bessel_j1 special_bessel_y0 special_bessel_y1 "
    "special_modified_bessel_i0 special_modified_bessel_i1 "
    "special_modified_bessel_k0 special_modified_bessel_k1 "
    "special_scaled_modified_bessel_k0 special_scaled_modified_bessel_k1 "
    "special_spherical_bessel_j0 special_erfcx special_zeta "
    f"special_hermite_polynomial_h special_hermite_polynomial_he {_CHEBYSHEV}"
)

_IN_HALF_PRECISION = (
    Widened(_SPECIAL, "half", "float32", COMMON),
    Widened("_cdist_forward _cdist_backward linalg_householder_product", "half", "float32", SAME),
    Widened("avg_pool3d avg_pool3d_backward", "half", "float32"),
    # The CPU has these, and rounds at every step; a Mac computes in float32.
    Widened("grid_sampler_2d grid_sampler_3d", "half", "float32", SAME),
    Widened("grid_sampler_2d_backward grid_sampler_3d_backward", "half", "float32", SAME),
    Widened("_dirichlet_grad addbmm", "half", "float32", SAME),
    # The CPU wants the total weight in the input's dtype; a Mac does not look.
    Widened("nll_loss_backward nll_loss2d_backward", "half", "float32"),
    Widened("polar", "float16", "float32", SAME),
    Widened("_fft_r2c", "float16", "float32"),
    Widened("_sparse_sparse_matmul", "half", "float32", SAME),
    # The CPU counts in the input's dtype, and stops at 2048 or 256; a Mac counts, then rounds.
    Widened("histc", "half", "float32"),
)

_OF_BOOLS = (
    Widened("ceil floor trunc threshold relu kthvalue median nanmedian trace", "bool", "uint8"),
    Widened("clamp clamp_min clamp_max", "bool", "uint8", COMMON),
    Widened("reflection_pad1d reflection_pad2d reflection_pad3d", "bool", "uint8"),
    Widened("replication_pad1d replication_pad2d replication_pad3d", "bool", "uint8"),
    Widened("max_pool2d max_pool2d_with_indices max_pool3d_with_indices", "bool", "uint8"),
    Widened("pow.Tensor_Tensor pow.Tensor_Tensor_out pow_.Tensor", "bool", "uint8", COMMON),
    # Not in uint8: a sum must not wrap, and dividing by zero is no error on a Mac.
    Widened("dot vdot", "bool", "float32", SAME),
    Widened("linspace", "bool", "float32"),
    Widened("fmod remainder floor_divide", "bool", "float32", COMMON),
    Widened("div.Tensor_mode div.out_mode div_.Tensor_mode", "bool", "float32", COMMON),
)

# Whole numbers beyond 2**24 lose digits here and not on a Mac.
_OF_INTEGERS = (
    Widened("_sparse_sparse_matmul", "integral", "float32", SAME),
    Widened("silu", "bool small_int", "float32"),
    Widened("_log_softmax", "small_int", "float32"),
    Widened("glu mish softplus log_sigmoid_forward avg_pool2d", "small_int", "float32"),
    Widened("huber_loss", "small_int", "float32", COMMON),
    Widened(
        "native_batch_norm _native_batch_norm_legit _batch_norm_with_update",
        "small_int",
        "float32",
    ),
    Widened("avg_pool3d", "bool small_int", "float32"),
    Widened("adaptive_max_pool2d", "bool integral", "float32"),
    Widened("adaptive_avg_pool2d _adaptive_avg_pool2d", "integral", "float32"),
    # Not int64, which the indices are.
    Widened("max_unpool2d max_unpool3d", "bool small_int", "float32"),
    Widened("max_pool2d_with_indices_backward", "bool small_int", "float32"),
    Widened("lerp", "integral", "float32", SAME),
    Widened("histc", "integral", "float32"),
    # Not uint8 and int64, which the targets may be.
    Widened("nll_loss_forward nll_loss2d_forward", "bool int8 int16 int32", "float32"),
    Widened("upsample_trilinear3d", "uint8", "float32"),
)

# PyTorch's CPU has next to nothing in complex32.
_OF_SMALL_COMPLEX = (
    Widened(
        "angle exp expm1 sigmoid exp2 log log10 log1p log2 sinh cosh tanh sqrt reciprocal rsqrt "
        "sinc sin cos tan asin acos atan asinh acosh atanh",
        "complex32",
        "complex64",
    ),
    Widened(
        "div logaddexp pow addcdiv logical_and logical_or logical_xor logical_not",
        "complex32",
        "complex64",
        COMMON,
    ),
    Widened("equal lerp mm bmm addmm baddbmm addbmm", "complex32", "complex64", SAME),
    Widened("addmv linear dot vdot", "complex32", "complex64", SAME),
    Widened("sum mean prod cumsum cumprod _logcumsumexp trace", "complex32", "complex64"),
    Widened("gather scatter scatter_add masked_scatter_ eye", "complex32", "complex64"),
    Widened("linalg_cross", "complex32", "complex64", COMMON),
    Widened("linalg_householder_product", "complex32", "complex64", SAME),
    Widened("im2col polar", "complex32", "complex64"),
    Widened("reflection_pad1d reflection_pad2d reflection_pad3d", "complex32", "complex64"),
    Widened("replication_pad1d replication_pad2d replication_pad3d", "complex32", "complex64"),
    Widened("_fft_c2c _fft_c2r", "complex32", "complex64"),
)

WIDENED: tuple[Widened, ...] = (
    *_IN_HALF_PRECISION,
    *_OF_BOOLS,
    *_OF_INTEGERS,
    *_OF_SMALL_COMPLEX,
)

# For the CPU engine, besides the above: there PyTorch's fused SGD stores nothing, but for elements
# beyond the last whole vector.
WIDENED_ON_CPU: tuple[Widened, ...] = (Widened("_fused_sgd_", "half", "float32"),)

# What PyTorch's CPU has, and its CUDA has not: for the CUDA engine, besides the above. Found by the
# `dtypes` and `dtypesIfCUDA` of PyTorch's own operator database. Not where indices or targets have
# these dtypes, too.
WIDENED_ON_CUDA: tuple[Widened, ...] = (
    Widened("igamma igammac", "half", "float32", COMMON),
    Widened("angle", "half", "float32"),
    Widened("scatter_reduce", "bool", "int32"),
    # Exact, as on a Mac: floats would lose digits.
    Widened("mm bmm addmm baddbmm addbmm addmv dot vdot", "integral", HOST),
    Widened("max_pool2d max_pool2d_with_indices max_pool3d_with_indices", "integral", HOST),
    Widened("avg_pool2d", "int64", HOST),
    Widened("upsample_bilinear2d", "uint8", HOST),
)
