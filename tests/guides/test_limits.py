"""What a Mac refuses: memory beyond its limits, float64, shapes; and the ways around."""

from __future__ import annotations

import pytest

from .snippets import Snippet, assert_as_expected

FLOAT64 = (
    "Cannot convert a MPS Tensor to float64 dtype as the MPS framework doesn't support float64. "
    "Please use float32 instead.\n"
)
SNIPPETS = [
    Snippet(
        "float64",
        """
        import torch
        for make in (
            lambda: torch.ones(2, dtype=torch.float64, device="mps"),
            lambda: torch.ones(2, device="mps").double(),
            lambda: torch.tensor([1.0], dtype=torch.double).to("mps"),
            lambda: torch.nn.Linear(2, 2).double().to("mps"),
            lambda: torch.zeros(2, dtype=torch.complex128, device="mps"),
        ):
            try:
                make()
            except TypeError as error:
                print(error)
        print(torch.tensor([1.0], dtype=torch.double).float().to("mps").dtype)
        print(torch.tensor(1.5, device="mps").dtype)
        """,
        FLOAT64 * 5 + "torch.float32\ntorch.float32\n",
    ),
    Snippet(
        "float64 as the default",
        """
        import torch
        torch.set_default_dtype(torch.float64)
        try:
            torch.ones(2, device="mps")
        except TypeError as error:
            print(error)
        torch.set_default_dtype(torch.float32)
        print(torch.ones(2, device="mps").dtype)
        """,
        FLOAT64 + "torch.float32\n",
    ),
    Snippet(
        "sixteen dimensions",
        """
        import torch
        print(torch.zeros([1] * 16, device="mps").dim())
        try:
            torch.zeros([1] * 17, device="mps")
        except RuntimeError as error:
            print(error)
        """,
        "16\nMPS supports tensors with dimensions <= 16, but got 17.\n",
    ),
    Snippet(
        "a fraction of the memory",
        """
        import torch
        torch.mps.set_per_process_memory_fraction(0.5)
        half = torch.mps.recommended_max_memory() // 2
        x = torch.empty(half // 2, dtype=torch.uint8, device="mps")
        try:
            y = torch.empty(half, dtype=torch.uint8, device="mps")
        except RuntimeError as error:
            print(error)
        torch.mps.set_per_process_memory_fraction(0.0)
        y = torch.empty(half, dtype=torch.uint8, device="mps")
        print(y.numel() == half)
        """,
        "MPS backend out of memory (MPS allocated: <any> GiB, other allocations: <any>, "
        "max allowed: <any> GiB). Tried to allocate <any> GiB on shared pool. Use "
        "PYTORCH_MPS_HIGH_WATERMARK_RATIO=0.0 to disable upper limit for memory allocations (may "
        "cause system failure).\nTrue\n",
        then="torch.mps.set_per_process_memory_fraction(1.7)",
    ),
    Snippet(
        "a wrong fraction",
        """
        import torch
        for fraction in (1, 2.5, -0.1):
            try:
                torch.mps.set_per_process_memory_fraction(fraction)
            except (TypeError, ValueError) as error:
                print(type(error).__name__, error)
        """,
        """
        TypeError Invalid type for fraction argument, must be `float`
        ValueError Invalid fraction value: 2.5. Allowed range: 0~2
        ValueError Invalid fraction value: -0.1. Allowed range: 0~2
        """,
    ),
    Snippet(
        "too much, and a smaller batch",
        """
        import torch
        batch_size = 64
        while batch_size:
            try:
                x = torch.empty(batch_size, 1 << 29, dtype=torch.uint8, device="mps")
                break
            except RuntimeError as error:
                if "out of memory" not in str(error) and "Invalid buffer size" not in str(error):
                    raise
                print(str(error)[:32].rstrip())
                torch.mps.empty_cache()
                batch_size //= 2
        print(batch_size)
        """,
        # An M4 with 16 GB: 1.7 times 11.84 GiB, and no buffer over 8.88 GiB.
        "Invalid buffer size: 32.00 GiB\nInvalid buffer size: 16.00 GiB\n16\n",
    ),
    Snippet(
        "no upper limit, by the program",
        """
        import os
        os.environ["PYTORCH_MPS_HIGH_WATERMARK_RATIO"] = "0.0"
        import torch
        half = torch.mps.recommended_max_memory() // 2
        x = [torch.empty(half, dtype=torch.uint8, device="mps") for _ in range(5)]
        print(torch.mps.current_allocated_memory() > 2 * torch.mps.recommended_max_memory())
        """,
        "True\n",
        alone=True,
    ),
    Snippet(
        "both watermarks",
        """
        import os
        os.environ["PYTORCH_MPS_HIGH_WATERMARK_RATIO"] = "0.7"
        os.environ["PYTORCH_MPS_LOW_WATERMARK_RATIO"] = "0.5"
        import torch
        most = torch.mps.recommended_max_memory()
        x = torch.empty(int(most * 0.6), dtype=torch.uint8, device="mps")
        try:
            torch.empty(int(most * 0.2), dtype=torch.uint8, device="mps")
        except RuntimeError as error:
            print(str(error)[:25])
        """,
        "MPS backend out of memory\n",
        alone=True,
    ),
    Snippet(
        "a high watermark under the low one",
        """
        import torch
        try:
            torch.ones(1, device="mps")
        except RuntimeError as error:
            print(error)
        """,
        "invalid low watermark ratio 1.4\n",
        variables={"PYTORCH_MPS_HIGH_WATERMARK_RATIO": "1.0"},
    ),
]


@pytest.mark.parametrize("snippet", SNIPPETS, ids=str)
def test_limits(snippet: Snippet, run) -> None:
    assert_as_expected(snippet, run(snippet))
