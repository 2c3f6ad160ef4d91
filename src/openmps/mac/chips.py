"""Apple's chips as sold, and the Mac that a text such as "M3 Max 30-core 36GB" names."""

from __future__ import annotations

import difflib
import re
from dataclasses import dataclass

from openmps.errors import SettingError
from openmps.mac.macos import Release, parse_macos
from openmps.mac.working_set import recommended_bytes

HIGH_WATERMARK_RATIO = 1.7  # PyTorch's default: times the recommended memory


@dataclass(frozen=True)
class Chip:
    name: str
    family: int  # of Metal's Apple GPU families
    gpu_cores: tuple[int, ...]  # as sold, the smaller variant first
    fp32_tflops: float  # of the largest variant
    gb_per_second: tuple[int, ...]  # to memory, by variant
    memory_gb: tuple[int, ...]

    @property
    def metal_family(self) -> str:
        return f"Apple{self.family}"


# Speeds are published figures. M5 Pro and M5 Max have smaller variants whose cores are not known
# here. The MacBook Neo is left out: neither its GPU cores nor its Metal name and family are known.
CHIPS = (
    Chip("M1", 7, (7, 8), 2.617, (68, 68), (8, 16)),
    Chip("M1 Pro", 7, (14, 16), 5.308, (200, 200), (16, 32)),
    Chip("M1 Max", 7, (24, 32), 10.617, (400, 400), (32, 64)),
    Chip("M1 Ultra", 7, (48, 64), 21.233, (800, 800), (64, 128)),
    Chip("M2", 8, (8, 10), 3.579, (100, 100), (8, 16, 24)),
    Chip("M2 Pro", 8, (16, 19), 6.8, (200, 200), (16, 32)),
    Chip("M2 Max", 8, (30, 38), 13.6, (400, 400), (32, 64, 96)),
    Chip("M2 Ultra", 8, (60, 76), 27.2, (800, 800), (64, 128, 192)),
    Chip("M3", 9, (8, 10), 4.1, (100, 100), (8, 16, 24)),
    Chip("M3 Pro", 9, (14, 18), 7.4, (150, 150), (18, 36)),
    Chip("M3 Max", 9, (30, 40), 14.2, (300, 400), (36, 48, 64, 96, 128)),
    Chip("M3 Ultra", 9, (60, 80), 28.4, (819, 819), (96, 256, 512)),
    Chip("M4", 9, (8, 10), 4.6, (120, 120), (16, 24, 32)),
    Chip("M4 Pro", 9, (16, 20), 9.2, (273, 273), (24, 48, 64)),
    Chip("M4 Max", 9, (32, 40), 18.4, (410, 546), (36, 48, 64, 128)),
    Chip("M5", 10, (8, 10), 5.7, (153, 153), (16, 24, 32)),
    Chip("M5 Pro", 10, (20,), 11.4, (307,), (24, 36, 48, 64)),
    Chip("M5 Max", 10, (40,), 22.8, (614,), (36, 48, 64, 128)),
)


@dataclass(frozen=True)
class Mac:
    chip: Chip
    gpu_cores: int
    memory_gb: int
    macos: Release

    @property
    def name(self) -> str:
        """What `parse_mac` reads; the larger variant goes without its cores."""
        cores = "" if self.gpu_cores == self.chip.gpu_cores[-1] else f" {self.gpu_cores}-core"
        return f"{self.chip.name}{cores} {self.memory_gb}GB"

    @property
    def metal_name(self) -> str:
        return f"Apple {self.chip.name}"

    @property
    def fp32_tflops(self) -> float:
        return self.chip.fp32_tflops * self.gpu_cores / self.chip.gpu_cores[-1]

    @property
    def gb_per_second(self) -> int:
        return self.chip.gb_per_second[self.chip.gpu_cores.index(self.gpu_cores)]

    @property
    def recommended_max_bytes(self) -> int:
        """Metal's recommendedMaxWorkingSetSize."""
        return recommended_bytes(self.memory_gb, self.macos)

    @property
    def max_buffer_bytes(self) -> int:
        """Metal's maxBufferLength."""
        return self.recommended_max_bytes * 3 // 4

    @property
    def high_watermark_bytes(self) -> int:
        """What PyTorch lets a process allocate, unless told otherwise."""
        return int(HIGH_WATERMARK_RATIO * self.recommended_max_bytes)

    def __str__(self) -> str:
        return f"{self.name}, macOS {self.macos[0]}.{self.macos[1]}"


# "M3 Max", then "30-core" and "36GB" in either order. Separators have become single spaces.
# Longest name first: "m1pro16gb" is no M1.
_NAMES = sorted((chip.name.lower() for chip in CHIPS), key=len, reverse=True)
_CHIP = re.compile(f"(?:apple ?)?({'|'.join(_NAMES).replace(' ', ' ?')})(?![a-z])")
_CORES = re.compile(r" ?(\d{1,4}) ?(?:gpu ?)?cores?(?: ?gpu)?(?![a-z])")
_MEMORY = re.compile(r" ?(\d{1,4}) ?(?:g|gb|gib)?(?![a-z\d])")


def parse_mac(text: str, macos: str) -> Mac:
    """Reads "M1 8GB", "m3max 30-core 36", "M4 Pro": case and spacing do not matter.

    Without cores it is the larger variant, without memory the smallest size.
    """
    plain = re.sub(r"[\s_,-]+", " ", text).strip().lower() if text.isascii() else ""
    match = _CHIP.match(plain)
    if match is None:
        raise _no_such_mac(plain, text)
    chip = _BY_NAME[squeeze(match[1])]
    cores, memory_gb = _read_sizes(plain, match.end(), text)
    if cores is not None and cores not in chip.gpu_cores:
        known = ", ".join(f"{count}-core" for count in chip.gpu_cores)
        raise SettingError(
            f"no {chip.name} with {cores} GPU cores is known",
            found=repr(text),
            next_step=f"use {known}, or leave the cores out",
        )
    if memory_gb is not None and memory_gb not in chip.memory_gb:
        sold = ", ".join(f"{size}GB" for size in chip.memory_gb)
        meant = f'; for the cores write "{memory_gb}-core"' if memory_gb in chip.gpu_cores else ""
        raise SettingError(
            f"no {chip.name} was sold with {memory_gb}GB",
            found=repr(text),
            next_step=f"use {sold}{meant}",
        )
    return Mac(
        chip, cores or chip.gpu_cores[-1], memory_gb or chip.memory_gb[0], parse_macos(macos)
    )


def _read_sizes(plain: str, place: int, text: str) -> tuple[int | None, int | None]:
    """GPU cores and GB, where they are named."""
    cores: int | None = None
    memory_gb: int | None = None
    while place < len(plain):
        if cores is None and (match := _CORES.match(plain, place)):
            cores = int(match[1])
        elif memory_gb is None and (match := _MEMORY.match(plain, place)):
            memory_gb = int(match[1])
        else:
            raise _no_such_mac(plain, text)
        place = match.end()
    return cores, memory_gb


def _no_such_mac(plain: str, text: str) -> SettingError:
    # Without "apple" and the sizes, which are no help in finding a name alike.
    name = squeeze(re.sub(r"^apple|(?<=\w )\d+.*$", "", plain)) or plain
    close = difflib.get_close_matches(name, _BY_NAME, n=3, cutoff=0.3) or list(_BY_NAME)
    return SettingError(
        "no such Mac",
        found=repr(text),
        next_step="name a chip and its memory, such as "
        + ", ".join(f'"{_BY_NAME[c].name} {_BY_NAME[c].memory_gb[0]}GB"' for c in close)
        + "; `openmps macs` lists all",
    )


def squeeze(text: str) -> str:
    """For comparing names: case and separators do not matter."""
    return re.sub(r"[\s_,-]+", "", text).lower()


_BY_NAME = {squeeze(chip.name): chip for chip in CHIPS}
