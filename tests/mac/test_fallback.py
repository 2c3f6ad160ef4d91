"""PYTORCH_ENABLE_MPS_FALLBACK, and the operators that run on the CPU whatever it says."""

from __future__ import annotations

import pytest
import torch
from torch.nn import functional as F

from .texts import falls_back, missing

TABLE = torch.tensor([[2.0, 1.0], [1.0, 3.0]])

TAKE = """
import torch
try:
    print(torch.arange(4.0, device="mps").take(torch.tensor([2], device="mps")))
except NotImplementedError as error:
    print(error)
"""
TAKEN = "tensor([2.], device='mps:0')\n"


@pytest.mark.parametrize("value", ["1", "2", "true", "no", ""])
def test_any_value_but_0_turns_it_on(python, value: str) -> None:
    done = python("-W", "ignore", "-c", TAKE, OPENMPS="1", PYTORCH_ENABLE_MPS_FALLBACK=value)
    assert done.stdout == TAKEN, done.stderr


@pytest.mark.lacks_operators("aten::take")
def test_0_leaves_it_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTORCH_ENABLE_MPS_FALLBACK", "0")
    with pytest.raises(NotImplementedError) as refused:
        TABLE.to("mps").take(torch.tensor([2], device="mps"))
    assert str(refused.value) == missing("aten::take")


@pytest.mark.lacks_operators("aten::take")
def test_nothing_leaves_it_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PYTORCH_ENABLE_MPS_FALLBACK", raising=False)
    with pytest.raises(NotImplementedError):
        TABLE.to("mps").take(torch.tensor([2], device="mps"))


@pytest.mark.lacks_operators("aten::take")
def test_it_is_honoured_however_late_it_is_set(monkeypatch: pytest.MonkeyPatch, fallback) -> None:
    monkeypatch.delenv("PYTORCH_ENABLE_MPS_FALLBACK")
    index = torch.tensor([3], device="mps")
    with pytest.raises(NotImplementedError):
        TABLE.to("mps").take(index)
    monkeypatch.setenv("PYTORCH_ENABLE_MPS_FALLBACK", "1")
    with fallback("aten::take"):
        assert TABLE.to("mps").take(index).tolist() == [3.0]


TWO_OPERATORS = """
import torch
table = torch.arange(4.0, device="mps")
for _ in range(2):
    table.take(torch.tensor([2], device="mps"))
    table.mode()
    torch.linalg.svd(table.view(2, 2))
"""


@pytest.mark.lacks_operators("aten::take")
def test_the_first_operator_of_a_process_is_named_and_no_other(python) -> None:
    done = python("-W", "always", "-c", TWO_OPERATORS, OPENMPS="1", PYTORCH_ENABLE_MPS_FALLBACK="1")
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("Warning") == 1, done.stderr
    assert f"UserWarning: {falls_back('aten::take')} (Triggered internally at" in done.stderr


def test_importing_and_running_what_a_mac_has_warns_of_nothing(python) -> None:
    program = "import torch; print((torch.ones(2, device='mps') @ torch.ones(2, device='mps')))"
    done = python("-W", "always", "-c", program, OPENMPS="1", PYTORCH_ENABLE_MPS_FALLBACK="1")
    assert (done.stdout, done.stderr) == ("tensor(2., device='mps:0')\n", "")


def test_results_come_back_to_mps(fallback) -> None:
    with fallback("aten::mode"):
        values, indices = torch.tensor([3, 1, 3], device="mps").mode()
    assert values.device == indices.device == torch.device("mps:0")
    assert (values.item(), indices.item()) == (3, 2)


def test_what_is_written_in_place_is_written_back(fallback) -> None:
    tensor = torch.zeros(2, 2, device="mps")
    view = tensor.t()
    with fallback("aten::put_"):
        same = tensor.put_(torch.tensor([1], device="mps"), torch.tensor([7.0], device="mps"))
    assert same is tensor
    assert tensor.tolist() == [[0.0, 7.0], [0.0, 0.0]]
    assert view.tolist() == [[0.0, 0.0], [7.0, 0.0]]


def test_an_out_argument_is_written_and_resized(fallback) -> None:
    out = torch.empty(0, device="mps")
    with fallback("aten::take.out"):
        same = torch.take(TABLE.to("mps"), torch.tensor([3, 0], device="mps"), out=out)
    assert same is out
    assert out.tolist() == [3.0, 2.0]


def test_a_generated_function_falls_back_through_its_out_form(fallback) -> None:
    with fallback("aten::heaviside.out"):
        result = torch.heaviside(TABLE.to("mps") - 1, torch.tensor(0.5, device="mps"))
    assert result.device == torch.device("mps:0")
    assert result.tolist() == [[1.0, 0.5], [0.5, 1.0]]


def test_lists_of_tensors_fall_back(fallback) -> None:
    parameter, gradient, total = (torch.full((2,), 2.0, device="mps") for _ in range(3))
    step = torch.ones((), device="mps")
    with fallback("aten::_fused_adagrad_"):
        torch._fused_adagrad_(
            [parameter], [gradient], [total], [step],
            lr=1.0, lr_decay=0.0, weight_decay=0.0, eps=0.0, maximize=False,
        )  # fmt: skip
    assert total.tolist() == [6.0, 6.0]
    torch.testing.assert_close(parameter.cpu(), torch.full((2,), 2 - 2 / 6**0.5))


def test_gradients_fall_back_too(fallback) -> None:
    table = TABLE.to("mps").requires_grad_()
    with fallback("aten::take", "aten::put_"):
        table.take(torch.tensor([1, 1, 2], device="mps")).sum().backward()
    assert table.grad.tolist() == [[0.0, 2.0], [1.0, 0.0]]


def test_sparse_tensors_do_not_fall_back(fallback) -> None:
    with pytest.raises(NotImplementedError, match=r"^Could not run 'aten::exp' with"):
        TABLE.to("mps").to_sparse().exp()


def test_svd_always_falls_back(monkeypatch: pytest.MonkeyPatch, fallback) -> None:
    monkeypatch.setenv("PYTORCH_ENABLE_MPS_FALLBACK", "0")
    with fallback("aten::linalg_svd"):
        u, s, vh = torch.linalg.svd(TABLE.to("mps"))
    assert {part.device for part in (u, s, vh)} == {torch.device("mps:0")}
    torch.testing.assert_close((u @ s.diag() @ vh).cpu(), TABLE)


def test_svd_into_given_tensors_always_falls_back(monkeypatch, fallback) -> None:
    monkeypatch.delenv("PYTORCH_ENABLE_MPS_FALLBACK")
    out = tuple(torch.empty(0, device="mps") for _ in range(3))
    with fallback("aten::linalg_svd.U"):
        torch.linalg.svd(TABLE.to("mps"), out=out)
    torch.testing.assert_close(out[1].cpu(), torch.linalg.svdvals(TABLE))


@pytest.mark.filterwarnings("ignore:aten..linalg_svd. an autograd kernel was not registered")
@pytest.mark.filterwarnings("ignore:The operator 'aten..linalg_svd' is not currently supported")
def test_svd_has_gradients() -> None:
    matrix = TABLE.to("mps").requires_grad_()
    torch.linalg.svd(matrix).S.sum().backward()
    twin = TABLE.clone().requires_grad_()
    torch.linalg.svd(twin).S.sum().backward()
    assert matrix.grad.device == torch.device("mps:0")
    torch.testing.assert_close(matrix.grad.cpu(), twin.grad)


def test_an_embedding_with_a_largest_norm_always_falls_back(monkeypatch, fallback) -> None:
    monkeypatch.setenv("PYTORCH_ENABLE_MPS_FALLBACK", "0")
    weight = torch.tensor([[3.0, 4.0], [0.6, 0.8], [6.0, 8.0]], device="mps")
    with fallback("aten::embedding_renorm_"):
        rows = F.embedding(torch.tensor([0, 1], device="mps"), weight, max_norm=1.0)
    torch.testing.assert_close(rows.cpu(), torch.tensor([[0.6, 0.8], [0.6, 0.8]]))
    assert weight[2].tolist() == [6.0, 8.0]  # was not looked up
