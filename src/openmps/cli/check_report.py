"""What a program's ledgers say about it on a Mac. Its dictionary is the report's JSON."""

from __future__ import annotations

import os
import signal
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from openmps.errors import OpenmpsError
from openmps.mac.chips import CHIPS, Mac

SCHEMA = "openmps-check/1"
NO_LINE = "(no Python line)"

# What --fail-on may name, and which of the report's lists are then to be empty.
FAILURES = {
    "missing": "operators that a Mac does not have",
    "fallback": "operators that run on the CPU, or are missing",
    "float64": "float64 and complex128",
    "refused": "arguments that a Mac refuses",
    "limits": "tensors beyond Metal's limits",
    "sync": "calls that wait for the device",
    "memory": "more memory than the chosen Mac gives",
}

_SYNCS = {
    "aten::_local_scalar_dense": ".item()",
    "aten::copy_": ".cpu()",
}
_COPIES = {"to_device": "to mps", "to_host": "to the CPU"}


@dataclass
class Place:
    """A line of the program, with what came from it."""

    file: str
    line: int
    function: str
    count: int = 0
    bytes: int = 0
    seconds: float = 0.0

    def as_json(self) -> dict[str, Any]:
        return {**vars(self), "seconds": round(self.seconds, 6)}


@dataclass
class Finding:
    """One thing that happened, from however many lines."""

    name: str
    detail: str = ""
    status: str = ""
    count: int = 0
    bytes: int = 0
    seconds: float = 0.0
    places: dict[tuple[str, int], Place] = field(default_factory=dict)

    def add(self, where: tuple[str, str, int], count: int, size: int, ns: int) -> None:
        file, function, line = where
        place = self.places.setdefault((file, line), Place(file, line, function))
        for sum_ in (self, place):
            sum_.count += count
            sum_.bytes += size
            sum_.seconds += ns / 1e9

    def as_json(self) -> dict[str, Any]:
        places = sorted(self.places.values(), key=lambda p: (-p.seconds, -p.count, p.file, p.line))
        made: dict[str, Any] = {"name": self.name}
        if self.status:
            made["status"] = self.status
        if self.detail:
            made["detail"] = self.detail
        return made | {
            "count": self.count,
            "bytes": self.bytes,
            "seconds": round(self.seconds, 6),
            "lines": [place.as_json() for place in places],
        }


def parse_fail_on(text: str) -> list[str]:
    names = [name.strip().lower() for name in text.split(",") if name.strip()]
    for name in names:
        if name not in FAILURES:
            raise OpenmpsError(
                "--fail-on does not know this",
                found=repr(name),
                next_step=f"use a list of {', '.join(FAILURES)}",
            )
    return names


def make_report(
    command: list[str], status: int, ledgers: list[dict[str, Any]], mac: Mac, fail_on: list[str]
) -> dict[str, Any]:
    findings = _collect(ledgers)
    report: dict[str, Any] = {
        "schema": SCHEMA,
        "command": command,
        "mac": str(mac),
        "engine": ledgers[0]["engine"] if ledgers else "",
        "ended": _ending(status, ledgers),
        "seconds": round(max((ledger["ns"] for ledger in ledgers), default=0) / 1e9, 3),
        "processes": len(ledgers),
        "operators": _listed(findings, "native", "fallback", "missing"),
        "float64": _listed(findings, "float64"),
        "refused": _listed(findings, "refused"),
        "limits": _listed(findings, "limit"),
        "syncs": _listed(findings, "sync"),
        "copies": _listed(findings, "to_device", "to_host"),
        "shaders": _listed(findings, "shader"),
        "memory": _memory(ledgers, mac),
    }
    report["verdict"] = _verdict(report, mac)
    report["failed_on"] = [name for name in fail_on if _fails(name, report)]
    return report


def _collect(ledgers: Iterable[dict[str, Any]]) -> dict[str, dict[tuple[str, str], Finding]]:
    kinds: dict[str, dict[tuple[str, str], Finding]] = defaultdict(dict)
    for ledger in ledgers:
        for kind, name, detail, line, count, size, ns in ledger["events"]:
            shown = _shown(kind, name)
            found = kinds[kind].setdefault((shown, detail), Finding(shown, detail))
            found.add(_where(ledger, line), count, size, ns)
    return kinds


def _shown(kind: str, name: str) -> str:
    """A copy is a copy, whichever operator makes it; a wait is called as the program wrote it."""
    if kind in _COPIES:
        return _COPIES[kind]
    return _SYNCS.get(name, name) if kind == "sync" else name


def _where(ledger: dict[str, Any], line: int) -> tuple[str, str, int]:
    if line == 0:
        return NO_LINE, "", 0
    file, function, number = ledger["lines"][line - 1]
    return short_path(file), function, number


def short_path(file: str) -> str:
    """From here, if it lies below; or as it is."""
    if not os.path.isabs(file):
        return file
    try:
        return str(Path(file).relative_to(Path.cwd()))
    except ValueError:
        return file


def _listed(
    findings: dict[str, dict[tuple[str, str], Finding]], *kinds: str
) -> list[dict[str, Any]]:
    """The most costly first."""
    found = []
    for kind in kinds:
        for finding in findings.get(kind, {}).values():
            finding.status = kind if len(kinds) > 1 else ""
            found.append(finding)
    found.sort(key=lambda f: (-f.seconds, -f.bytes, -f.count, f.name, f.detail))
    return [finding.as_json() for finding in found]


def _ending(status: int, ledgers: list[dict[str, Any]]) -> dict[str, Any]:
    """How the program ended, in numbers and in words."""
    error = next((ledger["error"] for ledger in ledgers if ledger["error"]), "")
    if status < 0:
        name = signal.Signals(-status).name
        return {"exit_code": None, "signal": name, "error": error}
    return {"exit_code": status, "signal": None, "error": error}


def _memory(ledgers: list[dict[str, Any]], mac: Mac) -> dict[str, Any]:
    """Of the process that took most; the peaks of others may be at other times."""
    most: dict[str, Any] = max(ledgers, key=lambda ledger: ledger["peak_live"], default={})
    peak, largest = most.get("peak_live", 0), 0
    lines = []
    for number, at_peak, biggest in most.get("held", ()):
        file, function, line = _where(most, number)
        largest = max(largest, biggest)
        place = {"file": file, "line": line, "function": function}
        lines.append({**place, "bytes_at_peak": at_peak, "largest_bytes": biggest})
    lines.sort(key=lambda place: (-place["bytes_at_peak"], -place["largest_bytes"]))
    reached = None
    if most.get("peak_line"):
        file, function, line = _where(most, most["peak_line"])
        reached = {"file": file, "line": line, "function": function}
    needs = _Needs(peak, most.get("peak_reserved", 0), largest)
    all_macs = [Mac(c, c.gpu_cores[-1], size, mac.macos) for c in CHIPS for size in c.memory_gb]
    macs = [_fit(each, needs) for each in all_macs]
    return {
        "peak_bytes": peak,
        "peak_reserved_bytes": needs.reserved,
        "largest_buffer_bytes": largest,
        "peak_reached_at": reached,
        "lines": lines,
        "over_time": [[ns / 1e9, live, reserved] for ns, live, reserved in most.get("memory", ())],
        "chosen": _fit(mac, needs),
        "macs": macs,
        "fits": _fits_text(macs),
    }


class _Needs(NamedTuple):
    live: int
    reserved: int  # with what an allocator without limits keeps for later
    largest: int


def _fit(mac: Mac, needs: _Needs) -> dict[str, Any]:
    """A Mac frees what it keeps before it gives up, so what counts is what is in use.

    Where only that would save it, it may still be too fragmented: that is not certain.
    """
    fits = needs.live <= mac.high_watermark_bytes and needs.largest < mac.max_buffer_bytes
    return {
        "name": mac.name,
        "memory_gb": mac.memory_gb,
        "limit_bytes": mac.high_watermark_bytes,
        "recommended_bytes": mac.recommended_max_bytes,
        "fits": fits,
        "certain": not fits or needs.reserved <= mac.high_watermark_bytes,
        # Beyond what Metal recommends macOS starts to swap.
        "comfortably": fits and needs.live <= mac.recommended_max_bytes,
    }


def _fits_text(macs: list[dict[str, Any]]) -> str:
    fitting = [mac for mac in macs if mac["fits"]]
    if not fitting:
        return "fits no Mac"
    smallest = min(fitting, key=lambda mac: mac["memory_gb"])
    if len(fitting) == len(macs):
        return f"fits every Mac ({smallest['name']} and up)"
    return f"fits {smallest['name']} and up"


def _verdict(report: dict[str, Any], mac: Mac) -> dict[str, Any]:
    """Whether the program works on a Mac: True, False, or None where that cannot be said."""
    against = []
    missing = _of_status(report, "missing")
    if missing:
        names = _names(missing)
        against.append(
            f"{_counted(missing, 'operator')} missing ({names}); PYTORCH_ENABLE_MPS_FALLBACK=1 "
            f"would run {'it' if len(missing) == 1 else 'them'} on the CPU"
        )
    for key, words in (
        ("float64", "float64 or complex128 on mps"),
        ("refused", "arguments that a Mac refuses"),
        ("limits", "tensors beyond Metal's limits"),
    ):
        if report[key]:
            places = sum(len(finding["lines"]) for finding in report[key])
            against.append(f"{words} at {places} line{'' if places == 1 else 's'}")
    if not report["memory"]["chosen"]["fits"]:
        against.append(f"it does not fit {mac.name}: it {report['memory']['fits']}")
    if against:
        return {"works": False, "because": against}
    ended = report["ended"]
    if ended["signal"] or ended["exit_code"]:
        how = ended["error"] or ended["signal"] or f"exit status {ended['exit_code']}"
        why = f"it ended early ({how}); until then nothing was seen that a Mac refuses"
        return {"works": None, "because": [why]}
    if not report["operators"] and not report["memory"]["peak_bytes"]:
        why = "it did nothing on mps: move its tensors and modules to torch.device('mps')"
        return {"works": None, "because": [why]}
    return {"works": True, "because": []}


def _of_status(report: dict[str, Any], *statuses: str) -> list[dict[str, Any]]:
    return [operator for operator in report["operators"] if operator["status"] in statuses]


def _counted(found: list[dict[str, Any]], noun: str) -> str:
    return f"{len(found)} {noun}{'' if len(found) == 1 else 's'}"


def _names(found: list[dict[str, Any]], most: int = 3) -> str:
    names = ", ".join(finding["name"] for finding in found[:most])
    return names + (", ..." if len(found) > most else "")


def _fails(name: str, report: dict[str, Any]) -> bool:
    if name == "missing":
        return bool(_of_status(report, "missing"))
    if name == "fallback":
        return bool(_of_status(report, "missing", "fallback"))
    if name == "sync":
        return bool(report["syncs"])
    if name == "memory":
        return not report["memory"]["chosen"]["fits"]
    return bool(report[name])
