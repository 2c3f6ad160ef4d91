"""Tensors on mps: made there, moved there and back, computed with, printed."""

from __future__ import annotations

import pytest

from .snippets import Snippet, assert_as_expected

SNIPPETS = [
    Snippet(
        "made on the device",
        """
        import torch
        device = torch.device("mps")
        print(torch.tensor([[1, 2], [3, 4]], device=device))
        print(torch.zeros(2, 3, device="mps"))
        print(torch.full((2,), 7.5, device="mps"), torch.eye(2, device="mps"))
        print(torch.arange(0, 10, 2, device="mps"), torch.linspace(0, 1, 3, device="mps"))
        print(torch.empty(2, 0, device="mps"))
        x = torch.rand(2, 2, device=device)
        print(torch.ones_like(x), x.new_zeros(1))
        """,
        """
        tensor([[1, 2],
                [3, 4]], device='mps:0')
        tensor([[0., 0., 0.],
                [0., 0., 0.]], device='mps:0')
        tensor([7.5000, 7.5000], device='mps:0') tensor([[1., 0.],
                [0., 1.]], device='mps:0')
        tensor([0, 2, 4, 6, 8], device='mps:0') tensor([0.0000, 0.5000, 1.0000], device='mps:0')
        tensor([], device='mps:0', size=(2, 0))
        tensor([[1., 1.],
                [1., 1.]], device='mps:0') tensor([0.], device='mps:0')
        """,
        then="assert 0 <= x.min().item() < x.max().item() < 1",
    ),
    Snippet(
        "moved and added",
        """
        import torch
        tensor_1 = torch.tensor([1., 2., 3.])
        tensor_2 = torch.tensor([4., 5., 6.])
        print(tensor_1 + tensor_2)
        tensor_1 = tensor_1.to("mps")
        tensor_2 = tensor_2.to("mps")
        print(tensor_1 + tensor_2)
        tensor_1 = tensor_1.to("cpu")
        try:
            print(tensor_1 + tensor_2)
        except RuntimeError as error:
            print(error)
        """,
        """
        tensor([5., 7., 9.])
        tensor([5., 7., 9.], device='mps:0')
        Expected all tensors to be on the same device, but found at least two devices, mps:0 and cpu!
        """,  # noqa: E501
    ),
    Snippet(
        "arithmetic",
        """
        import torch
        a = torch.tensor([[1., 2.], [3., 4.]], device="mps")
        b = torch.ones(2, 2, device="mps")
        print(a @ b, torch.matmul(a, b).sum().item())
        print(a.t(), a[0], a[:, 1], a > 2)
        a += 1
        a.mul_(2)
        print(a.mean(), a.max(dim=1).values, a.argmax())
        print(torch.cat([a, b]).shape, torch.stack([a, b]).shape, a.view(-1).tolist())
        print(torch.where(a > 6, a, torch.zeros_like(a)))
        """,
        """
        tensor([[3., 3.],
                [7., 7.]], device='mps:0') 20.0
        tensor([[1., 3.],
                [2., 4.]], device='mps:0') tensor([1., 2.], device='mps:0') tensor([2., 4.], device='mps:0') tensor([[False, False],
                [ True,  True]], device='mps:0')
        tensor(7., device='mps:0') tensor([ 6., 10.], device='mps:0') tensor(3, device='mps:0')
        torch.Size([4, 2]) torch.Size([2, 2, 2]) [4.0, 6.0, 8.0, 10.0]
        tensor([[ 0.,  0.],
                [ 8., 10.]], device='mps:0')
        """,  # noqa: E501
    ),
    Snippet(
        "gradients",
        """
        import torch
        x = torch.tensor([1., 2., 3.], device="mps", requires_grad=True)
        y = (x ** 2).sum()
        y.backward()
        print(y)
        print(x.grad)
        with torch.no_grad():
            x -= 0.5 * x.grad
        print(x)
        """,
        """
        tensor(14., device='mps:0', grad_fn=<SumBackward0>)
        tensor([2., 4., 6.], device='mps:0')
        tensor([0., 0., 0.], device='mps:0', requires_grad=True)
        """,
    ),
    Snippet(
        "to NumPy",
        """
        import numpy as np
        import torch
        x = torch.arange(3, device="mps", dtype=torch.float32)
        try:
            x.numpy()
        except TypeError as error:
            print(error)
        print(x.cpu().numpy(), x.numpy(force=True))
        w = torch.ones(2, device="mps", requires_grad=True)
        print((w * 2).detach().cpu().numpy().dtype)
        """,
        """
        can't convert mps:0 device type tensor to numpy. Use Tensor.cpu() to copy the tensor to host memory first.
        [0. 1. 2.] [0. 1. 2.]
        float32
        """,  # noqa: E501
    ),
    Snippet(
        "from NumPy",
        """
        import numpy as np
        import torch
        data = np.array([0.5, 1.5])
        try:
            torch.from_numpy(data).to("mps")
        except TypeError as error:
            print(error)
        print(torch.from_numpy(data).float().to("mps"))
        print(torch.from_numpy(data).to("mps", dtype=torch.float32))
        print(torch.tensor(data, dtype=torch.float32, device="mps"))
        print(torch.from_numpy(data.astype(np.float32)).to("mps").dtype)
        """,
        """
        Cannot convert a MPS Tensor to float64 dtype as the MPS framework doesn't support float64. Please use float32 instead.
        tensor([0.5000, 1.5000], device='mps:0')
        tensor([0.5000, 1.5000], device='mps:0')
        tensor([0.5000, 1.5000], device='mps:0')
        torch.float32
        """,  # noqa: E501
    ),
    Snippet(
        "dtypes",
        """
        import torch
        for dtype in (torch.float16, torch.bfloat16, torch.int64, torch.uint8, torch.bool,
                      torch.complex64):
            print((torch.ones(2, dtype=dtype, device="mps") * 1).sum())
        print(torch.ones(2, dtype=torch.int32, device="mps") / 2)
        """,
        """
        tensor(2., device='mps:0', dtype=torch.float16)
        tensor(2., device='mps:0', dtype=torch.bfloat16)
        tensor(2, device='mps:0')
        tensor(2, device='mps:0')
        tensor(2, device='mps:0')
        tensor(2.+0.j, device='mps:0')
        tensor([0.5000, 0.5000], device='mps:0')
        """,
    ),
]


@pytest.mark.parametrize("snippet", SNIPPETS, ids=str)
def test_tensors(snippet: Snippet, run) -> None:
    assert_as_expected(snippet, run(snippet))
