"""torch.device("mps"): how guides name it, choose by it, and make it the default."""

from __future__ import annotations

import pytest

from .snippets import Snippet, assert_as_expected

SNIPPETS = [
    Snippet(
        "its names",
        """
        import torch
        print(repr(torch.device("mps")))
        print(repr(torch.device("mps", 0)))
        print(torch.device("mps:0"), torch.device("mps:0").index, torch.device("mps").index)
        x = torch.zeros(2, device="mps:0")
        print(x.device, x.device.type, x.is_mps, x.is_cuda, x.get_device())
        print(x.device == torch.device("mps", 0), x.device == torch.device("mps"))
        """,
        """
        device(type='mps')
        device(type='mps', index=0)
        mps:0 0 None
        mps:0 mps True False 0
        True False
        """,
    ),
    Snippet(
        "a switch by type",
        """
        import torch
        device = torch.device("mps")
        if device.type == "cuda":
            torch.cuda.synchronize()
            dtype = torch.bfloat16
        elif device.type == "mps":
            torch.mps.synchronize()
            dtype = torch.float16
        else:
            dtype = torch.float32
        print(torch.ones(2, dtype=dtype, device=device))
        """,
        "tensor([1., 1.], device='mps:0', dtype=torch.float16)\n",
    ),
    Snippet(
        "a module and its tensors",
        """
        import torch
        from torch import nn
        device = torch.device("mps")
        model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2)).to(device)
        print(next(model.parameters()).device)
        print({parameter.device.type for parameter in model.parameters()})
        x = torch.randn(3, 4).to(device)
        print(model(x).device)
        model.cpu()
        print(next(model.parameters()).device)
        model.to("mps", torch.float16)
        print(model(x.half()).dtype)
        """,
        "mps:0\n{'mps'}\nmps:0\ncpu\ntorch.float16\n",
    ),
    Snippet(
        "with torch.device",
        """
        import torch
        from torch import nn
        with torch.device("mps"):
            x = torch.arange(3)
            layer = nn.Linear(3, 1)
        print(x.device, layer.weight.device, torch.ones(1).device)
        """,
        "mps:0 mps:0 cpu\n",
    ),
    Snippet(
        "the default device",
        """
        import torch
        from torch import nn
        torch.set_default_device("mps")
        print(torch.get_default_device())
        print(torch.tensor([1.0, 2.0]))
        layer = nn.Linear(2, 2)
        print(layer.weight.device, layer(torch.ones(2)).device)
        torch.set_default_device("cpu")
        print(torch.zeros(1).device)
        """,
        """
        mps:0
        tensor([1., 2.], device='mps:0')
        mps:0 mps:0
        cpu
        """,
        then="torch.set_default_device(None)",
    ),
    Snippet(
        "torch.accelerator",
        """
        import torch
        print(torch.accelerator.current_device_index())
        torch.accelerator.set_device_index(0)
        with torch.accelerator.device_index(0):
            x = torch.ones(2, device=torch.accelerator.current_accelerator())
        print(x)
        print(torch.accelerator.current_stream().device)
        torch.accelerator.synchronize()
        print(torch.get_device_module("mps") is torch.mps)
        print(torch.get_device_module() is torch.mps)
        """,
        """
        0
        tensor([1., 1.], device='mps:0')
        mps:0
        True
        True
        """,
    ),
    Snippet(
        "what the device can hold",
        """
        import torch
        if hasattr(torch.accelerator, "get_device_capability"):
            dtypes = torch.accelerator.get_device_capability()["supported_dtypes"]
        else:
            dtypes = {torch.float32, torch.float16, torch.bfloat16}
        print(torch.float16 in dtypes, torch.bfloat16 in dtypes, torch.float64 in dtypes)
        """,
        "True True False\n",
    ),
]


@pytest.mark.parametrize("snippet", SNIPPETS, ids=str)
def test_device(snippet: Snippet, run) -> None:
    assert_as_expected(snippet, run(snippet))
