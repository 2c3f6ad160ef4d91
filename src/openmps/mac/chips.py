"""Apple's chips as sold, and how much memory Metal recommends using on them."""

from __future__ import annotations

import difflib
import re
from dataclasses import dataclass

from openmps.errors import SettingError

_GIB = 1 << 30
_PAGE = 16 << 10  # Apple silicon


@dataclass(frozen=True)
class Chip:
    name: str
    gpu_cores: int  # of the larger variant
    memory_gb: tuple[int, ...]


CHIPS = (
    Chip("M1", 8, (8, 16)),
    Chip("M1 Pro", 16, (16, 32)),
    Chip("M1 Max", 32, (32, 64)),
    Chip("M1 Ultra", 64, (64, 128)),
    Chip("M2", 10, (8, 16, 24)),
    Chip("M2 Pro", 19, (16, 32)),
    Chip("M2 Max", 38, (32, 64, 96)),
    Chip("M2 Ultra", 76, (64, 128, 192)),
    Chip("M3", 10, (8, 16, 24)),
    Chip("M3 Pro", 18, (18, 36)),
    Chip("M3 Max", 40, (36, 48, 64, 96, 128)),
    Chip("M3 Ultra", 80, (96, 256, 512)),
    Chip("M4", 10, (16, 24, 32)),
    Chip("M4 Pro", 20, (24, 48, 64)),
    Chip("M4 Max", 40, (36, 48, 64, 128)),
    Chip("M5", 10, (16, 24, 32)),
    Chip("M5 Pro", 20, (24, 36, 48, 64)),
    Chip("M5 Max", 40, (36, 48, 64, 128)),
)

# Share of RAM that Metal recommends before macOS 26, up to 32 GiB: two thirds as a 32-bit float,
# which is why machines where it comes out even still report one page more.
_TWO_THIRDS = 0.6666666865348816

# Share of RAM that Metal recommends from macOS 26 on, by RAM in GiB at most.
_SHARE_FROM_26 = ((24, 0.74), (48, 0.78), (96, 0.81), (128, 0.84))
_SHARE_FROM_26_LARGEST = 0.87


@dataclass(frozen=True)
class Mac:
    chip: Chip
    memory_gb: int
    macos: tuple[int, int]

    @property
    def metal_name(self) -> str:
        return f"Apple {self.chip.name}"

    @property
    def recommended_max_bytes(self) -> int:
        """Metal's recommendedMaxWorkingSetSize."""
        share = _memory_share(self.memory_gb, self.macos)
        return -(-int(self.memory_gb * _GIB * share) // _PAGE) * _PAGE

    @property
    def max_buffer_bytes(self) -> int:
        """Metal's maxBufferLength."""
        return self.recommended_max_bytes * 3 // 4

    def __str__(self) -> str:
        return f"{self.chip.name} {self.memory_gb}GB, macOS {self.macos[0]}.{self.macos[1]}"


def _memory_share(memory_gb: int, macos: tuple[int, int]) -> float:
    if macos < (26, 0):
        return _TWO_THIRDS if memory_gb <= 32 else 3 / 4
    for at_most, share in _SHARE_FROM_26:
        if memory_gb <= at_most:
            return share
    return _SHARE_FROM_26_LARGEST


def parse_mac(text: str, macos: str) -> Mac:
    """Reads "M1 8GB", "m3max 64", "M4 Pro": case and spacing do not matter."""
    squeezed = re.sub(r"^apple", "", _squeeze(text))
    by_name = {_squeeze(chip.name): chip for chip in CHIPS}
    # Longest name first: "m1pro16gb" is no M1.
    for name in sorted(by_name, key=len, reverse=True):
        match = re.fullmatch(re.escape(name) + r",?(?:(\d+)(?:gi?b?)?)?", squeezed)
        if match:
            chip = by_name[name]
            memory_gb = int(match[1]) if match[1] else chip.memory_gb[0]
            break
    else:
        close = difflib.get_close_matches(squeezed, by_name, n=3, cutoff=0.3) or list(by_name)
        raise SettingError(
            "no such Mac",
            found=repr(text),
            next_step="name a chip and its memory, such as "
            + ", ".join(f'"{by_name[c].name} {by_name[c].memory_gb[0]}GB"' for c in close),
        )
    if memory_gb not in chip.memory_gb:
        sold = ", ".join(f"{size}GB" for size in chip.memory_gb)
        raise SettingError(
            f"no {chip.name} was sold with {memory_gb}GB", found=repr(text), next_step=f"use {sold}"
        )
    return Mac(chip, memory_gb, parse_macos(macos))


def parse_macos(text: str) -> tuple[int, int]:
    match = re.fullmatch(r"(\d{2})(?:\.(\d{1,2}))?(?:\.\d{1,2})?", text.strip())
    release = (int(match[1]), int(match[2] or 0)) if match else (0, 0)
    if release < (14, 0):
        raise SettingError(
            "no such macOS release, or one too old for PyTorch's mps device",
            found=repr(text),
            next_step="use 14.0 or newer, such as 14.4, 15.1 or 26.0",
        )
    return release


def _squeeze(text: str) -> str:
    return re.sub(r"[\s_-]+", "", text).lower()
