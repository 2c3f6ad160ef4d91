"""Measuring: torch.utils.benchmark, timeit, and the announcement's comparison with the CPU."""

from __future__ import annotations

import pytest

from .snippets import Snippet, assert_as_expected

SNIPPETS = [
    Snippet(
        "a Timer",
        """
        import torch
        import torch.utils.benchmark as benchmark
        x = torch.randn(64, 64, device="mps")
        timer = benchmark.Timer(
            stmt="y = x @ x; torch.mps.synchronize()",
            setup="import torch",
            globals={"x": x},
            label="matmul",
            sub_label="64x64",
            description="mps",
        )
        measurement = timer.timeit(10)
        print(measurement.mean > 0, measurement.number_per_run)
        print(measurement)
        """,
        """
        True 10
        <torch.utils.benchmark.utils.common.Measurement object at 0x<any>>
        matmul: 64x64
        mps
        setup: import torch
          <number> <any>
          1 measurement, 10 runs , 1 thread
        """,
    ),
    Snippet(
        "a table of devices and sizes",
        """
        import torch
        import torch.utils.benchmark as benchmark
        results = []
        for size in (32, 64):
            for device in ("cpu", "mps"):
                x = torch.randn(size, size, device=device)
                results.append(benchmark.Timer(
                    stmt="torch.matmul(x, x)", globals={"x": x, "torch": torch}, label="matmul",
                    sub_label=f"[{size}, {size}]", description=device,
                ).blocked_autorange(min_run_time=0.01))
        compare = benchmark.Compare(results)
        compare.trim_significant_figures()
        compare.print()
        """,
        """
        [<any> matmul <any>]
        <any>|  <any>cpu<any>  |  <any>mps<any>
        1 threads: <any>
              [32, 32]  |  <any><number><any>  |  <any><number><any>
              [64, 64]  |  <any><number><any>  |  <any><number><any>

        Times are in <any>seconds (<any>s).

        """,
    ),
    Snippet(
        "timeit",
        """
        import timeit
        import torch
        device = torch.device("mps")
        a = torch.rand(100, 100, device=device)
        b = torch.rand(100, 100, device=device)

        def multiply():
            c = torch.matmul(a, b)
            torch.mps.synchronize()
            return c

        print(f"{timeit.timeit(multiply, number=10) / 10 * 1e6:.1f} us")
        """,
        "<number> us\n",
    ),
    Snippet(
        "training and evaluation of a convolutional network, against the CPU",
        """
        import time
        import torch
        from torch import nn

        def network():
            return nn.Sequential(
                nn.Conv2d(3, 16, 3, stride=2, padding=1), nn.BatchNorm2d(16), nn.ReLU(),
                nn.Conv2d(16, 32, 3, stride=2, padding=1), nn.BatchNorm2d(32), nn.ReLU(),
                nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(32, 10),
            )

        def images_per_second(device, train, batch=8, steps=3):
            torch.manual_seed(0)
            model = network().to(device).train(train)
            x = torch.randn(batch, 3, 32, 32, device=device)
            y = torch.randint(0, 10, (batch,), device=device)
            optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
            start = time.perf_counter()
            for _ in range(steps):
                with torch.set_grad_enabled(train):
                    loss = nn.functional.cross_entropy(model(x), y)
                if train:
                    optimizer.zero_grad()
                    loss.backward()
                    optimizer.step()
            if device == "mps":
                torch.mps.synchronize()
            return batch * steps / (time.perf_counter() - start)

        for train in (True, False):
            speedup = images_per_second("mps", train) / images_per_second("cpu", train)
            print(f"{'training' if train else 'evaluation'}: {speedup:.1f}x")
        """,
        "training: <number>x\nevaluation: <number>x\n",
    ),
]


@pytest.mark.parametrize("snippet", SNIPPETS, ids=str)
def test_benchmark(snippet: Snippet, run) -> None:
    assert_as_expected(snippet, run(snippet))
