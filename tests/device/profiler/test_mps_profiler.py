"""torch.mps.profiler and PyTorch's profiling variables: native lines, tables and errors; traces.

Most run in processes of their own, because the variables are read once: at the first use of the
device. So these are forks of one process that has activated it and never uses it: on the CUDA
engine each starts the GPU by itself.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import torch

from ..agreement import on_cuda

SETUP = "import openmps; openmps.activate()\nimport torch\n"
# A line of its input is a program, and one of its output the exit status of the fork that ran it.
FORKS = """
import json, os, sys
for line in sys.stdin:
    child = os.fork()
    if child == 0:
        break
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
else:
    sys.exit()
task = json.loads(line)
os.chdir(task["folder"])
os.environ.update(task["variables"])
for number, file in enumerate((os.devnull, *task["streams"])):
    os.dup2(os.open(file, os.O_RDWR | os.O_CREAT), number)
exec(compile(task["code"], "<string>", "exec"), {"torch": torch, "__name__": "__main__"})
"""


SETTINGS = {
    "OPENMPS_CXX",
    "OPENMPS_CXXFLAGS",
    "OPENMPS_CACHE_DIR",
    "OPENMPS_ENGINE",
    "OPENMPS_SHADER_CXX",
}


class Done(NamedTuple):
    returncode: int
    stdout: str
    stderr: str


Python = Callable[..., Done]


@pytest.fixture(scope="module")
def forks() -> Iterator[subprocess.Popen[str]]:
    with start(FORKS) as process:
        yield process
        assert process.stdin is not None
        process.stdin.close()


@pytest.fixture
def python(
    forks: subprocess.Popen[str], tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> Python:
    """Runs code that has torch and the device, in an empty folder."""

    def run(code: str, **variables: str) -> Done:
        streams = [tmp_path_factory.mktemp("streams") / name for name in ("out", "err")]
        task = {"code": code, "variables": variables, "folder": str(tmp_path)}
        assert forks.stdin is not None
        assert forks.stdout is not None
        forks.stdin.write(json.dumps({**task, "streams": list(map(str, streams))}) + "\n")
        forks.stdin.flush()
        return Done(int(forks.stdout.readline()), *(file.read_text() for file in streams))

    return run


MS = r"\d+\.\d{3}"

WORK = """
x = torch.tensor([1.0, 2.0, 3.0, 4.0]).to("mps")
y = x + x
y = x + x
z = torch.exp2(y)
w = z.half()
v = z.clone()
n = z[0].item()
"""


def stderr(python: Python, code: str, **variables: str) -> list[str]:
    done = python(code, **variables)
    assert done.returncode == 0, done.stderr
    return done.stderr.splitlines()


def lines_of(python: Python, code: str, options: int) -> list[str]:
    return stderr(python, code, PYTORCH_MPS_LOG_PROFILE_INFO=str(options))


def test_nothing_is_printed_when_off(python: Python, tmp_path: Path) -> None:
    assert stderr(python, WORK) == []
    assert list(tmp_path.iterdir()) == []


def test_operators_are_logged(python: Python) -> None:
    assert lines_of(python, WORK, 1) == [
        "aten::add:MPS:Float[4]:MPS:Float[4] (id=K1, run=1)",
        "aten::add:MPS:Float[4]:MPS:Float[4] (id=K1, run=2)",
        "aten::exp2:MPS:Float[4] (id=K2, run=1)",
        "aten::copy_identity:MPS:Float[4] (id=K3, run=1)",
    ]


def test_a_kernel_is_one_for_each_dtype_and_not_for_each_shape(python: Python) -> None:
    code = """
    for size, dtype in ((2, torch.float), (3, torch.float), (2, torch.half)):
        torch.relu(torch.empty(size, 2, device="mps", dtype=dtype))
    """
    assert lines_of(python, "if 1:" + code, 1) == [
        "aten::relu:MPS:Float[2, 2] (id=K1, run=1)",
        "aten::relu:MPS:Float[3, 2] (id=K1, run=2)",
        "aten::relu:MPS:Half[2, 2] (id=K2, run=1)",
    ]


def test_copies_are_logged(python: Python) -> None:
    assert lines_of(python, WORK, 2) == [
        "BlitCopySync: CPU:Float[4] --> MPS:Float[4] (len=16 bytes)",
        "BlitCopy: MPS:Float[4] --> MPS:Float[4] (len=16 bytes)",
        "BlitCopySync: MPS:Float[] --> CPU:Float[] (len=4 bytes)",
    ]


COPIES = {
    "to the cpu": ("x.cpu()", "BlitCopySync: MPS:Float[2, 3] --> CPU:Float[2, 3] (len=24 bytes)"),
    "without waiting": (
        'torch.ones(300, 2).to("mps", non_blocking=True)',
        "BlitCopy: CPU:Float[300, 2] --> MPS:Float[300, 2] (len=2.34 KiB)",
    ),
    "converted on the cpu": (
        "x.copy_(torch.ones(2, 3, dtype=torch.int64))",
        "BlitCopySync: CPU:Float[2, 3] --> MPS:Float[2, 3] (len=24 bytes)",
    ),
    "broadcast": (
        "x.copy_(torch.ones(3), non_blocking=True)",
        "BlitCopySync: CPU:Float[2, 3] --> MPS:Float[2, 3] (len=24 bytes)",
    ),
    "a scalar": (
        "x.sum().item()",
        "BlitCopySync: MPS:Float[] --> CPU:Float[] (len=4 bytes)",
    ),
    "a bool": (
        "bool((x == x).all())",
        "BlitCopySync: MPS:Bool[] --> CPU:Bool[] (len=1 bytes)",
    ),
    "a megabyte": (
        "torch.empty(1 << 19, device='mps').cpu()",
        "BlitCopySync: MPS:Float[524288] --> CPU:Float[524288] (len=2.00 MiB)",
    ),
}


def each(python: Python, cases: dict[str, tuple[str, str]], options: int) -> dict[str, list[str]]:
    """The lines of each case, all run in one process."""
    parts = ["import os"]
    for name, (code, _) in cases.items():
        parts.append(f'x = torch.empty(2, 3, device="mps")\nos.write(2, b"-- {name}\\n")\n{code}')
    found: dict[str, list[str]] = {}
    for line in lines_of(python, "\n".join(parts), options):
        if line.startswith("-- "):
            found[line[3:]] = []
        else:
            found[list(found)[-1]].append(re.sub(r"id=K\d+, run=\d+", "id, run", line))
    return found


def test_each_kind_of_copy(python: Python) -> None:
    assert each(python, COPIES, 2) == {name: [line] for name, (_, line) in COPIES.items()}


KERNEL_COPIES = {
    "transposed": ("x.t().contiguous()", "aten::copy_identity:MPS:Float[3, 2] (id, run)"),
    "into a view": (
        'x.t().copy_(torch.empty(3, 2, device="mps"))',
        "aten::copy_identity:MPS:Float[3, 2] (id, run)",
    ),
    "broadcast": (
        "x.copy_(torch.empty(3, device='mps'))",
        "aten::copy_identity:MPS:Float[2, 3] (id, run)",
    ),
    "another dtype": ("x.to(torch.int32)", "aten::copy_identity:MPS:Float[2, 3] (id, run)"),
    "conjugate": (
        "torch.empty(2, device='mps', dtype=torch.complex64).conj().resolve_conj()",
        "aten::copy_conj:MPS:ComplexFloat[2] (id, run)",
    ),
}


def test_copies_that_are_kernels(python: Python) -> None:
    expected = {name: [line] for name, (_, line) in KERNEL_COPIES.items()}
    assert each(python, KERNEL_COPIES, 1) == expected


def test_views_and_empty_copies_are_not_logged(python: Python) -> None:
    code = """
x = torch.empty(2, 3, device="mps")
x.t(); x[0]; x.view(3, 2); x.expand(4, 2, 3); x.resize_(1, 2); x.detach(); x.unbind(0)
torch.view_as_real(torch.empty(2, device="mps", dtype=torch.complex64))
torch.empty(0).to("mps"); x.copy_(x)
"""
    assert lines_of(python, code, 1 | 2) == []


def test_an_operator_that_fails_is_not_logged(python: Python) -> None:
    code = """
x = torch.empty(2, 3, device="mps")
for bad in (lambda: x @ x, lambda: torch.exp2(x, out=torch.empty(1)), lambda: x.copy_(x[:, :2])):
    try:
        bad()
    except RuntimeError:
        pass
    else:
        raise SystemExit("it ran")
torch.relu(x)
"""
    assert lines_of(python, code, 1 | 2) == ["aten::relu:MPS:Float[2, 3] (id=K1, run=1)"]


def matches(line: str, pattern: str) -> bool:
    return re.fullmatch(pattern, line) is not None


@pytest.mark.parametrize(
    ("options", "times"),
    [
        (128, rf", gpu={MS} ms"),
        (256, rf", gpu={MS} ms, cpu={MS} ms"),
        (128 | 256, rf", gpu={MS} ms, cpu={MS} ms"),
    ],
)
def test_times_are_added(python: Python, options: int, times: str) -> None:
    first, second = lines_of(python, 'torch.ones(4).to("mps").exp2()', 1 | 2 | options)
    assert matches(
        first, rf"BlitCopySync: CPU:Float\[4\] --> MPS:Float\[4\] \(len=16 bytes{times}\)"
    )
    assert matches(second, rf"aten::exp2:MPS:Float\[4\] \(id=K1, run=1{times}\)")


def test_a_time_is_the_time_of_the_work(python: Python) -> None:
    # The first time, a GPU loads its code; and a busy machine makes anything take longer.
    code = f"""
x = torch.ones({(8192 if on_cuda() else 1200,) * 2}, device="mps")
for _ in range(5):
    x.mm(x)
    torch.relu(x[0])
"""
    times: dict[str, list[float]] = {"mm": [], "relu": [], "fill_": []}
    for line in lines_of(python, code, 1 | 128):
        found = re.fullmatch(rf"aten::(\w+):.* gpu=({MS}) ms\)", line)
        assert found is not None, line
        times[found[1]].append(float(found[2]))
    assert min(times["mm"]) > 10 * min(times["relu"])


def test_buffers_have_numbers(python: Python) -> None:
    code = 'x = torch.empty(2, device="mps")\ny = torch.empty(2, device="mps")\nx + y\ny + x'
    assert lines_of(python, code, 1 | 512) == [
        "aten::add:MPS(buf#1:1):Float[2]:MPS(buf#2:1):Float[2] (id=K1, run=1)",
        "aten::add:MPS(buf#2:1):Float[2]:MPS(buf#1:1):Float[2] (id=K1, run=2)",
    ]


def test_the_tables_at_exit(python: Python) -> None:
    lines = lines_of(python, WORK, 8)
    assert lines[:5] == [
        "",
        " MPS Operations Profiling: 0 graphs, 3 kernels ".center(200, "-"),
        "  ID  | #Runs | Mean KRNL(ms) | Mean GPU(ms) | Total GPU(ms) | Operation Name",
        "-" * 200,
        lines[4],
    ]
    row = rf" +K(\d) +(\d) +({MS}) +({MS}) +{MS} +(\S.*)"
    found = [re.fullmatch(row, line) for line in lines[4:7]]
    assert all(found), lines
    assert {(hit[1], hit[2], hit[5]) for hit in found if hit} == {
        ("1", "2", "add:MPS:Float[4]:MPS:Float[4]"),
        ("2", "1", "exp2:MPS:Float[4]"),
        ("3", "1", "copy_identity:MPS:Float[4]"),
    }
    for line, hit in zip(lines[4:7], found, strict=True):
        assert hit is not None
        cells = (f"K{hit[1]}", hit[2], hit[3], hit[4])
        widths = (7, 8, 16, 15)
        assert line.startswith("".join(map(_centred, cells, widths)))
        assert line.index(hit[5]) == 7 + 8 + 16 + 15 + 16 + 1
    means = [float(hit[4]) for hit in found if hit]
    assert means == sorted(means, reverse=True)
    assert lines[7] == "There are no CPU Fallbacks logged for profiling"
    assert lines[8:12] == [
        "",
        " MPS Copy Profiling: 3 total copies (36 bytes), 1 scalar copies ".center(160, "-"),
        "    Kind    |  Total#  |   Total Size    | Total KRNL(ms) | Total GPU(ms) | Scalars | "
        "Scalars GPU | Blocking | memcpy ",
        "-" * 160,
    ]
    kinds = (("CPU to MPS", 16, 0, 1), ("MPS to CPU", 4, 1, 1), ("MPS to MPS", 16, 0, 0))
    for line, (kind, size, scalars, blocking) in zip(lines[12:15], kinds, strict=True):
        share = "100.00 %" if scalars else "0.00 %"
        pattern = (
            re.escape(_centred(kind, 13) + _centred("1", 11) + _centred(f"{size} bytes", 18))
            + rf" +{MS} +{MS} +"
            + rf"{scalars} +{re.escape(share)} +{blocking} +0 +"
        )
        assert matches(line, pattern), line
        assert len(line) == 13 + 11 + 18 + 17 + 16 + 10 + 14 + 11 + 9
    assert len(lines) == 15


def _centred(text: str, width: int) -> str:
    before = (width - len(text)) // 2
    return " " * before + text + " " * (width - len(text) - before)


def test_empty_tables(python: Python) -> None:
    assert lines_of(python, "torch.relu(torch.ones(2))", 8) == []  # the device was never used
    assert lines_of(python, 'torch.empty(0).to("mps")', 16 | 64 | 32) == [
        "There are no MPS operations logged for profiling",
        "There are no CPU Fallbacks logged for profiling",
        "There are no copies logged for profiling",
    ]


@pytest.mark.parametrize(("option", "word"), [(16, "Operations"), (32, "Copy")])
def test_one_table_alone(python: Python, option: int, word: str) -> None:
    titles = [line for line in lines_of(python, WORK, option) if "Profiling" in line]
    assert len(titles) == 1
    assert f" MPS {word} Profiling: " in titles[0]


INTERRUPTED = """
import sys, time
torch.relu(torch.empty(4, device="mps"))
try:
    print("ready", flush=True)
    time.sleep(60)
except KeyboardInterrupt:
    print("interrupted", flush=True)
sys.stdin.readline()
torch.exp2(torch.empty(4, device="mps"))
print("done", flush=True)
"""


def start(code: str, **variables: str) -> subprocess.Popen[str]:
    clean = {
        key: value
        for key, value in os.environ.items()
        if key in SETTINGS or not key.startswith(("OPENMPS", "PYTORCH"))
    }
    # However the suite was started: a shell's background jobs ignore Ctrl-C.
    python_handler = "import signal\nsignal.signal(signal.SIGINT, signal.default_int_handler)\n"
    return subprocess.Popen(
        [sys.executable, "-c", python_handler + SETUP + code],
        env={**clean, **variables},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_ctrl_c_prints_the_tables_once() -> None:
    with start(INTERRUPTED, PYTORCH_MPS_LOG_PROFILE_INFO="16") as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdin is not None
        assert process.stdout.readline() == "ready\n"
        process.send_signal(signal.SIGINT)
        # The table comes while the process still runs, and Python gets its KeyboardInterrupt.
        assert process.stderr.readline() == "\n"
        assert " MPS Operations Profiling: 0 graphs, 1 kernels " in process.stderr.readline()
        assert process.stdout.readline() == "interrupted\n"
        process.stdin.write("\n")
        process.stdin.flush()
        assert process.stdout.readline() == "done\n"
        rest = process.stderr.read()
        assert process.wait() == 0
    assert "relu:MPS:Float[4]" in rest
    assert "exp2" not in rest
    assert "Profiling" not in rest


def test_ctrl_c_still_ends_a_program_that_lets_it() -> None:
    code = """
signal.signal(signal.SIGINT, signal.SIG_DFL)
torch.relu(torch.empty(4, device="mps"))
print("ready", flush=True)
while True:
    signal.pause()
"""
    with start(code, PYTORCH_MPS_LOG_PROFILE_INFO="16") as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=60)
    assert process.returncode == -signal.SIGINT
    assert " MPS Operations Profiling: 0 graphs, 1 kernels " in errors


ERRORS = {
    "log": (
        "PYTORCH_MPS_LOG_PROFILE_INFO",
        "1024",
        "invalid log options 1024 passed to PYTORCH_MPS_LOG_PROFILE_INFO",
    ),
    "negative": (
        "PYTORCH_MPS_LOG_PROFILE_INFO",
        "-1",
        "invalid log options 4294967295 passed to PYTORCH_MPS_LOG_PROFILE_INFO",
    ),
    "trace": (
        "PYTORCH_MPS_TRACE_SIGNPOSTS",
        "0x40",
        "invalid profiling options 64 passed to PYTORCH_MPS_TRACE_SIGNPOSTS",
    ),
    "signposts": (
        "PYTORCH_MPS_TRACE_SIGNPOSTS",
        "0x80000",
        "invalid signpost types 524288 passed to PYTORCH_MPS_TRACE_SIGNPOSTS",
    ),
    "schedule": (
        "PYTORCH_MPS_TRACE_SIGNPOSTS",
        str(0x10000 | 32 | 8),
        "the option 'INCLUDE_SCHEDULE_INTERVAL' only works for interval-based signposts",
    ),
}


@pytest.mark.parametrize(("variable", "value", "text"), ERRORS.values(), ids=ERRORS)
def test_options_that_mean_nothing(python: Python, variable: str, value: str, text: str) -> None:
    code = """
x = torch.empty(4, device="mps")
for use in (lambda: x + x, lambda: x.cpu(), lambda: x[0].item(), lambda: torch.exp2(x),
            torch.mps.profiler.start, torch.mps.profiler.stop):
    try:
        use()
    except RuntimeError as error:
        print(error)
"""
    done = python(code, **{variable: value})
    assert (done.stdout.splitlines(), done.stderr) == ([text] * 6, "")


def test_variables_are_read_at_the_first_use(python: Python) -> None:
    code = """
import os
os.environ["PYTORCH_MPS_LOG_PROFILE_INFO"] = "1"
torch.relu(torch.empty(2, device="mps"))
os.environ["PYTORCH_MPS_LOG_PROFILE_INFO"] = "0"
torch.relu(torch.empty(2, device="mps"))
"""
    assert len(stderr(python, code)) == 2


@pytest.mark.parametrize("value", ["0", "", "nothing"])
def test_zero_and_no_number_are_off(python: Python, value: str) -> None:
    assert stderr(python, WORK, PYTORCH_MPS_LOG_PROFILE_INFO=value) == []


# ---- traces ----


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("OPENMPS_TRACE_FILE", raising=False)
    return tmp_path


def read(file: Path) -> list[dict[str, Any]]:
    events: list[dict[str, Any]] = json.loads(file.read_text())["traceEvents"]
    return events


def test_a_trace_of_intervals(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    x = torch.ones(4, device="mps")
    with torch.mps.profiler.profile():
        y = torch.exp2(x + x)
        y.cpu()
    torch.relu(x)
    file = here / "0000-mps-trace.json"
    assert capsys.readouterr().err == (
        f"openmps: trace of 3 records in {file} (for Perfetto or chrome://tracing)\n"
    )
    process, *events = read(file)
    assert process["ph"] == "M"
    assert [(event["ph"], event["cat"], event["name"]) for event in events] == [
        ("X", "PyTorchOperationIntervals", "aten::add.Tensor"),
        ("X", "PyTorchOperationIntervals", "aten::exp2"),
        ("X", "PyTorchCopyIntervals", "aten::copy_"),
    ]
    add, exp2, copy = events
    assert re.fullmatch(
        r"aten::add:MPS:Float\[4\]:MPS:Float\[4\] \(id=K\d+, run=\d+\)", add["args"]["signpost"]
    )
    assert copy["args"]["signpost"] == "BlitCopySync: MPS:Float[4] --> CPU:Float[4] (len=16 bytes)"
    assert copy["args"]["bytes"] == 16
    assert add["args"]["device ms"] == pytest.approx(add["dur"] / 1000)
    assert all(event["pid"] == os.getpid() and event["dur"] > 0 for event in events)
    assert add["ts"] + add["dur"] <= exp2["ts"]
    assert exp2["ts"] + exp2["dur"] <= copy["ts"]


def test_a_trace_of_events(here: Path) -> None:
    x = torch.ones(4, device="mps")
    with torch.mps.profiler.profile("event", wait_until_completed=True):
        torch.relu(x)
    _, event = read(here / "0000-mps-trace.json")
    assert (event["ph"], event["cat"], event["name"]) == (
        "i",
        "PyTorchOperationEvents",
        "aten::relu",
    )
    assert "dur" not in event
    assert event["args"]["device ms"] > 0


def test_a_trace_of_both(here: Path) -> None:
    x = torch.ones(4, device="mps")
    with torch.mps.profiler.profile(" Interval, EVENT"):
        torch.relu(x)
    _, interval, event = read(here / "0000-mps-trace.json")
    assert (interval["ph"], event["ph"]) == ("X", "i")
    assert event["ts"] == pytest.approx(interval["ts"] + interval["dur"])


def test_a_trace_shows_metal_kernels(here: Path) -> None:
    library = torch.mps.compile_shader(
        "kernel void fill(device float* x, uint i [[thread_position_in_grid]]) { x[i] = 1; }"
    )
    x = torch.empty(8, device="mps")
    with torch.mps.profiler.profile():
        library.fill(x, threads=8, group_size=4)
    library.fill(x)
    _, kernel = read(here / "0000-mps-trace.json")
    assert (kernel["cat"], kernel["name"]) == ("MetalKernelIntervals", "fill")
    assert kernel["args"]["signpost"] == "fill:MPS:Float[8]"
    assert kernel["args"]["grid"] == "8x1x1 threads in threadgroups of 4x1x1"


def test_the_time_of_a_metal_kernel_is_the_time_of_its_work(here: Path) -> None:
    library = torch.mps.compile_shader("""
        kernel void turn(device float* x, constant uint& times) {
            float y = x[0];
            for (uint i = 0; i < times; ++i) y = y * 0.5f + 1;
            x[0] = y;
        }
    """)
    x = torch.ones(1, device="mps")
    with torch.mps.profiler.profile():
        for _ in range(5):
            library.turn(x, 20_000_000, arg_casts="int32")
            library.turn(x, 1, arg_casts="int32")
    times = [kernel["dur"] for kernel in read(here / "0000-mps-trace.json")[1:]]
    assert min(times[0::2]) > 10 * min(times[1::2])


def test_threads_have_rows_of_their_own(here: Path) -> None:
    import threading

    x = torch.ones(4, device="mps")
    with torch.mps.profiler.profile():
        torch.relu(x)
        thread = threading.Thread(target=lambda: torch.exp2(x))
        thread.start()
        thread.join()
    _, first, second = read(here / "0000-mps-trace.json")
    assert first["tid"] == threading.get_native_id()
    assert second["tid"] != first["tid"]


def test_a_trace_never_replaces_another(here: Path) -> None:
    (here / "0000-mps-trace.json").write_text("mine")
    for _ in range(2):
        with torch.mps.profiler.profile():
            pass
    assert (here / "0000-mps-trace.json").read_text() == "mine"
    assert sorted(file.name for file in here.iterdir()) == [
        "0000-mps-trace.json",
        "0001-mps-trace.json",
        "0002-mps-trace.json",
    ]


def test_the_trace_file_can_be_chosen(python: Python, tmp_path: Path) -> None:
    code = """
for operator in (torch.relu, torch.exp2):
    with torch.mps.profiler.profile():
        operator(torch.empty(2, device="mps"))
"""
    first, second = stderr(python, code, OPENMPS_TRACE_FILE="my.trace.json")
    assert f" in {tmp_path / 'my.trace.json'} " in first
    assert f" in {tmp_path / 'my.trace-1.json'} " in second
    assert [read(tmp_path / f"my.trace{n}.json")[1]["name"] for n in ("", "-1")] == [
        "aten::relu",
        "aten::exp2",
    ]


def test_a_fork_does_not_write_its_parents_trace(python: Python) -> None:
    # The child ends as Python does, without a card's driver, which does not survive a fork. Of the
    # driver's threads Python warns.
    code = """
import atexit, os, warnings
warnings.simplefilter("ignore", DeprecationWarning)
torch.mps.profiler.start()
torch.relu(torch.empty(2, device="mps"))
if child := os.fork():
    print(os.waitpid(child, 0)[1])
    torch.mps.profiler.stop()
else:
    atexit._run_exitfuncs()
    os._exit(0)
"""
    done = python(code)
    assert done.stdout == "0\n"
    (line,) = done.stderr.splitlines()
    assert line.startswith("openmps: trace of 1 record in ")


def test_a_trace_that_cannot_be_written_is_told(python: Python) -> None:
    code = """
with torch.mps.profiler.profile():
    torch.relu(torch.empty(2, device="mps"))
print("goes on")
"""
    done = python(code, OPENMPS_TRACE_FILE="nowhere/trace.json")
    assert done.stdout == "goes on\n"
    assert done.stderr == (
        "openmps: the trace could not be written: [Errno 2] No such file or directory: "
        "'nowhere/trace.json'\n"
    )


@pytest.mark.parametrize(
    ("value", "categories"),
    [
        (1, ["PyTorchCopyEvents", "PyTorchOperationEvents"]),
        (8, ["PyTorchCopyIntervals", "PyTorchOperationIntervals"]),
        (0x20000 | 32, ["PyTorchCopyEvents"]),
        (0x40000, []),
    ],
)
def test_the_variable_traces_the_whole_process(
    python: Python, tmp_path: Path, value: int, categories: list[str]
) -> None:
    code = 'torch.relu(torch.ones(2).to("mps"))'
    (line,) = stderr(python, code, PYTORCH_MPS_TRACE_SIGNPOSTS=str(value))
    assert "0000-mps-trace.json" in line
    _, *events = read(tmp_path / "0000-mps-trace.json")
    assert [event["cat"] for event in events] == categories


def test_the_variable_traces_metal_kernels(python: Python, tmp_path: Path) -> None:
    code = """
library = torch.mps.compile_shader("kernel void k(device float* x) { x[0] = 1; }")
library.k(torch.empty(1, device="mps"))
"""
    stderr(python, code, PYTORCH_MPS_TRACE_SIGNPOSTS="2")
    assert [event["name"] for event in read(tmp_path / "0000-mps-trace.json")[1:]] == ["k"]


# ---- errors of start and stop ----


@pytest.fixture
def stopped(here: Path) -> Any:
    yield
    torch.mps.profiler.stop()


def test_tracing_twice(stopped: None) -> None:
    torch.mps.profiler.start()
    with pytest.raises(RuntimeError, match=r"^Tracing Signposts is already enabled $"):
        torch.mps.profiler.start("event")


def test_tracing_beside_the_variable(python: Python) -> None:
    code = """
try:
    torch.mps.profiler.start()
except RuntimeError as error:
    print(repr(str(error)))
"""
    done = python(code, PYTORCH_MPS_TRACE_SIGNPOSTS="0x10000")
    assert done.stdout == "'Tracing Signposts is already enabled '\n"


@pytest.mark.parametrize(
    ("mode", "token"), [("intervals", "intervals"), ("event,frames", "frames")]
)
def test_an_unknown_mode(stopped: None, mode: Any, token: str) -> None:
    with pytest.raises(RuntimeError, match=f"^Invalid Signpost trace mode: {token}$"):
        torch.mps.profiler.start(mode)


def test_what_came_before_an_unknown_mode_stays_until_stop(stopped: None) -> None:
    mode: Any = "interval,frames"
    with pytest.raises(RuntimeError, match="Invalid Signpost trace mode"):
        torch.mps.profiler.start(mode)
    with pytest.raises(RuntimeError, match="already enabled"):
        torch.mps.profiler.start()
    torch.mps.profiler.stop()
    torch.mps.profiler.start()


def test_no_mode_is_no_trace(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    mode: Any = ""
    with torch.mps.profiler.profile(mode):
        torch.relu(torch.ones(2, device="mps"))
    torch.mps.profiler.stop()  # never started: no error
    assert list(here.iterdir()) == []
    assert capsys.readouterr().err == ""


def test_event_traces_leave_timed_lines_behind(python: Python) -> None:
    code = """
x = torch.empty(2, device="mps")
torch.relu(x)
with torch.mps.profiler.profile("event"):
    pass
torch.relu(x)
"""
    before, trace, after = lines_of(python, code, 1)
    assert before == "aten::relu:MPS:Float[2] (id=K1, run=1)"
    assert trace.startswith("openmps: trace of 0 records in ")
    assert matches(after, rf"aten::relu:MPS:Float\[2\] \(id=K1, run=2, gpu={MS} ms\)")


# ---- CPU fallbacks ----

FALLBACK = """
import warnings; warnings.simplefilter("ignore")
x = torch.empty(4, device="mps")
for _ in range(2):
    torch.special.airy_ai(x)
"""
NAME = "aten::special_airy_ai"


def fallback_lines(python: Python, options: int) -> list[str]:
    return stderr(
        python,
        FALLBACK,
        PYTORCH_MPS_LOG_PROFILE_INFO=str(options),
        PYTORCH_ENABLE_MPS_FALLBACK="1",
    )


def test_fallbacks_are_logged_before_their_copies(python: Python) -> None:
    # The operator is airy_ai.out. Its last argument counts again for its result, as natively.
    tensors = ":MPS:Float[4]" * 3
    to_cpu = "BlitCopySync: MPS:Float[4] --> CPU:Float[4] (len=16 bytes)"
    to_mps = "BlitCopySync: CPU:Float[4] --> MPS:Float[4] (len=16 bytes)"
    lines = fallback_lines(python, 4 | 2)
    for run, part in ((1, lines[: len(lines) // 2]), (2, lines[len(lines) // 2 :])):
        assert part[0] == (
            f"CPU Fallback::{NAME}{tensors} (id=1, run={run}, CopyOverhead=48 bytes)"
        )
        assert part[1:] == [to_cpu, to_cpu, to_mps]


def test_timed_fallbacks_are_logged_after_their_copies(python: Python) -> None:
    *_, last = fallback_lines(python, 4 | 2 | 128)
    assert matches(
        last,
        re.escape(f"CPU Fallback::{NAME}" + ":MPS:Float[4]" * 3)
        + rf" \(id=1, run=2, CopyOverhead=48 bytes, cpu={MS} ms\)",
    )


def test_the_table_of_fallbacks(python: Python) -> None:
    empty, title, columns, rule, row = fallback_lines(python, 64)
    assert empty == ""
    assert matches(
        title.strip("-"), r" CPU Fallback Profiling: Total 2 Runs, \d+\.\d\d ms, 96 bytes Copies "
    )
    assert len(title) == 150
    assert columns == " ID  | #Runs | Mean CPU(ms) | Total CPU(ms) | Copy Overhead | Operation Name"
    assert rule == "-" * 150
    start = re.escape(_centred("1", 6) + _centred("2", 8))
    end = re.escape(_centred("96 bytes", 16) + " " + NAME)
    assert matches(row, rf"{start} +{MS} +{MS} +{end}")
    assert len(row) == 6 + 8 + 15 + 16 + 16 + 1 + len(NAME)


def test_operators_that_always_fall_back(python: Python) -> None:
    code = """
import warnings; warnings.simplefilter("ignore")
weight, index = torch.ones(3, 2, device="mps"), torch.tensor([0, 2], device="mps")
torch.embedding_renorm_(weight, index, 1.0, 2.0)
"""
    assert lines_of(python, code, 4) == [
        "CPU Fallback::aten::embedding_renorm_:MPS:Float[3, 2]:MPS:Long[2] "
        "(id=1, run=1, CopyOverhead=40 bytes)"
    ]


def test_fallbacks_are_traced_around_their_copies(python: Python, tmp_path: Path) -> None:
    stderr(
        python,
        FALLBACK,
        PYTORCH_MPS_TRACE_SIGNPOSTS="2",
        PYTORCH_ENABLE_MPS_FALLBACK="1",
    )
    events = read(tmp_path / "0000-mps-trace.json")[1:]
    fallback = next(event for event in events if event["cat"] == "PyTorchCPUFallbackIntervals")
    first = events[0]
    assert (fallback["name"], first["name"]) == (NAME, "aten::copy_")
    assert fallback["ts"] <= first["ts"]
    assert first["ts"] + first["dur"] <= fallback["ts"] + fallback["dur"]


def test_an_operator_in_another_dtype_is_one_operator(python: Python) -> None:
    # PyTorch's CPU has no such kernel for half: it is computed in float.
    code = 'torch.special.bessel_j0(torch.ones(4, device="mps", dtype=torch.half))'
    lines = [line for line in lines_of(python, code, 1 | 2) if "fill" not in line]
    assert [re.sub(r"\(.*", "", line) for line in lines] == ["aten::special_bessel_j0:MPS:Half[4] "]
