"""What a Mac says about a new tensor's dimensions, layout and device."""

from __future__ import annotations

import pytest
import torch


@pytest.mark.parametrize("make", [torch.empty, torch.zeros, torch.ones, torch.rand])
def test_a_tensor_has_16_dimensions_at_most(make) -> None:
    assert make([1] * 16, device="mps").dim() == 16
    with pytest.raises(RuntimeError) as refused:
        make([1] * 17, device="mps")
    assert str(refused.value) == "MPS supports tensors with dimensions <= 16, but got 17."


def test_more_dimensions_come_by_views_strides_and_copies() -> None:
    assert torch.ones(1, device="mps").view([1] * 17).dim() == 17
    assert torch.empty_strided([1] * 17, [1] * 17, device="mps").dim() == 17
    assert torch.ones([1] * 17).to("mps").dim() == 17


@pytest.mark.parametrize("layout", [torch.sparse_coo, torch.sparse_csr, torch._mkldnn], ids=str)
def test_other_layouts_have_no_kernel(layout: torch.layout) -> None:
    mps = torch._C.DispatchKeySet(torch._C.DispatchKey.MPS)
    with pytest.raises(NotImplementedError) as refused:
        torch.ops.aten.empty.memory_format.redispatch(mps, [2], layout=layout, device="mps")
    assert str(refused.value) == "only strided tensors are supported on MPS"


def test_the_index_of_the_device_is_ignored() -> None:
    made = (
        torch.empty(2, device="mps:1"),
        torch.ones(2, device=torch.device("mps", 3)),
        torch.tensor([1], device="mps:1"),
        torch.ones(2).to("mps:1"),
    )
    assert {tensor.device for tensor in made} == {torch.device("mps:0")}
