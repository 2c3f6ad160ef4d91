"""Which core fits which torch, and what is said of a torch that is not known."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from openmps.build import artifact
from openmps.build.compiler import Job
from openmps.build.loading import load_built
from openmps.build.store import Store
from openmps.device import core
from openmps.errors import CompilerNotFound, OpenmpsError

REFUSES = """#!/bin/sh
case "$*" in *--version*) echo fake 1.0; exit 0;; esac
echo "header.h:7:3: error: 'gone' is not a member of 'at'" >&2
exit 1
"""


def torch_folder(folder: Path, config: str = "#define AT_MKL_ENABLED() 1\n") -> Path:
    header = folder / "include" / "ATen" / "Config.h"
    header.parent.mkdir(parents=True)
    header.write_text(config)
    return folder


def test_cpu_and_cuda_builds_of_a_release_share_a_core(tmp_path: Path) -> None:
    folders = [torch_folder(tmp_path / name) for name in ("cpu", "cuda")]
    cpu, cuda = map(core.Torch, folders, ("2.13.0+cpu abc", "2.13.0+cu130 abc"))
    assert cpu.interface() == cuda.interface()


def test_builds_that_differ_do_not_share_a_core(tmp_path: Path) -> None:
    folder = torch_folder(tmp_path / "a")
    other = torch_folder(tmp_path / "b", config="#define AT_MKL_ENABLED() 0\n")
    builds = [
        core.Torch(folder, "2.13.0 abc"),
        core.Torch(folder, "2.13.1 abc"),
        core.Torch(folder, "2.13.0 abd"),
        core.Torch(other, "2.13.0 abc"),
    ]
    assert len({build.interface() for build in builds}) == len(builds)


def test_sources_are_grouped_by_their_rooms_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    torch = core.find_torch()
    groups = core.job(torch, []).units
    names = [source.name for group in groups for source in group]
    assert sorted(names) == sorted(file.name for file in core.SOURCES.rglob("*.cpp"))
    monkeypatch.setattr(os, "cpu_count", lambda: 64)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _pid: set(range(64)))
    assert core.job(torch, []).units == groups


def use_torch(monkeypatch: pytest.MonkeyPatch, folder: Path, version: str) -> None:
    monkeypatch.setattr(core, "find_torch", lambda: core.Torch(torch_folder(folder), version))
    compiler = folder / "refuses"
    compiler.write_text(REFUSES)
    compiler.chmod(compiler.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("OPENMPS_CXX", str(compiler))
    monkeypatch.setenv("OPENMPS_CACHE_DIR", str(folder / "cache"))


def test_a_torch_too_new_to_be_compiled_for_is_refused_with_a_sentence(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    use_torch(monkeypatch, tmp_path, "2.99.0a0+git123 abc")
    with pytest.raises(OpenmpsError) as error:
        core.build()
    newest = ".".join(map(str, core.NEWEST_TORCH))
    assert str(error.value) == (
        "openmps does not work with torch 2.99.0a0, which is newer than it knows (2.11 to "
        f"{newest})\n  found: header.h:7:3: error: 'gone' is not a member of 'at'\n"
        f"  next: pip install --upgrade openmps; or pip install 'torch=={newest}.*'"
    )


def test_a_known_torch_that_does_not_compile_is_not_called_new(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    use_torch(monkeypatch, tmp_path, "2.13.0 abc")
    with pytest.raises(OpenmpsError, match="the C\\+\\+ compiler refused openmps' device core"):
        core.build()


def activate_as(change: str) -> subprocess.CompletedProcess[str]:
    program = f"""
import torch, openmps
from openmps.device import core
core.NEWEST_TORCH = (2, 1)
{change}
openmps.activate("cpu")
print((torch.ones(2, device="mps") + 1).tolist())
"""
    environment = {**os.environ, "TORCH_DEVICE_BACKEND_AUTOLOAD": "0"}
    command = [sys.executable, "-c", program]
    return subprocess.run(command, env=environment, capture_output=True, text=True)


def test_a_newer_torch_works_with_a_warning() -> None:
    done = activate_as("")
    assert done.stdout == "[2.0, 2.0]\n", done.stderr
    assert "RuntimeWarning: openmps was tested with torch up to 2.1; this is 2." in done.stderr


def test_a_newer_torch_that_lacks_something_is_refused_with_a_sentence() -> None:
    done = activate_as("from openmps.device import patches; del patches.apply")
    assert done.returncode == 1
    assert "OpenmpsError: openmps does not work with torch 2." in done.stderr
    assert "found: AttributeError: module 'openmps.device.patches' has no attribute" in done.stderr


@pytest.fixture
def prebuilt(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Store:
    """A store that came with openmps, on a machine without a compiler."""
    monkeypatch.setattr(artifact, "_PREBUILT", tmp_path / "prebuilt")
    monkeypatch.setenv("OPENMPS_CXX", "no-such-compiler")
    return Store(tmp_path / "prebuilt", "core")


def publish(store: Store, text: str) -> Path:
    with store.lock("key", lambda: None), store.workspace("key") as folder:
        (folder / "lib.so").write_text(text)
        return store.publish("key", "lib.so", folder / "lib.so", {})


def find(cache: Path, *, prebuilt: bool = True) -> Path:
    job = Job(units=[], compile_flags=[], link_flags=[])
    store = Store(cache, "core")
    return artifact.find_or_build(store, "key", "lib.so", "a", lambda: job, prebuilt=prebuilt)


def test_what_came_with_openmps_is_not_built(prebuilt: Store, tmp_path: Path) -> None:
    library = publish(prebuilt, "came")
    assert find(tmp_path / "cache") == library
    assert artifact.is_prebuilt(library)
    assert not (tmp_path / "cache").exists()


def test_what_was_built_here_goes_first(prebuilt: Store, tmp_path: Path) -> None:
    publish(prebuilt, "came")
    built = publish(Store(tmp_path / "cache", "core"), "built")
    assert find(tmp_path / "cache") == built
    assert not artifact.is_prebuilt(built)


def test_what_came_damaged_or_is_not_wanted_is_built(prebuilt: Store, tmp_path: Path) -> None:
    library = publish(prebuilt, "came")
    with pytest.raises(CompilerNotFound):
        find(tmp_path / "cache", prebuilt=False)
    library.write_text("cut")
    with pytest.raises(CompilerNotFound):
        find(tmp_path / "cache")


def test_what_came_and_does_not_load_is_built_here(
    prebuilt: Store, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    came = publish(prebuilt, "came")
    built = publish(Store(tmp_path / "elsewhere", "core"), "built")

    def find_or_build(*, prebuilt: bool = True) -> Path:
        return came if prebuilt else built

    def load(library: Path) -> str:
        if library == came:
            raise ImportError("version `GLIBCXX_3.4.99' not found")
        return library.read_text()

    assert load_built(find_or_build, load) == "built"
    assert "lib.so, which came with openmps, does not load here" in capfd.readouterr().err
