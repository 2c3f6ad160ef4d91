"""`openmps metal FILE.metal`: compiles every kernel of a file, and says what became of each."""

from __future__ import annotations

import difflib
import fnmatch
import json
import os
import sys
import warnings
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.progress import Progress
from rich.table import Table

from openmps import settings
from openmps.errors import OpenmpsError, ShaderError, ShaderSyntaxError
from openmps.mac.chips import parse_mac
from openmps.msl.kernels import Kernel, Parameter
from openmps.msl.library import LanguageOptions, Library, parse_library
from openmps.msl.source import SourceFile
from openmps.shader.language import language_options
from openmps.targets import nvjitlink, nvrtc
from openmps.targets.cpu import CpuTarget
from openmps.targets.cpu_runtime import Style
from openmps.targets.cuda import CudaTarget
from openmps.targets.cuda_driver import driver

_PROGRESS_FROM = 8  # kernels

# How threads of a threadgroup become code. Fibres are the slow way, which always works.
_WAYS = {
    Style.BOXES: "loop",
    Style.GROUPS: "loop",
    Style.SIMDGROUPS: "lanes",
    Style.THREADS: "fibres",
}
_NO_GPU_HERE = "sm_90"  # what is compiled for then


@dataclass
class Verdict:
    """What became of a kernel."""

    kernel: Kernel
    what: str  # matrix, simd, barrier, atomic or plain
    runs_as: str = ""  # loop, lanes or fibres; or the GPU's architecture
    max_threads: int = 0
    threadgroup_bytes: int = 0
    emitted: dict[str, str] = field(default_factory=dict)  # by kind of text
    refused: str = ""
    place: str = ""

    def as_json(self) -> dict[str, Any]:
        refused = {"place": self.place, "text": self.refused} if self.refused else None
        made: dict[str, Any] = {
            "name": self.kernel.name,
            "place": str(self.kernel.place),
            "arguments": [
                {"kind": p.kind, "index": p.index, "name": p.name, "type": _type(p)}
                for p in _arguments(self.kernel)
            ],
            "class": self.what,
            "refused": refused,
        }
        if not refused:
            made |= {
                "runs_as": self.runs_as,
                "max_threads": self.max_threads,
                "threadgroup_bytes": self.threadgroup_bytes,
            }
        if self.emitted:
            made["emitted"] = self.emitted
        return made


@dataclass
class Inspection:
    """A file and its kernels. `refused` is about the file as a whole."""

    path: Path
    language: int
    kernels: int = 0  # in the file, chosen or not
    verdicts: list[Verdict] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    refused: str = ""
    place: str = ""

    @property
    def well(self) -> bool:
        return not self.refused and not any(verdict.refused for verdict in self.verdicts)


def inspect(
    path: Path,
    patterns: list[str],
    include: list[Path],
    *,
    engine: str = "cpu",
    emit: bool,
    as_json: bool,
) -> bool:
    """Prints what became of the file's kernels; True if nothing was refused."""
    target = _target(engine)
    text = read_source(path)
    mac = parse_mac(settings.MAC.read(), settings.MACOS.read())
    options = language_options(mac.macos)
    options = LanguageOptions(
        version=options.version,
        fast_math=options.fast_math,
        find_header=Headers(path, include).find,
    )
    inspection = Inspection(path, options.version)
    # With --json, and with what was generated, standard output is for other programs.
    console = Console(stderr=as_json or emit)
    try:
        library = parse_library(text, name=str(path), options=options)
        inspection.kernels = len(library.kernels)
        chosen = choose(library, patterns)
        target.open(library)
        with warnings.catch_warnings(record=True) as notes:
            warnings.simplefilter("always")
            inspection.verdicts = list(_judged(library, target, chosen, emit))
        inspection.notes = [str(note.message) for note in notes]
    except ShaderSyntaxError as error:
        inspection.refused, inspection.place = str(error), error.place
    if as_json:
        print(json.dumps(_as_json(inspection), indent=2))
    else:
        if emit:
            _print_emitted(inspection)
        _print_table(inspection, console)
    return inspection.well


def _target(engine: str) -> CpuTarget | CudaTarget:
    if engine == "cpu":
        return CpuTarget()
    if engine != "cuda":
        raise OpenmpsError(
            "no such engine", found=repr(engine), next_step="use --engine cpu or --engine cuda"
        )
    # Once for the file, if one of them is missing, and not for each kernel.
    nvrtc.version()
    nvjitlink.version()
    try:
        return CudaTarget(driver().architecture)
    except ShaderError:
        return CudaTarget(_NO_GPU_HERE)


def read_source(path: Path) -> str:
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        raise OpenmpsError(
            "no such file", found=str(path), next_step="name a file of Metal source, *.metal"
        ) from None
    except IsADirectoryError:
        inside = sorted(str(file) for file in path.glob("*.metal"))
        raise OpenmpsError(
            "this is a folder",
            found=str(path),
            next_step=f"name a file, such as {inside[0]}" if inside else "name a *.metal file",
        ) from None
    except OSError as error:
        raise OpenmpsError(
            f"cannot read {path}", found=error.strerror or str(error), next_step="check the file"
        ) from None
    if data.startswith(b"MTLB"):
        raise OpenmpsError(
            "this is a binary Metal library: machine code for Apple's GPUs",
            found=str(path),
            next_step="name the Metal source that it was made from",
        )
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        raise OpenmpsError(
            "this is no text in UTF-8",
            found=f"{path}, byte {error.start}",
            next_step="name a file of Metal source, *.metal",
        ) from None
    if "\0" in text:
        raise OpenmpsError(
            "this is no text: it has zero bytes",
            found=str(path),
            next_step="name a file of Metal source, *.metal",
        )
    return text


class Headers:
    """Headers beside the file, in the given folders, and those that torch ships; no others: a
    shader must not read files that its user did not point to."""

    def __init__(self, path: Path, include: list[Path]) -> None:
        self._folders = [path.parent, *include]
        try:
            from openmps.device.core import find_torch

            self._folders.append(find_torch().folder / "include")
        except OpenmpsError:
            pass  # shaders need no torch, only their headers may

    def find(self, name: str, asking: SourceFile) -> SourceFile | None:
        allowed = [folder.resolve() for folder in self._folders]
        for folder in (Path(asking.name).parent, *self._folders):
            file = (folder / name).resolve()
            if file.is_file() and any(file.is_relative_to(root) for root in allowed):
                return SourceFile(str(file), read_source(file))
        return None


def choose(library: Library, patterns: list[str]) -> list[Kernel]:
    """The kernels that any of the patterns fits; all if there is none."""
    if not patterns:
        return list(library.kernels.values())
    names: dict[str, None] = {}
    for pattern in patterns:
        fitting = [name for name in library.kernels if fnmatch.fnmatchcase(name, pattern)]
        if not fitting:
            close = difflib.get_close_matches(pattern, library.kernels, n=3, cutoff=0.3)
            raise OpenmpsError(
                f"no kernel is called {pattern}",
                found=f"{len(library.kernels)} kernels in {library.source.name}",
                next_step="did you mean " + ", ".join(close) if close else "leave out --kernel",
            )
        names.update(dict.fromkeys(fitting))
    return [library.kernels[name] for name in names]


def _judged(
    library: Library, target: CpuTarget | CudaTarget, kernels: list[Kernel], emit: bool
) -> Iterator[Verdict]:
    # Thousands may be instances of one template.
    functions = {kernel.function: kernel for kernel in kernels}
    what = {name: kernel.kind for name, kernel in functions.items()}

    def judge(kernel: Kernel) -> Verdict:
        return _judge(library, target, Verdict(kernel, what[kernel.function]), emit)

    # Most of the time is spent in compilers, processes of their own.
    pool = ThreadPoolExecutor(len(os.sched_getaffinity(0)))
    shown = len(kernels) >= _PROGRESS_FROM and sys.stderr.isatty()
    try:
        verdicts = pool.map(judge, kernels)
        with Progress(console=Console(stderr=True), transient=True, disable=not shown) as progress:
            yield from progress.track(verdicts, len(kernels), description="compiling kernels")
    finally:
        pool.shutdown(cancel_futures=True)  # after Ctrl-C, too


def _judge(
    library: Library, target: CpuTarget | CudaTarget, verdict: Verdict, emit: bool
) -> Verdict:
    name = verdict.kernel.name
    try:
        if emit:
            verdict.emitted = target.emitted(library, name)
        _build(library, target, verdict)
    except OpenmpsError as error:
        verdict.refused = str(error)
        verdict.place = getattr(error, "place", "") or str(verdict.kernel.place)
    return verdict


def _build(library: Library, target: CpuTarget | CudaTarget, verdict: Verdict) -> None:
    if isinstance(target, CudaTarget):
        code = target.build(library, verdict.kernel.name)
        verdict.runs_as = target.architecture
        verdict.max_threads = code.max_threads
        verdict.threadgroup_bytes = code.threadgroup_bytes
        return
    built = target.kernel(library, verdict.kernel.name)
    verdict.runs_as = _WAYS[built.style]
    verdict.max_threads = built.max_threads
    verdict.threadgroup_bytes = built.static_threadgroup_bytes


def _arguments(kernel: Kernel) -> list[Parameter]:
    return [p for p in kernel.parameters if p.kind in ("buffer", "threadgroup")]


def _type(parameter: Parameter) -> str:
    text = parameter.type
    for gap in (" ::", ":: ", " *", " &", " <", "< ", " >", " ,"):
        text = text.replace(gap, gap.strip())
    return text.replace(",", ", ").replace(",  ", ", ")


def _as_json(inspection: Inspection) -> dict[str, Any]:
    refused = {"place": inspection.place, "text": inspection.refused}
    return {
        "file": str(inspection.path),
        "language": f"{inspection.language // 100}.{inspection.language // 10 % 10}",
        "well": inspection.well,
        "refused": refused if inspection.refused else None,
        "notes": inspection.notes,
        "kernels": [verdict.as_json() for verdict in inspection.verdicts],
    }


def _print_emitted(inspection: Inspection) -> None:
    for verdict in inspection.verdicts:
        for kind, text in verdict.emitted.items():
            print(f"// ---- {verdict.kernel.name}: {kind}\n{text}")


def _print_table(inspection: Inspection, console: Console) -> None:
    if inspection.refused:
        console.print(inspection.refused, style="red", markup=False, highlight=False)
        return
    refused = [verdict for verdict in inspection.verdicts if verdict.refused]
    compiled = [verdict for verdict in inspection.verdicts if not verdict.refused]
    if compiled:
        console.print(_table(compiled))
    for verdict in refused:
        console.print(f"[red]refused[/] [bold]{escape(verdict.kernel.name)}[/]")
        console.print(verdict.refused, markup=False, highlight=False)
    for note in inspection.notes:
        console.print(note, style="yellow", markup=False, highlight=False)
    count = len(inspection.verdicts)
    summary = f"{len(compiled)} of {count} kernels compiled" if count else "no kernels"
    if count < inspection.kernels:
        summary += f"; {inspection.kernels} are in {inspection.path}"
    console.print(summary, style="red" if refused else "green", markup=False, highlight=False)


def _table(verdicts: list[Verdict]) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("kernel", overflow="fold")
    table.add_column("arguments", overflow="fold")
    table.add_column("class")
    table.add_column("runs as")
    table.add_column("threadgroup bytes", justify="right")
    table.add_column("max threads", justify="right")
    for verdict in verdicts:
        arguments = _arguments(verdict.kernel)
        lines = [f"{p.index}: {_type(p)} {p.name}" for p in arguments]
        dynamic = " + dynamic" if any(p.kind == "threadgroup" for p in arguments) else ""
        table.add_row(
            escape(verdict.kernel.name),
            escape("\n".join(lines)),
            verdict.what,
            verdict.runs_as,
            f"{verdict.threadgroup_bytes}{dynamic}",
            str(verdict.max_threads),
        )
    return table
