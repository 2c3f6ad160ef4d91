"""However a program ends, `run` and `check` end alike, and the report has what was seen."""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch

OPENMPS = [sys.executable, "-m", "openmps"]

PROGRAMS = {
    "ends": "print('done')",
    "raises": "print('out', flush=True); raise ValueError('no luck')",
    "exits": "import sys; sys.exit(7)",
    "exits with a text": "import sys; sys.exit('a text')",
    "leaves at once": "import os; os._exit(5)",
    "is interrupted": "import os, signal, time; os.kill(os.getpid(), 2); time.sleep(9)",
    "is ended": "import os, time; os.kill(os.getpid(), 15); time.sleep(9)",
    "is killed": "import os; os.kill(os.getpid(), 9)",
    "segfaults": "import os, signal; os.kill(os.getpid(), signal.SIGSEGV)",
    "is no Python": "1 +",
    "has no such import": "import nowhere_at_all",
}


@pytest.mark.parametrize("how", PROGRAMS)
@pytest.mark.parametrize("command", [["run"], ["run", "--ledger"], ["check"]], ids=" ".join)
def test_a_program_ends_as_under_python(
    python: Any, tmp_path: Path, command: list[str], how: str
) -> None:
    (tmp_path / "program.py").write_text(PROGRAMS[how])
    alone = python("program.py")
    run = python("-m", "openmps", *command, "program.py")
    assert (run.returncode, run.stdout) == (alone.returncode, alone.stdout)
    own = run.stderr.split("openmps: ledger")[0].split("openmps check:")[0]
    assert own == alone.stderr


# What torch must have done before: the first save is a tenth of a second after the start.
SEEN = "import os, signal, time, torch\ntorch.ones(1, device='mps').item()\n"
LATER = "time.sleep(1)\n"


@pytest.mark.parametrize(
    ("code", "ended"),
    [
        ("os._exit(5)", {"exit_code": 5, "signal": None, "error": ""}),
        ("raise SystemExit('a text')", {"exit_code": 1, "signal": None, "error": ""}),
        (
            f"{LATER}os.kill(os.getpid(), signal.SIGSEGV)",
            {"exit_code": None, "signal": "SIGSEGV", "error": ""},
        ),
    ],
    ids=["os._exit", "sys.exit with a text", "segfault"],
)
def test_the_report_has_what_was_seen(
    python: Any, tmp_path: Path, code: str, ended: dict[str, Any]
) -> None:
    (tmp_path / "program.py").write_text(SEEN + code)
    done = python("-m", "openmps", "check", "--json", "r.json", "--html", "r.html", "program.py")
    expected = ended["exit_code"]
    assert done.returncode == (-signal.SIGSEGV if expected is None else expected)
    report = json.loads((tmp_path / "r.json").read_text())
    assert report["ended"] == ended
    assert [sync["name"] for sync in report["syncs"]] == [".item()"]
    assert report["verdict"]["works"] is None
    assert "it ended early" in (tmp_path / "r.html").read_text()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=lambda n: n.name)
@pytest.mark.parametrize("command", ["run", "check"])
def test_signals_from_outside(tmp_path: Path, command: str, number: signal.Signals) -> None:
    (tmp_path / "program.py").write_text(SEEN + "print('ready', flush=True)\ntime.sleep(60)\n")
    report = ["--json", "r.json"] if command == "check" else []
    process = subprocess.Popen(
        [*OPENMPS, command, *report, "program.py"],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == b"ready\n"
    process.send_signal(number)
    assert process.wait(timeout=60) == -number
    process.stdout.close()
    if report:
        found = json.loads((tmp_path / "r.json").read_text())
        assert found["ended"]["signal"] == number.name
        assert [sync["name"] for sync in found["syncs"]] == [".item()"]


def test_a_key_on_the_terminal_interrupts_once(tmp_path: Path) -> None:
    """The terminal tells both processes; what it tells us must not be passed on as well."""
    (tmp_path / "program.py").write_text(
        "import signal, time\n"
        "seen = []\n"
        "signal.signal(signal.SIGINT, lambda *_: seen.append(1))\n"
        "print('ready', flush=True)\n"
        "while not seen: time.sleep(0.05)\n"
        "time.sleep(0.5)\n"
        "print('interrupted', len(seen))\n"
    )
    pid, terminal = pty.fork()
    if pid == 0:
        os.chdir(tmp_path)
        os.execv(sys.executable, [*OPENMPS, "check", "program.py"])
    said = b""
    while b"ready" not in said:
        said += os.read(terminal, 1000)
    os.write(terminal, b"\x03")
    while b"Works on a Mac" not in said:
        said += os.read(terminal, 1000)
    assert b"interrupted 1" in said
    _, status = os.waitpid(pid, 0)
    os.close(terminal)
    assert os.waitstatus_to_exitcode(status) == 0


def test_workers_that_are_forked_and_spawned(python: Any, tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(
        "import multiprocessing, torch\n"
        "from torch.utils.data import DataLoader\n"
        "def work(number):\n"
        "    return torch.ones(2, device='mps').sum().item() + number\n"
        "if __name__ == '__main__':\n"
        "    loader = DataLoader(torch.arange(4.0), batch_size=2, num_workers=2,\n"
        "                        multiprocessing_context='fork')\n"
        "    print(sum(batch.to('mps').sum().item() for batch in loader))\n"
        "    with multiprocessing.get_context('spawn').Pool(1) as pool:\n"
        "        print(pool.map(work, [1, 2]))\n"
        "        pool.close()\n"
        "        pool.join()\n"
    )
    done = python("-m", "openmps", "check", "--json", "r.json", "program.py")
    assert (done.returncode, done.stdout) == (0, "6.0\n[3.0, 4.0]\n"), done.stderr
    report = json.loads((tmp_path / "r.json").read_text())
    assert report["processes"] == 2
    (items,) = [sync for sync in report["syncs"] if sync["name"] == ".item()"]
    assert {line["line"]: line["count"] for line in items["lines"]} == {8: 2, 4: 2}


def test_a_gigabyte_passes_through_and_is_not_kept(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(
        "import os\ntext = b'x' * (1 << 20)\nfor _ in range(1024):\n    os.write(1, text)\n"
    )
    process = subprocess.Popen(
        [*OPENMPS, "check", "--json", "r.json", "program.py"],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    assert process.stdout is not None
    count = peak = 0
    while text := os.read(process.stdout.fileno(), 1 << 20):
        count += len(text)
        peak = max(peak, _peak_kb(process.pid) if count % 64 == 0 else 0)
    assert process.wait(timeout=60) == 0
    process.stdout.close()
    assert count == 1 << 30
    # A CUDA build of torch takes some 500 MiB by itself.
    most = 256 if torch.version.cuda is None else 768
    assert 0 < peak < most << 10, "openmps' own memory, in KiB"
    assert json.loads((tmp_path / "r.json").read_text())["ended"]["exit_code"] == 0


def _peak_kb(process: int) -> int:
    lines = Path(f"/proc/{process}/status").read_text().splitlines()
    return next((int(line.split()[1]) for line in lines if line.startswith("VmHWM")), 0)


UNWRITABLE = {
    "no such folder": "no/such/file",
    "a folder": ".",
    "below a file": "program.py/file",
}


@pytest.mark.parametrize("where", UNWRITABLE.values(), ids=list(UNWRITABLE))
@pytest.mark.parametrize(
    "command",
    [["check", "--json"], ["check", "--html"], ["run", "--json"], ["run", "--trace"]],
    ids=" ".join,
)
def test_a_report_that_cannot_be_written_is_told_before_the_program_runs(
    python: Any, tmp_path: Path, command: list[str], where: str
) -> None:
    (tmp_path / "program.py").write_text("print('ran')")
    done = python("-m", "openmps", *command, where, "program.py")
    assert (done.returncode, done.stdout) == (2, "")
    assert f"the report cannot be written there\n  found: {where}" in done.stderr.replace("./", "")
    assert "next: name a file in a folder that exists" in done.stderr


def test_looking_whether_a_file_can_be_written_changes_nothing(tmp_path: Path) -> None:
    from openmps.cli.output import STDOUT, check_writable

    old, new, pipe = (tmp_path / name for name in ("old", "new", "pipe"))
    old.write_text("kept")
    os.mkfifo(pipe)  # to open it would wait for a reader
    check_writable(old, new, pipe, None, STDOUT, Path("/dev/stderr"))
    assert old.read_text() == "kept"
    assert not new.exists()


@pytest.mark.parametrize("command", ["run", "check"])
@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["nowhere.py"], "no such program\n  found: nowhere.py"),
        (["x" * 5000], "no such program"),
        (["folder"], "this is a folder, and Python runs one only if"),
        (["-m", "nowhere_at_all.sub"], "no such module\n  found: -m nowhere_at_all.sub"),
    ],
    ids=["missing", "no name at all", "folder", "module"],
)
def test_what_cannot_be_run(
    python: Any, tmp_path: Path, command: str, arguments: list[str], told: str
) -> None:
    (tmp_path / "folder").mkdir()
    done = python("-m", "openmps", command, *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert told in done.stderr
    assert "next:" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_folder_with_a_main_and_a_module_here_run(python: Any, tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "__main__.py").write_text("print('ran')")
    for arguments in (["folder"], ["-m", "folder"], ["-m", "folder.__main__"]):
        assert python("-m", "openmps", "run", *arguments).stdout == "ran\n"


def shell(tmp_path: Path, command: str) -> subprocess.CompletedProcess[str]:
    """$openmps and $python are those of this test; the status is that of the pipe's first part."""
    script = f"{command}; exit ${{PIPESTATUS[0]}}"
    variables = {**os.environ, "openmps": " ".join(OPENMPS), "python": sys.executable}
    return subprocess.run(
        ["bash", "-c", script], cwd=tmp_path, env=variables, capture_output=True, text=True
    )


def test_a_report_outlives_a_reader_that_does_not(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text("for n in range(100000): print(n)")
    alone = shell(tmp_path, "$python program.py | head -1")
    for command in ("run", "check --json r.json"):
        done = shell(tmp_path, f"$openmps {command} program.py | head -1")
        assert (done.returncode, done.stdout) == (alone.returncode, "0\n")
    # The program's own error is in it, as it is without us.
    assert json.loads((tmp_path / "r.json").read_text())["ended"]["exit_code"] == alone.returncode


def test_a_report_that_nobody_reads_to_its_end(tmp_path: Path) -> None:
    """`2>&1 | head`: its file is there, and the exit status is the program's."""
    (tmp_path / "program.py").write_text("import sys; sys.exit(7)")
    done = shell(tmp_path, "$openmps check --json r.json program.py 2>&1 | true")
    assert (done.returncode, done.stderr) == (7, "")
    assert json.loads((tmp_path / "r.json").read_text())["ended"]["exit_code"] == 7


@pytest.mark.parametrize("command", ["macs --json", "ops", "--help"])
def test_lists_end_quietly_when_nobody_reads_on(tmp_path: Path, command: str) -> None:
    done = shell(tmp_path, f"$openmps {command} | true")
    assert "Traceback" not in done.stderr
    assert "BrokenPipe" not in done.stderr


def test_the_ledger_of_a_run_as_json(python: Any, tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(SEEN + "print('out')\n")
    done = python("-m", "openmps", "run", "--json", "-", "program.py")
    first, rest = done.stdout.split("\n", 1)
    assert (done.returncode, first) == (0, "out")
    report = json.loads(rest)
    assert report["schema"] == "openmps-check/1"
    assert [sync["name"] for sync in report["syncs"]] == [".item()"]
    assert "openmps: ledger" in done.stderr
