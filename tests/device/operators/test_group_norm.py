from __future__ import annotations

import pytest
import torch
from torch.nn import functional as F

from ..agreement import assert_matches


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
def test_weights_that_lie_apart_are_read_by_their_strides(dtype):
    """PyTorch's kernel for the CPU reads its neighbours: what is right is its result for a copy."""
    torch.manual_seed(0)
    data = torch.randn(3, 4, 5)
    parameters = torch.randn(2, 4, 3)

    def results(device, copies):
        x = data.to(dtype).to(device).requires_grad_()
        lie = [parameter.to(dtype).to(device) for parameter in parameters]
        weight, bias = (each[:, 1].detach() for each in lie)
        if copies:
            weight, bias = weight.contiguous(), bias.contiguous()
        weight.requires_grad_()
        out = F.group_norm(x, 2, weight, bias)
        return out, *torch.autograd.grad(out.float().square().sum(), (x, weight))

    close = {} if dtype == torch.float32 else {"rtol": 0.03, "atol": 0.3}
    assert_matches(
        [each.detach() for each in results("mps", copies=False)],
        [each.detach() for each in results("cpu", copies=True)],
        strides=False,
        **close,
    )
