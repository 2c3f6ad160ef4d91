"""`openmps doctor`: what is here, and whether it works.

Each probe is guarded and the report always prints: this runs on machines where things are broken.
"""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from collections.abc import Callable

from rich.console import Console
from rich.markup import escape
from rich.table import Table

import openmps
from openmps import settings
from openmps.cli.torchvision import torchvision_fact
from openmps.errors import OpenmpsError

# A real allocation, addition, Metal kernel and read-back, in a process of its own per engine: a
# process has one.
_TRIAL = """
import torch
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


def examine() -> bool:
    """Prints the report; True if the device works on the CPU and on the chosen engine."""
    # Were torch to activate in this process, it would hide the GPUs that are looked for.
    os.environ[settings.ACTIVE.variable] = "0"
    console = Console()
    facts = Table(show_header=False, box=None, pad_edge=False)
    for name, probe in _FACTS.items():
        facts.add_row(f"[bold]{name}[/]", escape(_guarded(probe)))
    console.print(facts)

    well = True
    for engine in ("cpu", "cuda"):
        try:
            verdict, necessary = _try_engine(engine)
        except Exception as error:  # a broken torch is what this report is for
            verdict, necessary = str(error), engine == "cpu"
        if verdict.startswith("PASS"):
            console.print(f"[green]{escape(verdict)}[/]", highlight=False)
        else:
            well = well and not necessary
            style = "red" if necessary else "dim"
            console.print(f"[{style}]{escape(f'{engine}: {verdict}')}[/]", highlight=False)
    console.print("[green]PASS[/]" if well else "[red]FAIL[/]: see what to do above")
    return well


def _try_engine(engine: str) -> tuple[str, bool]:
    """What happened on `engine`, and whether the device needs it to work here."""
    from openmps.device.engine import probe

    asked = settings.ENGINE.read().lower()
    necessary = engine == "cpu" or asked == engine
    available = probe(engine)
    if not available.ok:
        return f"not usable: {available.reason} ({available.fix})", necessary
    from openmps.device import core

    core.build()
    environment = {
        **os.environ,
        "TORCH_DEVICE_BACKEND_AUTOLOAD": "1",
        settings.ACTIVE.variable: "1",
        settings.ENGINE.variable: engine,
    }
    trial = subprocess.run(
        [sys.executable, "-c", _TRIAL], env=environment, capture_output=True, text=True, timeout=300
    )
    if trial.returncode == 0:
        return f"PASS {engine}: {'; '.join(trial.stdout.splitlines())}", True
    lines = (trial.stderr.strip() or f"exit status {trial.returncode}").splitlines()
    return "FAIL: " + "\n".join(lines[-4:]), True


def _guarded(probe: Callable[[], str]) -> str:
    try:
        return probe()
    except OpenmpsError as error:
        return str(error)
    except Exception as error:
        return f"{type(error).__name__}: {error}"


def _torch() -> str:
    import torch

    build = f"CUDA {torch.version.cuda}" if torch.version.cuda else "CPU"
    return f"{torch.__version__} ({build} build)"


def _compiler() -> str:
    from openmps.build.compiler import find_compiler

    compiler = find_compiler()
    return f"{compiler.path}: {compiler.version()}"


def _engine() -> str:
    from openmps.device.engine import choose

    asked = settings.ENGINE.read().lower()
    chosen = choose(asked)
    return chosen if chosen == asked else f"{chosen} (from {asked})"


def _mac() -> str:
    from openmps.mac.chips import parse_mac

    mac = parse_mac(settings.MAC.read(), settings.MACOS.read())
    limit = mac.recommended_max_bytes / 2**30
    return f"{mac}: {mac.gpu_cores} GPU cores, {limit:.2f} GiB recommended for use"


def _cache() -> str:
    folder = settings.cache_dir()
    built = len(list(folder.glob("core/*/entry.json")))
    return f"{folder} ({built} built)"


_FACTS: dict[str, Callable[[], str]] = {
    "openmps": lambda: openmps.__version__,
    "Python": lambda: f"{platform.python_version()} ({sys.executable})",
    "machine": lambda: f"{platform.system()} {platform.machine()}",
    "torch": _torch,
    "torchvision": torchvision_fact,
    "compiler": _compiler,
    "engine": _engine,
    "Mac": _mac,
    "cache": _cache,
}
