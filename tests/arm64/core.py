"""Compiles the core for arm64 with the flags of a real build: python -m arm64.core FOLDER

OPENMPS_CXX names the compiler, FOLDER has arm64's Python headers: those of a Debian package choose
between processors. The core is not linked: torch's libraries for arm64 are not here. What needs
none of torch's is linked as well.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

from openmps.build.compiler import find_compiler
from openmps.device import core, extensions
from openmps.targets import cuda_driver


def compile_core(headers: str) -> int:
    """Returns how many of its units the compiler refused."""
    job = core.job(core.find_torch(), [])
    compiler = find_compiler().path
    with tempfile.TemporaryDirectory(prefix="openmps-") as folder:
        running = []
        for number, sources in enumerate(job.units):
            unit = Path(folder, f"unit{number}.cpp")
            unit.write_text("".join(f'#include "{source}"\n' for source in sources))
            command = [compiler, *job.compile_flags, "-idirafter", headers, "-c", str(unit)]
            running.append(subprocess.Popen([*command, "-o", str(unit.with_suffix(".o"))]))
        refused = sum(process.wait() != 0 for process in running)
    print(f"the core for arm64: {len(running)} units compiled, {refused} refused")
    return refused


if __name__ == "__main__":
    refused = compile_core(sys.argv[1])
    print("linked:", extensions.build(core.find_torch()).name, cuda_driver.build().name)
    sys.exit(refused)
