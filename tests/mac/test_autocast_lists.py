"""What autocast does to each operator on a Mac."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch.nn import functional as F

from openmps.device.activation import active

LOWER = """
    _convolution _convolution.deprecated conv1d conv2d conv3d conv_tbc conv_transpose1d
    conv_transpose2d.input convolution _mps_convolution prelu addmm addmv addr matmul einsum mm mv
    linear addbmm baddbmm bmm chain_matmul linalg_multi_dot lstm_cell scaled_dot_product_attention
"""
FLOAT32 = """
    conv_transpose3d.input acos asin cosh erfinv exp expm1 log log10 log2 log1p reciprocal rsqrt
    sinh tan pow.Tensor_Scalar pow.Tensor_Tensor pow.Scalar softplus layer_norm native_layer_norm
    group_norm frobenius_norm.dim nuclear_norm nuclear_norm.dim batch_norm cosine_similarity
    poisson_nll_loss cosine_embedding_loss nll_loss nll_loss2d hinge_embedding_loss kl_div l1_loss
    smooth_l1_loss huber_loss mse_loss margin_ranking_loss multilabel_margin_loss soft_margin_loss
    triplet_margin_loss multi_margin_loss binary_cross_entropy_with_logits dist pdist cdist renorm
    logsumexp prod prod.dim_int softmax.int log_softmax.int cumprod cumsum linalg_vector_norm
    linalg_matrix_norm linalg_matrix_norm.str_ord sum sum.dim_IntList
"""
WIDEST = """
    addcdiv addcmul atan2 bilinear cross dot grid_sampler index_put tensordot scatter_add
"""

M = torch.linspace(0.1, 0.9, 9).reshape(3, 3).to("mps")
H = M.half()
IMAGE = M.reshape(1, 1, 3, 3)
INDEX = torch.tensor([0, 1, 2], device="mps")

LOWER_CALLS = {
    "addmm": lambda: torch.addmm(M, M, M),
    "addmv": lambda: torch.addmv(M[0], M, M[0]),
    "addr": lambda: torch.addr(M, M[0], M[0]),
    "baddbmm": lambda: torch.baddbmm(M[None], M[None], M[None]),
    "addbmm": lambda: torch.addbmm(M, M[None], M[None]),
    "bmm": lambda: torch.bmm(M[None], M[None]),
    "mv": lambda: torch.mv(M, M[0]),
    "multi_dot": lambda: torch.linalg.multi_dot([M, M, M]),
    "prelu": lambda: F.prelu(M, M[0, :1]),
    "conv_transpose2d": lambda: F.conv_transpose2d(IMAGE, IMAGE),
    "conv3d": lambda: F.conv3d(IMAGE[None], IMAGE[None]),
    "lstm_cell": lambda: torch.nn.LSTMCell(3, 2, device="mps")(M)[0],
}
FLOAT32_CALLS = {
    "acos": lambda: H.acos(),
    "reciprocal": lambda: H.reciprocal(),
    "rsqrt": lambda: H.rsqrt(),
    "tan": lambda: H.tan(),
    "softplus": lambda: F.softplus(H),
    "group_norm": lambda: F.group_norm(H, 3),
    "batch_norm": lambda: F.batch_norm(H, None, None, training=True),
    "cosine_similarity": lambda: F.cosine_similarity(H, H),
    "l1_loss": lambda: F.l1_loss(H, H),
    "huber_loss": lambda: F.huber_loss(H, H),
    "nll_loss": lambda: F.nll_loss(H, INDEX),
    "cdist": lambda: torch.cdist(H, H),
    "logsumexp": lambda: H.logsumexp(0),
    "prod": lambda: H.prod(),
    "cumprod": lambda: H.cumprod(0),
    "vector_norm": lambda: torch.linalg.vector_norm(H),
    "conv_transpose3d": lambda: F.conv_transpose3d(IMAGE[None].half(), IMAGE[None].half()),
}
WIDEST_CALLS = {
    "addcmul": lambda: torch.addcmul(H, M, H),
    "addcdiv": lambda: torch.addcdiv(H, M, H),
    "atan2": lambda: torch.atan2(H, M),
    "cross": lambda: torch.cross(H, M, dim=1),
    "dot": lambda: torch.dot(H[0], M[0]),
    "tensordot": lambda: torch.tensordot(H, M, 1),
    "scatter_add": lambda: H.scatter_add(0, INDEX[None], M),
    "index_put": lambda: H.index_put((INDEX,), M),
}


@pytest.mark.skipif(not torch.__version__.startswith("2.13."), reason="each torch has its own list")
def test_the_lists() -> None:
    listed = {f"aten::{name}" for name in (LOWER + FLOAT32 + WIDEST).split()}
    assert len(listed) == 95
    assert set(torch._C._dispatch_get_registrations_for_dispatch_key("AutocastMPS")) == listed


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("name", LOWER_CALLS)
def test_products_come_out_in_the_lower_dtype(name: str, dtype: torch.dtype) -> None:
    with torch.autocast("mps", dtype):
        assert LOWER_CALLS[name]().dtype == dtype


@pytest.mark.parametrize("name", FLOAT32_CALLS)
def test_what_needs_range_comes_out_in_float32(name: str) -> None:
    with torch.autocast("mps"):
        assert FLOAT32_CALLS[name]().dtype == torch.float32


@pytest.mark.parametrize("name", WIDEST_CALLS)
def test_mixed_dtypes_come_out_in_the_widest(name: str) -> None:
    with torch.autocast("mps"):
        assert WIDEST_CALLS[name]().dtype == torch.float32


def test_other_recurrent_cells_are_not_listed() -> None:
    names = torch._C._dispatch_get_registrations_for_dispatch_key("AutocastMPS")
    assert not {"aten::gru_cell", "aten::rnn_tanh_cell", "aten::rnn_relu_cell"} & set(names)


SEQUENCE = M[None].expand(2, 3, 3).contiguous()
PACKED = torch.nn.utils.rnn.pack_padded_sequence(SEQUENCE, torch.tensor([2, 1, 1]))


def test_a_whole_lstm_is_one_operator_that_is_not_listed() -> None:
    lstm = torch.nn.LSTM(3, 4, device="mps")
    expected = lstm(SEQUENCE)[0]
    with torch.autocast("mps", torch.bfloat16):
        out, (hidden, cell) = lstm(SEQUENCE)
    # To float32's precision; on a GPU, unless asked otherwise, to that of cuda.
    close = {"rtol": 0.05, "atol": 0.01} if active().engine == "cuda" else {}
    torch.testing.assert_close(out, expected, **close)
    assert out.dtype == hidden.dtype == cell.dtype == torch.float32


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("training", [False, True])
def test_other_layers_have_the_dtypes_of_the_operators_they_are_made_of(
    dtype: torch.dtype, training: bool
) -> None:
    lstm = torch.nn.LSTM(3, 4, device="mps")
    gru = torch.nn.GRU(3, 4, device="mps")
    rnn = torch.nn.RNN(3, 4, device="mps")
    with torch.autocast("mps", dtype), torch.set_grad_enabled(training):
        packed, (hidden, cell) = lstm(PACKED)
        assert packed.data.dtype == hidden.dtype == cell.dtype == torch.float32
        assert [t.dtype for t in gru(SEQUENCE)] == [torch.float32] * 2
        assert gru(PACKED)[0].data.dtype == torch.float32
        assert [t.dtype for t in rnn(SEQUENCE)] == [dtype] * 2


def test_binary_cross_entropy_is_not_banned() -> None:
    with torch.autocast("mps"):
        assert F.binary_cross_entropy(M, M).dtype == torch.float32


def test_only_floats_on_mps_are_cast() -> None:
    with torch.autocast("mps"):
        assert (torch.ones(2, 2) @ torch.ones(2, 2)).dtype == torch.float32
        assert torch.mm(M.cfloat(), M.cfloat()).dtype == torch.complex64


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.int32])
def test_another_dtype_turns_autocast_off_and_says_so(dtype: torch.dtype) -> None:
    with pytest.warns(UserWarning, match="In MPS autocast") as caught:
        context = torch.autocast("mps", dtype)
    assert [str(warning.message) for warning in caught] == [
        "In MPS autocast, but the target dtype is not supported. Disabling autocast.\n"
        "MPS Autocast only supports dtypes of torch.bfloat16, torch.float16 currently."
    ]
    with context:
        assert not torch.is_autocast_enabled("mps")
        assert torch.mm(M, M).dtype == torch.float32


def test_float16_is_the_default() -> None:
    with torch.autocast("mps"):
        assert torch.mm(M, M).dtype == torch.float16


def test_batch_norms_can_be_left_in_the_low_precision(python: Any) -> None:
    program = """
import torch
x = torch.linspace(-1, 1, 24, device="mps").reshape(2, 3, 4).bfloat16()
with torch.autocast("mps", dtype=torch.bfloat16):
    batch = torch.nn.functional.batch_norm(x, None, None, training=True)
    print(batch.dtype, torch.nn.functional.layer_norm(x, (4,)).dtype)
"""
    told = python("-W", "error", "-c", program, OPENMPS="1", OPENMPS_AUTOCAST="cuda")
    assert told.stdout == "torch.bfloat16 torch.float32\n", told.stderr
    wrong = python("-c", "import torch", OPENMPS="1", OPENMPS_AUTOCAST="float32")
    assert "OPENMPS_AUTOCAST must be auto, mac, narrow or cuda" in wrong.stderr
    assert "found: 'float32'" in wrong.stderr
