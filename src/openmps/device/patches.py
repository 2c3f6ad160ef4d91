"""Every attribute that openmps puts on torch, and why. A Mac build of torch has them all."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

from openmps.device import grouped_optimizers, streams
from openmps.device.trace import Tracer
from openmps.mac.chips import Mac
from openmps.shader import capture

if TYPE_CHECKING:
    from openmps.device.core_interface import Core
    from openmps.device.engines.base import Engine


class Patch(NamedTuple):
    owner: Any
    name: str
    value: Any
    why: str


def patches(core: Core, mac: Mac, engine: Engine) -> list[Patch]:
    import torch
    from torch.utils import _cpp_embed_headers

    bindings = torch._C
    mac_only = "compiled into Mac builds only"
    no_instruments = "without Xcode's Instruments, a trace is a file: stop() writes it"
    tracer = Tracer(core, bindings._mps_profilerStartTrace, bindings._mps_profilerStopTrace)
    captures = capture.Captures(core)
    table = [
        Patch(bindings, "_has_mps", True, "a compile-time constant that torch.mps reads"),
        Patch(bindings, "_mps_get_name", lambda: mac.metal_name, mac_only),
        Patch(bindings, "_mps_get_core_count", lambda: mac.gpu_cores, mac_only),
        Patch(bindings, "_mps_host_alias_storage", core.host_alias_storage, mac_only),
        Patch(bindings, "_mps_profilerStartTrace", tracer.start, no_instruments),
        Patch(bindings, "_mps_profilerStopTrace", tracer.stop, no_instruments),
        Patch(bindings, "_mps_isCaptureEnabled", capture.is_enabled, mac_only),
        Patch(bindings, "_mps_isCapturing", captures.is_capturing, mac_only),
        Patch(bindings, "_mps_startCapture", captures.start, mac_only),
        Patch(bindings, "_mps_stopCapture", captures.stop, mac_only),
        Patch(
            bindings,
            "_mps_compileShader",
            _shader_compiler(core, mac, engine, tracer.watch_launches),
            mac_only,
        ),
        Patch(
            _cpp_embed_headers,
            "_embed_headers",
            _only_in(_cpp_embed_headers._embed_headers),
            "torch.mps.compile_shader would read any file that a shader includes",
        ),
        Patch(
            bindings,
            "_select_conv_backend",
            _conv_backends(bindings),
            "its answer for mps is " + mac_only + "; fake convolutions are laid out by it",
        ),
        Patch(bindings, "_mps_loadMetalllib", _refuse_bytes, mac_only),
        Patch(bindings, "_mps_loadMetallibFromPath", _refuse_path, mac_only),
        Patch(
            torch.UntypedStorage,
            "__new__",
            staticmethod(_storage_new(torch.UntypedStorage.__new__)),
            "its mps case is compiled into Mac builds only; torch.load and pickle need it",
        ),
    ]
    if hasattr(torch.mps, "Stream"):
        table += [
            Patch(bindings, "_mps_getCurrentStream", streams.current_stream, mac_only),
            Patch(bindings, "_mps_setStream", streams.set_stream, mac_only),
            Patch(torch.mps.Stream, "__bases__", (streams.StreamBase,), "its base is " + mac_only),
        ]
    table += _without_cudas_profiler(torch)
    table += grouped_optimizers.clipping_patches(core)
    if engine.groups_optimizers:
        table += grouped_optimizers.patches(core)
    table += engine.patches(core)
    return table


def _conv_backends(bindings: Any) -> Callable[..., Any]:
    select = bindings._select_conv_backend
    # torch 2.13 spells one of them with a comma.
    backends = {name.strip(","): value for name, value in bindings._ConvBackend.__members__.items()}

    def select_conv_backend(input: Any, *args: Any, **kwargs: Any) -> Any:
        chosen = select(input, *args, **kwargs)
        if input.device.type != "mps" or chosen == backends["Empty"]:
            return chosen
        # After input and weight: bias, stride, padding, dilation, transposed.
        transposed = kwargs["transposed"] if "transposed" in kwargs else args[5]
        return backends["MpsTranspose" if transposed else "Mps"]

    return select_conv_backend


def _without_cudas_profiler(torch: Any) -> list[Patch]:
    """What torch.profiler records if not told: with CUDA, it would warn that there is none.

    The question is asked when a profiler asks it: torch's answer starts CUDA, and the children of a
    process that has started it cannot.
    """
    if torch.version.cuda is None:
        return []
    autograd = torch.autograd
    supported = autograd._supported_activities
    why = "a Mac's build of the profiler knows nothing of CUDA"
    without = {autograd.ProfilerActivity.CUDA}
    return [Patch(autograd, "_supported_activities", lambda: supported() - without, why)]


def apply(table: list[Patch]) -> None:
    import torch

    for patch in table:
        setattr(patch.owner, patch.name, patch.value)
    # Answers from before activation are cached and would outlive it.
    for function in vars(torch.backends.mps).values():
        if hasattr(function, "cache_clear"):
            function.cache_clear()


def _shader_compiler(
    core: Core, mac: Mac, engine: Engine, watch_launches: Callable[[], None]
) -> Callable[[str], Any]:
    def compile_here(source: str) -> Any:
        watch_launches()
        # Here and not above: most programs have no shader, and all wait for activation.
        from openmps.shader.library import compile_shader

        library = compile_shader(source, mac.macos, core, engine.shader_target())
        core.note_shader(", ".join(dir(library)))
        return library

    return compile_here


def _only_in(embed: Callable[..., str]) -> Callable[..., str]:
    """Leaves an #include of a file outside the given folders to whoever reads the shader, in a
    spelling that torch does not look for."""

    def embed_headers(content: list[str], folders: Sequence[Path], processed: set[str]) -> str:
        for at, line in enumerate(content):
            found = re.match(r"(\s*)#include(\s*[<\"]([^>\"]+)[>\"].*)", line, re.S)
            if found and not _is_inside(found[3], folders):
                content[at] = f"{found[1]}# include{found[2]}"
        return embed(content, folders, processed)

    return embed_headers


def _is_inside(name: str, folders: Sequence[Path]) -> bool:
    paths = [os.path.abspath(folder / name) for folder in folders]
    roots = tuple(os.path.abspath(folder) + os.sep for folder in folders)
    return all(path.startswith(roots) for path in paths)


_NO_METALLIB = (
    "a binary Metal library holds machine code for Apple's GPUs, which only a Mac can run. "
    "Compile its source with torch.mps.compile_shader instead."
)


def _refuse_bytes(_: bytes) -> NoReturn:
    raise RuntimeError(f"Failed to load metallib: {_NO_METALLIB}")


def _refuse_path(path: str) -> NoReturn:
    raise RuntimeError(f"Failed to load metallib from '{path}': {_NO_METALLIB}")


def _storage_new(original: Callable[..., Any]) -> Callable[..., Any]:
    def new(cls: type, *args: Any, device: Any = None, **kwargs: Any) -> Any:
        import torch

        if device is None or torch.device(device).type != "mps":
            if device is not None:
                kwargs["device"] = device
            return original(cls, *args, **kwargs)
        # Checks the arguments and fills in a sequence; raises torch's own errors.
        host = original(cls, *args, **kwargs)
        storage = torch.empty(host.nbytes(), dtype=torch.uint8, device="mps").untyped_storage()
        if args and not isinstance(args[0], int):
            storage.copy_(host)
        return storage

    return new
