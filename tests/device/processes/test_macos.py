"""What depends on the macOS release: `openmps run --macos`, from the command line to the device."""

from __future__ import annotations

import json

import pytest

import openmps
from openmps.errors import AlreadyActive

# Answers of is_macos_or_newer by release, in the order of ASKED.
ASKED = [(13, 0), (13, 7), (14, 0), (14, 2), (14, 4), (15, 0), (15, 1), (15, 2), (26, 0), (26, 3)]
ANSWERS = {
    "14.0": "YYY-------",
    "14.3": "YYY-------",
    "14.4": "YYYYY-----",
    "14.8": "YYYYY-----",
    "15.0": "YYYYYY----",
    "15.1": "YYYYYYYY--",
    "26.0": "YYYYYYYYYY",
    "26.4": "YYYYYYYYYY",
    "27.0": "YYYYYYYYYY",
}
WARNINGS = {
    "14.2": "Can't check whether running on 14.2+ returning one for 14.4+",
    "15.2": "Can't check whether running on 15.2+ returning one for 15.1+",
    "26.3": "Can't check whether running on 26.3+ returning one for 26.0+",
    "12.0": "Checking for unexpected MacOS 12.0 returning false",
    "16.1": "Checking for unexpected MacOS 16.1 returning false",
    "28.0": "Checking for unexpected MacOS 28.0 returning false",
}
PROGRAM = f"""
import json, warnings, torch
newer = torch.backends.mps.is_macos_or_newer
warned = {{}}
answers = []
for release in {[*ASKED, (12, 0), (16, 1), (28, 0)]}:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        answers.append("-Y"[newer(*release)])
    for warning in caught:
        assert warning.category is UserWarning
        warned["%d.%d" % release] = str(warning.message).split(" (Triggered")[0]
print(json.dumps(["".join(answers), warned, torch.mps.recommended_max_memory()]))
"""


@pytest.mark.parametrize("macos", ANSWERS)
def test_the_ladder_of_releases_and_its_warnings(python, macos: str) -> None:
    done = python("-m", "openmps", "run", "--mac", "M1 7-core", "--macos", macos, "-c", PROGRAM)
    assert done.returncode == 0, done.stderr
    answers, warned, recommended = json.loads(done.stdout)
    assert answers == ANSWERS[macos] + "---"
    assert warned == WARNINGS
    assert recommended / 2**30 == pytest.approx(5.92 if macos >= "26" else 5.3333, abs=0.001)


def test_the_smaller_variant_reaches_the_program_and_its_children(python) -> None:
    child = "import torch; print(torch.backends.mps.get_core_count())"
    program = (
        "import subprocess, sys, torch\n"
        "m = torch.backends.mps\n"
        "print(m.get_name(), m.get_core_count(), flush=True)\n"
        f"subprocess.run([sys.executable, '-c', {child!r}])\n"
    )
    done = python("-m", "openmps", "run", "--mac", "m3max 30-core", "-c", program)
    assert done.stdout == "Apple M3 Max 30\n30\n"


@pytest.mark.parametrize("macos", ["13.6", "28", "Sonoma"])
def test_a_release_that_is_none_stops_the_run(python, macos: str) -> None:
    done = python("-m", "openmps", "run", "--macos", macos, "-c", "print('ran')")
    assert done.returncode == 2
    assert done.stdout == ""
    assert f"found: '{macos}'" in done.stderr
    assert "macOS 14, 15, 26 or 27" in done.stderr


def test_another_variant_is_another_mac() -> None:
    with pytest.raises(AlreadyActive):
        openmps.activate(mac="M4 8-core 16GB")
