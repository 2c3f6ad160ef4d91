"""The page of settings: ours from `openmps.settings`, PyTorch's from the table below."""

from __future__ import annotations

from html import escape

from openmps import settings

# Variables of PyTorch's (and one of Metal's) that the device reads as a Mac does.
PYTORCH = {
    "PYTORCH_ENABLE_MPS_FALLBACK": (
        "",
        "1 runs operators that a Mac lacks on the CPU, with a warning. A Mac reads it when torch "
        "is imported; here it counts whenever it is set.",
    ),
    "PYTORCH_MPS_HIGH_WATERMARK_RATIO": (
        "1.7",
        "How much mps may take, times what Metal recommends. 0.0 lifts the limit.",
    ),
    "PYTORCH_MPS_LOW_WATERMARK_RATIO": (
        "1.4",
        "Above that, times what Metal recommends, the allocator gives back more of what it keeps.",
    ),
    "PYTORCH_DEBUG_MPS_ALLOCATOR": (
        "0",
        "A sum of bits: what the allocator says on stderr as it works.",
    ),
    "PYTORCH_MPS_LOG_PROFILE_INFO": (
        "0",
        "A sum of bits: log lines and tables on stderr. [The profiler](profiler.md) lists them.",
    ),
    "PYTORCH_MPS_TRACE_SIGNPOSTS": (
        "0",
        "A sum of bits: traces the whole process. See [the profiler](profiler.md).",
    ),
    "PYTORCH_MPS_FAST_MATH": ("0", "1 compiles Metal shaders with fast maths."),
    "PYTORCH_MPS_DISABLE_PREFILL_ATTENTION": (
        "",
        "Set, attention without gradients does not take the path for long queries.",
    ),
    "PYTORCH_UNARY_FORCE_FLAVOR": ("", "Which form of a C++ extension's unary kernel is launched."),
    "PYTORCH_BINARY_FORCE_FLAVOR": ("", "The same for binary kernels."),
    "MTL_CAPTURE_ENABLED": ("0", "1 allows `torch.mps.profiler.metal_capture`."),
}

_INTRODUCTION = """\
# Settings

Environment variables. This page is made from the code.

## Of openmps

An empty one counts as not set. `openmps run --mac --macos --engine` and `openmps.activate(mac=...)`
set the same for one program, and for the processes that it starts.
"""


_FILES = """
## Where files go, and what if they cannot

Built files are in `OPENMPS_CACHE_DIR`, else in `$XDG_CACHE_HOME/openmps`, else in
`~/.cache/openmps`. Who can write there can run code as you, so only you may write to the files that
openmps creates, whatever the umask. A cache that has everything needed is read without a lock and
without a write: it can be part of a container image that runs as any user, read-only. `openmps
doctor` names the folder and says whether it can be written to.

"""
IF_THEY_CANNOT = {
    "no home folder, or one that cannot be written to": (
        "what is missing is built in `openmps-UID` in the temporary folder, which must be yours "
        "alone; one line on stderr says so"
    ),
    "a folder in `OPENMPS_CACHE_DIR` that cannot be written to": (
        "`CacheError`, as soon as something has to be built"
    ),
    "a full disk, a quota, `ulimit -f`": (
        "`CacheError`, with the folder and what is free there; nothing half-made stays"
    ),
    "a damaged file": "it is built again",
    "a core that no longer fits torch, or the machine's C library": (
        "it is built again, once; then `CacheError`"
    ),
    "a file system that is mounted `noexec`": "`CacheError`",
    "several processes that need the same": (
        "one builds, the others wait; if it is killed, another takes over"
    ),
    "a network folder without locks": "each builds, and one result stays",
    "`ulimit -v`": (
        "work that does not fit raises `MPS backend out of memory`; a Metal kernel runs on fewer "
        "threads, or raises `ShaderError`"
    ),
    "`ulimit -u`": (
        "Metal kernels run on fewer threads. PyTorch's own (OpenMP) end the process: set "
        "`OMP_NUM_THREADS=1`"
    ),
    "a trace or a ledger that cannot be written": "one line on stderr, and the program goes on",
    "a report of `check` or `run --json` that cannot be written": (
        "one line on stderr, and status 2 if the program succeeded"
    ),
}


def settings_page() -> str:
    ours = {each.variable: (each.default, escape(each.meaning)) for each in settings.ALL}
    return (
        _INTRODUCTION
        + _table(ours)
        + "\n## Of PyTorch\n\nThe device honours these as a Mac does.\n"
        + _table(PYTORCH)
        + _FILES
        + "".join(f"- **{wrong}**: {then}.\n" for wrong, then in IF_THEY_CANNOT.items())
    )


def _table(rows: dict[str, tuple[str, str]]) -> str:
    lines = [
        "",
        '<div class="settings" markdown>',
        "",
        "| variable | default | meaning |",
        "| --- | --- | --- |",
    ]
    for variable, (default, meaning) in rows.items():
        shown = f"`{default}`" if default else "none"
        lines.append(f"| `{variable}` | {shown} | {meaning} |")
    return "\n".join([*lines, "", "</div>", ""])
