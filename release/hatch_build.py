"""Makes a platform wheel of what OPENMPS_PREBUILT names; without it the wheel is pure Python.

That folder is laid out as openmps' cache is (build/store.py); scripts/wheels makes it.
"""

from __future__ import annotations

import os
import platform
import re
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

_IN_WHEEL = "openmps/prebuilt"
# The glibc of the manylinux level that allows so much of libstdc++ (GLIBCXX_3.4.N).
_GLIBC_FOR_GLIBCXX = {25: 28, 29: 34, 30: 35, 33: 39}


class PrebuiltHook(BuildHookInterface):
    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        named = os.environ.get("OPENMPS_PREBUILT", "")
        if not named or self.target_name != "wheel" or version != "standard":
            return
        folder = Path(named).resolve()
        libraries = sorted(folder.glob("*/*/*.so"))
        if not libraries:
            raise FileNotFoundError(f"OPENMPS_PREBUILT: no library in {folder}")
        for library in libraries:
            for file in (library, library.with_name("entry.json")):
                build_data["force_include"][str(file)] = f"{_IN_WHEEL}/{file.relative_to(folder)}"
        build_data["pure_python"] = False
        glibc = max(map(oldest_glibc, libraries))
        build_data["tag"] = f"py3-none-manylinux_2_{glibc}_{platform.machine()}"


def oldest_glibc(library: Path) -> int:
    """The minor number of the oldest glibc 2 that has what a library needs."""
    content = library.read_bytes()
    needed = [int(minor) for minor in re.findall(rb"\0GLIBC_2\.(\d+)", content)]
    for minor in re.findall(rb"\0GLIBCXX_3\.4\.(\d+)", content):
        levels = [glibc for most, glibc in _GLIBC_FOR_GLIBCXX.items() if int(minor) <= most]
        if not levels:
            raise ValueError(f"{library}: no manylinux level known for GLIBCXX_3.4.{int(minor)}")
        needed.append(min(levels))
    return max([28, *needed])  # torch's own wheels need as much
