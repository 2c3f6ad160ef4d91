"""Operators without a kernel on a Mac."""

from __future__ import annotations

import pytest
import torch
from torch.nn import functional as F

from openmps.device.core import find_torch
from openmps.device.rules import installed_operators
from openmps.mac.operators import Status

from .texts import missing, missing_collective

MATRIX = torch.tensor([[2.0, 1.0], [1.0, 3.0]])
VOLUME = torch.arange(64.0).reshape(1, 1, 4, 4, 4)
INDEX = torch.tensor([0, 1])


def on_mps(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.to("mps")


m, v, i = on_mps(MATRIX), on_mps(VOLUME), on_mps(INDEX)
log_probabilities = on_mps(torch.zeros(5, 1, 4).log_softmax(2))

# The operator that the error names, and a call that ends there.
MISSING = {
    "aten::take": lambda: m.take(i),
    "aten::put_": lambda: m.clone().put_(i, m[0]),
    "aten::mode": lambda: m.mode(),
    "aten::logit_": lambda: m.clone().logit_(),
    "aten::_ctc_loss": lambda: F.ctc_loss(
        log_probabilities, on_mps(torch.tensor([[1, 2]])), torch.tensor([5]), torch.tensor([2])
    ),
    "aten::rrelu_with_noise": lambda: F.rrelu(m),
    "aten::rrelu_with_noise_": lambda: F.rrelu_(m.clone()),
    "aten::poisson": lambda: torch.poisson(m),
    "aten::binomial": lambda: torch.binomial(m, m / 4),
    "aten::linalg_eig": lambda: torch.linalg.eig(m),
    "aten::_linalg_eigvals": lambda: torch.linalg.eigvals(m),
    "aten::linalg_matrix_exp": lambda: torch.linalg.matrix_exp(m),
    "aten::geqrf": lambda: torch.geqrf(m),
    "aten::ormqr": lambda: torch.ormqr(m, m[0], m),
    "aten::_pdist_forward": lambda: torch.pdist(m),
    "aten::multi_margin_loss": lambda: F.multi_margin_loss(m, i),
    "aten::multilabel_margin_loss_forward": lambda: F.multilabel_margin_loss(m, m.long()),
    "aten::_adaptive_avg_pool3d": lambda: F.adaptive_avg_pool3d(v, 2),
    "aten::segment_reduce": lambda: torch.segment_reduce(m, "sum", lengths=i),
    "aten::channel_shuffle": lambda: F.channel_shuffle(on_mps(torch.ones(1, 4, 2, 2)), 2),
    "aten::_int_mm": lambda: torch._int_mm(m.to(torch.int8), m.to(torch.int8)),
    "aten::record_stream": lambda: m.record_stream(torch.Stream("mps")),
    "aten::_fused_adagrad_": lambda: torch._fused_adagrad_(
        [m.clone()], [m], [m.clone()], [m[0, 0].clone()],
        lr=0.1, lr_decay=0.0, weight_decay=0.0, eps=1e-8, maximize=False,
    ),
    "aten::fake_quantize_per_tensor_affine_cachemask": lambda: (
        torch.fake_quantize_per_tensor_affine(m, 0.1, 0, 0, 255)
    ),
    "aten::_to_sparse_csr": lambda: m.to_sparse_csr(),
    # The functional forms of these exist.
    "aten::std.correction_out": lambda: torch.std(m, 0, out=on_mps(torch.empty(2))),
    "aten::var.correction_out": lambda: torch.var(m, 0, out=on_mps(torch.empty(2))),
    "aten::max.unary_out": lambda: torch.max(m, out=on_mps(torch.empty(()))),
    "aten::min.unary_out": lambda: torch.min(m, out=on_mps(torch.empty(()))),
}  # fmt: skip

# A generated function checks the arguments, makes the result and calls the out form.
THROUGH_OUT = {
    "aten::heaviside": ("aten::heaviside.out", lambda: torch.heaviside(m, m)),
    "aten::heaviside_": ("aten::heaviside.out", lambda: m.clone().heaviside_(m)),
    "aten::_linalg_eigh": ("aten::_linalg_eigh.eigenvalues", lambda: torch.linalg.eigh(m)),
    "aten::_linalg_svd": ("aten::_linalg_svd.U", lambda: torch.linalg.svdvals(m)),
    "aten::linalg_lstsq": ("aten::linalg_lstsq.out", lambda: torch.linalg.lstsq(m, m)),
    "aten::linalg_ldl_factor_ex": (
        "aten::linalg_ldl_factor_ex.out",
        lambda: torch.linalg.ldl_factor(m),
    ),
    "aten::special_airy_ai": ("aten::special_airy_ai.out", lambda: torch.special.airy_ai(m)),
    "aten::special_log_ndtr": ("aten::special_log_ndtr.out", lambda: torch.special.log_ndtr(m)),
    "aten::special_ndtri": ("aten::special_ndtri.out", lambda: torch.special.ndtri(m)),
    "aten::frexp.Tensor": ("aten::frexp.Tensor_out", lambda: torch.frexp(m)),
    "aten::logspace": ("aten::logspace.out", lambda: torch.logspace(0, 1, 3, device="mps")),
    "aten::adaptive_max_pool3d": (
        "aten::adaptive_max_pool3d.out",
        lambda: F.adaptive_max_pool3d(v, 2),
    ),
    "aten::fractional_max_pool2d": (
        "aten::fractional_max_pool2d.output",
        lambda: F.fractional_max_pool2d(v[0], 2, output_size=2),
    ),
    "aten::fractional_max_pool3d": (
        "aten::fractional_max_pool3d.output",
        lambda: F.fractional_max_pool3d(v, 2, output_size=2),
    ),
}


# Kernels that came to the Mac build one after the other: what runs with one torch, another lacks.
CAME_LATER = {
    "aten::index_reduce.out": lambda: m.clone().index_reduce_(0, i[:1], m[:1], "amax"),
    "aten::linalg_qr.out": lambda: torch.linalg.qr(m),
    "aten::grid_sampler_2d_backward": lambda: torch.ops.aten.grid_sampler_2d_backward(
        v[:, :, 0], v[:, :, 0], on_mps(torch.zeros(1, 4, 4, 2)), 0, 0, False, [True, True]
    ),
    "aten::grid_sampler_3d_backward": lambda: torch.ops.aten.grid_sampler_3d_backward(
        v, v, on_mps(torch.zeros(1, 4, 4, 4, 3)), 0, 0, False, [True, True]
    ),
    "aten::_cdist_backward": lambda: torch.ops.aten._cdist_backward(m, m, m, 2.0, m),
}


@pytest.mark.filterwarnings(r"ignore:index_reduce\(\) is in beta")
@pytest.mark.parametrize("operator", CAME_LATER)
def test_an_operator_is_there_once_its_release_has_it(operator: str) -> None:
    status = installed_operators(find_torch().folder).dense[operator].status
    if status is not Status.MISSING:
        CAME_LATER[operator]()
        return
    with pytest.raises(NotImplementedError) as refused:
        CAME_LATER[operator]()
    assert str(refused.value) == missing(operator)


def skip_if_a_newer_torch_has(operator: str) -> None:
    if torch.__version__.startswith("2.13."):
        return
    table = installed_operators(find_torch().folder).dense
    if operator not in table or table[operator].status is not Status.MISSING:
        release = torch.__version__.split("+")[0]
        pytest.skip(f"torch {release} has an mps kernel for {operator}")


@pytest.mark.parametrize("operator", MISSING)
def test_a_missing_operator_is_refused_by_name(operator: str) -> None:
    skip_if_a_newer_torch_has(operator)
    with pytest.raises(NotImplementedError) as refused:
        MISSING[operator]()
    assert str(refused.value) == missing(operator)


@pytest.mark.parametrize("operator", THROUGH_OUT)
def test_a_generated_function_is_refused_under_the_name_of_its_out_form(operator: str) -> None:
    named, call = THROUGH_OUT[operator]
    skip_if_a_newer_torch_has(named)
    with pytest.raises(NotImplementedError) as refused:
        call()
    assert str(refused.value) == missing(named)


@pytest.mark.lacks_operators("aten::put_")
def test_an_operator_in_place_that_is_missing_leaves_its_tensor_alone() -> None:
    tensor = m.clone()
    with pytest.raises(NotImplementedError):
        tensor.put_(i, m[1])
    assert tensor.tolist() == MATRIX.tolist()


@pytest.mark.lacks_operators("aten::_upsample_bilinear2d_aa_backward.grad_input")
def test_a_missing_backward_is_refused_when_backward_runs() -> None:
    image = torch.ones(1, 1, 4, 4, device="mps", requires_grad=True)
    shrunk = F.interpolate(image, size=2, mode="bilinear", antialias=True)
    with pytest.raises(NotImplementedError) as refused:
        shrunk.sum().backward()
    assert str(refused.value) == missing("aten::_upsample_bilinear2d_aa_backward.grad_input")


# For as long as torch.ops lists what it defines: Inductor looks at all of that.
LIBRARY = torch.library.Library("mactests", "DEF")
LIBRARY.define("nothing(Tensor x) -> Tensor")


def test_a_custom_operator_without_a_kernel_is_refused_like_any_other() -> None:
    with pytest.raises(NotImplementedError) as refused:
        torch.ops.mactests.nothing(m)
    assert str(refused.value) == missing("mactests::nothing")


@pytest.mark.parametrize("operator", ["exp", "sigmoid", "cos"])
def test_sparse_tensors_get_the_dispatchers_own_words(operator: str) -> None:
    with pytest.raises(NotImplementedError) as refused:
        getattr(torch, operator)(m.to_sparse())
    assert str(refused.value).startswith(
        f"Could not run 'aten::{operator}' with arguments from the 'SparseMPS' backend. "
    )


COLLECTIVE = """
import torch, torch.distributed as distributed
distributed.init_process_group("gloo", rank=0, world_size=1, store=distributed.HashStore())
try:
    distributed.all_reduce(torch.ones(2, device="mps"))
except NotImplementedError as error:
    print(error)
distributed.destroy_process_group()
"""


@pytest.mark.parametrize("variable", ["0", "1"])
def test_collectives_neither_run_nor_fall_back(python, variable: str) -> None:
    done = python("-c", COLLECTIVE, OPENMPS="1", PYTORCH_ENABLE_MPS_FALLBACK=variable)
    assert done.stdout == missing_collective("c10d::allreduce_") + "\n", done.stderr
