"""Kernels become code for NVIDIA GPUs, whatever their buffers are aligned to. No GPU is needed."""

from __future__ import annotations

from pathlib import Path

import pytest
import tomllib

from openmps.errors import ShaderError
from openmps.msl.library import parse_library
from openmps.targets import nvjitlink, nvrtc
from openmps.targets.cuda import CudaTarget

from .test_kernels import ACCEPTED, kernel_name, label, torch_headers

# The first and the last of each folder.
FOLDERS = {case.parent for case in ACCEPTED}
SOME = sorted({end for f in FOLDERS for end in (min(f.glob("*.metal")), max(f.glob("*.metal")))})


@pytest.fixture(autouse=True, scope="module")
def compilers() -> None:
    try:
        nvrtc.version()
        nvjitlink.version()
    except ShaderError as error:
        pytest.skip(str(error))


@pytest.mark.parametrize("alignment", [16, 1])
@pytest.mark.parametrize("case", SOME, ids=label)
def test_a_kernel_is_built(case: Path, alignment: int) -> None:
    wanted = tomllib.loads(case.with_suffix(".toml").read_text())
    wanted |= wanted.get("run", [{}])[0]
    library = parse_library(
        case.read_text(), options=torch_headers() if wanted.get("includes") else None
    )
    built = CudaTarget("sm_90").build(library, kernel_name(wanted, library), alignment)
    assert built.image.startswith(b"\x7fELF")
    assert built.max_threads == wanted.get("max_threads", 1024)
