from __future__ import annotations

import json

import pytest

from openmps.cli import macs
from openmps.errors import OpenmpsError
from openmps.mac.chips import CHIPS


def listed(capsys: pytest.CaptureFixture[str], pattern: str, macos: str) -> list[dict]:
    macs.list_macs(pattern, macos, as_json=True)
    return json.loads(capsys.readouterr().out)


def test_json_has_every_figure(capsys: pytest.CaptureFixture[str]) -> None:
    assert listed(capsys, "m3 max 36gb", "15.1") == [
        {
            "name": "M3 Max 36GB",
            "chip": "M3 Max",
            "gpu_cores": [30, 40],
            "memory_gb": 36,
            "macos": "15.1",
            "recommended_max_bytes": 27 << 30,
            "max_buffer_bytes": 27 * 3 << 28,
            "high_watermark_bytes": int(1.7 * (27 << 30)),
            "family": "Apple9",
            "fp32_tflops": 14.2,
            "gb_per_second": [300, 400],
        }
    ]


def test_without_a_pattern_every_mac_is_listed(capsys: pytest.CaptureFixture[str]) -> None:
    names = [mac["name"] for mac in listed(capsys, "", "26.0")]
    assert names == [f"{chip.name} {size}GB" for chip in CHIPS for size in chip.memory_gb]


@pytest.mark.parametrize(
    ("pattern", "names"),
    [
        ("m1ultra", ["M1 Ultra 64GB", "M1 Ultra 128GB"]),
        ("M5 PRO 3", ["M5 Pro 36GB"]),
        ("*192gb", ["M2 Ultra 192GB"]),
        ("m[1-2] pro*", ["M1 Pro 16GB", "M1 Pro 32GB", "M2 Pro 16GB", "M2 Pro 32GB"]),
        ("14-core 18", ["M3 Pro 18GB"]),
    ],
)
def test_patterns(capsys: pytest.CaptureFixture[str], pattern: str, names: list[str]) -> None:
    assert [mac["name"] for mac in listed(capsys, pattern, "26.0")] == names


def test_a_pattern_that_matches_nothing_is_an_error() -> None:
    with pytest.raises(OpenmpsError, match="no Mac has such a name") as error:
        macs.list_macs("M9", "", as_json=True)
    assert error.value.found == "'M9'"
    assert "none to see all" in error.value.next_step


def test_the_table_fits_a_terminal_and_follows_macos(python) -> None:
    old = python("-m", "openmps", "macs", "M1 16GB", "--macos", "14.4", COLUMNS="80")
    assert old.returncode == 0, old.stderr
    head, body = old.stdout.split("M1", 1)
    columns = "recommended buffer high chip GPU cores memory max limit watermark family"
    assert " ".join(head.split()) == columns
    assert "7 or 8 16 10.67 8.00 18.13 Apple7" in " ".join(body.split())
    assert 'openmps run --mac "M1 7-core 16GB" --macos 14.4' in body
    new = python("-m", "openmps", "macs", "M1 16GB", OPENMPS_MACOS="26.1", COLUMNS="80")
    assert "M1 7 or 8 16 11.84 8.88 20.13 Apple7" in " ".join(new.stdout.split())


def test_a_malformed_mac_does_not_hide_the_list_of_valid_ones(python) -> None:
    done = python("-m", "openmps", "macs", "M1", OPENMPS_MAC="M9 Extreme", COLUMNS="80")
    assert done.returncode == 0
    assert "Chosen now: M9 Extreme" in done.stdout


def test_a_malformed_macos_is_told(python) -> None:
    done = python("-m", "openmps", "macs", "--macos", "Sonoma")
    assert done.returncode == 2
    assert "found: 'Sonoma'" in done.stderr
    assert "Traceback" not in done.stderr


def test_torch_is_not_imported(python) -> None:
    code = (
        "import sys; from openmps.cli.main import app\n"
        "app(['macs'], standalone_mode=False)\n"
        "assert 'torch' not in sys.modules"
    )
    done = python("-c", code)
    assert done.returncode == 0, done.stderr
