"""Which dtypes an operator refuses on a Mac, with the exception and the text.

Read in PyTorch's Mac sources: the checks in operations/*.mm, and the types that each kernel in
kernels/*.metal is instantiated for. PyTorch's own suite (`dtypesIfMPS` and `common_mps.py`) says
which of them a Mac takes; where both speak, it decided.
"""

from __future__ import annotations

from typing import NamedTuple


class Refusal(NamedTuple):
    operators: str  # "sin": every overload, out= and sin_; "sin_": in place; "sin.out": that one
    dtypes: str  # names or groups of dtype_names; "!" in front: all but these
    error: str
    text: str  # may hold {dtype} (Long), {metal} (long), {op} (sin), {layout} (dense, strided)
    of: str = "first"  # whose dtype: "first", "any" or "every" tensor, "common", or an argument
    macos_below: str = ""


_NO_KERNEL = "Failed to create function state object for: "

# Apple words such failures in a compiler's log. The text is ours.
_NOT_IN_MPSGRAPH = "{op}: MPSGraph does not support {dtype}"


def _no_kernel(operators: str, dtypes: str, kernel: str, of: str = "first") -> Refusal:
    return Refusal(operators, dtypes, "RuntimeError", _NO_KERNEL + kernel, of)


def _not_implemented(operators: str, dtypes: str, text: str, of: str = "first") -> Refusal:
    return Refusal(operators, dtypes, "NotImplementedError", text, of)


def _invalid(operators: str, dtypes: str, text: str, of: str = "first") -> Refusal:
    return Refusal(operators, dtypes, "RuntimeError", text, of)


def _wrong_type(operators: str, dtypes: str, text: str, of: str = "first") -> Refusal:
    return Refusal(operators, dtypes, "TypeError", text, of)


# Unary kernels: a missing one is looked for under its cast name last, so the error has that name.
_UNARY = "{op}_{layout}_castout_{metal}"
_COMPLEX_UNARY = (
    "angle exp expm1 sigmoid exp2 log log10 log1p log2 sinc sqrt reciprocal rsqrt sinh cosh tanh "
    "sin cos tan asin acos atan"
)
_REAL_UNARY = "erf erfc erfinv lgamma digamma"

_SPECIAL_UNARY = {  # operator: kernel
    "i0": "i0",
    "special_i0e": "i0e",
    "special_i1": "i1",
    "special_i1e": "i1e",
    "special_entr": "entr",
    "special_erfcx": "erfcx",
    "special_spherical_bessel_j0": "spherical_bessel_j0",
    "special_bessel_j0": "bessel_j0_forward",
    "special_bessel_j1": "bessel_j1_forward",
    "special_bessel_y0": "bessel_y0_forward",
    "special_bessel_y1": "bessel_y1_forward",
    "special_modified_bessel_i0": "modified_bessel_i0_forward",
    "special_modified_bessel_i1": "modified_bessel_i1_forward",
    "special_modified_bessel_k0": "modified_bessel_k0_forward",
    "special_modified_bessel_k1": "modified_bessel_k1_forward",
    "special_scaled_modified_bessel_k0": "scaled_modified_bessel_k0_forward",
    "special_scaled_modified_bessel_k1": "scaled_modified_bessel_k1_forward",
}

_UNARY_RULES = (
    _no_kernel(_COMPLEX_UNARY, "unsigned", _UNARY),
    _no_kernel(_REAL_UNARY, "unsigned complex", _UNARY),
    _no_kernel("neg", "unsigned", _UNARY),
    _no_kernel(
        "round.decimals round.decimals_out round_.decimals",
        "bool integral unsigned",
        "round_decimals_{layout}_{metal}_{metal}_long",
    ),
    _no_kernel("abs round", "bool unsigned", _UNARY),
    _no_kernel("bitwise_not", "!integral bool float8", _UNARY),
    *(
        _no_kernel(operator, "unsigned complex", kernel + "_{layout}_castout_{metal}")
        for operator, kernel in _SPECIAL_UNARY.items()
    ),
    _invalid("frac", "!floating float8", "frac_out_mps is only implemented for floating types"),
)

_ACTIVATION_RULES = (
    _invalid("relu", "complex", "relu is not supported for complex types"),
    _no_kernel("relu", "unsigned", _UNARY),
    _no_kernel("silu", "int64 unsigned", _UNARY),
    _no_kernel("gelu hardsigmoid hardswish", "!floating float8", _UNARY),
    _no_kernel(
        "hardshrink softshrink leaky_relu",
        "!floating float8",
        "{op}_{layout}_{metal}_{metal}_{metal}",
    ),
    _not_implemented("elu", "!floating", "\"elu_mps\" not implemented for '{dtype}'"),
    _not_implemented(
        "_log_softmax _log_softmax_backward_data log_sigmoid_forward glu mish mish_backward",
        "int64",
        "MPS doesn't know how to do exponent_i64",
    ),
    _not_implemented(
        "_log_softmax _log_softmax_backward_data",
        "complex",
        "log_softmax for complex is not supported for MPS",
    ),
    _not_implemented(
        "_log_softmax _log_softmax_backward_data",
        "bool",
        "log_softmax for bool is not supported for MPS",
    ),
    _invalid("_softmax", "!floating float8", "softmax only supported for floating types"),
    _not_implemented("mish mish_backward", "complex", "Mish for complex is not supported for MPS"),
    _not_implemented("softplus", "int64", "Not implemented for long"),
)

# Binary kernels are named after what they read and write.
_SAME = "{op}_{layout}_{metal}_{metal}"
_TO_FLOAT = "{op}_{layout}_float_{metal}"

_POLYNOMIALS = (
    *(f"{prefix}chebyshev_polynomial_{kind}" for prefix in ("", "shifted_") for kind in "tuvw"),
    "hermite_polynomial_h",
    "hermite_polynomial_he",
)


def _floating_only(operator: str, kernel: str) -> Refusal:
    text = f"{kernel}_mps not implemented for non-floating types"
    return _wrong_type(operator, "complex", text, of="common")


_BINARY_RULES = (
    _no_kernel("add sub mul", "unsigned", _SAME, of="common"),
    _no_kernel("maximum minimum", "unsigned", _SAME, of="common"),
    _no_kernel("fmax", "unsigned", "maximum_{layout}_{metal}_{metal}", of="common"),
    _no_kernel("fmin", "unsigned", "minimum_{layout}_{metal}_{metal}", of="common"),
    _no_kernel("remainder fmod", "unsigned complex", _SAME, of="common"),
    _no_kernel("floor_divide", "unsigned", "div_floor_{layout}_{metal}_{metal}", of="common"),
    _no_kernel("hypot igamma igammac", "!floating float8", _SAME, of="common"),
    # Two dtypes are read through a cast, which knows all of them.
    _no_kernel(
        "div.Tensor div.out div_.Tensor", "unsigned", "div_true_{layout}_float_{metal}", of="every"
    ),
    _no_kernel("atan2 copysign xlogy logaddexp logaddexp2", "unsigned", _TO_FLOAT, of="every"),
    _no_kernel("special_zeta", "unsigned", "zeta_{layout}_float_{metal}", of="every"),
    _no_kernel("special_xlog1py", "unsigned", "xlog1py_{layout}_float_{metal}", of="every"),
    *(
        _no_kernel(f"special_{name}", "unsigned", name + "_{layout}_float_{metal}", of="every")
        for name in _POLYNOMIALS
    ),
    _wrong_type(
        "nextafter",
        "!floating float8",
        "nextafter_mps not implemented for non-floating types",
        of="common",
    ),
    _floating_only("special_zeta", "zeta"),
    _floating_only("special_xlog1py", "xlog1py"),
    *(_floating_only(f"special_{name}", name) for name in _POLYNOMIALS),
    _not_implemented(
        "gcd lcm", "!integral unsigned", "{op}_mps not implemented for {dtype}", of="common"
    ),
    _no_kernel("gcd lcm", "unsigned", _SAME, of="common"),
    _no_kernel("bitwise_and bitwise_or bitwise_xor", "!integral bool float8", _SAME, of="common"),
    _not_implemented(
        "bitwise_left_shift __lshift__ __ilshift__",
        "!integral unsigned",
        "bitwise_left_shift not implemented for {dtype}",
        of="common",
    ),
    _not_implemented(
        "bitwise_right_shift __rshift__ __irshift__",
        "!integral unsigned",
        "bitwise_right_shift not implemented for {dtype}",
        of="common",
    ),
    _no_kernel("eq ne", "unsigned", "{op}_{layout}_bool_{metal}", of="common"),
    _no_kernel("lt le gt ge", "unsigned complex", "{op}_{layout}_bool_{metal}", of="common"),
    _no_kernel("clamp.Tensor clamp.Tensor_out clamp_.Tensor", "unsigned", _SAME, of="common"),
    _no_kernel("clamp_min clamp_max", "unsigned", "{op}_scalar_{layout}_{metal}_{metal}_{metal}"),
)

_REDUCTION_RULES = (
    _no_kernel("sum", "unsigned", "sum_reduction_{metal}_long"),
    _no_kernel("count_nonzero", "unsigned", "count_nonzero_reduction_{metal}_long"),
    _no_kernel("any", "unsigned", "any_reduction_{metal}_uchar"),
    _no_kernel("all", "unsigned", "all_reduction_{metal}_uchar"),
    _no_kernel("amax", "unsigned", "max_reduction_{metal}_{metal}"),
    _no_kernel("amin aminmax", "unsigned", "min_reduction_{metal}_{metal}"),
    _invalid("aminmax", "complex", "aminmax not implemented for {dtype}"),
    _wrong_type(
        "std var std_mean var_mean",
        "!floating complex float8",
        "std and var only support floating point and complex dtypes",
    ),
    _invalid(
        "histogram.bin_ct histogram.bin_ct_out _histogramdd_from_bin_cts",
        "!float32",
        "histogram is only supported for float32",
    ),
)

_POOLING_RULES = (
    _not_implemented(
        "max_pool2d_with_indices max_pool2d_with_indices_backward",
        "complex",
        "Max pooling for complex is not supported for MPS",
    ),
    _not_implemented("avg_pool2d", "complex", "Not implemented for complex"),
    _no_kernel("max_pool3d_with_indices", "complex unsigned", "max_pool_{metal}"),
    _no_kernel("max_unpool2d max_unpool3d", "complex unsigned", "max_unpool_{metal}"),
    _no_kernel("avg_pool3d", "complex unsigned", "avg_pool_{metal}"),
)

_LAYER_RULES = (
    *(
        _invalid(
            f"convolution{suffix}",
            "!floating complex float8",
            "Convolution is supported only for Floating types",
        )
        for suffix in ("", "_overrideable", "_backward", "_backward_overrideable")
    ),
    *(
        _invalid(
            "linear",
            "!floating complex",
            f"MPS device does not support linear for non-float {which}",
            of=argument,
        )
        for argument, which in (("input", "inputs"), ("weight", "weights"), ("bias", "bias"))
    ),
    _invalid(
        "linear_backward",
        "!floating complex",
        "mps_linear_backward: unsupported weights data type: {dtype}",
        of="weight",
    ),
    _invalid(
        "linear_backward",
        "!floating complex",
        "MPS device does not support linear backward for non-float inputs",
        of="grad_output",
    ),
    _not_implemented(
        "native_batch_norm _native_batch_norm_legit _batch_norm_with_update",
        "int64",
        "Long batch norm is not supported with MPS",
    ),
    _not_implemented(
        "native_batch_norm _native_batch_norm_legit _batch_norm_with_update",
        "complex",
        "Batch norm for complex is not supported for MPS",
    ),
    _not_implemented("native_layer_norm", "int64", "Not implemented for long on MPS"),
    _invalid(
        "native_dropout",
        "!floating complex float8",
        "native_dropout_mps: input must be a floating-point or complex tensor, got {dtype}",
    ),
    *(
        _not_implemented(
            "_scaled_dot_product_attention_math_for_mps",
            "!floating float8",
            "scaled_dot_product_attention for MPS does not support dtype {dtype}",
            of=argument,
        )
        for argument in ("query", "key", "value")
    ),
    _invalid(
        "_fused_adam_ _fused_adamw_ _fused_sgd_",
        "!floating",
        "Only float, bfloat and half are supported",
        of="self",
    ),
)

_LOSS_RULES = (
    _not_implemented("smooth_l1_loss huber_loss", "int64", "MPS doesn't know how to do square_i64"),
    _not_implemented("huber_loss", "complex", "huber_loss for complex is not supported for MPS"),
    _not_implemented(
        "nll_loss_forward nll_loss2d_forward",
        "complex",
        "nlld_loss for complex is not supported for MPS",
    ),
    *(
        _invalid(
            operator,
            "!floating float8",
            f"{function}: only defined for floating types",
            of=argument,
        )
        for operator, function in (
            ("binary_cross_entropy.out", "binary_cross_entropy_out_mps"),
            ("binary_cross_entropy", "binary_cross_entropy_mps"),
            ("binary_cross_entropy_backward.grad_input", "binary_cross_entropy_backward_out_mps"),
            ("binary_cross_entropy_backward", "binary_cross_entropy_backward_mps"),
        )
        for argument in ("self", "target")
    ),
)

_LINEAR_ALGEBRA_RULES = (
    _no_kernel("mm", "bool unsigned", "matmul_{metal}"),
    _no_kernel("bmm", "bool unsigned", "naive_bmm_{metal}"),
    _no_kernel("addmm", "bool unsigned", "addmm_{metal}", of="mat1"),
    _no_kernel("baddbmm addbmm", "bool unsigned", "naive_{op}_{metal}", of="batch1"),
    _invalid(
        "addbmm baddbmm",
        "float8",
        "MPS device does not support addbmm or baddbmm for this input type",
        of="batch1",
    ),
    _invalid(
        "addr",
        "!floating complex",
        "MPS device does not support addr for non-float input",
        of="vec1",
    ),
    _invalid(
        "linalg_lu_factor_ex linalg_lu _linalg_det _linalg_slogdet",
        "complex64",
        "linalg.lu_factor(): MPS doesn't support complex types.",
    ),
    _invalid(
        "_linalg_solve_ex", "complex64", "linalg.lu_factor(): MPS only supports floats.", of="any"
    ),
    _invalid("linalg_inv_ex", "complex64", "linalg_inv: not supported for complex types yet!"),
    _invalid(
        "linalg_solve_triangular triangular_solve _cholesky_solve_helper linalg_lu_solve",
        "complex64",
        "linalg.solve.triangular(); Only float is supported!",
        of="any",
    ),
    _invalid("cholesky_inverse", "complex64", "cholesky_inverse: MPS only supports float type!"),
    _invalid("linalg_qr", "complex64", "linalg_qr: MPS currently supports float32 only"),
    _no_kernel("linalg_cross", "bool unsigned", "cross_{layout}_{metal}"),
    _no_kernel("renorm", "complex", "renorm_{metal}"),
)

_FOURIER_RULES = (
    _invalid("_fft_r2c", "!float32 float16", "Only float and half dtypes are supported"),
    _invalid("_fft_c2r", "!complex", "Input must be complex"),
)

_INDEXING_RULES = (
    _invalid("index_reduce", "int64", "index_reduce for MPS does not support torch.long dtype"),
    _invalid(
        "index_reduce", "complex64", "index_reduce for MPS does not support torch.cfloat dtype"
    ),
    _invalid("masked_select", "!bool", "masked_select: expected BoolTensor for mask", of="mask"),
    _invalid("masked_fill_", "!bool", "expected mask dtype to be Bool but got {dtype}", of="mask"),
    _invalid(
        "masked_scatter_",
        "!bool uint8",
        "masked_scatter: expected BoolTensor or ByteTensor for mask",
        of="mask",
    ),
    _invalid(
        "index_select",
        "!int32 int64",
        "index_select(): Expected dtype int32 or int64 for index",
        of="index",
    ),
    _no_kernel("nonzero nonzero_static", "unsigned", "count_nonzero_prefix_sum_{metal}"),
    _no_kernel("gather", "unsigned", "gather_{layout}_{metal}_long"),
    _no_kernel("scatter.src scatter.src_out scatter_.src", "unsigned", "scatter_set_{metal}_long"),
    _no_kernel("index_fill", "unsigned", "index_fill_{layout}_{metal}"),
    _no_kernel("index_copy", "unsigned", "index_copy_{layout}_{metal}_long_32"),
    _no_kernel("tril triu", "unsigned", "{op}_int_{metal}"),
)

_IMAGE_RULES = (
    _not_implemented(
        "upsample_nearest1d upsample_nearest2d _upsample_nearest_exact1d _upsample_nearest_exact2d",
        "complex",
        "upsample for MPS does not support complex inputs",
    ),
    _no_kernel("upsample_bicubic2d", "!floating float8", "upsample_bicubic2d_{metal}"),
    _no_kernel("upsample_bilinear2d", "!floating uint8 float8", "upsample_bilinear2d_{metal}"),
    _no_kernel("upsample_trilinear3d", "!floating uint8 float8", "upsample_trilinear3d_{metal}"),
    _invalid(
        "_upsample_bilinear2d_aa",
        "!floating float8",
        "_upsample_bilineard2d_aa_out_mps only supports floating-point dtypes",  # sic
    ),
    _invalid(
        "_upsample_bicubic2d_aa",
        "!floating float8",
        "_upsample_bicubic2d_aa_out_mps only supports floating-point dtypes",
    ),
    _not_implemented(
        "grid_sampler_2d", "complex", "grid_sampler_2d is not supported for complex on MPS"
    ),
    _not_implemented(
        "grid_sampler_2d_backward",
        "complex",
        "grid_sampler_2d_backward is not supported for complex on MPS",
    ),
    _no_kernel("im2col", "integral unsigned", "im2col_{metal}_u32"),
    _no_kernel("col2im", "integral unsigned complex", "col2im_kernel_{metal}_u32"),
)

# A Mac takes these and answers nonsense, as its own suite knows.
_NONSENSE_RULES = (
    _invalid(
        "avg_pool2d glu mish softplus huber_loss log_sigmoid_forward "
        "native_batch_norm _native_batch_norm_legit _batch_norm_with_update",
        "bool",
        _NOT_IN_MPSGRAPH,
    ),
    _invalid("std var std_mean var_mean", "complex", _NOT_IN_MPSGRAPH),
    _invalid("cholesky linalg_cholesky_ex", "complex64", _NOT_IN_MPSGRAPH),
)

# Eight-bit floats can be stored and copied. Metal has no name for them, MPSGraph no code.
_METAL_OPERATORS = (
    f"{_COMPLEX_UNARY} {_REAL_UNARY} neg abs round bitwise_not "
    "relu silu gelu hardsigmoid hardswish "
    "add sub mul maximum minimum fmax fmin remainder fmod hypot atan2 copysign xlogy "
    "div eq ne lt le gt ge clamp clamp_min clamp_max lerp "
    "sum mean amax amin aminmax any all count_nonzero nansum linalg_vector_norm cumsum cumprod "
    "sort topk kthvalue nonzero gather scatter index_fill index_copy tril triu "
    "fill_ zero_ cat native_layer_norm"
)
_GRAPH_OPERATORS = (
    "_softmax _log_softmax addcmul addcdiv sign signbit ceil floor trunc pow logit softplus glu "
    "mm bmm addmm prod max min argmax argmin median nanmedian std var where flip roll "
    "isnan isposinf isneginf logical_and logical_or logical_xor logical_not "
    "avg_pool2d max_pool2d max_pool2d_with_indices native_batch_norm _native_batch_norm_legit "
    "mse_loss smooth_l1_loss huber_loss nll_loss_forward embedding_dense_backward"
)

_FLOAT8_RULES = (
    _invalid(_METAL_OPERATORS, "float8", "Undefined type {dtype}", of="any"),
    _wrong_type(
        _GRAPH_OPERATORS,
        "float8",
        "Trying to convert {dtype} to the MPS backend but it does not have support for that dtype.",
        of="any",
    ),
    _not_implemented(
        "_local_scalar_dense",
        "float8",
        "\"_local_scalar_dense_mps\" not implemented for '{dtype}'",
    ),
)

REFUSED: tuple[Refusal, ...] = (
    *_UNARY_RULES,
    *_ACTIVATION_RULES,
    *_BINARY_RULES,
    *_REDUCTION_RULES,
    *_POOLING_RULES,
    *_LAYER_RULES,
    *_LOSS_RULES,
    *_LINEAR_ALGEBRA_RULES,
    *_FOURIER_RULES,
    *_INDEXING_RULES,
    *_IMAGE_RULES,
    *_NONSENSE_RULES,
    *_FLOAT8_RULES,
)
