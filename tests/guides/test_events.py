"""torch.mps.Event and torch.Event: time between two points, and waiting for one."""

from __future__ import annotations

import pytest

from .snippets import Snippet, assert_as_expected

SNIPPETS = [
    Snippet(
        "elapsed time",
        """
        import torch
        start = torch.mps.Event(enable_timing=True)
        end = torch.mps.Event(enable_timing=True)
        x = torch.randn(128, 128, device="mps")
        start.record()
        y = x @ x
        end.record()
        torch.mps.synchronize()
        print(f"Elapsed: {start.elapsed_time(end):.3f} ms")
        """,
        "Elapsed: <number> ms\n",
        then="assert start.elapsed_time(end) > 0",
    ),
    Snippet(
        "the end's own wait",
        """
        import torch
        start_event = torch.mps.event.Event(enable_timing=True)
        end_event = torch.mps.event.Event(enable_timing=True)
        start_event.record()
        z = torch.randn(64, 64, device="mps").cos()
        end_event.record()
        end_event.synchronize()
        print(end_event.query(), start_event.elapsed_time(end_event) >= 0)
        """,
        "True True\n",
    ),
    Snippet(
        "query and wait",
        """
        import torch
        event = torch.mps.Event()
        print(event.query())
        event.wait()
        event.synchronize()
        x = torch.ones(4, device="mps")
        y = x + 1
        event.record()
        event.wait()
        event.synchronize()
        print(event.query(), y.tolist())
        """,
        "False\nTrue [2.0, 2.0, 2.0, 2.0]\n",
    ),
    Snippet(
        "the wrong way round",
        """
        import torch
        start, end = (torch.mps.Event(enable_timing=True) for _ in range(2))
        end.record()
        start.record()
        try:
            start.elapsed_time(end)
        except RuntimeError as error:
            print(error)
        """,
        "End event <number> was not recorded after start event <number>\n",
    ),
    Snippet(
        "any device's event",
        """
        import torch
        start = torch.Event("mps", enable_timing=True)
        end = torch.Event("mps", enable_timing=True)
        stream = torch.accelerator.current_stream()
        start.record()
        torch.ones(8, device="mps").sum()
        stream.record_event(end)
        end.synchronize()
        print(start.elapsed_time(end) >= 0, end.query(), start.device)
        try:
            torch.Event("mps").elapsed_time(torch.Event("mps"))
        except ValueError as error:
            print(error)
        """,
        "True True mps:0\nBoth events must be created with argument 'enable_timing=True'.\n",
    ),
    Snippet(
        "streams",
        """
        import torch
        stream = torch.Stream(device="mps")
        torch.accelerator.set_stream(stream)
        event = torch.Event("mps")
        event.record(stream)
        stream.wait_event(event)
        stream.synchronize()
        print(stream == torch.accelerator.current_stream(), stream.query())
        """,
        "True True\n",
    ),
]


@pytest.mark.parametrize("snippet", SNIPPETS, ids=str)
def test_events(snippet: Snippet, run) -> None:
    assert_as_expected(snippet, run(snippet))
