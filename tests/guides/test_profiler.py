"""torch.mps.profiler, torch.profiler on mps, and the two profiling variables."""

from __future__ import annotations

import pytest

from .snippets import Snippet, assert_as_expected

SNIPPETS = [
    Snippet(
        "start and stop",
        """
        import torch
        torch.mps.profiler.start(mode="interval", wait_until_completed=False)
        x = torch.ones(4, device="mps") + 1
        torch.mps.profiler.stop()
        print(x.tolist())
        """,
        "[2.0, 2.0, 2.0, 2.0]\n",
        tells=("openmps: trace of <number> records in <any>0000-mps-trace.json",),
        then="""
        import json
        spans = json.load(open("0000-mps-trace.json"))["traceEvents"]
        assert any("aten::add" in span["name"] for span in spans), spans
        """,
    ),
    Snippet(
        "a block",
        """
        import torch
        with torch.mps.profiler.profile(mode="interval,event", wait_until_completed=True):
            y = torch.rand(8, 8, device="mps") @ torch.rand(8, 8, device="mps")
        with torch.mps.profiler.profile("event"):
            y.sum().item()
        try:
            torch.mps.profiler.start("everything")
        except RuntimeError as error:
            print(error)
        torch.mps.profiler.stop()
        """,
        "Invalid Signpost trace mode: everything\n",
        tells=("openmps: trace of 1 record in", "openmps: trace of 2 records in"),
    ),
    Snippet(
        "capture, not enabled",
        """
        import torch
        print(torch.mps.profiler.is_metal_capture_enabled())
        print(torch.mps.profiler.is_capturing_metal())
        """,
        "False\nFalse\n",
    ),
    Snippet(
        "capture",
        """
        import torch
        lib = torch.mps.compile_shader(
            "kernel void full(device float* out, constant float& val, "
            "uint idx [[thread_position_in_grid]]) { out[idx] = val; }"
        )
        x = torch.zeros(4, device="mps")
        if torch.mps.profiler.is_metal_capture_enabled():
            with torch.mps.profiler.metal_capture("fill"):
                print(torch.mps.profiler.is_capturing_metal())
                lib.full(x, 2.0)
        print(x.tolist(), torch.mps.profiler.is_capturing_metal())
        """,
        "True\n[2.0, 2.0, 2.0, 2.0] False\n",
        variables={"MTL_CAPTURE_ENABLED": "1"},
        tells=("openmps: captured 1 Metal kernel launch in", "0000-fill.gputrace"),
        then="import os; assert os.path.isdir('0000-fill.gputrace')",
    ),
    Snippet(
        "torch.profiler",
        """
        import torch
        from torch.profiler import ProfilerActivity, profile, record_function
        model = torch.nn.Linear(4, 2).to("mps")
        x = torch.randn(3, 4, device="mps")
        with profile(activities=[ProfilerActivity.CPU], record_shapes=True,
                     profile_memory=True, acc_events=True) as prof:
            with record_function("model_inference"):
                model(x)
        rows = {row.key: row.count for row in prof.key_averages()}
        print(rows["model_inference"], rows["aten::linear"])
        table = prof.key_averages(group_by_input_shape=True).table(
            sort_by="cpu_time_total", row_limit=10
        )
        print("model_inference" in table, "[[3, 4], [2, 4], [2]]" in table)
        prof.export_chrome_trace("trace.json")
        """,
        "1 1\nTrue True\n",
        then="""
        import json
        names = {event["name"] for event in json.load(open("trace.json"))["traceEvents"]}
        assert {"model_inference", "aten::linear"} <= names
        """,
    ),
    Snippet(
        "a schedule",
        """
        import torch
        from torch.profiler import profile, schedule
        seen = []
        with profile(schedule=schedule(wait=1, warmup=1, active=2), acc_events=True,
                     on_trace_ready=lambda p: seen.append(p.step_num)) as p:
            for _ in range(5):
                torch.ones(8, device="mps").sum().item()
                p.step()
        print(seen)
        """,
        "[4]\n",
    ),
    Snippet(
        "lines while it runs, tables at the end",
        """
        import torch
        x = torch.ones(4).to("mps")
        print((x + x).tolist())
        """,
        "[2.0, 2.0, 2.0, 2.0]\n",
        tells=(
            "BlitCopySync: CPU:Float[4] --> MPS:Float[4] (len=16 bytes)\n",
            "aten::add:MPS:Float[4]:MPS:Float[4] (id=K1, run=1)\n",
            "BlitCopySync: MPS:Float[4] --> CPU:Float[4] (len=16 bytes)\n",
            " MPS Operations Profiling: 0 graphs, 1 kernels ",
            "  ID  | #Runs | Mean KRNL(ms) | Mean GPU(ms) | Total GPU(ms) | Operation Name\n",
            " MPS Copy Profiling: 2 total copies (32 bytes), 0 scalar copies ",
        ),
        variables={"PYTORCH_MPS_LOG_PROFILE_INFO": "31"},
        alone=True,
    ),
]


@pytest.mark.parametrize("snippet", SNIPPETS, ids=str)
def test_profiler(snippet: Snippet, run) -> None:
    assert_as_expected(snippet, run(snippet))
