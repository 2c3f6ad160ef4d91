"""The pure wheel carries the C++ sources; the platform wheel brings the core ready, too."""

from __future__ import annotations

import os
import platform
import re
import shutil
import site
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from openmps.device import core, extensions
from openmps.targets import cpu_runtime

ROOT = Path(__file__).parents[2]

TRAIN = """
import openmps, torch
assert "site-packages" in openmps.__file__, openmps.__file__
openmps.activate()
torch.manual_seed(0)
model = torch.nn.Linear(8, 1).to("mps")
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
x = torch.randn(64, 8, device="mps")
y = x.sum(1, keepdim=True)
losses = []
for _ in range(50):
    optimizer.zero_grad()
    loss = torch.nn.functional.mse_loss(model(x), y)
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
assert losses[-1] < losses[0] / 100, losses
shader = "kernel void sum(device float* x, uint i [[thread_position_in_grid]]) {" \
         "x[i] = metal::simd_sum(x[i]); }"
ones = torch.ones(40, device="mps")
torch.mps.compile_shader(shader).sum(ones)
assert ones.tolist() == [32.0] * 32 + [8.0] * 8
print("trained on", loss.device)
"""


def build_wheel(folder: Path, **variables: str) -> Path:
    for needed in ("build", "hatchling"):
        pytest.importorskip(needed, reason=f"building a wheel needs {needed}: not installed")
    subprocess.run(
        [sys.executable, "-m", "build", "--wheel", "--no-isolation", "-o", str(folder), str(ROOT)],
        check=True,
        capture_output=True,
        env={**os.environ, **variables},
    )
    (built,) = folder.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_wheel(tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="module")
def prebuilt(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What scripts/wheels makes, for this torch and this Python alone."""
    folder = tmp_path_factory.mktemp("prebuilt")
    for library in (core.build(), extensions.build(core.find_torch()), cpu_runtime.build()):
        key = library.parent
        shutil.copytree(key, folder / key.parent.name / key.name)
    return folder


@pytest.fixture(scope="module")
def platform_wheel(prebuilt: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_wheel(tmp_path_factory.mktemp("platform"), OPENMPS_PREBUILT=str(prebuilt))


def test_it_is_pure_python(wheel: Path) -> None:
    assert wheel.name.endswith("-py3-none-any.whl")


def test_it_carries_every_source(wheel: Path) -> None:
    names = set(zipfile.ZipFile(wheel).namelist())
    package = ROOT / "src/openmps"
    for folder in ("csrc", "csrc_cuda", "csrc_metal", "csrc_runtime", "include"):
        files = [file for file in (package / folder).rglob("*") if file.suffix in (".h", ".cpp")]
        assert files
        assert {f"openmps/{file.relative_to(package)}" for file in files} <= names
    assert {
        "openmps/py.typed",
        "openmps/device/guards.metal",
        "openmps/device/builtin_math.h",
        "openmps/device/philox.h",
        "openmps/device/random.metal",
        "openmps/device/poisson.metal",
    } <= names


def test_it_trains_in_an_empty_environment(wheel: Path, tmp_path: Path) -> None:
    done = train(install(wheel, tmp_path), tmp_path, os.environ["PATH"])
    assert done.returncode == 0, done.stderr
    assert done.stdout == "trained on mps:0\n"
    assert "building the mps device" in done.stderr


def test_the_platform_wheel_says_where_it_runs(platform_wheel: Path, prebuilt: Path) -> None:
    found = re.search(r"-py3-none-manylinux_2_(\d+)_(\w+)\.whl$", platform_wheel.name)
    assert found is not None, platform_wheel.name
    assert found[2] == platform.machine()
    assert int(found[1]) >= 28
    names = set(zipfile.ZipFile(platform_wheel).namelist())
    brought = {f"openmps/prebuilt/{file.relative_to(prebuilt)}" for file in prebuilt.glob("*/*/*")}
    assert len(brought) == 6
    assert brought <= names
    package = ROOT / "src/openmps"
    sources = (file for file in (package / "csrc").rglob("*") if file.is_file())
    assert {f"openmps/{file.relative_to(package)}" for file in sources} <= names


def test_the_platform_wheel_needs_no_compiler(platform_wheel: Path, tmp_path: Path) -> None:
    python = install(platform_wheel, tmp_path)
    done = train(python, tmp_path, str(python.parent))
    assert done.returncode == 0, done.stderr
    assert done.stdout == "trained on mps:0\n"
    assert done.stderr == ""


def test_without_a_core_and_a_compiler_it_says_what_to_install(wheel: Path, tmp_path: Path) -> None:
    python = install(wheel, tmp_path)
    done = train(python, tmp_path, str(python.parent))
    assert done.returncode == 1
    assert "CompilerNotFound: no C++ compiler" in done.stderr
    assert "next: install g++ 11 or newer" in done.stderr


def install(wheel: Path, folder: Path) -> Path:
    """The Python of an environment with nothing else. torch alone is borrowed: it is large."""
    venv = folder / "venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(venv)], check=True)
    python = venv / "bin" / "python"
    command = [sys.executable, "-m", "pip", "--python", str(python), "install", "--quiet"]
    subprocess.run([*command, "--no-deps", "--no-index", str(wheel)], check=True)
    (packages,) = venv.glob("lib/python*/site-packages")
    (packages / "borrowed.pth").write_text("\n".join(_site_packages_with_torch()))
    return python


def train(python: Path, folder: Path, path: str) -> subprocess.CompletedProcess[str]:
    environment = {
        **{key: value for key, value in os.environ.items() if not key.startswith("OPENMPS")},
        "OPENMPS_CACHE_DIR": str(folder / "cache"),
        "OPENMPS_ENGINE": os.environ.get("OPENMPS_ENGINE", "cpu"),
        "PATH": path,
    }
    return subprocess.run(
        [str(python), "-c", TRAIN],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=500,
    )


def _site_packages_with_torch() -> list[str]:
    return [folder for folder in site.getsitepackages() if (Path(folder) / "torch").exists()]
