"""The wheel is pure Python, carries the C++ sources, and works without the source tree."""

from __future__ import annotations

import os
import site
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

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


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    for needed in ("build", "hatchling"):
        pytest.importorskip(needed, reason=f"building a wheel needs {needed}: not installed")
    folder = tmp_path_factory.mktemp("wheel")
    subprocess.run(
        [sys.executable, "-m", "build", "--wheel", "--no-isolation", "-o", str(folder), str(ROOT)],
        check=True,
        capture_output=True,
    )
    (built,) = folder.glob("*.whl")
    return built


def test_it_is_pure_python(wheel: Path) -> None:
    assert wheel.name.endswith("-py3-none-any.whl")


def test_it_carries_every_source(wheel: Path) -> None:
    names = set(zipfile.ZipFile(wheel).namelist())
    folders = ("csrc", "csrc_cuda", "csrc_metal", "csrc_runtime", "include/msl", "include/msl/cuda")
    for folder in folders:
        files = (file for file in (ROOT / "src/openmps" / folder).iterdir() if file.is_file())
        assert {f"openmps/{folder}/{file.name}" for file in files} <= names
    assert {
        "openmps/py.typed",
        "openmps/device/guards.metal",
        "openmps/device/own_math.h",
        "openmps/device/philox.h",
        "openmps/device/random.metal",
        "openmps/device/poisson.metal",
    } <= names


def test_it_trains_in_an_empty_environment(wheel: Path, tmp_path: Path) -> None:
    venv = tmp_path / "venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(venv)], check=True)
    (packages,) = venv.glob("lib/python*/site-packages")
    install = ["install", "--quiet", "--no-deps", "--no-index", str(wheel)]
    pip = [sys.executable, "-m", "pip", "--python", str(venv / "bin" / "python")]
    subprocess.run([*pip, *install], check=True)
    # torch alone is borrowed: it is large, and not what is tested here.
    (packages / "borrowed.pth").write_text("\n".join(_site_packages_with_torch()))
    environment = {
        **{key: value for key, value in os.environ.items() if not key.startswith("OPENMPS")},
        "OPENMPS_CACHE_DIR": str(tmp_path / "cache"),
        "OPENMPS_ENGINE": os.environ.get("OPENMPS_ENGINE", "cpu"),
    }
    done = subprocess.run(
        [str(venv / "bin" / "python"), "-c", TRAIN],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        timeout=500,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == "trained on mps:0\n"
    assert "building the mps device" in done.stderr


def _site_packages_with_torch() -> list[str]:
    return [folder for folder in site.getsitepackages() if (Path(folder) / "torch").exists()]
