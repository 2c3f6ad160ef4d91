"""`openmps macs`: the Macs that can be chosen, and what Metal lets programs use on each."""

from __future__ import annotations

import fnmatch
import json
import re
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from openmps import settings
from openmps.errors import OpenmpsError
from openmps.mac.chips import CHIPS, Mac, squeeze
from openmps.mac.macos import Release, parse_macos

_GIB = 1 << 30


def list_macs(pattern: str, macos: str, *, as_json: bool) -> None:
    release = parse_macos(macos or settings.MACOS.read())
    macs = find(pattern, release)
    if as_json:
        print(json.dumps([_as_json(mac) for mac in macs], indent=2))
    else:
        _print_table(macs, release)


def find(pattern: str, macos: Release) -> list[Mac]:
    """Those with a name that contains the pattern, or matches it as a glob."""
    glob = re.sub(r"[\s_,]+", "", pattern).lower()
    if not any(sign in glob for sign in "*?["):
        glob = f"*{squeeze(pattern)}*"
    macs = [Mac(chip, chip.gpu_cores[-1], size, macos) for chip in CHIPS for size in chip.memory_gb]
    found = [mac for mac in macs if any(fnmatch.fnmatchcase(name, glob) for name in _names(mac))]
    if not found:
        raise OpenmpsError(
            "no Mac has such a name",
            found=repr(pattern),
            next_step="use a part of one, such as \"M3 Max\" or 'm? ultra*', or none to see all",
        )
    return found


def _names(mac: Mac) -> list[str]:
    with_cores = [
        squeeze(f"{mac.chip.name} {cores}-core {mac.memory_gb}GB") for cores in mac.chip.gpu_cores
    ]
    return [squeeze(mac.name), *with_cores]


def _print_table(macs: list[Mac], macos: Release) -> None:
    console = Console()
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("chip")
    table.add_column("GPU cores")
    for column in ("memory", "recommended\nmax", "buffer\nlimit", "high\nwatermark"):
        table.add_column(column, justify="right", no_wrap=True)
    table.add_column("family")
    above = None
    for mac in macs:
        chip, first = mac.chip, mac.chip is not above
        above = chip
        limits = (mac.recommended_max_bytes, mac.max_buffer_bytes, mac.high_watermark_bytes)
        table.add_row(
            chip.name if first else "",
            " or ".join(map(str, chip.gpu_cores)) if first else "",
            str(mac.memory_gb),
            *(f"{size / _GIB:.2f}" for size in limits),
            chip.metal_family if first else "",
        )
    console.print(table)
    # As set, even if it means nothing: this list is where to find what does.
    now = f"{settings.MAC.read()}, macOS {settings.MACOS.read()}"
    for line in (
        f"In GiB, on macOS {macos[0]}.{macos[1]}. Chosen now: {now}.",
        f'Choose: openmps run --mac "{_example(macs)}" --macos {macos[0]}.{macos[1]} ...',
    ):
        console.print(escape(line), highlight=False)


def _example(macs: list[Mac]) -> str:
    """A name with everything in it that a name may have."""
    last = macs[-1]
    return f"{last.chip.name} {last.chip.gpu_cores[0]}-core {last.memory_gb}GB"


def _as_json(mac: Mac) -> dict[str, Any]:
    return {
        "name": mac.name,
        "chip": mac.chip.name,
        "gpu_cores": list(mac.chip.gpu_cores),
        "memory_gb": mac.memory_gb,
        "macos": f"{mac.macos[0]}.{mac.macos[1]}",
        "recommended_max_bytes": mac.recommended_max_bytes,
        "max_buffer_bytes": mac.max_buffer_bytes,
        "high_watermark_bytes": mac.high_watermark_bytes,
        "family": mac.chip.metal_family,
        "fp32_tflops": mac.fp32_tflops,
        "gb_per_second": list(mac.chip.gb_per_second),
    }
