"""How much memory: the figures of torch.mps and torch.accelerator, and giving it back."""

from __future__ import annotations

import pytest

from .snippets import Snippet, assert_as_expected

SNIPPETS = [
    Snippet(
        "the three figures",
        """
        import torch
        print(torch.mps.current_allocated_memory())
        x = torch.ones(1024, 1024, device="mps")
        print(torch.mps.current_allocated_memory())
        driver = torch.mps.driver_allocated_memory()
        print(f"{torch.mps.current_allocated_memory() / 1024**2:.1f} MB")
        print(f"{torch.mps.recommended_max_memory() / 1024**3:.2f} GB")
        """,
        "0\n4194304\n4.0 MB\n<number> GB\n",
        then="""
        assert driver >= 4194304
        assert 10 << 30 < torch.mps.recommended_max_memory() < 16 << 30
        """,
    ),
    Snippet(
        "giving it back",
        """
        import gc
        import torch
        torch.mps.empty_cache()
        before = torch.mps.driver_allocated_memory()
        x = torch.zeros(64, 1024, 1024, device="mps")
        held = torch.mps.driver_allocated_memory()
        del x
        gc.collect()
        print(torch.mps.current_allocated_memory())
        cached = torch.mps.driver_allocated_memory()
        torch.mps.empty_cache()
        print(torch.mps.driver_allocated_memory() == before, cached == held, held > before)
        """,
        "0\nTrue True True\n",
    ),
    Snippet(
        "in a loop",
        """
        import torch
        from torch import nn
        model = nn.Linear(256, 256).to("mps")
        seen = []
        for step in range(6):
            loss = model(torch.randn(64, 256, device="mps")).pow(2).mean()
            loss.backward()
            model.zero_grad(set_to_none=True)
            del loss
            if step % 2 == 1:
                torch.mps.empty_cache()
                seen.append(torch.mps.current_allocated_memory())
        print(len(set(seen)))
        """,
        "1\n",
        then="assert seen[0] == 256 * 256 * 4 + 256 * 4, seen",
    ),
    Snippet(
        "torch.accelerator's figures",
        """
        import torch
        torch.accelerator.empty_cache()
        torch.accelerator.reset_peak_memory_stats()
        x = torch.ones(2, 1024, 1024, device="mps")
        del x
        print(torch.accelerator.memory_allocated(), torch.accelerator.max_memory_allocated())
        print(torch.accelerator.memory_reserved() <= torch.accelerator.max_memory_reserved())
        print(torch.accelerator.memory_stats()["allocated_bytes.all.peak"])
        if hasattr(torch.accelerator, "get_memory_info"):
            free, total = torch.accelerator.get_memory_info()
            print(free <= total == torch.mps.recommended_max_memory())
        torch.accelerator.reset_accumulated_memory_stats()
        """,
        "0 8388608\nTrue\n8388608\nTrue\n",
    ),
    Snippet(
        "memory by dtype",
        """
        import torch
        torch.mps.empty_cache()
        for dtype in (torch.float32, torch.float16, torch.bfloat16, torch.int8):
            before = torch.mps.current_allocated_memory()
            x = torch.zeros(1 << 20, dtype=dtype, device="mps")
            print(dtype, (torch.mps.current_allocated_memory() - before) // 2**20)
            del x
            torch.mps.empty_cache()
        """,
        "torch.float32 4\ntorch.float16 2\ntorch.bfloat16 2\ntorch.int8 1\n",
    ),
]


@pytest.mark.parametrize("snippet", SNIPPETS, ids=str)
def test_memory(snippet: Snippet, run) -> None:
    assert_as_expected(snippet, run(snippet))
