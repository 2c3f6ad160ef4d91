"""`openmps check`, on real small programs."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

MIXED = """\
import torch
x = torch.randn(64, 64, device="mps")
y = x @ x
total = y.sum().item()
z = torch.ones(3, dtype=torch.float64, device="mps")
w = z * 2
v = torch.tensor([2.0]).double().to("mps")
h = torch.linalg.eigvals(y)
n = y.nonzero()
m = y[y > 0]
def back():
    return y.relu().cpu()
for _ in range(3):
    back()
deep = torch.ones([1] * 17, device="mps")
print(y[0, :2].shape, w.dtype, h.device)
text = repr(y)
torch.mps.synchronize()
"""


def check(
    python: Any, tmp_path: Path, program: str, *options: str, **variables: str
) -> tuple[subprocess.CompletedProcess[str], dict[str, Any]]:
    (tmp_path / "program.py").write_text(program)
    command = ["-m", "openmps", "check", "--json", "report.json", *options, "program.py"]
    done = python(*command, COLUMNS="160", **variables)
    return done, json.loads((tmp_path / "report.json").read_text())


def lines(findings: list[dict[str, Any]], name: str) -> dict[str, int]:
    """Where `name` came from, and how often."""
    (finding,) = [finding for finding in findings if finding["name"] == name]
    return {f"{line['file']}:{line['line']}": line["count"] for line in finding["lines"]}


@pytest.fixture(scope="module")
def mixed(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, dict[str, Any], str]:
    """What the program above printed, its report and its page."""
    folder = tmp_path_factory.mktemp("mixed")
    (folder / "program.py").write_text(MIXED)
    command = [sys.executable, "-m", "openmps", "check", "--json", "r.json", "--html", "r.html"]
    done = subprocess.run(
        [*command, "program.py"], cwd=folder, capture_output=True, text=True, timeout=240,
        env={**os.environ, "COLUMNS": "160"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    # What a Mac refuses was done: the program went on to its end.
    assert done.stdout == "torch.Size([2]) torch.float64 mps:0\n"
    report = json.loads((folder / "r.json").read_text())
    return done.stderr, report, (folder / "r.html").read_text()


def test_operators_by_status_and_line(mixed: Any) -> None:
    _, report, _ = mixed
    operators = report["operators"]
    status = {operator["name"]: operator["status"] for operator in operators}
    assert status["aten::mm"] == status["aten::normal_"] == "native"
    assert status["aten::_linalg_eigvals"] == "missing"
    assert lines(operators, "aten::mm") == {"program.py:3": 1}
    assert lines(operators, "aten::normal_") == {"program.py:2": 1}
    assert lines(operators, "aten::relu") == {"program.py:12": 3}
    (missing,) = [operator for operator in operators if operator["status"] == "missing"]
    # Its argument, and again for the result: as a Mac counts.
    assert (missing["count"], missing["bytes"]) == (1, 2 * 64 * 64 * 4)
    assert missing["lines"][0]["function"] == "<module>"


def test_every_door_of_float64_is_found(mixed: Any) -> None:
    _, report, _ = mixed
    # Line 6 makes float64 of float64, which could not be there: no door.
    assert lines(report["float64"], "float64") == {"program.py:5": 1, "program.py:7": 1}


def test_waits(mixed: Any) -> None:
    _, report, _ = mixed
    assert lines(report["syncs"], ".item()") == {"program.py:4": 1}
    assert lines(report["syncs"], ".cpu()") == {"program.py:12": 3}
    assert lines(report["syncs"], "aten::nonzero") == {"program.py:9": 1}
    assert lines(report["syncs"], "aten::index.Tensor") == {"program.py:10": 1}
    assert set(lines(report["syncs"], "print")) == {"program.py:17"}
    assert lines(report["syncs"], "torch.mps.synchronize") == {"program.py:18": 1}


def test_copies_without_those_of_fallbacks(mixed: Any) -> None:
    _, report, _ = mixed
    assert lines(report["copies"], "to mps") == {"program.py:7": 1}
    to_cpu = lines(report["copies"], "to the CPU")
    assert (to_cpu["program.py:4"], to_cpu["program.py:12"]) == (1, 3)
    assert "program.py:8" not in to_cpu


def test_limits(mixed: Any) -> None:
    _, report, _ = mixed
    (limit,) = report["limits"]
    assert limit["detail"] == "MPS supports tensors with dimensions <= 16, but got 17."
    assert lines(report["limits"], "dimensions") == {"program.py:15": 1}


def test_the_verdict_comes_first(mixed: Any) -> None:
    told, report, _ = mixed
    assert report["verdict"] == {
        "works": False,
        "because": [
            "1 operator missing (aten::_linalg_eigvals); PYTORCH_ENABLE_MPS_FALLBACK=1 would run "
            "it on the CPU",
            "float64 or complex128 on mps at 2 lines",
            "tensors beyond Metal's limits at 1 line",
        ],
    }
    assert told.splitlines()[1] == "Works on a Mac (M4 16GB, macOS 26.0): no"


def test_the_page_needs_nothing_else(mixed: Any) -> None:
    _, report, page = mixed
    (data,) = re.findall(r'<script type="application/json" id="report">(.*?)</script>', page, re.S)
    assert json.loads(data) == report
    assert "://" not in page.replace("http://www.w3.org/2000/svg", "")
    assert not re.search(r"(?<!data-)\bsrc=|@import|url\(", page)


def test_text_of_the_program_is_not_markup(python, tmp_path: Path) -> None:
    program = "import torch\ntorch.ones(1, device='mps')\nraise ValueError('</script><b>[red]x')\n"
    (tmp_path / "program.py").write_text(program)
    done = python("-m", "openmps", "check", "--html", "r.html", "program.py")
    assert done.returncode == 1
    assert "ValueError: </script><b>[red]x" in done.stderr.split("openmps check")[-1]
    assert "</script><b>" not in (tmp_path / "r.html").read_text()


MEMORY = """\
import torch
def hold(mib):
    return torch.empty(mib << 20, dtype=torch.uint8, device="mps")
kept = [hold(64)]
kept.append(torch.empty(16 << 20, dtype=torch.uint8, device="mps"))
del kept
small = hold(1)
"""


def test_memory_by_line(python, tmp_path: Path) -> None:
    done, report = check(python, tmp_path, MEMORY)
    memory = report["memory"]
    assert memory["peak_bytes"] == 80 << 20
    assert memory["peak_reached_at"] == {"file": "program.py", "line": 5, "function": "<module>"}
    assert [(line["line"], line["bytes_at_peak"] >> 20) for line in memory["lines"]] == [
        (3, 64),
        (5, 16),
    ]
    assert memory["fits"] == "fits every Mac (M1 8GB and up)"
    assert max(point[1] for point in memory["over_time"]) == 80 << 20
    assert report["verdict"]["works"] is True
    assert "Works on a Mac (M4 16GB, macOS 26.0): yes" in done.stderr


HUGE = """\
import torch
kept = [torch.empty(3 << 30, dtype=torch.uint8, device="mps") for _ in range(4)]
print(torch.mps.recommended_max_memory() >> 30)
one = torch.empty(7 << 30, dtype=torch.uint8, device="mps")
"""


@pytest.mark.cpu_engine("its memory is taken from the system only when it is touched")
def test_a_program_that_does_not_fit_is_seen_to_its_end(python, tmp_path: Path) -> None:
    done, report = check(python, tmp_path, HUGE, "--mac", "M1 8GB", "--fail-on", "memory,limits")
    assert done.stdout == "5\n"  # still that of the chosen Mac
    assert done.returncode == 3
    assert report["failed_on"] == ["memory", "limits"]
    memory = report["memory"]
    assert memory["peak_bytes"] == 19 << 30
    # 19 GiB: 1.7 x 0.74 x 16 GiB is 20.1, and the largest buffer there is 8.9 GiB.
    assert memory["fits"] == "fits M1 16GB and up"
    assert [mac["name"] for mac in memory["macs"] if not mac["fits"]] == [
        "M1 8GB",
        "M2 8GB",
        "M3 8GB",
    ]
    tight = [mac["name"] for mac in memory["macs"] if mac["fits"] and not mac["comfortably"]]
    assert "M1 16GB" in tight
    assert "M1 Max 32GB" not in tight
    assert lines(report["limits"], "buffer") == {"program.py:4": 1}
    assert report["limits"][0]["detail"] == "Invalid buffer size: 7.00 GiB"
    assert "it does not fit M1 8GB: it fits M1 16GB and up" in report["verdict"]["because"]


def test_lines_are_of_the_program_and_not_of_libraries(python, tmp_path: Path, engine: str) -> None:
    program = (
        "import torch\n"
        "model = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.ReLU()).to('mps')\n"
        "loss = model(torch.ones(2, 4, device='mps')).sum()\n"
        "loss.backward()\n"
        "torch.optim.SGD(model.parameters(), lr=0.1).step()\n"
    )
    _, report = check(python, tmp_path, program)
    product = "aten::addmm" if engine == "cpu" else "aten::linear"
    assert lines(report["operators"], product) == {"program.py:3": 1}
    assert lines(report["operators"], "aten::threshold_backward") == {"program.py:4": 1}
    files = {line["file"] for operator in report["operators"] for line in operator["lines"]}
    assert files == {"program.py"}


def test_refused_arguments_are_recorded_in_a_macs_words(python, tmp_path: Path) -> None:
    program = (
        "import torch\n"
        "from torch.nn import functional as F\n"
        "print(F.adaptive_avg_pool2d(torch.ones(1, 1, 5, 5, device='mps'), 2).tolist())\n"
    )
    done, report = check(python, tmp_path, program)
    assert done.stdout == "[[[[1.0, 1.0], [1.0, 1.0]]]]\n"
    (refused,) = report["refused"]
    assert "divisible" in refused["detail"]
    assert [line["line"] for line in refused["lines"]] == [3]
    assert report["verdict"]["works"] is False


def test_fallback_that_the_program_asked_for(python, tmp_path: Path) -> None:
    program = "import torch\nx = torch.ones(4, 4, device='mps')\ntorch.linalg.eigvals(x)\n"
    done, report = check(
        python, tmp_path, program, "--fail-on", "fallback", PYTORCH_ENABLE_MPS_FALLBACK="1"
    )
    assert done.returncode == 3
    assert [o["name"] for o in report["operators"] if o["status"] == "fallback"] == [
        "aten::_linalg_eigvals"
    ]
    assert report["verdict"]["works"] is True


def test_shaders(python, tmp_path: Path) -> None:
    program = (
        "import torch\n"
        "library = torch.mps.compile_shader('kernel void one(device float* x, uint i "
        "[[thread_position_in_grid]]) { x[i] = 1; }')\n"
        "library.one(torch.zeros(4, device='mps'))\n"
    )
    _, report = check(python, tmp_path, program)
    assert lines(report["shaders"], "one") == {"program.py:2": 1}
    assert lines(report["operators"], "shader::one") == {"program.py:3": 1}


@pytest.mark.parametrize(
    ("names", "status"),
    [("", 0), ("sync", 3), ("float64", 0), ("fallback,float64,memory", 0), ("memory,sync", 3)],
)
def test_fail_on(python, tmp_path: Path, names: str, status: int) -> None:
    program = "import torch\ntorch.ones(1, device='mps').item()\n"
    done, report = check(python, tmp_path, program, "--fail-on", names)
    assert done.returncode == status
    assert report["failed_on"] == (["sync"] if status else [])


ENDINGS = {
    "raises": ("raise ValueError('no luck')", 1, None, "ValueError: no luck"),
    "exits": ("import sys; sys.exit(7)", 7, None, ""),
    "is interrupted": ("import os; os.kill(os.getpid(), 2)", None, "SIGINT", "KeyboardInterrupt"),
    "is ended": ("import os, time; os.kill(os.getpid(), 15); time.sleep(9)", None, "SIGTERM", ""),
}


@pytest.mark.parametrize("how", ENDINGS)
def test_the_report_is_written_however_it_ends(python, tmp_path: Path, how: str) -> None:
    code, exit_code, number, error = ENDINGS[how]
    program = f"import torch\ntorch.ones(1, device='mps').item()\n{code}\n"
    done, report = check(python, tmp_path, program, "--fail-on", "sync")
    # Its own, whatever --fail-on has found.
    assert done.returncode == (-signal.Signals[number] if number else exit_code)
    assert report["ended"] == {"exit_code": exit_code, "signal": number, "error": error}
    assert lines(report["syncs"], ".item()") == {"program.py:2": 1}
    assert "this is what was seen until then" in done.stderr
    if error and not number:
        assert report["verdict"]["works"] is None


def test_a_program_that_is_killed_leaves_what_was_saved(python, tmp_path: Path) -> None:
    program = (
        "import os, signal, time, torch\n"
        "torch.ones(1, device='mps').item()\n"
        "time.sleep(3)\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    done, report = check(python, tmp_path, program)
    assert done.returncode == -signal.SIGKILL
    assert report["ended"]["signal"] == "SIGKILL"
    assert lines(report["syncs"], ".item()") == {"program.py:2": 1}


def test_a_lot_of_output_passes_through(python, tmp_path: Path) -> None:
    """A gigabyte goes the same way: nothing of it is kept."""
    (tmp_path / "program.py").write_text(
        "import sys, torch\n"
        "torch.ones(1, device='mps').item()\n"
        "for _ in range(64):\n    sys.stdout.write('x' * (1 << 20))\n"
    )
    with (tmp_path / "out").open("wb") as out:
        done = subprocess.run(
            [sys.executable, "-m", "openmps", "check", "--json", "r.json", "program.py"],
            cwd=tmp_path, stdout=out, stderr=subprocess.PIPE, timeout=240,
        )  # fmt: skip
    assert done.returncode == 0
    assert (tmp_path / "out").stat().st_size == 64 << 20
    report = json.loads((tmp_path / "r.json").read_text())
    assert lines(report["syncs"], ".item()") == {"program.py:2": 1}


def test_signals_reach_the_program(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(
        "import signal, sys, time, torch\n"
        "torch.ones(1, device='mps').item()\n"
        "signal.signal(signal.SIGUSR1, lambda *_: sys.exit(5))\n"
        "print('ready', flush=True)\n"
        "time.sleep(60)\n"
    )
    process = subprocess.Popen(
        [sys.executable, "-m", "openmps", "check", "--json", "r.json", str(program)],
        cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    assert process.stdout is not None
    assert process.stdout.readline() == b"ready\n"
    process.send_signal(signal.SIGUSR1)
    assert process.wait(timeout=60) == 5
    process.stdout.close()
    assert json.loads((tmp_path / "r.json").read_text())["ended"]["exit_code"] == 5


def test_processes_that_the_program_starts_count_too(python, tmp_path: Path) -> None:
    (tmp_path / "child.py").write_text("import torch\ntorch.ones(1, device='mps').item()\n")
    program = (
        "import subprocess, sys, torch\n"
        "torch.ones(2, device='mps').tolist()\n"
        "subprocess.run([sys.executable, 'child.py'], check=True)\n"
    )
    _, report = check(python, tmp_path, program)
    assert report["processes"] == 2
    assert lines(report["syncs"], ".item()") == {"child.py:2": 1}


def test_arguments_and_modules(python, tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text("import sys, torch; print(__name__, sys.argv[1:])")
    done = python("-m", "openmps", "check", "-m", "program", "--json", "x")
    assert done.stdout == "__main__ ['--json', 'x']\n"
    assert not (tmp_path / "x").exists()


def test_a_program_without_mps(python, tmp_path: Path) -> None:
    done, report = check(python, tmp_path, "import torch\ntorch.ones(1)\n")
    assert report["verdict"]["works"] is None
    assert "it did nothing on mps" in done.stderr


def test_a_program_without_torch(python, tmp_path: Path) -> None:
    done, report = check(python, tmp_path, "print('hello')\n")
    assert (done.returncode, done.stdout) == (0, "hello\n")
    assert (report["processes"], report["verdict"]["works"]) == (0, None)


def test_bad_command_lines(python, tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text("print('ran')")
    for arguments, told in (
        ([], "nothing to run"),
        (["nowhere.py"], "no such program"),
        (["--fail-on", "speed", "program.py"], "'speed'"),
        (["--json", "no/such/folder.json", "program.py"], "cannot be written"),
        (["--html", ".", "program.py"], "cannot be written"),
        (["--mac", "M99", "program.py"], "no such Mac"),
    ):
        done = python("-m", "openmps", "check", *arguments)
        assert (done.returncode, done.stdout) == (2, "")
        assert told in done.stderr
        assert "next:" in done.stderr
        assert "Traceback" not in done.stderr


def test_a_ledger_of_a_run_is_as_strict_as_a_mac(python, tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(
        "import torch\nx = torch.ones(4, device='mps')\nx.sum().item()\ntorch.linalg.eigvals(x)\n"
    )
    done = python("-m", "openmps", "run", "--ledger", "program.py", COLUMNS="160")
    assert done.returncode == 1
    assert "NotImplementedError: The operator 'aten::_linalg_eigvals' is not" in done.stderr
    table = done.stderr.split("openmps: ledger")[1]
    assert re.search(r"aten::_linalg_eigvals +1 +program\.py:4", table)
    assert re.search(r"\.item\(\) +1 .*program\.py:3", table)


def test_a_trace_of_a_run(python, tmp_path: Path) -> None:
    program = "import torch; x = torch.ones(2, device='mps'); x + x"
    done = python("-m", "openmps", "run", "--trace", "t.json", "-c", program)
    assert done.returncode == 0, done.stderr
    events = json.loads((tmp_path / "t.json").read_text())["traceEvents"]
    assert "aten::add.Tensor" in {event["name"] for event in events}
