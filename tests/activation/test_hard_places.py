"""Whole programs where users have little: no home, no rights, no room, no memory, no threads.

Each works as elsewhere, or ends with one of our errors. tests/unit/test_cache_faults.py has the
cases one by one.
"""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import stat
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

import openmps
from openmps.cli.output import write
from openmps.device import core, extensions
from openmps.targets import cpu_runtime

PROGRAM = """
import openmps; openmps.activate()
import torch
x = torch.ones(4, device="mps") + 1
torch.mps.compile_shader('''
kernel void scale(device float* y, constant float& a, uint i [[thread_position_in_grid]]) {
  y[i] *= a;
}
''').scale(x, 2.5)
torch.rand(2, device="mps")
print(x.tolist())
"""
PRINTED = "[5.0, 5.0, 5.0, 5.0]\n"
ANOTHER = PROGRAM.replace("scale", "scale_otherwise")

pytestmark = pytest.mark.cpu_engine("a GPU's driver needs a home and memory of its own")
is_root = os.geteuid() == 0
Result = subprocess.CompletedProcess[str]


def environment(**variables: str) -> dict[str, str]:
    clean = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith("OPENMPS") and name not in ("HOME", "XDG_CACHE_HOME", "TMPDIR")
    }
    source = str(Path(openmps.__file__).parents[1])
    return {
        **clean,
        "PYTHONPATH": source,
        "OPENMPS_ENGINE": "cpu",
        "OMP_NUM_THREADS": "1",
        "OPENBLAS_NUM_THREADS": "1",
        **variables,
    }


def run(program: str, folder: Path, who: Sequence[str] = (), **variables: str) -> Result:
    return subprocess.run(
        [*who, sys.executable, "-c", program],
        env=environment(**variables),
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=120,
    )


@pytest.fixture(scope="module")
def open_folder() -> Iterator[Path]:
    """As `tmp_path`, for every user to enter."""
    folder = Path(tempfile.mkdtemp(prefix="openmps-test-"))
    folder.chmod(0o755)
    try:
        yield folder
    finally:
        for path in [folder, *folder.rglob("*")]:
            with contextlib.suppress(OSError):
                path.chmod(path.stat().st_mode | stat.S_IRWXU)
        shutil.rmtree(folder)


@pytest.fixture(scope="module")
def built(open_folder: Path) -> Path:
    """A cache with what takes long, and nothing else. Nobody may write to it."""
    cache = open_folder / "built" / "openmps"
    for entry, kind in (
        (core.build().parent, "core"),
        (extensions.build(core.find_torch()).parent, "core"),
        (cpu_runtime.build().parent, "runtime"),
    ):
        shutil.copytree(entry, cache / kind / entry.name)
    forbid_writing(cache.parent)
    return cache


@pytest.fixture(scope="module")
def warm(open_folder: Path, built: Path) -> Path:
    """A cache with all that PROGRAM needs, as in an image. Nobody may write to it."""
    cache = open_folder / "warm" / "openmps"
    copy_for_writing(built, cache)
    done = run(PROGRAM, open_folder, OPENMPS_CACHE_DIR=str(cache))
    assert (done.stdout, done.returncode) == (PRINTED, 0), done.stderr
    forbid_writing(cache.parent)
    return cache


def forbid_writing(folder: Path) -> None:
    for path in (folder, *folder.rglob("*")):
        path.chmod(0o555 if path.is_dir() else 0o444)


def copy_for_writing(cache: Path, to: Path) -> Path:
    shutil.copytree(cache, to)
    for path in (to, *to.rglob("*")):
        path.chmod(path.stat().st_mode | stat.S_IWUSR)
    return to


@pytest.fixture
def temporary(open_folder: Path, request: pytest.FixtureRequest) -> Path:
    """An empty folder for TMPDIR that every user may write to."""
    folder = Path(tempfile.mkdtemp(dir=open_folder))
    folder.chmod(0o1777)
    return folder


def command_as(user: int) -> list[str]:
    """What runs a command as that user; skips where that cannot be done."""
    ids = ["setpriv", f"--reuid={user}", f"--regid={user}", "--clear-groups"]
    # Where Python lies in a folder that only root may enter, the user is allowed to read it.
    reading = ["--inh-caps=+dac_read_search", "--ambient-caps=+dac_read_search"]
    # What root has started may run with another Python's modules: it must be able to start itself.
    itself = "import os, sys; os.execl(sys.executable, sys.executable, '-c', 'import openmps')"
    for command in (ids, [*ids, *reading]):
        with contextlib.suppress(OSError):
            done = subprocess.run(
                [*command, sys.executable, "-c", itself],
                env=environment(),
                cwd="/",
                capture_output=True,
            )
            if done.returncode == 0:
                return command
    pytest.skip("no other user can run this Python: no setpriv, or no right to read it")


@pytest.fixture(scope="module")
def somebody() -> list[str]:
    """What runs a command without root's rights."""
    return command_as(65534) if is_root else []


@pytest.fixture
def small_disk(open_folder: Path) -> Iterator[Callable[[str], Path]]:
    """A file system that is mounted with options."""
    mounted: list[Path] = []

    def mount(options: str) -> Path:
        folder = Path(tempfile.mkdtemp(dir=open_folder))
        command = ["mount", "-t", "tmpfs", "-o", f"mode=755,{options}", "tmpfs", str(folder)]
        if not is_root or subprocess.run(command, capture_output=True).returncode != 0:
            pytest.skip("only root can mount a file system, and not in every container")
        mounted.append(folder)
        return folder

    yield mount
    for folder in mounted:
        subprocess.run(["umount", "-l", str(folder)], check=True)


# ---- where nothing can be written


@pytest.mark.parametrize("variable", ["OPENMPS_CACHE_DIR", "XDG_CACHE_HOME"])
def test_a_warm_cache_serves_who_may_not_write_to_it(
    warm: Path, somebody: list[str], temporary: Path, variable: str
) -> None:
    cache = warm if variable == "OPENMPS_CACHE_DIR" else warm.parent
    variables = {"HOME": "/nonexistent", "TMPDIR": str(temporary), variable: str(cache)}
    done = run(PROGRAM, temporary, somebody, **variables)
    assert (done.stdout, done.stderr, done.returncode) == (PRINTED, "", 0)
    assert list(temporary.iterdir()) == []


def test_openmps_run_without_rights(warm: Path, somebody: list[str], temporary: Path) -> None:
    (temporary / "program.py").write_text(PROGRAM.replace("import openmps; openmps.activate()", ""))
    done = subprocess.run(
        [*somebody, sys.executable, "-m", "openmps", "run", "program.py"],
        env=environment(OPENMPS_CACHE_DIR=str(warm), HOME="/nonexistent"),
        cwd=temporary,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert (done.stdout, done.stderr, done.returncode) == (PRINTED, "", 0)


def test_what_is_missing_goes_to_a_private_temporary_folder(
    built: Path, somebody: list[str], temporary: Path
) -> None:
    variables = {"HOME": "/", "TMPDIR": str(temporary), "XDG_CACHE_HOME": str(built.parent)}
    first = run(PROGRAM, temporary, somebody, **variables)
    assert (first.stdout, first.returncode) == (PRINTED, 0), first.stderr
    (private,) = temporary.glob("openmps-*")
    assert first.stderr == (
        f"openmps: {built} cannot be written to (Permission denied), so what is built goes to "
        f"{private}; set OPENMPS_CACHE_DIR to a folder that stays\n"
    )
    assert stat.S_IMODE(private.stat().st_mode) == 0o700
    second = run(PROGRAM, temporary, somebody, **variables)
    assert (second.stdout, second.stderr, second.returncode) == (PRINTED, "", 0)


@pytest.mark.skipif(not is_root, reason="only root can become a user that no list has")
def test_a_user_without_name_and_home(warm: Path, temporary: Path) -> None:
    who = command_as(54321)
    private = copy_for_writing(warm, temporary / "openmps-54321")
    for path in (private, *private.rglob("*")):
        os.chown(path, 54321, 54321)
    private.chmod(0o700)
    done = run(PROGRAM, temporary, who, TMPDIR=str(temporary))
    assert (done.stdout, done.stderr, done.returncode) == (PRINTED, "", 0)


def test_a_chosen_folder_that_cannot_be_written_to_is_an_error(
    open_folder: Path, somebody: list[str], temporary: Path
) -> None:
    empty = open_folder / "nothing here"
    empty.mkdir(exist_ok=True)
    empty.chmod(0o555)
    done = run(PROGRAM, temporary, somebody, OPENMPS_CACHE_DIR=str(empty), TMPDIR=str(temporary))
    assert done.returncode == 1
    assert done.stderr.endswith(
        "openmps.errors.CacheError: the cache folder cannot be written to\n"
        f"  found: {empty}: Permission denied\n"
        "  next: make it writable, or set OPENMPS_CACHE_DIR to a folder that is\n"
    )
    assert list(temporary.iterdir()) == []


def test_a_read_only_file_system(small_disk, warm: Path, temporary: Path) -> None:
    """For root, too. A warm cache is read; what it lacks is an error, or goes elsewhere."""
    disk = small_disk("size=32m")
    cache = copy_for_writing(warm, disk / "openmps")
    subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
    done = run(PROGRAM, temporary, OPENMPS_CACHE_DIR=str(cache))
    assert (done.stdout, done.stderr, done.returncode) == (PRINTED, "", 0)
    done = run(ANOTHER, temporary, OPENMPS_CACHE_DIR=str(cache))
    assert "CacheError: the cache folder cannot be written to\n" in done.stderr
    done = run(ANOTHER, temporary, XDG_CACHE_HOME=str(disk), TMPDIR=str(temporary))
    assert done.stdout == PRINTED
    assert f"so what is built goes to {temporary}" in done.stderr


# ---- a full disk


def test_a_disk_that_is_too_small_for_a_shader(small_disk, warm: Path, temporary: Path) -> None:
    """The real compilers meet the full disk. With room, the same program works."""
    needed = sum(path.stat().st_size for path in warm.rglob("*")) // 1024 + 4 * 1024
    disk = small_disk(f"size={needed}k")
    cache = copy_for_writing(warm, disk / "openmps")
    with contextlib.suppress(OSError), (disk / "filler").open("wb") as filler:
        while True:
            filler.write(bytes(4096))
    with (disk / "filler").open("r+b") as filler:
        filler.truncate(filler.seek(0, os.SEEK_END) - 40 * 1024)  # room for its text, not for it
    done = run(ANOTHER, temporary, OPENMPS_CACHE_DIR=str(cache))
    assert "openmps.errors.CacheError: no room in the cache folder" in done.stderr
    assert f"{cache / 'shaders'}" in done.stderr
    assert "No space left on device" in done.stderr
    assert not list(cache.glob("*/.*"))
    (disk / "filler").unlink()
    done = run(ANOTHER, temporary, OPENMPS_CACHE_DIR=str(cache))
    assert (done.stdout, done.returncode) == (PRINTED, 0), done.stderr


def test_a_limit_on_the_size_of_files(warm: Path, temporary: Path) -> None:
    """ulimit -f: to us a full disk that every user can have."""
    cache = copy_for_writing(warm, temporary / "cache")
    limit = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (1024, 1 << 30))\n"
    done = run(limit + ANOTHER, temporary, OPENMPS_CACHE_DIR=str(cache))
    assert "openmps.errors.CacheError: no room in the cache folder" in done.stderr
    assert "File too large" in done.stderr
    assert not list(cache.glob("*/.*"))
    done = run(ANOTHER, temporary, OPENMPS_CACHE_DIR=str(cache))
    assert (done.stdout, done.returncode) == (PRINTED, 0), done.stderr


def test_a_file_system_that_forbids_programs(small_disk, warm: Path, temporary: Path) -> None:
    cache = copy_for_writing(warm, small_disk("size=32m,noexec") / "openmps")
    done = run(PROGRAM, temporary, OPENMPS_CACHE_DIR=str(cache))
    assert done.returncode == 1
    assert "openmps.errors.CacheError: what openmps has built cannot be loaded\n" in done.stderr
    assert "not mounted noexec" in done.stderr


# ---- damage, and several at once


def test_what_is_damaged_is_made_again(warm: Path, temporary: Path) -> None:
    """All but the core, which takes long; its entry is one like the others."""
    cache = copy_for_writing(warm, temporary / "cache")
    damaged = 0
    for file in cache.rglob("*"):
        if file.is_file() and file.relative_to(cache).parts[0] != "core":
            file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])
            damaged += 1
    assert damaged >= 8
    done = run(PROGRAM, temporary, OPENMPS_CACHE_DIR=str(cache))
    assert (done.stdout, done.returncode) == (PRINTED, 0), done.stderr
    assert "building the runtime for Metal kernels (once) ... done" in done.stderr
    done = run(PROGRAM, temporary, OPENMPS_CACHE_DIR=str(cache))
    assert (done.stdout, done.stderr) == (PRINTED, "")


def test_a_core_that_is_whole_and_no_library(
    built: Path, open_folder: Path, somebody: list[str], temporary: Path
) -> None:
    """Nor can it be built again there."""
    cache = copy_for_writing(built, Path(tempfile.mkdtemp(dir=open_folder)) / "openmps")
    (library,) = cache.glob(f"core/*/{core.MODULE}.so")
    library.write_bytes(b"not a library")
    entry = library.parent / "entry.json"
    digest = subprocess.run(["sha256sum", library], capture_output=True, text=True, check=True)
    entry.write_text(f'{{"sha256": "{digest.stdout.split()[0]}"}}')
    cache.parent.chmod(0o755)
    forbid_writing(cache)
    done = run(PROGRAM, temporary, somebody, OPENMPS_CACHE_DIR=str(cache))
    assert done.returncode == 1
    assert "openmps.errors.CacheError: what openmps has built cannot be loaded\n" in done.stderr
    assert f"found: {library}: " in done.stderr


def test_two_programs_at_once_on_a_cache_that_lacks_almost_all(
    built: Path, temporary: Path
) -> None:
    cache = copy_for_writing(built, temporary / "cache")
    shutil.rmtree(cache / "runtime")
    programs = [
        subprocess.Popen(
            [sys.executable, "-c", PROGRAM],
            env=environment(OPENMPS_CACHE_DIR=str(cache)),
            cwd=temporary,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for _ in range(2)
    ]
    said = ""
    for program in programs:
        out, err = program.communicate(timeout=120)
        assert (out, program.returncode) == (PRINTED, 0), err
        said += err
    assert said.count("building the runtime for Metal kernels (once)") == 1
    assert not list(cache.glob("*/.*"))


# ---- limits


LIMITED = """
import resource
import openmps; openmps.activate()
import torch
resource.setrlimit(resource.RLIMIT_AS, ({bytes}, {bytes}))
def attempt(what):
    try:
        print(what())
    except RuntimeError as error:
        print(type(error).__name__, str(error)[:25])
    except MemoryError:
        print("MemoryError")
library = torch.mps.compile_shader('''
#include <metal_stdlib>
using namespace metal;
kernel void total(device float* x, uint i [[thread_index_in_threadgroup]]) {{
  threadgroup float all[1024];
  all[i] = x[i];
  threadgroup_barrier(mem_flags::mem_threadgroup);
  float sum = 0;
  for (uint k = 0; k < 1024; ++k) sum += all[k];
  x[i] = sum;
}}
''')
def shader():
    x = torch.ones(1024, device="mps")
    library.total(x, group_size=1024)
    return x[1023].item()
def product():
    x = torch.ones(512, 512, device="mps")
    return (x @ x)[0, 0].item()
def step():
    model = torch.nn.Linear(8, 2).to("mps")
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    model(torch.ones(4, 8, device="mps")).sum().backward()
    optimizer.step()
    return model.weight.grad[0, 0].item()
attempt(shader)
attempt(product)
attempt(step)
attempt(lambda: torch.ones(1 << 30, device="mps"))
attempt(lambda: (torch.ones(1, 8, device="mps").expand(1 << 27, 8) + 1).shape)
attempt(product)
"""


def test_a_limit_on_memory(warm: Path, temporary: Path) -> None:
    """ulimit -v: what fits works, and what does not fit fails in a Mac's words."""
    done = run(
        LIMITED.format(bytes=4 << 30),
        temporary,
        OPENMPS_CACHE_DIR=str(copy_for_writing(warm, temporary / "cache")),
    )
    assert (done.stdout.splitlines(), done.returncode) == (
        [
            "1024.0",
            "512.0",
            "4.0",
            "RuntimeError MPS backend out of memory",
            "RuntimeError MPS backend out of memory",
            "512.0",
        ],
        0,
    ), done.stderr


def test_a_limit_on_memory_from_the_start(warm: Path, temporary: Path) -> None:
    limit = "import resource; resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))\n"
    done = run(limit + PROGRAM, temporary, OPENMPS_CACHE_DIR=str(warm))
    assert (done.stdout, done.stderr, done.returncode) == (PRINTED, "", 0)


def test_a_compiler_under_a_limit_on_memory(warm: Path, temporary: Path) -> None:
    cache = copy_for_writing(warm, temporary / "cache")
    starved = temporary / "g++"
    starved.write_text('#!/bin/sh\nulimit -v 60000\nexec g++ "$@"\n')
    starved.chmod(0o755)
    variables = {"OPENMPS_CACHE_DIR": str(cache), "OPENMPS_SHADER_CXX": str(starved)}
    done = run(ANOTHER, temporary, **variables)
    assert "OutOfResources: the compiler did not get the memory" in done.stderr


def test_a_limit_on_threads(warm: Path, somebody: list[str], temporary: Path) -> None:
    """ulimit -u, which root has not got. The ledger's thread and the helpers are done without."""
    limit = (
        "import resource, threading; resource.setrlimit(resource.RLIMIT_NPROC, (1, 1))\n"
        "try:\n"
        "    threading.Thread(target=print).start()\n"
        "except RuntimeError: pass\n"
        "else: raise AssertionError('a thread')\n"
    )
    record = temporary / "record"
    record.mkdir()
    record.chmod(0o777)
    done = run(
        limit + PROGRAM,
        temporary,
        somebody,
        OPENMPS_CACHE_DIR=str(warm),
        OPENMPS_RECORD=str(record),
        PYTORCH_MPS_LOG_PROFILE_INFO="1",
    )
    assert (done.stdout.splitlines()[-1], done.returncode) == (PRINTED.strip(), 0), done.stderr
    assert len(list(record.glob("*.json"))) == 1
    variables = {"XDG_CACHE_HOME": str(warm.parent), "TMPDIR": str(temporary)}
    done = run(limit + ANOTHER, temporary, somebody, **variables)
    assert "OutOfResources: the compiler did not get the memory or the processes" in done.stderr


# ---- what else is written


def test_a_trace_that_cannot_be_written_is_told_and_the_program_goes_on(
    warm: Path, somebody: list[str], temporary: Path
) -> None:
    traced = PROGRAM.replace("x = torch", "torch.mps.profiler.start()\nx = torch", 1)
    traced += "torch.mps.profiler.stop()\nprint('after')\n"
    for folder, file, said in [
        ("/", "", "Permission denied"),
        (temporary, "/dev/full", "No space left on device"),
        (temporary, "~nobody-has-this-name/trace.json", "no such home folder"),
    ]:
        variables = {"OPENMPS_CACHE_DIR": str(warm), "OPENMPS_TRACE_FILE": file}
        done = run(traced, Path(folder), somebody, **variables)
        assert (done.stdout, done.returncode) == (PRINTED + "after\n", 0), done.stderr
        assert done.stderr.startswith("openmps: the trace could not be written: "), done.stderr
        assert said in done.stderr


def test_a_record_that_cannot_be_written_is_told(warm: Path, temporary: Path) -> None:
    variables = {"OPENMPS_CACHE_DIR": str(warm), "OPENMPS_RECORD": str(temporary / "nowhere")}
    done = run(PROGRAM, temporary, **variables)
    assert (done.stdout, done.returncode) == (PRINTED, 0)
    assert done.stderr.startswith("openmps: the ledger could not be written: ")


@pytest.mark.parametrize("option", ["--json", "--html"])
def test_a_report_that_cannot_be_written_is_told_by_the_status(
    warm: Path, temporary: Path, option: str
) -> None:
    (temporary / "program.py").write_text("print('done')\n")
    done = subprocess.run(
        [sys.executable, "-m", "openmps", "check", option, "/dev/full", "program.py"],
        env=environment(OPENMPS_CACHE_DIR=str(warm)),
        cwd=temporary,
        capture_output=True,
        text=True,
    )
    assert (done.stdout, done.returncode) == ("done\n", 2), done.stderr
    told = "openmps: the report could not be written: /dev/full: No space left on device\n"
    assert told in done.stderr


def test_half_a_report_is_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def write_half(file: Path, text: str, encoding: str) -> None:
        file.write_bytes(text.encode(encoding)[:3])
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(Path, "write_text", write_half)
    assert not write(tmp_path / "report.json", "{}" * 9)
    assert list(tmp_path.iterdir()) == []
    assert "report.json: No space left on device" in capsys.readouterr().err


def test_no_temporary_folder_for_a_check(
    warm: Path, somebody: list[str], open_folder: Path
) -> None:
    program = open_folder / "program.py"
    program.write_text("print('done')\n")
    # Nothing is writable to this user: not the folder it is in, nor any that is looked for.
    code = (
        "import sys, tempfile, openmps.cli.main\n"
        "tempfile._candidate_tempdir_list = lambda: ['/nonexistent']\n"
        f"sys.argv = ['openmps', 'check', {str(program)!r}]\n"
        "openmps.cli.main.main()\n"
    )
    done = run(code, open_folder, somebody, OPENMPS_CACHE_DIR=str(warm))
    assert (done.stdout, done.returncode) == ("", 2), done.stderr
    assert done.stderr.startswith("openmps: error: no temporary folder can be made\n")
    assert "set TMPDIR" in done.stderr
