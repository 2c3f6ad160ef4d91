"""Builds the wheels that are published: scripts/wheels."""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import time
import zipfile
from pathlib import Path

from matrix.pairs import NoIndex, NoSuchRelease, choose, interpreters, wheels

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / "build" / "wheels"
LINKED = ("libc10.so", "libtorch_cpu.so", "libtorch_python.so")
# Finds torch by its folder and imports nothing of it.
BUILD = """
from openmps.device import core, extensions
from openmps.targets import cpu_runtime, cuda_driver
core.build()
extensions.build(core.find_torch())
cpu_runtime.build()
cuda_driver.build()
"""


def main() -> int:
    parser = argparse.ArgumentParser(prog="scripts/wheels", description=__doc__)
    add = parser.add_argument
    add("--torch", nargs="+", default=[], help="releases: 2.15, 2.12.0 (default: each minor one)")
    add("--python", nargs="+", default=[], help="releases: 3.12 (default: all of this machine)")
    add("--torch-wheels", type=Path, help="a folder of torch's wheels, not to be downloaded again")
    add("--out", type=Path, default=ROOT / "dist", help="where the wheels go (dist/)")
    options = parser.parse_args()
    try:
        pairs, _ = choose(wheels(options.python), options.torch)
    except (NoIndex, NoSuchRelease) as error:
        print(f"scripts/wheels: {error}", file=sys.stderr)
        return 2
    there = interpreters({pair.python for pair in pairs})
    missing = {pair.python for pair in pairs} - set(there)
    if missing:
        print(f"left out, not on this machine: Python {', '.join(sorted(missing))}")
        pairs = [pair for pair in pairs if pair.python in there]
    prebuilt = FOLDER / "prebuilt"
    shutil.rmtree(prebuilt, ignore_errors=True)
    for number, pair in enumerate(pairs, 1):
        begin = time.monotonic()
        torch = unpacked_torch(pair.torch, options.torch_wheels)
        build_for(there[pair.python], torch, prebuilt)
        seconds = time.monotonic() - begin
        print(f"[{number} of {len(pairs)}] {pair.name}: {seconds:.0f} s", flush=True)
    for wheel in pack(prebuilt, options.out):
        print(f"{wheel} ({wheel.stat().st_size / 2**20:.1f} MiB)")
    return 0


def unpacked_torch(release: str, wheels: Path | None) -> Path:
    """A folder with as much of that torch as a core is compiled and linked with."""
    folder = FOLDER / f"torch-{release}"
    if (folder / "complete").exists():
        return folder
    wheel = next(iter(sorted((wheels or FOLDER).glob(f"torch-{release}[-+]*.whl"))), None)
    if wheel is None:
        # Headers and libraries are the same for each Python.
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps"]
        command += ["--only-binary", ":all:", "--dest", str(FOLDER), f"torch=={release}"]
        subprocess.run(command, check=True)
        (wheel,) = FOLDER.glob(f"torch-{release}[-+]*.whl")
    needed = {f"torch/lib/{library}" for library in LINKED} | {"torch/version.py"}
    with zipfile.ZipFile(wheel) as archive:
        for name in archive.namelist():
            if name in needed or name.startswith("torch/include/"):
                archive.extract(name, folder)
    (folder / "torch" / "__init__.py").touch()
    (folder / "complete").touch()
    return folder


def build_for(interpreter: str, torch: Path, prebuilt: Path) -> None:
    environment = {k: v for k, v in os.environ.items() if not k.startswith("OPENMPS")}
    environment["OPENMPS_CACHE_DIR"] = str(prebuilt)
    environment["PYTHONPATH"] = os.pathsep.join(map(str, (torch, ROOT / "src")))
    subprocess.run([interpreter, "-c", BUILD], env=environment, check=True)


def pack(prebuilt: Path, out: Path) -> list[Path]:
    """The wheels and the source archive; the last is the one with `prebuilt`."""
    out.mkdir(parents=True, exist_ok=True)
    known = set(out.iterdir())
    build = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(out), str(ROOT)]
    subprocess.run(build, check=True, stdout=subprocess.DEVNULL)
    environment = {**os.environ, "OPENMPS_PREBUILT": str(prebuilt)}
    subprocess.run([*build, "--wheel"], env=environment, check=True, stdout=subprocess.DEVNULL)
    return sorted(set(out.iterdir()) - known)


if __name__ == "__main__":
    sys.exit(main())
