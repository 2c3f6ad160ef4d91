"""Is there an mps device? Every way in which guides ask."""

from __future__ import annotations

import pytest

from .snippets import Snippet, assert_as_expected

SNIPPETS = [
    Snippet(
        "PyTorch's note",
        """
        import torch
        from torch import nn

        if not torch.backends.mps.is_available():
            if not torch.backends.mps.is_built():
                print("this torch was built without MPS")
            else:
                print("this macOS is too old, or there is no MPS device")
        else:
            mps_device = torch.device("mps")
            x = torch.ones(5, device=mps_device)
            x = torch.ones(5, device="mps")
            y = x * 2
            print(y)
            model = nn.Linear(5, 3)
            model.to(mps_device)
            pred = model(x)
            print(pred.device, pred.shape)
        """,
        """
        tensor([2., 2., 2., 2., 2.], device='mps:0')
        mps:0 torch.Size([3])
        """,
    ),
    Snippet(
        "Apple's check",
        """
        import torch
        if torch.backends.mps.is_available():
            mps_device = torch.device("mps")
            x = torch.ones(1, device=mps_device)
            print (x)
        else:
            print ("MPS device not found.")
        """,
        "tensor([1.], device='mps:0')\n",
        alone=True,
    ),
    Snippet(
        "built and available",
        """
        import torch
        print(torch.backends.mps.is_built())
        print(torch.backends.mps.is_available())
        print(torch.mps.is_available(), torch.mps.device_count())
        """,
        "True\nTrue\nTrue 1\n",
    ),
    Snippet(
        "CUDA, MPS or CPU",
        """
        import torch
        if torch.cuda.is_available():
            device = torch.device("cuda")
        elif torch.backends.mps.is_available():
            device = torch.device("mps")
        else:
            device = torch.device("cpu")
        print(f"Using device: {device}")
        """,
        "Using device: mps\n",
    ),
    Snippet(
        "in one line",
        """
        import torch
        device = (
            "cuda" if torch.cuda.is_available()
            else "mps" if torch.backends.mps.is_available()
            else "cpu"
        )
        print(device)
        has_mps = getattr(torch, "backends", None) and getattr(torch.backends, "mps", None)
        print(bool(has_mps and torch.backends.mps.is_available()))
        """,
        "mps\nTrue\n",
    ),
    Snippet(
        "the accelerator",
        """
        import torch
        device = (
            torch.accelerator.current_accelerator().type
            if torch.accelerator.is_available() else "cpu"
        )
        print(f"Using {device} device")
        print(torch.accelerator.device_count())
        print(torch.accelerator.current_accelerator(check_available=True))
        """,
        "Using mps device\n1\nmps\n",
    ),
    Snippet(
        "which Mac",
        """
        import torch
        print(torch.backends.mps.get_name())
        print(torch.backends.mps.get_core_count())
        print(torch.backends.mps.is_macos13_or_newer())
        print(torch.backends.mps.is_macos_or_newer(14, 0))
        """,
        "Apple M4\n10\nTrue\nTrue\n",
    ),
    Snippet(
        "has_mps, of old guides",
        """
        import torch
        print(torch.has_mps)
        """,
        "True\n",
        tells=("'has_mps' is deprecated, please use 'torch.backends.mps.is_built()'",),
    ),
]


@pytest.mark.parametrize("snippet", SNIPPETS, ids=str)
def test_availability(snippet: Snippet, run) -> None:
    assert_as_expected(snippet, run(snippet))
