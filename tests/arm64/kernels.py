"""Builds the kernels of tests/kernels for arm64, on the paths that KERNEL_PATHS names.

The emulated Python finds in the cache what is built here; its own part of a build takes six times
as long.
"""

from __future__ import annotations

import dataclasses
import os
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import tomllib

from kernels.conftest import CPU_PATHS, PATHS
from kernels.test_kernels import ACCEPTED, group_of, kernel_name, torch_headers
from openmps.build.processor import Processor
from openmps.build.shader_compiler import find_shader_compiler
from openmps.msl.library import parse_library
from openmps.targets.cpu import lane_axis
from openmps.targets.cpu_builder import FIRST_AXIS, Builder

ARM64 = Processor("aarch64", "armv8-a")


def build(case: Path, path: str) -> None:
    wanted = tomllib.loads(case.with_suffix(".toml").read_text())
    headers = torch_headers() if wanted.get("includes") else None
    library = parse_library(case.read_text(), options=headers)
    options = dataclasses.replace(CPU_PATHS[path], processor=ARM64)
    builder = Builder(library, find_shader_compiler(), options)
    for run in wanted.get("run", [{}]):
        merged = {**wanted, **run}
        kernel = library.kernels[kernel_name(merged, library)]
        threads, group = merged["threads"], group_of(merged)
        for axis in {FIRST_AXIS, lane_axis([*threads, 1, 1][:3], [*group, 1, 1][:3])}:
            builder.find_or_build(kernel, axis)


def main() -> None:
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        built = [pool.submit(build, case, path) for path in PATHS for case in ACCEPTED]
        for each in built:
            each.result()


if __name__ == "__main__":
    main()
