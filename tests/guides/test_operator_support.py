"""Operators that a Mac lacks: the error, the fallback to the CPU, and going there by hand."""

from __future__ import annotations

import pytest
import torch

from .snippets import Snippet, assert_as_expected

MISSING = (
    "The operator 'aten::mode' is not currently implemented for the MPS device. If you want this "
    "op to be considered for addition please comment on "
    "https://github.com/pytorch/pytorch/issues/141287 and mention use-case, that resulted in "
    f"missing op as well as commit hash {torch.version.git_version}. As a temporary fix, you can "
    "set the environment variable `PYTORCH_ENABLE_MPS_FALLBACK=1` to use the CPU as a fallback "
    "for this op. WARNING: this will be slower than running natively on MPS.\n"
)
FELL_BACK = (
    "UserWarning: The operator 'aten::mode' is not currently supported on the MPS backend and will "
    "fall back to run on the CPU. This may have performance implications."
)
SNIPPETS = [
    Snippet(
        "without a fallback",
        """
        import torch
        x = torch.tensor([[4, 3, 4], [6, 6, 8]], device="mps")
        try:
            torch.mode(x)
        except NotImplementedError as error:
            print(error)
        """,
        MISSING,
    ),
    Snippet(
        "not caught",
        """
        import torch
        torch.mode(torch.zeros(2, device="mps"))
        """,
        tells=("Traceback (most recent call last):", f"NotImplementedError: {MISSING}"),
        exit_code=1,
    ),
    Snippet(
        "by hand",
        """
        import torch

        def mode(x):
            try:
                return torch.mode(x).values
            except NotImplementedError:
                return torch.mode(x.cpu()).values.to(x.device)

        print(mode(torch.tensor([5, 3, 5], device="mps")))
        """,
        "tensor(5, device='mps:0')\n",
    ),
    Snippet(
        "with the fallback",
        """
        import torch
        x = torch.tensor([[4, 3, 4], [6, 6, 8]], device="mps")
        print(torch.mode(x).values)
        print(torch.mode(x, dim=0).values.device)
        """,
        "tensor([4, 6], device='mps:0')\nmps:0\n",
        tells=(FELL_BACK,),
        variables={"PYTORCH_ENABLE_MPS_FALLBACK": "1"},
    ),
    Snippet(
        "with the fallback, from inside",
        """
        import os
        os.environ["PYTORCH_ENABLE_MPS_FALLBACK"] = "1"
        import torch
        print(torch.tensor([7, 8, 8], device="mps").mode().values)
        """,
        "tensor(8, device='mps:0')\n",
        tells=(FELL_BACK,),
        alone=True,
    ),
    Snippet(
        "operators that people ask about",
        """
        import torch
        x = torch.tensor([[2., 1.], [1., 3.]], device="mps")
        print(torch.cumsum(x, 0).tolist(), torch.topk(x, 1).values.flatten().tolist())
        print(x.sort(dim=1).values.tolist(), torch.unique(x).tolist(), x.nonzero().shape)
        print(torch.linalg.inv(x).mul(5).round().tolist(), torch.linalg.det(x).round().item())
        print(torch.fft.fft(x)[0].tolist(), torch.bincount(torch.tensor([1, 1], device="mps")))
        print(torch.nn.functional.interpolate(x[None, None], scale_factor=2).shape)
        """,
        """
        [[2.0, 1.0], [3.0, 4.0]] [2.0, 3.0]
        [[1.0, 2.0], [1.0, 3.0]] [1.0, 2.0, 3.0] torch.Size([4, 2])
        [[3.0, -1.0], [-1.0, 2.0]] 5.0
        [(3+0j), (1+0j)] tensor([0, 2], device='mps:0')
        torch.Size([1, 1, 4, 4])
        """,
    ),
]


@pytest.mark.parametrize("snippet", SNIPPETS, ids=str)
def test_operator_support(snippet: Snippet, run) -> None:
    assert_as_expected(snippet, run(snippet))
