"""Heavy operators in float16 and bfloat16: added up in float32 and rounded once, as on a Mac."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys

import pytest
import torch
import torch.nn.functional as F

pytestmark = [
    pytest.mark.cpu_engine("a GPU multiplies half precision by itself"),
    # Of a Mac, about some products with many rows.
    pytest.mark.filterwarnings("ignore:MPS mm implementation has a known issue"),
]

DTYPES = [torch.float16, torch.bfloat16]
both = pytest.mark.parametrize("dtype", DTYPES, ids=str)


def on_mps(tensor):
    """The same numbers in the same places."""
    steps = zip(tensor.shape, tensor.stride(), strict=True)
    length = 1 + sum((size - 1) * stride for size, stride in steps)
    memory = tensor.as_strided((length,), (1,)).to("mps")
    return memory.as_strided(tensor.shape, tensor.stride())


def strides(tensor):
    """Of the dimensions in which a step can be taken."""
    return [stride for size, stride in zip(tensor.shape, tensor.stride(), strict=True) if size > 1]


def assert_rounded_once(got, exact, dtype, sums=1e-5):
    """`exact` is float64. sums: what sums in float32, in any order, may be off, relative to the
    largest element; the rest is one rounding."""
    assert got.dtype == dtype
    assert got.device.type == "mps"
    assert got.shape == exact.shape
    got = got.cpu().double()
    off = sums * max(1.0, exact.abs().max().item())
    # An exact result rounded, and its neighbours by as much as the sums may be off.
    low, high = ((exact - off).to(dtype).double(), (exact + off).to(dtype).double())
    wrong = (got < low) | (got > high)
    assert not wrong.any(), (got[wrong][:3], exact[wrong][:3])


def random(*shape, dtype):
    return torch.randn(shape).to(dtype)


# ---- products

SHAPES = [  # rows, sums, columns
    (1, 1, 1), (1, 33, 600), (600, 33, 1), (3, 17, 9), (8, 64, 40), (9, 100, 70), (70, 1100, 90),
    (2, 2100, 70), (300, 20, 600),
]  # fmt: skip
LAYOUTS = {
    "rows": lambda t: t,
    "columns": lambda t: t.mT.contiguous().mT,
    "spread": lambda t: torch.stack([t, t], -1)[..., 0],
    "expanded": lambda t: t[..., :1, :].expand(t.shape),
}


@both
@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("layouts", list(itertools.product(LAYOUTS, LAYOUTS)), ids="-".join)
def test_products(dtype, shape, layouts):
    torch.manual_seed(0)
    rows, length, columns = shape
    a, b = random(rows, length, dtype=dtype), random(length, columns, dtype=dtype)
    a, b = LAYOUTS[layouts[0]](a), LAYOUTS[layouts[1]](b)
    product = a.double() @ b.double()
    got = LAYOUTS[layouts[0]](on_mps(a)) @ LAYOUTS[layouts[1]](on_mps(b))
    assert_rounded_once(got, product, dtype)
    assert got.is_contiguous()


@both
@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("batch", [1, 3])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_batches_of_products(dtype, shape, batch, layout):
    torch.manual_seed(0)
    rows, length, columns = shape
    a = LAYOUTS[layout](random(batch, rows, length, dtype=dtype))
    b = random(batch, length, columns, dtype=dtype)
    product = a.double() @ b.double()
    assert_rounded_once(torch.bmm(on_mps(a), on_mps(b)), product, dtype)
    shared = random(1, length, columns, dtype=dtype).expand(batch, length, columns)
    got = torch.bmm(on_mps(a), on_mps(shared))
    assert_rounded_once(got, a.double() @ shared.double(), dtype)


@both
@pytest.mark.parametrize("shape", [(1, 40, 60), (50, 40, 1), (50, 140, 60)], ids=str)
@pytest.mark.parametrize("of", ["all", "row", "column", "one", "columns", "nothing"])
@pytest.mark.parametrize("factors", [(1, 1), (0.5, 2), (0, 3)], ids=str)
def test_a_summand_is_added_before_rounding(dtype, shape, of, factors):
    torch.manual_seed(0)
    rows, length, columns = shape
    beta, alpha = factors
    sizes = {
        "all": (rows, columns), "row": (1, columns), "column": (rows, 1), "one": (1,),
        "columns": (columns,), "nothing": (),
    }[of]  # fmt: skip
    self = random(*sizes, dtype=dtype)
    a, b = random(rows, length, dtype=dtype), random(length, columns, dtype=dtype)
    exact = beta * self.double() + alpha * (a.double() @ b.double())
    x, y, z = on_mps(self), on_mps(a), on_mps(b)
    assert_rounded_once(torch.addmm(x, y, z, beta=beta, alpha=alpha), exact, dtype)
    got = torch.baddbmm(x, y[None], z[None], beta=beta, alpha=alpha)
    assert_rounded_once(got, exact[None], dtype)
    if of == "all":
        assert x.addmm_(y, z, beta=beta, alpha=alpha) is x
        assert_rounded_once(x, exact, dtype)
    if columns == 1 and of in ("one", "nothing"):
        got = torch.addmv(x, y, z[:, 0], beta=beta, alpha=alpha)
        assert_rounded_once(got, exact[:, 0], dtype)


@both
def test_a_summand_times_zero_is_not_read(dtype):
    nothing = torch.full((3, 5), float("nan"), dtype=dtype, device="mps")
    ones = torch.ones(3, 20, dtype=dtype, device="mps")
    got = torch.addmm(nothing, ones, torch.ones(20, 5, dtype=dtype, device="mps"), beta=0)
    assert got.cpu().eq(20).all()


@both
@pytest.mark.parametrize("length", [1, 5, 64, 100, 100001])
@pytest.mark.parametrize("step", [1, 2])
def test_dot_and_products_with_vectors(dtype, length, step):
    torch.manual_seed(0)
    a, b = (random(length * step, dtype=dtype)[::step] for _ in range(2))
    exact = a.double().dot(b.double())
    for function in (torch.dot, torch.vdot):
        got = function(on_mps(a), on_mps(b))
        assert_rounded_once(got, exact, dtype, sums=1e-5 * length**0.5)
    if length > 1000:
        return
    matrix = random(30, length, dtype=dtype)
    for layout in LAYOUTS.values():
        laid = layout(matrix)
        assert_rounded_once(layout(on_mps(laid)) @ on_mps(a), laid.double() @ a.double(), dtype)


@both
def test_out_is_resized_and_written(dtype):
    torch.manual_seed(0)
    a, b = random(20, 30, dtype=dtype), random(30, 40, dtype=dtype)
    out = torch.empty(0, dtype=dtype, device="mps")
    assert torch.mm(on_mps(a), on_mps(b), out=out) is out
    assert_rounded_once(out, a.double() @ b.double(), dtype)
    across = torch.empty(40, 20, dtype=dtype, device="mps").t()
    torch.mm(on_mps(a), on_mps(b), out=across)
    assert_rounded_once(across, a.double() @ b.double(), dtype)
    assert across.stride() == (1, 20)
    with pytest.warns(UserWarning, match="was resized"):
        torch.mm(on_mps(a), on_mps(b), out=torch.empty(3, dtype=dtype, device="mps"))


@both
def test_linear_and_its_gradients(dtype):
    torch.manual_seed(0)
    tensors = [random(4, 50, 64, dtype=dtype), random(96, 64, dtype=dtype), random(96, dtype=dtype)]
    exact = [t.double().requires_grad_() for t in tensors]
    got = [on_mps(t).requires_grad_() for t in tensors]
    wanted, result = F.linear(*exact), F.linear(*got)
    assert_rounded_once(result, wanted.detach(), dtype)
    incoming = random(*result.shape, dtype=dtype)
    wanted.backward(incoming.double())
    result.backward(on_mps(incoming))
    for of_exact, of_got in zip(exact[:2], got[:2], strict=True):
        assert_rounded_once(of_got.grad, of_exact.grad, dtype)


@both
def test_infinities_and_nans_go_through(dtype):
    a = torch.ones(9, 20, dtype=dtype)
    a[0, 0], a[1, 19] = float("inf"), float("nan")
    for columns in (1, 3, 200):
        b = torch.ones(20, columns, dtype=dtype)
        expected = (a.float() @ b.float()).to(dtype)
        torch.testing.assert_close((on_mps(a) @ on_mps(b)).cpu(), expected, equal_nan=True)


@both
@pytest.mark.parametrize(
    "wrong",
    [
        lambda t: t @ t.new_ones(7, 3),
        lambda t: torch.bmm(t, t),
        lambda t: torch.mm(t, t.t().int()),
        lambda t: torch.addmm(t.new_ones(4, 4), t, t.t()),
        lambda t: torch.dot(t[0], t[0, :2]),
        lambda t: torch.mm(t, t.t(), out=t.new_empty(3, 3, dtype=torch.int32)),
        lambda t: F.conv2d(t[None, None], t.new_ones(1, 2, 3, 3)),
        lambda t: F.conv2d(t.new_ones(9, 3, 40, 500, 2)[..., 0], t.new_ones(1, 2, 3, 3)),
    ],
)
def test_errors_are_those_of_float32(dtype, wrong):
    data = torch.ones(3, 5)
    with pytest.raises(RuntimeError) as expected:
        wrong(data.to("mps"))
    with pytest.raises(RuntimeError) as raised:
        wrong(data.to("mps", dtype))
    plain = str(raised.value).replace("c10::Half", "float").replace("c10::BFloat16", "float")
    for name in ("Half", "BFloat16"):
        plain = plain.replace(name, "Float")
    if "same dtype" not in plain and "dtype" not in plain:
        assert plain == str(expected.value)


@both
@pytest.mark.parametrize("columns", [1, 500])
def test_temporaries_are_no_memory_of_the_mac(dtype, columns):
    a = torch.ones(500, 3000, dtype=dtype, device="mps")
    b = torch.ones(3000, columns, dtype=dtype, device="mps")
    torch.mps.empty_cache()
    before, driver = torch.mps.current_allocated_memory(), torch.mps.driver_allocated_memory()
    out = torch.empty(500, columns, dtype=dtype, device="mps")
    with_out = torch.mps.driver_allocated_memory()
    torch.mm(a, b, out=out)
    image = torch.ones(1, 8, 100, 100, dtype=dtype, device="mps")
    size = torch.mps.current_allocated_memory() - before
    F.conv2d(image, torch.ones(8, 8, 3, 3, dtype=dtype, device="mps"), padding=1)
    assert torch.mps.current_allocated_memory() - before == size
    assert with_out >= driver
    assert torch.mps.driver_allocated_memory() - with_out <= 32 * 2**20  # one heap


FEW_ROWS = """
import openmps, torch
openmps.activate(engine="cpu")
for dtype in (torch.float16, torch.bfloat16):
    a = ((torch.arange(4 * 777) * 7919 % 997).float() / 997 - 0.5).view(4, 777).to("mps", dtype)
    b = ((torch.arange(777 * 300) * 6007 % 991).float() / 991 - 0.5).view(777, 300).to("mps", dtype)
    for factor in (b, b.t().contiguous().t()):
        print((a @ factor).view(torch.int16).tolist())
"""


def test_few_rows_have_the_same_bits_on_every_processor():
    said = {
        subprocess.run(
            [sys.executable, "-c", FEW_ROWS],
            env={**os.environ, "ATEN_CPU_CAPABILITY": processor},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for processor in ("default", "avx2", "avx512")
    }
    assert len(said) == 1
    assert said.pop()


# ---- convolutions

CONVOLUTIONS = {
    "1d": ((2, 8, 30), (6, 8, 3), {"padding": 1}),
    "2d": ((3, 8, 12, 11), (6, 8, 3, 3), {"padding": 1, "stride": 2}),
    "3d": ((2, 4, 6, 5, 7), (6, 4, 2, 3, 2), {"dilation": 2, "padding": 1}),
    "pointwise": ((2, 8, 12, 11), (6, 8, 1, 1), {}),
    "groups": ((2, 8, 12, 11), (6, 4, 3, 3), {"groups": 2}),
    "depthwise": ((2, 8, 12, 11), (8, 1, 3, 3), {"groups": 8, "padding": 1}),
    "unbatched": ((8, 12, 11), (6, 8, 3, 3), {}),
    "large_batch": ((5, 32, 64, 64), (8, 32, 3, 3), {"padding": 1}),
}
TRANSPOSED = {
    "1d": ((2, 8, 30), (8, 6, 3), {"stride": 2}),
    "2d": ((2, 8, 12, 11), (8, 6, 3, 3), {"stride": 2, "padding": 1, "output_padding": 1}),
    "groups": ((2, 8, 12, 11), (8, 3, 3, 3), {"groups": 2}),
}
FORMATS = {4: torch.channels_last, 5: torch.channels_last_3d}
KINDS = [(F, "conv", name, *case) for name, case in CONVOLUTIONS.items()]
KINDS += [(F, "conv_transpose", name, *case) for name, case in TRANSPOSED.items()]


@both
@pytest.mark.parametrize("last", [False, True], ids=["contiguous", "channels_last"])
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: f"{kind[1]}_{kind[2]}")
def test_convolutions_and_their_gradients(dtype, last, kind):
    torch.manual_seed(0)
    module, function, _, shape, weight, options = kind
    run = getattr(module, f"{function}{len(weight) - 2}d")
    channels = weight[0] if function == "conv" else weight[1] * options.get("groups", 1)
    tensors = [random(*shape, dtype=dtype), random(*weight, dtype=dtype) / 4]
    tensors.append(random(channels, dtype=dtype))
    if last and tensors[0].dim() not in FORMATS:
        pytest.skip("channels last is a format of four and five dimensions only")
    if last:
        tensors[0] = tensors[0].to(memory_format=FORMATS[tensors[0].dim()])
    exact = [t.double().requires_grad_() for t in tensors]
    single = [on_mps(t.float()).requires_grad_() for t in tensors]
    got = [on_mps(t).requires_grad_() for t in tensors]
    wanted, in_float32, result = (run(*ts, **options) for ts in (exact, single, got))
    assert_rounded_once(result, wanted.detach(), dtype)
    assert strides(result) == strides(in_float32)
    incoming = random(*result.shape, dtype=dtype)
    wanted.backward(incoming.double())
    in_float32.backward(on_mps(incoming.float()))
    result.backward(on_mps(incoming))
    for of_exact, of_single, of_got in zip(exact, single, got, strict=True):
        assert_rounded_once(of_got.grad, of_exact.grad, dtype)
        assert strides(of_got.grad) == strides(of_single.grad)


# ---- attention


def exact_attention(query, key, value, mask=None, causal=False, scale=None):
    shared = query.shape[1] // key.shape[1]
    key, value = (t.double().repeat_interleave(shared, 1) for t in (key, value))
    scores = query.double() @ key.mT * (scale or query.shape[-1] ** -0.5)
    if mask is not None:
        scores = scores + mask.double()
    if causal:
        allowed = torch.ones(scores.shape[-2:], dtype=torch.bool).tril()
        scores = scores.masked_fill(~allowed, float("-inf"))
    return scores.softmax(-1).nan_to_num(0.0) @ value


@both
@pytest.mark.parametrize("queries", [1, 3, 4, 5, 70])
@pytest.mark.parametrize("groups", [1, 2, 4])
@pytest.mark.parametrize(
    ("causal", "mask"),
    [(False, None), (True, None), *((False, m) for m in [(1, 90), (2, 4, 1, 90), (2, 1, 0, 90)])],
    ids=str,
)
def test_attention_rounds_its_result_only(dtype, queries, causal, groups, mask):
    torch.manual_seed(0)
    query = random(2, queries, 4, 40, dtype=dtype).transpose(1, 2)
    key, value = (random(2, groups, 90, 40, dtype=dtype) for _ in range(2))
    if mask is not None:
        mask = random(*[queries if size == 0 else size for size in mask], dtype=dtype)
        mask[..., ::3] = float("-inf")
    exact = exact_attention(query, key, value, mask, causal)
    options = {"is_causal": causal, "enable_gqa": groups != 4}
    got = F.scaled_dot_product_attention(
        on_mps(query), on_mps(key), on_mps(value), None if mask is None else on_mps(mask), **options
    )
    # Their exponentials are float32, too.
    assert_rounded_once(got, exact, dtype, sums=3e-5)


@both
def test_rows_that_are_masked_out_are_zero(dtype):
    tensors = [torch.ones(1, 2, n, 8, dtype=dtype, device="mps") for n in (1, 5, 5)]
    mask = torch.full((1, 5), float("-inf"), dtype=dtype, device="mps")
    got = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu(*tensors, attn_mask=mask)
    assert got[0].eq(0).all()
    assert got[1].dtype == torch.float32


@both
def test_backward_of_fused_attention(dtype):
    torch.manual_seed(0)
    tensors = [random(1, 2, 9, 16, dtype=dtype) for _ in range(3)]
    incoming = random(1, 2, 9, 16, dtype=dtype)
    exact = [t.double().requires_grad_() for t in tensors]
    exact_attention(*exact).backward(incoming.double())
    forward = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu
    backward = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu_backward
    got = [on_mps(t) for t in tensors]
    out, sums = forward(*got)
    gradients = backward(on_mps(incoming), *got, out, sums, 0.0, False)
    off = {torch.float16: 2e-3, torch.bfloat16: 2e-2}[dtype]  # its own result was rounded
    for gradient, wanted in zip(gradients, exact, strict=True):
        assert gradient.dtype == dtype
        torch.testing.assert_close(gradient.cpu().double(), wanted.grad, rtol=off, atol=off)


# ---- others


@both
@pytest.mark.parametrize(
    "function",
    [
        lambda t: t.norm(dim=-1),
        lambda t: t.norm(),
        lambda t: torch.linalg.vector_norm(t, 3, dim=0),
        lambda t: t**2,
        lambda t: t.abs() ** 1.5,
        lambda t: t.t() ** 2,
        lambda t: F.fold(t.view(1, 4, 50)[:, :, :25], (6, 6), (2, 2)),
        lambda t: F.group_norm(t.view(2, 4, 5, 5), 2),
        lambda t: F.group_norm(t.view(2, 4, 25), 2, t[0, :4].contiguous(), t[1, :4].contiguous()),
    ],
)
def test_other_operators_are_computed_in_float32(dtype, function):
    torch.manual_seed(0)
    data = random(10, 20, dtype=dtype)
    exact = function(data.double())
    assert_rounded_once(function(on_mps(data)), exact, dtype)


@both
def test_places_of_extremes_are_those_of_the_cpu(dtype):
    torch.manual_seed(0)
    data = torch.randint(-3, 4, (40, 50)).to(dtype)
    data[3, 7] = float("nan")
    for function in (torch.argmax, torch.argmin):
        for dim in (None, 0, 1):
            assert torch.equal(function(on_mps(data), dim).cpu(), function(data, dim))
