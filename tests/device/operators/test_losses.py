from __future__ import annotations

import pytest
import torch
from torch import nn

from ..agreement import assert_agrees, assert_matches, assert_module_agrees


def real(*shape):
    return torch.randn(shape, requires_grad=True)


def probability(*shape):
    return torch.rand(shape).mul(0.8).add(0.1).requires_grad_()


def sign(*shape):
    return torch.randint(0, 2, shape) * 2.0 - 1


LOSSES = {
    "L1Loss": lambda: (real(4, 3), torch.randn(4, 3)),
    "MSELoss": lambda: (real(4, 3), torch.randn(4, 3)),
    "SmoothL1Loss": lambda: (real(4, 3), torch.randn(4, 3)),
    "HuberLoss": lambda: (real(4, 3), torch.randn(4, 3)),
    "CrossEntropyLoss": lambda: (real(4, 3), torch.tensor([0, 2, 1, 0])),
    "NLLLoss": lambda: (real(4, 3), torch.tensor([0, 2, 1, 0])),
    "PoissonNLLLoss": lambda: (real(4, 3), torch.rand(4, 3)),
    "GaussianNLLLoss": lambda: (real(4, 3), torch.randn(4, 3), probability(4, 3)),
    "KLDivLoss": lambda: (real(4, 3), torch.rand(4, 3)),
    "BCELoss": lambda: (probability(4, 3), torch.rand(4, 3)),
    "BCEWithLogitsLoss": lambda: (real(4, 3), torch.rand(4, 3)),
    "MarginRankingLoss": lambda: (real(4), real(4), sign(4)),
    "HingeEmbeddingLoss": lambda: (real(4, 3), sign(4, 3)),
    "MultiLabelMarginLoss": lambda: (real(2, 4), torch.tensor([[3, 0, -1, 1], [1, -1, 0, 2]])),
    "MultiLabelSoftMarginLoss": lambda: (real(4, 3), torch.randint(0, 2, (4, 3)).float()),
    "SoftMarginLoss": lambda: (real(4, 3), sign(4, 3)),
    "CosineEmbeddingLoss": lambda: (real(4, 3), real(4, 3), sign(4)),
    "MultiMarginLoss": lambda: (real(4, 3), torch.tensor([0, 2, 1, 0])),
    "TripletMarginLoss": lambda: (real(4, 3), real(4, 3), real(4, 3)),
    "TripletMarginWithDistanceLoss": lambda: (real(4, 3), real(4, 3), real(4, 3)),
}
# Run on the CPU where PYTORCH_ENABLE_MPS_FALLBACK is set, and not at all where it is not.
MISSING = {
    "MultiLabelMarginLoss": (
        "aten::multilabel_margin_loss_forward",
        "aten::multilabel_margin_loss_backward",
    ),
    "MultiMarginLoss": ("aten::multi_margin_loss", "aten::multi_margin_loss_backward"),
}
NOT_LOOPED = {"CTCLoss", "NLLLoss2d", "AdaptiveLogSoftmaxWithLoss", "LinearCrossEntropyLoss"}

# KLDivLoss: torch advises another reduction.
pytestmark = pytest.mark.filterwarnings("ignore:reduction. 'mean' divides the total loss")


def test_every_loss_of_torch_is_tested():
    losses = {name for name in dir(nn) if name.endswith("Loss") or name.endswith("Loss2d")}
    assert losses - NOT_LOOPED == set(LOSSES)


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
@pytest.mark.parametrize("name", sorted(LOSSES.keys() - MISSING.keys()))
def test_loss_agrees(name, reduction):
    torch.manual_seed(0)
    assert_module_agrees(getattr(nn, name)(reduction=reduction), *LOSSES[name]())


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
@pytest.mark.parametrize("name", MISSING)
def test_loss_that_a_mac_lacks_agrees_through_the_fallback(name, reduction, fallback):
    torch.manual_seed(0)
    with fallback(*MISSING[name]):
        assert_module_agrees(getattr(nn, name)(reduction=reduction), *LOSSES[name]())


def test_weighted_losses_agree(fallback):
    torch.manual_seed(0)
    target = torch.tensor([0, 2, 1, 0])
    weight = torch.tensor([1.0, 2.0, 0.5])
    assert_module_agrees(nn.CrossEntropyLoss(weight=weight), real(4, 3), target)
    assert_module_agrees(nn.CrossEntropyLoss(label_smoothing=0.1), real(4, 3), target)
    assert_module_agrees(nn.CrossEntropyLoss(ignore_index=0), real(4, 3), target)
    assert_module_agrees(nn.CrossEntropyLoss(), real(4, 3), torch.rand(4, 3))
    assert_module_agrees(nn.NLLLoss(weight=weight), real(4, 3), target)
    assert_module_agrees(nn.BCEWithLogitsLoss(pos_weight=weight), real(4, 3), torch.rand(4, 3))
    assert_module_agrees(nn.BCELoss(weight=weight), probability(4, 3), torch.rand(4, 3))
    with fallback(*MISSING["MultiMarginLoss"]):
        assert_module_agrees(nn.MultiMarginLoss(weight=weight, p=2), real(4, 3), target)


def test_losses_over_images_agree():
    torch.manual_seed(0)
    target = torch.randint(0, 3, (2, 4, 5))
    assert_module_agrees(nn.CrossEntropyLoss(), real(2, 3, 4, 5), target)
    assert_module_agrees(nn.NLLLoss(ignore_index=1), real(2, 3, 4, 5), target)


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
def test_ctc_loss_agrees(reduction, fallback):
    torch.manual_seed(0)
    targets = torch.randint(1, 5, (2, 4))

    def loss(logits, labels, input_lengths, target_lengths):
        return nn.functional.ctc_loss(
            logits.log_softmax(2), labels, input_lengths, target_lengths, reduction=reduction
        )

    lengths = torch.tensor([12, 10]), torch.tensor([4, 3])
    with fallback("aten::_ctc_loss", "aten::_ctc_loss_backward"):
        assert_agrees(loss, real(12, 2, 5), targets, *lengths)
        assert_agrees(
            lambda logits, labels: loss(logits, labels, (12, 10), (4, 3)), real(12, 2, 5), targets
        )
        assert_agrees(
            lambda logits, labels: loss(logits, labels, *lengths), real(12, 2, 5), targets
        )


def test_ctc_loss_with_joined_targets_and_impossible_alignments_agrees(fallback):
    torch.manual_seed(0)

    def loss(logits, labels):
        return nn.CTCLoss(zero_infinity=True)(logits.log_softmax(2), labels, (3, 3), (4, 2))

    with fallback("aten::_ctc_loss", "aten::_ctc_loss_backward"):
        assert_agrees(loss, real(3, 2, 5), torch.randint(1, 5, (6,)))


def test_adaptive_log_softmax_agrees():
    torch.manual_seed(0)
    module = nn.AdaptiveLogSoftmaxWithLoss(8, 20, cutoffs=[5, 10], div_value=2)
    assert_module_agrees(module, real(6, 8), torch.randint(0, 20, (6,)))


def test_target_on_the_cpu_raises():
    with pytest.raises(RuntimeError, match="Placeholder storage has not been allocated on MPS"):
        nn.CrossEntropyLoss()(torch.randn(4, 3, device="mps"), torch.tensor([0, 2, 1, 0]))


@pytest.mark.cpu_engine("a GPU finds it later")
def test_target_out_of_range_raises():
    with pytest.raises(IndexError, match="out of bounds"):
        nn.CrossEntropyLoss()(torch.randn(2, 3, device="mps"), torch.tensor([0, 9], device="mps"))


@pytest.mark.cuda_engine("the CPU finds it at once")
def test_target_out_of_range_is_told_by_the_next_wait():
    scores = torch.randn(2, 3, device="mps", requires_grad=True)
    loss = nn.CrossEntropyLoss()(scores, torch.tensor([0, 9], device="mps"))
    with pytest.raises(torch.AcceleratorError, match="Target 9 is out of bounds"):
        torch.mps.synchronize()
    loss.backward()
    with pytest.raises(torch.AcceleratorError, match="Target 9 is out of bounds"):
        torch.mps.synchronize()
    fine = nn.CrossEntropyLoss()(scores, torch.tensor([0, -100], device="mps"))
    assert fine.isfinite().item()


def test_loss_is_a_number_on_mps():
    loss = nn.MSELoss()(torch.ones(3, device="mps"), torch.zeros(3, device="mps"))
    assert_matches(loss, torch.tensor(1.0))
    assert loss.item() == 1.0
