"""What guides advise: lower precision, fewer waits, less memory, fused and compiled code."""

from __future__ import annotations

import pytest

from .snippets import Snippet, assert_as_expected

SNIPPETS = [
    Snippet(
        "autocast",
        """
        import torch
        from torch import nn
        model = nn.Linear(8, 4).to("mps")
        x = torch.randn(2, 8, device="mps")
        with torch.autocast(device_type="mps"):
            y = model(x)
            print(y.dtype, y.softmax(-1).dtype)
        with torch.autocast(device_type="mps", dtype=torch.bfloat16):
            print(model(x).dtype)
        with torch.amp.autocast("mps", dtype=torch.float16, enabled=False):
            print(model(x).dtype)
        print(torch.amp.is_autocast_available("mps"), torch.get_autocast_dtype("mps"))
        """,
        """
        torch.float16 torch.float32
        torch.bfloat16
        torch.float32
        True torch.float16
        """,
    ),
    Snippet(
        "autocast to what it cannot do",
        """
        import torch
        with torch.autocast("mps", dtype=torch.float32):
            print(torch.nn.functional.linear(torch.ones(1, 2, device="mps"),
                                             torch.ones(1, 2, device="mps")))
        """,
        "tensor([[2.]], device='mps:0')\n",
        tells=(
            "In MPS autocast, but the target dtype is not supported. Disabling autocast.",
            "MPS Autocast only supports dtypes of torch.bfloat16, torch.float16 currently.",
        ),
    ),
    Snippet(
        "a scaler of gradients",
        """
        import torch
        from torch import nn
        torch.manual_seed(0)
        model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 1)).to("mps")
        optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
        scaler = torch.amp.GradScaler("mps")
        x = torch.randn(32, 8, device="mps")
        y = x.sum(1, keepdim=True)
        losses = []
        for _ in range(20):
            optimizer.zero_grad(set_to_none=True)
            with torch.autocast("mps", dtype=torch.float16):
                loss = nn.functional.mse_loss(model(x), y)
            scaler.scale(loss).backward()
            scaler.unscale_(optimizer)
            torch.nn.utils.clip_grad_norm_(model.parameters(), 5.0)
            scaler.step(optimizer)
            scaler.update()
            losses.append(loss.item())
        print(scaler.is_enabled(), losses[-1] < losses[0] / 4)
        """,
        "True True\n",
        # It starts at 65536, and halves at each gradient beyond float16.
        then="assert 1024 < scaler.get_scale() <= 65536, scaler.get_scale()",
    ),
    Snippet(
        "half precision throughout",
        """
        import torch
        from torch import nn
        model = nn.Sequential(nn.Conv2d(3, 4, 3), nn.ReLU(), nn.Flatten(), nn.Linear(144, 2))
        for dtype in (torch.float16, torch.bfloat16):
            model = model.to("mps", dtype=dtype).eval()
            with torch.inference_mode():
                print(model(torch.randn(1, 3, 8, 8, device="mps", dtype=dtype)).dtype)
        """,
        "torch.float16\ntorch.bfloat16\n",
    ),
    Snippet(
        "gradients accumulated",
        """
        import torch
        from torch import nn
        torch.manual_seed(0)
        model = nn.Linear(4, 1).to("mps")
        data = torch.randn(8, 4, device="mps")
        accumulation_steps = 4
        for i, x in enumerate(data.split(2)):
            loss = model(x).pow(2).mean()
            (loss / accumulation_steps).backward()
        accumulated = model.weight.grad.clone()
        for param in model.parameters():
            param.grad = None
        model(data).pow(2).mean().backward()
        print(torch.allclose(accumulated, model.weight.grad, atol=1e-6))
        """,
        "True\n",
    ),
    Snippet(
        "activations computed again",
        """
        import torch
        from torch import nn
        from torch.utils.checkpoint import checkpoint
        torch.manual_seed(0)
        layer = nn.Sequential(nn.Linear(8, 8), nn.Dropout(0.5), nn.ReLU()).to("mps")
        x = torch.randn(4, 8, device="mps", requires_grad=True)
        state = torch.mps.get_rng_state()
        layer(x).sum().backward()
        plain, x.grad = x.grad, None
        torch.mps.set_rng_state(state)
        checkpoint(layer, x, use_reentrant=False).sum().backward()
        print(x.grad.shape, torch.isfinite(x.grad).all().item())
        """,
        "torch.Size([4, 8]) True\n",
    ),
    Snippet(
        "losses kept on the device",
        """
        import torch
        total = torch.zeros((), device="mps")
        for step in range(5):
            total += torch.full((), float(step), device="mps").detach()
        print(total.item() / 5)
        """,
        "2.0\n",
    ),
    Snippet(
        "channels last, attention, fused steps",
        """
        import torch
        import torch.nn.functional as F
        conv = torch.nn.Conv2d(3, 8, 3).to("mps", memory_format=torch.channels_last)
        x = torch.randn(1, 3, 8, 8, device="mps").to(memory_format=torch.channels_last)
        y = conv(x)
        print(y.is_contiguous(memory_format=torch.channels_last))
        q = torch.randn(1, 2, 6, 16, device="mps")
        out = F.scaled_dot_product_attention(q, q, q, is_causal=True)
        mask = torch.ones(6, 6, dtype=torch.bool, device="mps").tril()
        masked = F.scaled_dot_product_attention(q, q, q, attn_mask=mask)
        print(torch.allclose(out, masked, atol=1e-5))
        w = torch.ones(3, device="mps", requires_grad=True)
        for optimizer in (torch.optim.Adam([w], fused=True), torch.optim.AdamW([w], fused=True),
                          torch.optim.SGD([w], lr=0.1, fused=True)):
            w.grad = torch.ones_like(w)
            optimizer.step()
        print(w.tolist()[0] < 0.95)
        """,
        "True\nTrue\nTrue\n",
    ),
    Snippet(
        "torch.compile",
        """
        import torch

        @torch.compile
        def step(x, y):
            return torch.sin(x) ** 2 + torch.cos(y) ** 2

        x = torch.linspace(0, 1, 100, device="mps")
        out = step(x, x)
        print(out.device, torch.allclose(out, torch.ones_like(out)))
        model = torch.compile(torch.nn.Linear(4, 2).to("mps"), backend="aot_eager")
        model(torch.randn(3, 4, device="mps")).sum().backward()
        print(model.weight.grad.shape)
        """,
        "mps:0 True\ntorch.Size([2, 4])\n",
    ),
]


@pytest.mark.parametrize("snippet", SNIPPETS, ids=str)
def test_best_practices(snippet: Snippet, run) -> None:
    assert_as_expected(snippet, run(snippet))
