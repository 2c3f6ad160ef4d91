"""The cache in hard places: no home, a full disk, no locks, damage, others' folders."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import json
import multiprocessing
import os
import resource
import shutil
import signal
import stat
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from openmps import settings
from openmps.build import cache as caches
from openmps.build import store as stores
from openmps.build.artifact import find_or_build
from openmps.build.cache import scratch_folder, temporary_cache
from openmps.build.compiler import Job, build_library, find_compiler
from openmps.build.loading import load_built
from openmps.build.shader_compiler import CompileRefused, ShaderCompiler
from openmps.build.store import Store, user_store
from openmps.errors import CacheError, CompilerNotFound, OutOfResources, SettingError

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
FAILS = """#!/bin/sh
case "$*" in *--version*) echo fake 1.0; exit 0;; esac
echo "{said}" >&2
exit 1
"""

is_root = os.geteuid() == 0


@pytest.fixture
def use_compiler(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Path]:
    def use(script: str) -> Path:
        path = tmp_path / "fake-c++"
        path.write_text(script)
        path.chmod(0o755)
        monkeypatch.setenv("OPENMPS_CXX", str(path))
        monkeypatch.setenv("COUNT", str(tmp_path / "count"))
        return path

    return use


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the temporary cache comes to lie."""
    folder = tmp_path / "tmp"
    folder.mkdir(mode=0o777)
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    caches.tell_temporary.cache_clear()
    return folder / f"openmps-{os.geteuid()}"


@pytest.fixture
def unwritable(tmp_path: Path) -> Path:
    """A cache folder in which nothing can be made, not even by root."""
    blocked = tmp_path / "a file, not a folder"
    blocked.write_text("")
    return blocked / "openmps"


def build(folder: Path, store: Store, key: str = "key") -> Path:
    source = folder / "core.cpp"
    source.write_text("int main() {}\n")
    return find_or_build(store, key, "lib.so", "a fake", lambda: Job([[source]], [], []))


def links(folder: Path) -> int:
    count = folder / "count"
    return len(count.read_text().splitlines()) if count.exists() else 0


def content(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*")}


# ---- where the cache is


def test_a_home_that_is_unknown_or_absent(monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in ("OPENMPS_CACHE_DIR", "XDG_CACHE_HOME"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("HOME", "/nonexistent")
    assert settings.cache_dir() == Path("/nonexistent/.cache/openmps")
    monkeypatch.setenv("HOME", "/")
    assert settings.cache_dir() == Path("/.cache/openmps")
    # As expanduser leaves it for a user that no list has.
    monkeypatch.setattr(os.path, "expanduser", lambda path: path)
    assert settings.cache_dir() is None


def test_a_chosen_folder_in_a_home_that_is_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENMPS_CACHE_DIR", "~nobody-has-this-name/cache")
    with pytest.raises(SettingError, match=r"OPENMPS_CACHE_DIR names a home folder.*\n.*\n  next"):
        settings.cache_dir()


def test_without_a_home_a_private_temporary_folder_is_used(
    tmp_path: Path, use_compiler, temporary: Path, capfd
) -> None:
    use_compiler(GOOD)
    built = build(tmp_path, Store(None, "core", or_temporary=True))
    assert built == temporary / "core" / "key" / "lib.so"
    assert stat.S_IMODE(temporary.stat().st_mode) == 0o700
    said = capfd.readouterr().err
    assert said.count("\n") == 2
    assert f"openmps: there is no home folder, so what is built goes to {temporary}; " in said
    assert "set OPENMPS_CACHE_DIR" in said


def test_a_home_that_cannot_be_written_to_is_told_once(
    tmp_path: Path, use_compiler, temporary: Path, unwritable: Path, capfd
) -> None:
    use_compiler(GOOD)
    for key in ("key", "other"):
        store = Store(unwritable, "core", or_temporary=True)
        assert build(tmp_path, store, key) == temporary / "core" / key / "lib.so"
    said = capfd.readouterr().err
    assert said.count(f"{unwritable} cannot be written to (Not a directory)") == 1
    # Found there, silently, by who comes later.
    store = Store(unwritable, "core", or_temporary=True)
    assert build(tmp_path, store) == temporary / "core" / "key" / "lib.so"
    assert capfd.readouterr().err == ""
    assert links(tmp_path) == 2


def test_only_the_users_own_folder_gives_way(
    tmp_path: Path, use_compiler, temporary: Path, unwritable: Path, monkeypatch
) -> None:
    use_compiler(GOOD)
    monkeypatch.setenv("OPENMPS_CACHE_DIR", str(unwritable))
    with pytest.raises(CacheError, match=r"cannot be written to\n  found: .*Not a directory\n"):
        build(tmp_path, user_store("core"))
    assert not temporary.exists()
    monkeypatch.delenv("OPENMPS_CACHE_DIR")
    monkeypatch.setenv("XDG_CACHE_HOME", str(unwritable.parent))
    assert build(tmp_path, user_store("core")) == temporary / "core" / "key" / "lib.so"


@pytest.mark.parametrize("planted", ["a link", "a file", "others may write", "others may read"])
def test_a_temporary_folder_that_is_not_private_is_refused(
    tmp_path: Path, use_compiler, temporary: Path, unwritable: Path, planted: str
) -> None:
    """Anybody may make a folder of that name, with code in it."""
    use_compiler(GOOD)
    theirs = Store(tmp_path / "theirs", "core")
    build(tmp_path, theirs)
    if planted == "a link":
        temporary.symlink_to(tmp_path / "theirs")
    elif planted == "a file":
        temporary.write_text("")
    else:
        shutil.copytree(tmp_path / "theirs", temporary)
        temporary.chmod(0o770 if planted == "others may write" else 0o755)
    mine = Store(unwritable, "core", or_temporary=True)
    assert mine.find("key", "lib.so") is None
    with pytest.raises(CacheError, match="set OPENMPS_CACHE_DIR") as error:
        build(tmp_path, mine)
    assert str(temporary) in error.value.found


@pytest.mark.skipif(not is_root, reason="only root can make a folder of another user's")
def test_a_temporary_folder_of_another_user_is_refused(temporary: Path) -> None:
    temporary.mkdir(mode=0o700)
    os.chown(temporary, 65534, 65534)
    with pytest.raises(CacheError, match="belongs to user 65534"):
        temporary_cache()


def test_no_temporary_folder_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def gettempdir() -> str:
        raise FileNotFoundError(errno.ENOENT, "No usable temporary directory found in ['/tmp']")

    monkeypatch.setattr(tempfile, "gettempdir", gettempdir)
    store = Store(tmp_path / "file" / "cache", "core", or_temporary=True)
    (tmp_path / "file").write_text("")
    assert store.find("key", "lib.so") is None
    with pytest.raises(CacheError, match="No usable temporary directory"):
        store.writable_cache()
    with pytest.raises(CacheError, match="set TMPDIR"), scratch_folder():
        pass


def test_a_warm_cache_is_read_without_a_write_or_a_lock(
    tmp_path: Path, use_compiler, temporary: Path, monkeypatch, capfd
) -> None:
    use_compiler(GOOD)
    built = build(tmp_path, Store(tmp_path / "cache", "core"))
    before = content(tmp_path)
    capfd.readouterr()

    def refuse(*_: object) -> None:
        raise OSError(errno.EROFS, "Read-only file system")

    for module, name in [(fcntl, "flock"), (os, "mkdir"), (os, "replace"), (stores, "make_folder")]:
        monkeypatch.setattr(module, name, refuse)
    assert build(tmp_path, Store(tmp_path / "cache", "core", or_temporary=True)) == built
    assert capfd.readouterr().err == ""
    assert content(tmp_path) == before


def test_what_a_warm_cache_lacks_goes_elsewhere_and_the_rest_is_used(
    tmp_path: Path, use_compiler, temporary: Path, monkeypatch
) -> None:
    use_compiler(GOOD)
    cache = tmp_path / "cache"
    built = build(tmp_path, Store(cache, "core"))
    access = os.access
    monkeypatch.setattr(
        os, "access", lambda path, mode: cache not in Path(path).parents and access(path, mode)
    )
    store = Store(cache, "core", or_temporary=True)
    assert build(tmp_path, store, "other") == temporary / "core" / "other" / "lib.so"
    assert build(tmp_path, store) == built


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o077])
def test_nobody_else_may_write_whatever_the_umask(tmp_path: Path, use_compiler, umask: int) -> None:
    """And others may read, unless the umask forbids it: images are built by root."""
    use_compiler(GOOD)
    cache = tmp_path / "home" / ".cache" / "openmps"
    before = os.umask(umask)
    try:
        built = build(tmp_path, Store(cache, "core"))
    finally:
        os.umask(before)
    for path in (tmp_path / "home", *(tmp_path / "home").rglob("*")):
        assert not path.stat().st_mode & (stat.S_IWGRP | stat.S_IWOTH), path
    for path in (built, built.parent, built.parent / "entry.json", cache):
        assert bool(path.stat().st_mode & stat.S_IROTH) == (umask != 0o077), path
    assert Store(cache, "core").find("key", "lib.so") == built


@pytest.mark.skipif(not is_root, reason="only root can become another user")
def test_a_cache_of_another_user(tmp_path: Path, use_compiler, temporary: Path) -> None:
    """Its entries are read, nothing can be added."""
    use_compiler(GOOD)
    built = build(tmp_path, Store(tmp_path / "cache", "core"))
    for folder in (tmp_path, *tmp_path.parents):
        if not folder.stat().st_mode & stat.S_IXOTH:
            folder.chmod(0o755)
    temporary.parent.chmod(0o777)

    def as_nobody() -> None:
        os.setgroups([])
        os.setgid(65534)
        os.setuid(65534)
        assert Store(tmp_path / "cache", "core").find("key", "lib.so") == built
        with pytest.raises(CacheError, match="Permission denied"):
            Store(tmp_path / "cache", "core").writable_cache()
        found = Store(tmp_path / "cache", "core", or_temporary=True).writable_cache()
        assert found == (temporary.parent / "openmps-65534", "Permission denied")

    assert in_a_child(as_nobody) == 0


def in_a_child(work: Callable[[], None]) -> int | None:
    child = multiprocessing.get_context("fork").Process(target=work)
    child.start()
    child.join(60)
    return child.exitcode


# ---- a full disk


@contextlib.contextmanager
def small_disk(folder: Path, size: str) -> Iterator[Path]:
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", f"size={size},mode=755", "tmpfs", str(folder)]
    if not is_root or subprocess.run(command, capture_output=True).returncode != 0:
        pytest.skip("a small file system can only be mounted by root, and not in every container")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)


def test_a_disk_that_is_full_while_a_core_is_built(tmp_path: Path, monkeypatch) -> None:
    """By the real compiler: its words become our error, and nothing stays."""
    monkeypatch.delenv("OPENMPS_CXX", raising=False)
    source = tmp_path / "large.cpp"
    source.write_text("extern char large[2 << 20]; char large[2 << 20] = {1};\n")
    job = Job([[source]], ["-fPIC"], [])
    with small_disk(tmp_path / "disk", "1m") as disk:
        store = Store(disk, "core")

        def build() -> Path:
            return find_or_build(store, "key", "lib.so", "a large one", lambda: job)

        with pytest.raises(CacheError, match="no room in the cache folder") as error:
            build()
        assert "No space left on device, 1.0 MB free" in error.value.found
        assert str(disk / "core") in error.value.found
        assert "OPENMPS_CACHE_DIR" in error.value.next_step
        assert content(disk) == {"core", "core/key.lock"}
        subprocess.run(["mount", "-o", "remount,size=16m", str(disk)], check=True)
        assert build().stat().st_size > 2 << 20


def test_a_disk_that_is_full_to_the_last_byte(tmp_path: Path, use_compiler) -> None:
    use_compiler(GOOD)
    with small_disk(tmp_path / "disk", "64k") as disk:
        filler = disk / "filler"
        with contextlib.suppress(OSError), filler.open("wb") as file:
            while True:
                file.write(bytes(4096))
        with pytest.raises(CacheError, match="No space left on device"):
            build(tmp_path, Store(disk, "core", or_temporary=True))
        assert not list(disk.glob("core/.*"))
        filler.unlink()
        assert build(tmp_path, Store(disk, "core")).read_text() == "built\n"


def test_a_limit_on_the_size_of_files_while_a_core_is_built(tmp_path: Path, monkeypatch) -> None:
    """ulimit -f. As a full disk, and for it nobody has to be root."""
    monkeypatch.delenv("OPENMPS_CXX", raising=False)
    source = tmp_path / "large.cpp"
    source.write_text("extern char large[2 << 20]; char large[2 << 20] = {1};\n")
    job = Job([[source]], ["-fPIC"], [])
    cache = tmp_path / "cache"

    def under_a_limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))
        with pytest.raises(CacheError, match="no room in the cache folder") as error:
            find_or_build(Store(cache, "core"), "key", "lib.so", "a large one", lambda: job)
        assert "File too large" in error.value.found or "size limit" in error.value.found
        assert content(cache) == {"core", "core/key.lock"}

    assert in_a_child(under_a_limit) == 0
    built = find_or_build(Store(cache, "core"), "key", "lib.so", "a large one", lambda: job)
    assert built.stat().st_size > 2 << 20


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT])
@pytest.mark.parametrize("what", ["write_text", "mkdir"])
def test_a_disk_that_is_full_when_an_entry_is_published(
    tmp_path: Path, use_compiler, monkeypatch, number: int, what: str
) -> None:
    use_compiler(GOOD)
    store = Store(tmp_path / "cache", "core")
    publish = store.publish

    def publish_on_a_full_disk(*arguments: object) -> Path:
        def fail(*_: object, **__: object) -> None:
            raise OSError(number, os.strerror(number))

        with monkeypatch.context() as patch:
            patch.setattr(Path, what, fail)
            return publish(*arguments)

    with monkeypatch.context() as patch:
        patch.setattr(store, "publish", publish_on_a_full_disk)
        with pytest.raises(CacheError, match="no room in the cache folder"):
            build(tmp_path, store)
    assert content(tmp_path / "cache") == {"core", "core/key.lock"}
    assert build(tmp_path, store).read_text() == "built\n"


def test_a_disk_that_is_full_while_a_shader_is_built(tmp_path: Path) -> None:
    """The workspace is where both of its writers, this process and the compiler, work."""
    store = Store(tmp_path / "cache", "shaders")
    with (
        pytest.raises(CacheError, match="No space left on device"),
        store.lock("key", lambda: None),
        store.workspace("key"),
    ):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    script = tmp_path / "clang"
    script.write_text(
        "#!/bin/sh\necho \"error: unable to open output file 'kernel.o': "
        "'No space left on device'\" >&2\nexit 1\n"
    )
    script.chmod(0o755)
    with (
        pytest.raises(CacheError, match=r"No space left on device, .* MB free"),
        store.lock("key", lambda: None),
        store.workspace("key") as folder,
    ):
        ShaderCompiler("clang", (str(script),), (), "fake").run([], folder)
    assert content(tmp_path / "cache") == {"shaders", "shaders/key.lock"}


def test_what_a_shader_says_is_no_full_disk(tmp_path: Path) -> None:
    """Compilers quote the source."""
    script = tmp_path / "clang"
    script.write_text(
        "#!/bin/sh\necho \"a.metal:7:1: error: expected ';'\" >&2\n"
        'echo "    7 | // No space left on device, out of memory" >&2\nexit 1\n'
    )
    script.chmod(0o755)
    with pytest.raises(CompileRefused):
        ShaderCompiler("clang", (str(script),), (), "fake").run([], tmp_path)


def test_any_other_error_in_a_workspace_stays_itself(tmp_path: Path) -> None:
    store = Store(tmp_path / "cache", "core")
    with (
        pytest.raises(FileNotFoundError),
        store.lock("key", lambda: None),
        store.workspace("key"),
    ):
        (tmp_path / "no such file").read_text()


# ---- compilers that get too little


@pytest.mark.parametrize(
    "said",
    [
        "cc1plus: out of memory allocating 65536 bytes",
        "virtual memory exhausted: Cannot allocate memory",
        "g++: fatal error: Killed signal terminated program cc1plus",
        "g++: fatal error: cannot execute 'cc1plus': vfork: Resource temporarily unavailable",
    ],
)
def test_a_compiler_without_memory_is_told_as_such(tmp_path: Path, use_compiler, said: str) -> None:
    use_compiler(FAILS.format(said=said))
    with pytest.raises(OutOfResources, match="did not get the memory") as error:
        build(tmp_path, Store(tmp_path / "cache", "core"))
    assert "ulimit -v" in error.value.next_step


def test_a_compiler_that_cannot_be_started(tmp_path: Path, use_compiler) -> None:
    use_compiler("no program, and no #! either")
    with pytest.raises(CompilerNotFound, match="does not run") as error:
        build(tmp_path, Store(tmp_path / "cache", "core"))
    assert "Exec format error" in error.value.found
    assert not list((tmp_path / "cache").glob("core/.*"))


def test_compilers_run_side_by_side_without_threads(
    tmp_path: Path, use_compiler, monkeypatch
) -> None:
    """Each waits for the other; a user may be at the limit of threads."""
    meets = f"""#!/bin/sh
for argument; do last="$argument"; done
case "$*" in *-shared*) echo library > "$3"; exit 0;; esac
touch {tmp_path}/began-$(basename "$last")
until [ -e {tmp_path}/began-unit0.o ] && [ -e {tmp_path}/began-unit1.o ]; do sleep 0.05; done
"""
    use_compiler(meets)
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    monkeypatch.setattr("threading.Thread.start", lambda _: pytest.fail("a thread"))
    source = tmp_path / "a.cpp"
    source.write_text("")
    job = Job([[source], [source]], [], [])
    built = build_library(find_compiler(), job, tmp_path, "l.so")
    assert built.read_text() == "library\n"


# ---- several processes


def test_eight_processes_on_an_empty_cache_build_once(tmp_path: Path, use_compiler) -> None:
    use_compiler(GOOD)
    context = multiprocessing.get_context("fork")
    work = (tmp_path, Store(tmp_path / "cache", "core"))
    workers = [context.Process(target=build, args=work) for _ in range(8)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(60)
    assert [worker.exitcode for worker in workers] == [0] * 8
    assert links(tmp_path) == 1


def test_when_the_builder_is_killed_one_that_waits_takes_over(
    tmp_path: Path, use_compiler, capfd
) -> None:
    use_compiler(GOOD.replace("sleep 0.3", "sleep 30"))
    context = multiprocessing.get_context("fork")
    cache = tmp_path / "cache"
    builder = context.Process(target=build, args=(tmp_path, Store(cache, "core")))
    builder.start()
    wait_until(lambda: links(tmp_path) == 1)
    use_compiler(GOOD)
    others = [
        context.Process(target=build, args=(tmp_path, Store(cache, "core"))) for _ in range(2)
    ]
    for other in others:
        other.start()
    said = ""

    def both_wait() -> bool:
        nonlocal said
        said += capfd.readouterr().err
        return said.count("waiting: another process is building a fake") == 2

    wait_until(both_wait)
    assert builder.pid is not None
    os.kill(builder.pid, signal.SIGKILL)
    for other in others:
        other.join(60)
    assert [other.exitcode for other in others] == [0, 0]
    assert links(tmp_path) == 2  # the killed one's and one more
    assert content(cache) == {
        "core",
        "core/key",
        "core/key.lock",
        "core/key/lib.so",
        "core/key/entry.json",
    }


def wait_until(what: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 30
    while not what():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_a_child_that_was_forked_while_building_keeps_no_lock(tmp_path: Path) -> None:
    store = Store(tmp_path / "cache", "core")
    with store.lock("key", lambda: None):
        child = multiprocessing.get_context("fork").Process(target=time.sleep, args=(60,))
        child.start()
    try:
        with store.lock("key", lambda: pytest.fail("the child has it")):
            pass
    finally:
        child.kill()
        child.join()


@pytest.mark.parametrize("number", [errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOSYS])
def test_where_there_are_no_locks_all_build_and_one_entry_stays(
    tmp_path: Path, use_compiler, monkeypatch, number: int
) -> None:
    """Network folders. Nobody sweeps away what another is building."""
    use_compiler(GOOD)

    def flock(*_: object) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(fcntl, "flock", flock)
    context = multiprocessing.get_context("fork")
    cache = tmp_path / "cache"
    work = (tmp_path, Store(cache, "core"))
    workers = [context.Process(target=build, args=work) for _ in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(60)
    assert [worker.exitcode for worker in workers] == [0] * 4
    assert Store(cache, "core").find("key", "lib.so") == cache / "core" / "key" / "lib.so"
    assert not list(cache.glob("core/.*"))


def test_who_publishes_second_leaves_the_file_of_the_first(tmp_path: Path) -> None:
    store = Store(tmp_path, "core")
    with store.lock("key", lambda: None), store.workspace("key") as one:
        (one / "lib.so").write_text("first")
        first = store.publish("key", "lib.so", one / "lib.so", {})
        place = first.stat().st_ino
        (one / "lib.so").write_text("second")
        assert store.publish("key", "lib.so", one / "lib.so", {}) == first
    assert (first.stat().st_ino, first.read_text()) == (place, "first")
    assert not list(tmp_path.glob("core/.*"))


# ---- what is whole and does not load


class Loader:
    """Refuses the first file that it is given, and no other."""

    def __init__(self, said: str) -> None:
        self.said = said
        self.refused = 0

    def __call__(self, library: Path) -> str:
        place = library.stat().st_ino
        self.refused = self.refused or place
        if place == self.refused:
            raise ImportError(self.said)
        return "loaded"


STALE = [
    "core.so: undefined symbol: _ZN5torch3newEv",
    "/lib/libc.so.6: version `GLIBC_2.38' not found (required by core.so)",
    "core.so: file too short",
]


@pytest.mark.parametrize("said", STALE)
def test_what_no_longer_loads_is_built_again_once(tmp_path: Path, use_compiler, said: str) -> None:
    """A digest says nothing of the torch that was replaced beside it."""
    use_compiler(GOOD)
    store = Store(tmp_path / "cache", "core")
    # Kept, so that the new file cannot lie where the old one did.
    os.link(build(tmp_path, store), tmp_path / "old")
    assert load_built(lambda *, prebuilt=True: build(tmp_path, store), Loader(said)) == "loaded"
    assert links(tmp_path) == 2


def test_what_never_loads_is_our_error(tmp_path: Path, use_compiler) -> None:
    use_compiler(GOOD)
    store = Store(tmp_path / "cache", "core")

    def load(_: Path) -> None:
        raise ImportError(STALE[0])

    with pytest.raises(CacheError, match="cannot be loaded") as error:
        load_built(lambda *, prebuilt=True: build(tmp_path, store), load)
    assert error.value.found == STALE[0]
    assert "openmps doctor" in error.value.next_step
    assert links(tmp_path) == 2


@pytest.mark.parametrize(
    ("said", "advice"),
    [
        ("core.so: failed to map segment from shared object", "noexec"),
        ("core.so: cannot create shared object descriptor: Cannot allocate memory", "ulimit -v"),
    ],
)
def test_what_the_system_forbids_to_load_is_not_built_again(
    tmp_path: Path, use_compiler, said: str, advice: str
) -> None:
    use_compiler(GOOD)
    store = Store(tmp_path / "cache", "core")
    with pytest.raises(CacheError) as error:
        load_built(lambda *, prebuilt=True: build(tmp_path, store), Loader(said))
    assert advice in error.value.next_step
    assert links(tmp_path) == 1
    assert store.find("key", "lib.so") is not None


def test_what_another_process_has_built_anew_is_left_alone(tmp_path: Path, use_compiler) -> None:
    use_compiler(GOOD)
    store = Store(tmp_path / "cache", "core")
    calls = 0

    def load(library: Path) -> str:
        nonlocal calls
        calls += 1
        if calls > 1:
            return "loaded"
        os.link(library, tmp_path / "old")
        (library.parent / "entry.json").unlink()
        assert build(tmp_path, store) == library
        raise ImportError(STALE[0])

    assert load_built(lambda *, prebuilt=True: build(tmp_path, store), load) == "loaded"
    assert links(tmp_path) == 2


@pytest.mark.parametrize("damage", ["truncated", "flipped", "entry.json"])
@pytest.mark.parametrize("kind", ["core", "runtime", "shaders", "builtin", "rules"])
def test_damage_of_every_kind_is_noticed(tmp_path: Path, kind: str, damage: str) -> None:
    store = Store(tmp_path, kind)
    with store.lock("key", lambda: None), store.workspace("key") as folder:
        (folder / "file").write_bytes(bytes(range(256)))
        file = store.publish("key", "file", folder / "file", {})
    assert store.find("key", "file") == file
    if damage == "truncated":
        file.write_bytes(file.read_bytes()[:100])
    elif damage == "flipped":
        file.write_bytes(bytes([1]) + file.read_bytes()[1:])
    else:
        entry = file.parent / "entry.json"
        entry.write_text(json.dumps({**json.loads(entry.read_text()), "sha256": ""}))
    assert store.find("key", "file") is None


def test_the_shader_compiler_writes_what_it_needs_besides_into_its_workspace(
    tmp_path: Path, monkeypatch
) -> None:
    """The system's temporary folder may be full, or read-only."""
    monkeypatch.setenv("TMPDIR", "/nonexistent")
    script = tmp_path / "clang"
    script.write_text("#!/bin/sh\necho $TMPDIR > out\n")
    script.chmod(0o755)
    ShaderCompiler("clang", (str(script),), (), "fake").run([], tmp_path)
    assert (tmp_path / "out").read_text() == f"{tmp_path}\n"
