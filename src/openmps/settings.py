"""Every setting, with its default and a sentence. The only reader of `OPENMPS*` variables."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from openmps.errors import SettingError


@dataclass(frozen=True)
class Setting:
    variable: str
    default: str
    meaning: str

    def read(self) -> str:
        return os.environ.get(self.variable, "").strip() or self.default


ACTIVE = Setting("OPENMPS", "0", "1 gives every Python process that imports torch the mps device.")
ENGINE = Setting("OPENMPS_ENGINE", "auto", "Where the work runs: cpu, cuda or auto (a GPU if any).")
MAC = Setting("OPENMPS_MAC", "M4 16GB", "The Mac to behave as: a chip and a memory size.")
MACOS = Setting("OPENMPS_MACOS", "26.0", "The macOS release of that Mac.")
STRICT = Setting("OPENMPS_STRICT", "1", "0 runs what a Mac would refuse: operators and dtypes.")
AUTOCAST = Setting(
    "OPENMPS_AUTOCAST",
    "auto",
    "Batch norms under autocast: mac, in float32; narrow, float32 that is rounded to bfloat16; "
    "cuda, with CUDA's dtypes; auto, narrow on a GPU.",
)
SHIMS = Setting(
    "OPENMPS_SHIMS", "1", "0 leaves libraries that ask whether the machine is Apple's as they are."
)
CACHE_DIR = Setting("OPENMPS_CACHE_DIR", "", "Where built cores are kept; empty: the user's cache.")
CXX = Setting("OPENMPS_CXX", "", "C++ compiler for the device core; empty: c++, g++ or clang++.")
CXXFLAGS = Setting("OPENMPS_CXXFLAGS", "", "Flags added to the core's compile and link commands.")

SHADER_CXX = Setting(
    "OPENMPS_SHADER_CXX", "", "C++ compiler for Metal shaders; empty: the clang of ziglang."
)
SHADER_CPU = Setting(
    "OPENMPS_SHADER_CPU",
    "native",
    "The processor that Metal kernels are compiled for: native, x86-64-v2, x86-64-v3, x86-64-v4; "
    "armv8-a on arm64.",
)
SHADER_TIME_LIMIT = Setting(
    "OPENMPS_SHADER_TIME_LIMIT", "0", "Seconds after which a Metal kernel is stopped; 0: never."
)

TRACE_FILE = Setting(
    "OPENMPS_TRACE_FILE", "", "Where torch.mps.profiler writes its trace; empty: a new file here."
)

RECORD = Setting(
    "OPENMPS_RECORD", "", "A folder for what each process does on mps; `openmps check` sets it."
)
FIND_ALL = Setting(
    "OPENMPS_FIND_ALL", "0", "1: what a Mac refuses is recorded, and done; `openmps check` sets it."
)

ALL = (
    ACTIVE,
    ENGINE,
    MAC,
    MACOS,
    STRICT,
    AUTOCAST,
    SHIMS,
    CACHE_DIR,
    CXX,
    CXXFLAGS,
    SHADER_CXX,
    SHADER_CPU,
    SHADER_TIME_LIMIT,
    TRACE_FILE,
    RECORD,
    FIND_ALL,
)

_ON = frozenset({"1", "true", "yes", "on"})
_OFF = frozenset({"0", "false", "no", "off"})


def asked_for() -> bool:
    """Whether the environment asks for the device."""
    return _is_on(ACTIVE)


def is_strict() -> bool:
    """Whether what a Mac refuses is refused here."""
    return _is_on(STRICT)


def finds_all() -> bool:
    """Whether what a Mac refuses is recorded and done anyway."""
    return _is_on(FIND_ALL)


def has_shims() -> bool:
    """Whether libraries that look at the machine are answered as on a Mac."""
    return _is_on(SHIMS)


def autocast(standard: str) -> str:
    """How batch norms are taken under autocast: mac, narrow or cuda; `standard` if nobody says."""
    value = AUTOCAST.read().lower()
    if value == "auto":
        return standard
    if value not in ("mac", "narrow", "cuda"):
        raise SettingError(
            f"{AUTOCAST.variable} must be auto, mac, narrow or cuda",
            found=repr(value),
            next_step=f"set {AUTOCAST.variable} to one of them, or leave it out",
        )
    return value


def check() -> None:
    """Raises what activation, or a shader later, would raise: an unknown word."""
    for setting in (STRICT, FIND_ALL, SHIMS):
        _is_on(setting)
    autocast("mac")
    shader_time_limit()


def _is_on(setting: Setting) -> bool:
    value = setting.read().lower()
    if value in _ON:
        return True
    if value in _OFF:
        return False
    raise SettingError(
        f"{setting.variable} must be 1 or 0",
        found=repr(value),
        next_step=f"set {setting.variable} to 1 or to 0",
    )


def shader_time_limit() -> float:
    """Seconds; 0 for none."""
    text = SHADER_TIME_LIMIT.read()
    try:
        seconds = float(text)
    except ValueError:
        seconds = -1.0
    if not 0 <= seconds < float("inf"):
        raise SettingError(
            f"{SHADER_TIME_LIMIT.variable} must be a number of seconds, 0 for no limit",
            found=repr(text),
            next_step=f"set {SHADER_TIME_LIMIT.variable}=10, or leave it out",
        )
    return seconds


def cache_dir() -> Path | None:
    """What OPENMPS_CACHE_DIR names, else the user's; None for a user without a home folder."""
    if CACHE_DIR.read():
        return path_of(CACHE_DIR)
    base = os.environ.get("XDG_CACHE_HOME", "")
    if os.path.isabs(base):  # the specification says to ignore a relative path here
        return Path(base) / "openmps"
    home = os.path.expanduser("~")
    return Path(home) / ".cache" / "openmps" if os.path.isabs(home) else None


def path_of(setting: Setting) -> Path:
    try:
        return Path(setting.read()).expanduser()
    except RuntimeError:  # containers run as users that no list of users has
        raise SettingError(
            f"{setting.variable} names a home folder, and there is no such home folder",
            found=setting.read(),
            next_step="name the folder from / on",
        ) from None


def export(engine: str, mac: str, macos: str) -> None:
    """Lets child processes (spawned workers, subprocesses) be the same Mac as this one."""
    os.environ[ACTIVE.variable] = "1"
    os.environ[ENGINE.variable] = engine
    os.environ[MAC.variable] = mac
    os.environ[MACOS.variable] = macos
