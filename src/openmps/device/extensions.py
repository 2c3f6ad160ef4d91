"""Makes the classes of ATen/native/mps/MetalShaderLibrary.h real for C++ extensions.

They live in a small library of their own (csrc_metal), loaded for all to see: extensions are linked
against torch, which on Linux has not got them, and look for them in what is loaded.
"""

from __future__ import annotations

import ctypes
import functools
import os
import platform
import re
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

from openmps import settings
from openmps.build.artifact import find_or_build
from openmps.build.compiler import Job
from openmps.build.key import build_key
from openmps.build.loading import load_built
from openmps.build.store import user_store
from openmps.device.core import SOURCES, Torch
from openmps.errors import OpenmpsError
from openmps.shader.extension import ExtensionShaders

if TYPE_CHECKING:
    from openmps.device.core_interface import Core

_LIBRARY = "libopenmps_metal.so"
_SOURCE = SOURCES.parent / "csrc_metal" / "shader_library.cpp"
_INTERFACE = SOURCES / "metal" / "metal.h"
_HEADER = Path("ATen", "native", "mps", "MetalShaderLibrary.h")
_FLAGS = ("-std=c++20", "-O1", "-fPIC", "-fvisibility=hidden", "-D_GLIBCXX_USE_CXX11_ABI=1")

_loaded: list[Any] = []  # what C++ keeps pointers to


def connect(core: Core, torch: Torch) -> None:
    """Gives this process the classes. Call after torch.mps.compile_shader works."""
    try:
        library = load_built(functools.partial(build, torch), _load)
    except (OpenmpsError, OSError) as error:
        # No compiler, or a torch whose header is new to us: everything else works.
        warnings.warn(f"C++ extensions with Metal kernels will not load: {error}", stacklevel=5)
        return
    shaders = ExtensionShaders(_compile_shader)
    library.openmps_connect_metal(ctypes.c_void_p(core.connect_metal(shaders.address)))
    _loaded.extend((library, shaders))


def _load(library: Path) -> ctypes.CDLL:
    return ctypes.CDLL(str(library), mode=os.RTLD_GLOBAL | os.RTLD_NOW)


def _compile_shader(source: str) -> Any:
    from torch import _C

    return _C._mps_compileShader(source)  # type: ignore[attr-defined]


def build(torch: Torch, *, prebuilt: bool = True) -> Path:
    extra = settings.CXXFLAGS.read().split()
    sources = {file.name: file.read_bytes() for file in (_SOURCE, _INTERFACE)}
    flags = _flags(torch, extra)
    return find_or_build(
        user_store("core"),
        build_key(sources, (*torch.interface(), platform.machine(), *flags)),
        _LIBRARY,
        "what C++ extensions with Metal kernels need",
        lambda: job(torch, extra),
        prebuilt=prebuilt,
    )


def job(torch: Torch, extra: list[str]) -> Job:
    return Job(
        units=[[_SOURCE]],
        compile_flags=[*_flags(torch, extra), f"-isystem{torch.folder / 'include'}"],
        # Whatever it depends on becomes visible to every library: nothing of torch may.
        link_flags=[*extra, "-Wl,--no-undefined"],
    )


def _flags(torch: Torch, extra: list[str]) -> list[str]:
    return [*_FLAGS, *declared(torch.folder / "include"), *extra]


def declared(include: Path) -> list[str]:
    """Macros that say which form of the classes this torch's header declares."""
    header = (include / _HEADER).read_text()
    macros = []
    if "bool hasFunction(" in header:
        macros.append("FUNCTION")
    if "ilp_threshold" in _parameters(header, "exec_unary_kernel"):
        macros.append("UNARY_ILP")
    if "supports_vec4" in _parameters(header, "exec_unary_kernel"):
        macros.append("UNARY_VEC4")
    if "natural_output_dtype" in _parameters(header, "exec_binary_kernel"):
        macros.append("NATURAL_OUTPUT")
    if "alpha" in _parameters(header, "exec_ternary_kernel"):
        macros.append("TERNARY_ALPHA")
    if "class PrecompiledMetalShaderLibrary" in header:
        macros.append("PRECOMPILED")
    if raw := _parameters(header, "exec_unary_kernel_raw"):
        view = "std::string_view" in raw
        macros.append("UNARY_RAW=" + ("std::string_view" if view else "const std::string&"))
    return [f"-DOPENMPS_HAS_{macro}" for macro in macros]


def _parameters(header: str, function: str) -> str:
    found = re.search(rf"void {function}\(([^)]*)\)", header)
    return found[1] if found else ""
