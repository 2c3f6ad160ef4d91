"""The build room, with compilers that are three lines of shell."""

from __future__ import annotations

import io
import multiprocessing
import os
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest

from openmps.build import compiler as compilers
from openmps.build import elapsing as elapsings
from openmps.build.artifact import find_or_build
from openmps.build.compiler import Job, find_compiler, first_error
from openmps.build.key import build_key
from openmps.build.store import Store
from openmps.errors import CacheError, CompileError, CompilerNotFound

# Writes its -o file; `--version` prints a name. Counts its links in COUNT.
GOOD = """#!/bin/sh
case "$*" in *--version*) echo fake 1.0; exit 0;; esac
while [ $# -gt 0 ]; do
  case "$1" in
    -shared) echo link >> "$COUNT"; sleep 0.3;;
    -o) shift; echo built > "$1";;
  esac
  shift
done
"""

BAD = """#!/bin/sh
case "$*" in *--version*) echo fake 1.0; exit 0;; esac
echo "In file included from x.h:1:" >&2
echo "core.cpp:7:3: error: expected ';' before '}' token" >&2
echo "core.cpp:9:1: error: a second error nobody needs" >&2
exit 1
"""


@pytest.fixture
def use_compiler(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    def use(script: str) -> Path:
        path = tmp_path / "fake-c++"
        path.write_text(script)
        path.chmod(0o755)
        monkeypatch.setenv("OPENMPS_CXX", str(path))
        monkeypatch.setenv("COUNT", str(tmp_path / "count"))
        return path

    return use


def job(folder: Path) -> Job:
    source = folder / "core.cpp"
    source.write_text("int main() {}\n")
    return Job(units=[[source]], compile_flags=[], link_flags=[])


def build(folder: Path, cache: Path, key: str = "key") -> Path:
    return find_or_build(Store(cache, "core"), key, "lib.so", "a fake", lambda: job(folder))


def links(folder: Path) -> int:
    count = folder / "count"
    return len(count.read_text().splitlines()) if count.exists() else 0


def test_the_second_time_nothing_is_compiled(tmp_path: Path, use_compiler, capfd) -> None:
    use_compiler(GOOD)
    first = build(tmp_path, tmp_path / "cache")
    assert first.read_text() == "built\n"
    assert "building a fake (once) ... done in" in capfd.readouterr().err
    assert build(tmp_path, tmp_path / "cache") == first
    assert links(tmp_path) == 1
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize("damage", ["truncate", "flip", "remove file", "remove entry", "bad json"])
def test_a_damaged_entry_is_built_again(tmp_path: Path, use_compiler, damage: str) -> None:
    use_compiler(GOOD)
    library = build(tmp_path, tmp_path / "cache")
    entry = library.parent / "entry.json"
    if damage == "truncate":
        library.write_text("")
    elif damage == "flip":
        library.write_text("bUilt\n")
    elif damage == "remove file":
        library.unlink()
    elif damage == "remove entry":
        entry.unlink()
    else:
        entry.write_text("{")
    again = build(tmp_path, tmp_path / "cache")
    assert again == library
    assert again.read_text() == "built\n"
    assert links(tmp_path) == 2


def test_two_processes_build_once(tmp_path: Path, use_compiler) -> None:
    use_compiler(GOOD)
    context = multiprocessing.get_context("fork")
    workers = [context.Process(target=build, args=(tmp_path, tmp_path / "cache")) for _ in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(60)
        assert worker.exitcode == 0
    assert links(tmp_path) == 1


def test_a_killed_build_leaves_nothing_that_breaks_the_next(tmp_path: Path, use_compiler) -> None:
    slow = GOOD.replace("sleep 0.3", "sleep 30")
    use_compiler(slow)
    cache = tmp_path / "cache"
    context = multiprocessing.get_context("fork")
    worker = context.Process(target=build, args=(tmp_path, cache))
    worker.start()
    deadline = time.monotonic() + 30
    while links(tmp_path) == 0 and time.monotonic() < deadline:
        time.sleep(0.05)
    worker.kill()
    worker.join(30)
    assert list((cache / "core").glob(".key-*")), "the kill came too late to leave anything"
    use_compiler(GOOD)
    assert build(tmp_path, cache).read_text() == "built\n"
    assert not list((cache / "core").glob(".key-*"))


def test_a_refused_source_shows_the_first_error_only(tmp_path: Path, use_compiler, capfd) -> None:
    use_compiler(BAD)
    with pytest.raises(CompileError) as error:
        build(tmp_path, tmp_path / "cache")
    assert "core.cpp:7:3: error: expected ';'" in str(error.value)
    assert "a second error" not in str(error.value)
    assert "next:" in str(error.value)
    assert "failed" in capfd.readouterr().err
    assert Store(tmp_path / "cache", "core").find("key", "lib.so") is None


def test_a_failed_build_can_be_tried_again(tmp_path: Path, use_compiler) -> None:
    use_compiler(BAD)
    with pytest.raises(CompileError):
        build(tmp_path, tmp_path / "cache")
    use_compiler(GOOD)
    assert build(tmp_path, tmp_path / "cache").read_text() == "built\n"


def test_no_compiler_is_a_clear_error(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("OPENMPS_CXX", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(CompilerNotFound) as error:
        find_compiler()
    for part in ("c++, g++, clang++", "next: install g++", "openmps doctor"):
        assert part in str(error.value)


def test_a_chosen_compiler_that_is_missing_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENMPS_CXX", "no-such-compiler")
    with pytest.raises(CompilerNotFound, match="no-such-compiler"):
        find_compiler()


def test_a_warm_cache_needs_no_compiler(
    tmp_path: Path, use_compiler, monkeypatch: pytest.MonkeyPatch
) -> None:
    use_compiler(GOOD)
    first = build(tmp_path, tmp_path / "cache")
    monkeypatch.setenv("OPENMPS_CXX", "no-such-compiler")
    assert build(tmp_path, tmp_path / "cache") == first


def test_a_cache_that_cannot_be_written_to_is_a_clear_error(tmp_path: Path, use_compiler) -> None:
    use_compiler(GOOD)
    blocked = tmp_path / "a file, not a folder"
    blocked.write_text("")
    with pytest.raises(CacheError, match="OPENMPS_CACHE_DIR"):
        build(tmp_path, blocked)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write to read-only folders")
def test_a_read_only_cache_is_a_clear_error(tmp_path: Path, use_compiler) -> None:
    use_compiler(GOOD)
    cache = tmp_path / "cache"
    cache.mkdir()
    cache.chmod(stat.S_IRUSR | stat.S_IXUSR)
    with pytest.raises(CacheError, match="OPENMPS_CACHE_DIR"):
        build(tmp_path, cache)


def test_the_key_changes_with_every_part() -> None:
    base = build_key({"a.cpp": b"x", "b.cpp": b"y"}, ["torch 2.13", "-O2"])
    assert base == build_key({"b.cpp": b"y", "a.cpp": b"x"}, ["torch 2.13", "-O2"])
    others = {
        build_key({"a.cpp": b"xy", "b.cpp": b""}, ["torch 2.13", "-O2"]),
        build_key({"a.cpp": b"x", "c.cpp": b"y"}, ["torch 2.13", "-O2"]),
        build_key({"a.cpp": b"x", "b.cpp": b"y"}, ["torch 2.15", "-O2"]),
        build_key({"a.cpp": b"x", "b.cpp": b"y"}, ["torch 2.13-O2"]),
    }
    assert len({base, *others}) == 5


def test_the_first_error_of_a_linker_is_found() -> None:
    assert first_error("x.o: in function f:\nx.cpp:1: undefined reference to `g'\n") == (
        "x.cpp:1: undefined reference to `g'"
    )


def test_the_real_compiler_says_its_version() -> None:
    version = find_compiler().version()
    assert any(digit in version for digit in "123456789")


def test_ctrl_c_stops_the_compilers(tmp_path: Path, use_compiler) -> None:
    use_compiler(GOOD.replace("sleep 0.3", "sleep 30"))
    program = (
        # A suite that was started in the background ignores Ctrl-C, and so would this.
        "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "import sys; sys.path.insert(0, sys.argv[1])\n"
        "from pathlib import Path\n"
        "from openmps.build.artifact import find_or_build\n"
        "from openmps.build.compiler import Job\n"
        "from openmps.build.store import Store\n"
        "p = Path(sys.argv[2]); (p / 'core.cpp').write_text('')\n"
        "find_or_build(Store(p / 'cache', 'core'), 'key', 'l.so', 'a fake',\n"
        "              lambda: Job([[p / 'core.cpp']], [], []))\n"
    )
    source = Path(compilers.__file__).parents[2]
    process = subprocess.Popen(
        [sys.executable, "-c", program, str(source), str(tmp_path)], stderr=subprocess.PIPE
    )
    deadline = time.monotonic() + 30
    while links(tmp_path) == 0 and time.monotonic() < deadline:
        time.sleep(0.05)
    process.send_signal(2)
    _, messages = process.communicate(timeout=20)
    assert b"KeyboardInterrupt" in messages
    assert not list((tmp_path / "cache" / "core").glob("key/*"))


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_terminal_sees_the_seconds_and_keeps_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(elapsings, "_EVERY_S", 0.01)
    out = Terminal()
    with elapsings.elapsing("building ... ", out):
        deadline = time.monotonic() + 30
        while out.getvalue().count("\r") < 2 and time.monotonic() < deadline:
            time.sleep(0.01)
    assert "\r\033[Kbuilding ... 0 s" in out.getvalue()
    assert out.getvalue().endswith("\r\033[Kbuilding ... done in 0 s\n")
    assert out.getvalue().count("\n") == 1


def test_elsewhere_there_is_one_plain_line_whatever_happens() -> None:
    out = io.StringIO()
    with pytest.raises(KeyboardInterrupt), elapsings.elapsing("building ... ", out):
        raise KeyboardInterrupt
    assert out.getvalue() == "building ... failed\n"


class NobodyReads(io.StringIO):
    def write(self, text: str) -> int:
        raise BrokenPipeError


def test_a_build_does_not_fail_because_nobody_reads() -> None:
    built = []
    with elapsings.elapsing("building ... ", NobodyReads()):
        built.append(True)
    assert built
