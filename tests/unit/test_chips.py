from __future__ import annotations

import pytest

from openmps.errors import SettingError
from openmps.mac.chips import CHIPS, parse_mac, parse_macos

MIB = 1 << 20


@pytest.mark.parametrize(
    ("text", "name", "memory_gb"),
    [
        ("M1 8GB", "M1", 8),
        ("m1", "M1", 8),
        ("M1 16", "M1", 16),
        ("m3max 64", "M3 Max", 64),
        ("M3 Max 64GB", "M3 Max", 64),
        ("M4Pro", "M4 Pro", 24),
        ("apple m2 ultra, 192 GB", "M2 Ultra", 192),
        ("m1-pro_32gib", "M1 Pro", 32),
    ],
)
def test_case_and_spacing_are_forgiven(text: str, name: str, memory_gb: int) -> None:
    mac = parse_mac(text, "15.5")
    assert (mac.chip.name, mac.memory_gb) == (name, memory_gb)


@pytest.mark.parametrize("chip", CHIPS, ids=lambda chip: chip.name)
def test_every_chip_parses_from_its_own_name(chip) -> None:
    for size in chip.memory_gb:
        mac = parse_mac(f"{chip.name} {size}GB", "26.0")
        assert (mac.chip, mac.memory_gb) == (chip, size)


def test_an_unknown_chip_is_answered_with_near_names() -> None:
    with pytest.raises(SettingError, match="M1 Pro") as error:
        parse_mac("M1 Proo", "15.5")
    assert "next:" in str(error.value)


def test_a_memory_size_that_was_never_sold_is_refused() -> None:
    with pytest.raises(SettingError, match="8GB, 16GB"):
        parse_mac("M1 12GB", "15.5")


# Values printed by Metal programs on real machines.
@pytest.mark.parametrize(
    ("mac", "macos", "megabytes"),
    [
        ("M1 16GB", "14.4", 11453.25),
        ("M4 24GB", "15.5", 17179.89),
        ("M3 Max 36GB", "15.5", 28991.03),
        ("M4 16GB", "26.0", 12713.12),
        ("M4 24GB", "26.0", 19069.67),
        ("M3 Max 36GB", "26.0", 30150.67),
        ("M4 Max 128GB", "26.1", 115448.73),
    ],
)
def test_recommended_memory_is_what_metal_prints(mac: str, macos: str, megabytes: float) -> None:
    assert parse_mac(mac, macos).recommended_max_bytes / 1e6 == pytest.approx(megabytes, abs=0.01)


def test_the_largest_buffer_is_three_quarters_of_the_recommended_memory() -> None:
    mac = parse_mac("M1 8GB", "14.4")
    assert mac.max_buffer_bytes / MIB == pytest.approx(4096, abs=0.05)


@pytest.mark.parametrize(
    ("text", "release"), [("14.4", (14, 4)), ("26", (26, 0)), ("15.1.1", (15, 1))]
)
def test_macos_releases_parse(text: str, release: tuple[int, int]) -> None:
    assert parse_macos(text) == release


@pytest.mark.parametrize("text", ["", "13.6", "Sonoma", "15.x", "1e9"])
def test_bad_macos_releases_are_refused(text: str) -> None:
    with pytest.raises(SettingError, match=r"14\.0 or newer"):
        parse_macos(text)
