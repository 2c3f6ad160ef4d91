"""Seeds, generators and states of mps."""

from __future__ import annotations

import pytest

from .snippets import Snippet, assert_as_expected

SNIPPETS = [
    Snippet(
        "one seed for all",
        """
        import torch
        torch.manual_seed(42)
        a = torch.rand(3, device="mps")
        torch.manual_seed(42)
        b = torch.rand(3, device="mps")
        print(torch.equal(a, b), torch.equal(b, torch.rand(3, device="mps")))
        torch.mps.manual_seed(42)
        print(torch.equal(torch.rand(3, device="mps"), a))
        """,
        "True False\nTrue\n",
    ),
    Snippet(
        "the seeds that people set",
        """
        import random
        import numpy as np
        import torch

        def set_seed(seed):
            random.seed(seed)
            np.random.seed(seed)
            torch.manual_seed(seed)
            torch.cuda.manual_seed_all(seed)
            if torch.backends.mps.is_available():
                torch.mps.manual_seed(seed)

        set_seed(7)
        a = torch.randn(4, device="mps"), torch.randperm(10, device="mps"), torch.randn(2)
        set_seed(7)
        b = torch.randn(4, device="mps"), torch.randperm(10, device="mps"), torch.randn(2)
        print([torch.equal(x, y) for x, y in zip(a, b)])
        """,
        "[True, True, True]\n",
    ),
    Snippet(
        "the state",
        """
        import torch
        state = torch.mps.get_rng_state()
        print(state.dtype, state.device, state.shape)
        first = torch.randn(3, device="mps")
        torch.mps.set_rng_state(state)
        print(torch.equal(first, torch.randn(3, device="mps")))
        try:
            torch.mps.set_rng_state(torch.zeros(3, dtype=torch.uint8))
        except RuntimeError as error:
            print(error)
        """,
        "torch.uint8 cpu torch.Size([44])\nTrue\nRNG state is wrong size\n",
    ),
    Snippet(
        "a random seed",
        """
        import torch
        torch.mps.manual_seed(1)
        a = torch.rand(4, device="mps")
        torch.mps.seed()
        print(torch.equal(a, torch.rand(4, device="mps")))
        """,
        "False\n",
    ),
    Snippet(
        "a generator",
        """
        import torch
        g = torch.Generator(device="mps")
        g.manual_seed(2147483647)
        print(g.device, g.initial_seed())
        a = torch.rand(2, 3, device="mps", generator=g)
        g.manual_seed(2147483647)
        print(torch.equal(a, torch.rand(2, 3, device="mps", generator=g)))
        try:
            torch.rand(2, device="mps", generator=torch.Generator())
        except RuntimeError as error:
            print(error)
        """,
        """
        mps:0 2147483647
        True
        Expected a 'mps' device type for generator but found 'cpu'
        """,
    ),
    Snippet(
        "numbers of the CPU's generator",
        """
        import torch
        generator = torch.Generator("cpu").manual_seed(0)
        latents = torch.randn(2, 4, generator=generator, device="cpu").to("mps")
        expected = torch.randn(2, 4, generator=torch.Generator().manual_seed(0))
        print(latents.device, torch.equal(latents.cpu(), expected))
        """,
        "mps:0 True\n",
    ),
    Snippet(
        "a fork of the state",
        """
        import torch
        torch.manual_seed(3)
        with torch.random.fork_rng(devices=[0], device_type="mps"):
            a = torch.rand(3, device="mps")
        print(torch.equal(a, torch.rand(3, device="mps")))
        with torch.random.fork_rng(device_type="mps"):
            torch.manual_seed(99)
            b = torch.rand(3, device="mps")
        print(torch.equal(b, torch.rand(3, device="mps")))
        """,
        "True\nFalse\n",
    ),
    Snippet(
        "deterministic algorithms",
        """
        import torch
        torch.use_deterministic_algorithms(True)
        torch.manual_seed(0)
        x = torch.randn(8, 8, device="mps")
        print(torch.equal(x @ x, x @ x), torch.are_deterministic_algorithms_enabled())
        torch.use_deterministic_algorithms(False)
        """,
        "True True\n",
    ),
]


@pytest.mark.parametrize("snippet", SNIPPETS, ids=str)
def test_random_state(snippet: Snippet, run) -> None:
    assert_as_expected(snippet, run(snippet))
