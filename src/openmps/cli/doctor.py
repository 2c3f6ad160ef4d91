"""`openmps doctor`: what is here, whether it works, and what to do where it does not.

Each probe is guarded and the report always prints: this runs on machines where things are broken.
torch is imported in processes of their own only: a broken one may end its process.
"""

from __future__ import annotations

import json
import os
import platform
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

import openmps
from openmps import settings
from openmps.bench.probe import WITHOUT_AMX
from openmps.build.store import user_store
from openmps.cli.torchvision import torchvision_fact
from openmps.device import core
from openmps.errors import CacheError, CompilerNotFound, OpenmpsError

SCHEMA = "openmps-doctor/1"
_ENGINES = ("cpu", "cuda")
_LONGEST_S = 300
_REPORT = "report this, with all of this page"

# What torch says about itself and the engines; then the product of which some processors die.
_ASK_TORCH = """
import json, torch
from openmps.device.engines import names, probe
engines = {engine: probe(engine) for engine in names()}
print(json.dumps([torch.__version__, torch.version.cuda, engines]), flush=True)
a = torch.ones(64, 64, dtype=torch.bfloat16)
a @ a
"""

# A real allocation, addition, Metal kernel and read-back, in a process of its own per engine: a
# process has one.
_TRIAL = """
import torch
import openmps
openmps.activate()  # torch's plug-in has done that, or has only warned: then this says why
x = torch.arange(4, dtype=torch.float32, device="mps")
y = x + 1
assert y.tolist() == [1, 2, 3, 4], y
print("allocated, added and read back on", torch.backends.mps.get_name())
torch.mps.compile_shader('''
kernel void scale(device float* y, constant float& a, uint i [[thread_position_in_grid]]) {
  y[i] *= a;
}
''').scale(y, 2.5)
assert y.tolist() == [2.5, 5, 7.5, 10], y
print("a Metal kernel ran")
"""


@dataclass(frozen=True)
class Fact:
    name: str
    text: str
    fix: str = ""  # what to do, if anything


@dataclass(frozen=True)
class Verdict:
    """What happened on an engine, and whether the device needs it to work here."""

    engine: str
    passed: bool
    needed: bool
    text: str
    fix: str = ""


@dataclass(frozen=True)
class Torch:
    """As it describes itself; `failure` if it does not work."""

    failure: Fact | None
    version: str = ""
    cuda: str | None = None
    engines: dict[str, tuple[bool, str, str]] | None = None
    multiplies: bool = True


def examine(*, as_json: bool) -> bool:
    """Prints the report; True if the device works on the CPU and on the chosen engine."""
    os.environ[settings.ACTIVE.variable] = "0"  # the trials are what activates
    errors = Console(stderr=True)
    with errors.status("asking torch"):
        torch = _ask_torch()
        facts = [_guarded(name, probe) for name, probe in _facts(torch).items()]
    # A first build shows its own progress.
    built = torch.failure or _guarded("core", _build)
    verdicts = []
    for engine in _ENGINES:
        with errors.status(f"trying the {engine} engine"):
            verdicts.append(_judged(engine, torch, built))
    well = all(verdict.passed or not verdict.needed for verdict in verdicts)
    if as_json:
        print(json.dumps(_as_json(facts, verdicts, well), indent=2))
    else:
        _print(facts, verdicts, well)
    return well


def _as_json(facts: list[Fact], verdicts: list[Verdict], well: bool) -> dict[str, Any]:
    return {
        "schema": SCHEMA,
        "well": well,
        "facts": [asdict(fact) for fact in facts],
        "engines": [asdict(verdict) for verdict in verdicts],
    }


def _print(facts: list[Fact], verdicts: list[Verdict], well: bool) -> None:
    console = Console(highlight=False)
    table = Table(show_header=False, box=None, pad_edge=False)
    for fact in facts:
        fix = f"\n[yellow]{escape(f'next: {fact.fix}')}[/]" if fact.fix else ""
        table.add_row(f"[bold]{escape(fact.name)}[/]", escape(fact.text) + fix)
    console.print(table)
    for verdict in verdicts:
        if verdict.passed:
            console.print(f"[green]{escape(f'PASS {verdict.engine}: {verdict.text}')}[/]")
            continue
        style = "red" if verdict.needed else "dim"
        console.print(f"[{style}]{escape(f'{verdict.engine}: {verdict.text}')}[/]")
        if verdict.fix:
            console.print(f"[{style}]{escape(f'  next: {verdict.fix}')}[/]")
    console.print("[green]PASS[/]" if well else "[red]FAIL[/]: see what to do above")


def _guarded(name: str, probe: Callable[[], Fact | str]) -> Fact:
    try:
        found = probe()
    except OpenmpsError as error:
        text = error.problem + (f" (found: {error.found})" if error.found else "")
        return Fact(name, text, error.next_step)
    except Exception as error:  # what is broken is what this report is for
        return Fact(name, f"{type(error).__name__}: {error}", _REPORT)
    return found if isinstance(found, Fact) else Fact(name, found)


def _run(code: str, **variables: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "TORCH_DEVICE_BACKEND_AUTOLOAD": "1", **variables}
    command = [sys.executable, "-c", code]
    try:
        return subprocess.run(
            command, env=environment, capture_output=True, text=True, timeout=_LONGEST_S
        )
    except subprocess.TimeoutExpired:
        raise OpenmpsError(
            f"it did not end within {_LONGEST_S} s",
            next_step="see whether the machine is busy, and try again",
        ) from None


def _ending(ended: subprocess.CompletedProcess[str]) -> str:
    """The last words of a process that failed: its exception, without the traceback."""
    lines = ended.stderr.strip().splitlines()
    starts = [n for n, line in enumerate(lines) if re.match(r"[A-Za-z_][\w.]*(: |$)", line)]
    said = lines[starts[-1] :] if starts else lines[-1:]
    if said:
        said[0] = re.sub(r"^openmps\.errors\.", "", said[0])
    if ended.returncode < 0:
        said.append(f"it was ended by {signal.Signals(-ended.returncode).name}")
    return "\n".join(said) or f"it ended with status {ended.returncode}"


def _ask_torch() -> Torch:
    try:
        return _torch_facts()
    except Exception as error:
        told = error

        def tell() -> Fact:
            raise told

        return Torch(_guarded("torch", tell))


def _torch_facts() -> Torch:
    core.check_torch(core.find_torch())
    ended = _run(_ASK_TORCH)
    lines = ended.stdout.splitlines()
    if not lines:
        raise OpenmpsError(
            "torch cannot be imported",
            found=_ending(ended),
            next_step="see the whole of it with: python -c 'import torch'. Then reinstall torch, "
            "or what it names",
        )
    version, cuda, engines = json.loads(lines[0])
    return Torch(None, version, cuda, engines, multiplies=ended.returncode != -signal.SIGILL)


def _build() -> str:
    return str(core.build())


def _judged(engine: str, torch: Torch, built: Fact) -> Verdict:
    needed = engine == "cpu" or settings.ENGINE.read().lower() == engine
    if torch.failure:
        return Verdict(engine, False, needed, "not tried: torch does not work", torch.failure.fix)
    assert torch.engines is not None
    usable, reason, fix = torch.engines[engine]
    if not usable:
        return Verdict(engine, False, needed, f"not usable: {reason}", fix)
    if built.fix:
        return Verdict(engine, False, True, f"FAIL: {built.text}", built.fix)
    trial = _guarded(engine, lambda: _trial(engine))
    passed = not trial.fix
    return Verdict(engine, passed, True, trial.text if passed else f"FAIL: {trial.text}", trial.fix)


def _trial(engine: str) -> str:
    ended = _run(_TRIAL, **{settings.ACTIVE.variable: "1", settings.ENGINE.variable: engine})
    if ended.returncode == 0:
        return "; ".join(ended.stdout.splitlines())
    # Errors of our own end with what to do.
    told = _ending(ended)
    before, _, own = told.partition("  next: ")
    raise OpenmpsError(
        before.strip(), next_step=own.strip() or "report this, with all of this page"
    )


def _facts(torch: Torch) -> dict[str, Callable[[], Fact | str]]:
    return {
        "openmps": lambda: openmps.__version__,
        "Python": lambda: f"{platform.python_version()} ({sys.executable})",
        "machine": lambda: _machine(torch),
        "torch": lambda: _torch(torch),
        "torchvision": lambda: _torchvision(torch),
        "compiler": _compiler,
        "for shaders": _shader_compiler,
        "engine": lambda: _engine(torch),
        "Mac": _mac,
        "cache": _cache,
    }


def _machine(torch: Torch) -> Fact:
    text = f"{platform.system()} {platform.machine()}"
    if torch.multiplies:
        return Fact("machine", text)
    (variable, value), *_ = WITHOUT_AMX.items()
    return Fact(
        "machine",
        f"{text}; its processor claims more than it can: products of bfloat16 on the CPU end the "
        "process",
        f"start programs with {variable}={value} in the environment",
    )


def _torch(torch: Torch) -> Fact:
    if torch.failure:
        return torch.failure
    build = f"CUDA {torch.cuda}" if torch.cuda else "CPU"
    return Fact("torch", f"{torch.version} ({build} build)")


def _torchvision(torch: Torch) -> str:
    return "not tried: torch does not work" if torch.failure else torchvision_fact()


def _compiler() -> str:
    from openmps.build.compiler import find_compiler

    try:
        compiler = find_compiler()
    except CompilerNotFound:
        if _has_core():
            return "none, and none is needed: the device core for this torch is ready"
        raise
    return f"{compiler.path}: {compiler.version()}"


def _has_core() -> bool:
    """Without a compiler: nothing can be built."""
    from openmps.device import core

    try:
        core.build()
    except OpenmpsError:
        return False
    return True


def _shader_compiler() -> str:
    from openmps.build.shader_compiler import find_shader_compiler

    return find_shader_compiler().identity


def _engine(torch: Torch) -> str:
    from openmps.device import engines

    asked = settings.ENGINE.read().lower()
    if asked != "auto":
        engines.find(asked)
    if asked != "auto":
        return asked
    usable = torch.engines is not None and torch.engines["cuda"][0]
    return f"{'cuda' if usable else 'cpu'} (from auto)"


def _mac() -> str:
    from openmps.mac.chips import parse_mac

    mac = parse_mac(settings.MAC.read(), settings.MACOS.read())
    limit = mac.recommended_max_bytes / 2**30
    return f"{mac}: {mac.gpu_cores} GPU cores, {limit:.2f} GiB recommended for use"


def _cache() -> Fact:
    folder = settings.cache_dir()
    built = len(list(folder.glob("core/*/entry.json"))) if folder else 0
    text = f"{folder or 'no home folder'} ({built} built)"
    try:
        used, _ = user_store("core").writable_cache()
    except CacheError as error:  # what is built already can still be read
        return Fact("cache", f"{text}; {error.problem} (found: {error.found})", error.next_step)
    return Fact("cache", text if used == folder else f"{text}; what is new goes to {used}")
