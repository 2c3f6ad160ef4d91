from __future__ import annotations

import pytest

from openmps.errors import SettingError
from openmps.mac.chips import CHIPS, Chip, parse_mac
from openmps.mac.macos import parse_macos

MIB = 1 << 20
GIB = 1 << 30


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("M1 8GB", "M1 8GB"),
        ("m1", "M1 8GB"),
        ("M1 16", "M1 16GB"),
        ("m116gb", "M1 16GB"),
        ("m3max 64", "M3 Max 64GB"),
        ("M3 Max 64GB", "M3 Max 64GB"),
        ("M4Pro", "M4 Pro 24GB"),
        ("apple m2 ultra, 192 GB", "M2 Ultra 192GB"),
        ("m1-pro_32gib", "M1 Pro 32GB"),
        ("M3 Max 30-core 36GB", "M3 Max 30-core 36GB"),
        ("m3max30core36gb", "M3 Max 30-core 36GB"),
        ("M1 7-core 8GB", "M1 7-core 8GB"),
        ("M1 8 7-core", "M1 7-core 8GB"),
        ("m1, 7 core GPU, 16 g", "M1 7-core 16GB"),
        ("M1 7 GPU cores", "M1 7-core 8GB"),
        ("M1 8-core 8GB", "M1 8GB"),
        ("M5 Max 40-core", "M5 Max 36GB"),
    ],
)
def test_case_spacing_and_order_are_forgiven(text: str, name: str) -> None:
    assert parse_mac(text, "15.5").name == name


@pytest.mark.parametrize("chip", CHIPS, ids=lambda chip: chip.name)
def test_every_chip_parses_from_its_own_names(chip: Chip) -> None:
    for size in chip.memory_gb:
        larger = parse_mac(f"{chip.name} {size}GB", "26.0")
        assert (larger.chip, larger.memory_gb) == (chip, size)
        assert larger.gpu_cores == max(chip.gpu_cores)
        for cores in chip.gpu_cores:
            mac = parse_mac(f"{chip.name} {cores}-core {size}GB", "26.0")
            assert (mac.chip, mac.gpu_cores, mac.memory_gb) == (chip, cores, size)
            assert parse_mac(mac.name, "26.0") == mac


def test_the_table_is_ordered_and_whole() -> None:
    assert len({chip.name for chip in CHIPS}) == len(CHIPS) == 18
    for chip in CHIPS:
        assert chip.gpu_cores == tuple(sorted(chip.gpu_cores))
        assert chip.memory_gb == tuple(sorted(chip.memory_gb))
        assert len(chip.gb_per_second) == len(chip.gpu_cores)
        assert int(chip.name[1]) == {7: 1, 8: 2, 9: 3, 10: 5}[chip.family] or chip.name[1] == "4"


@pytest.mark.parametrize(
    ("text", "cores", "tflops", "bandwidth", "family"),
    [
        ("M1", 8, 2.617, 68, "Apple7"),
        ("M1 7-core", 7, 2.29, 68, "Apple7"),
        ("M2 Pro", 19, 6.8, 200, "Apple8"),
        ("M3 Max", 40, 14.2, 400, "Apple9"),
        ("M3 Max 30-core", 30, 10.65, 300, "Apple9"),
        ("M4 Max 32-core", 32, 14.72, 410, "Apple9"),
        ("M5", 10, 5.7, 153, "Apple10"),
    ],
)
def test_speeds_follow_the_variant(
    text: str, cores: int, tflops: float, bandwidth: int, family: str
) -> None:
    mac = parse_mac(text, "26.0")
    assert mac.gpu_cores == cores
    assert mac.fp32_tflops == pytest.approx(tflops, abs=0.001)
    assert mac.gb_per_second == bandwidth
    assert mac.chip.metal_family == family


def test_both_variants_have_one_metal_name() -> None:
    assert parse_mac("M1 7-core", "26.0").metal_name == "Apple M1"
    assert str(parse_mac("M1 7-core", "14.4")) == "M1 7-core 8GB, macOS 14.4"
    assert str(parse_mac("M1", "14.4")) == "M1 8GB, macOS 14.4"


@pytest.mark.parametrize(
    ("text", "nearest"),
    [
        ("M1 Proo", "M1 Pro 16GB"),
        ("M6 Pro 24GB", "M5 Pro 24GB"),
        ("M3 Maxx 64GB", "M3 Max 36GB"),
        ("M9 Extreme", "M3 Ultra 96GB"),
        ("M1 8MB", "M1 8GB"),
        ("M1 8GB 16GB", "M1 8GB"),
        ("M1 7-core 8-core", "M1 8GB"),
        ("M1 99999GB", "M1 8GB"),
        ("MacBook Neo", "M1 8GB"),
        ("", "M5 Max 36GB"),
        ("M١", "M1 8GB"),  # noqa: RUF001 (a digit of another script)
    ],
)
def test_an_unknown_mac_is_answered_with_near_names(text: str, nearest: str) -> None:
    with pytest.raises(SettingError) as error:
        parse_mac(text, "15.5")
    assert error.value.problem == "no such Mac"
    assert error.value.found == repr(text)
    assert f'"{nearest}"' in error.value.next_step


@pytest.mark.parametrize(
    ("text", "problem", "next_step"),
    [
        ("M1 12GB", "no M1 was sold with 12GB", "use 8GB, 16GB"),
        (
            "M3 Pro 14",
            "no M3 Pro was sold with 14GB",
            'use 18GB, 36GB; for the cores write "14-core"',
        ),
        ("M1 0GB", "no M1 was sold with 0GB", "use 8GB, 16GB"),
        (
            "M4 31-core 16GB",
            "no M4 with 31 GPU cores is known",
            "use 8-core, 10-core, or leave the cores out",
        ),
        (
            "M5 Max 0-core",
            "no M5 Max with 0 GPU cores is known",
            "use 40-core, or leave the cores out",
        ),
    ],
)
def test_sizes_that_were_never_sold_are_refused(text: str, problem: str, next_step: str) -> None:
    with pytest.raises(SettingError) as error:
        parse_mac(text, "15.5")
    assert (error.value.problem, error.value.next_step) == (problem, next_step)


# Values printed by Metal programs on real machines.
@pytest.mark.parametrize(
    ("mac", "macos", "megabytes"),
    [
        ("M1 16GB", "14.4", 11453.25),
        ("M4 24GB", "15.5", 17179.89),
        ("M2 Max 32GB", "14.0", 22906.50),
        ("M3 Max 36GB", "15.5", 28991.03),
        ("M4 Pro 48GB", "15.7", 38654.71),
        ("M4 16GB", "26.0", 12713.12),
        ("M4 24GB", "26.0", 19069.67),
        ("M4 32GB", "26.0", 26800.60),
        ("M3 Max 36GB", "26.0", 30150.67),
        ("M5 Max 48GB", "26.5", 40200.90),
        ("M3 Max 64GB", "26.0", 55662.79),
        ("M4 Max 128GB", "26.1", 115448.73),
    ],
)
def test_recommended_memory_is_what_metal_prints(mac: str, macos: str, megabytes: float) -> None:
    printed = parse_mac(mac, macos).recommended_max_bytes / 1e6
    assert printed == pytest.approx(megabytes, abs=0.0051)


@pytest.mark.parametrize(
    ("mac", "macos", "gib"),
    [
        ("M1 8GB", "15.5", 5.333),
        ("M3 Pro 18GB", "15.5", 12.0),
        ("M1 Max 64GB", "14.0", 48.0),
        ("M2 Max 96GB", "14.0", 72.0),
        ("M2 Ultra 192GB", "15.0", 144.0),
        ("M3 Ultra 512GB", "15.0", 384.0),
        ("M3 Ultra 256GB", "26.0", 222.72),
        # Not seen on any machine: as the neighbour.
        ("M1 8GB", "26.0", 5.92),
        ("M3 Pro 18GB", "26.0", 13.32),
        ("M2 Max 96GB", "26.0", 77.76),
        ("M2 Ultra 192GB", "26.0", 161.28),
        ("M2 Ultra 192GB", "27.0", 161.28),
        ("M3 Ultra 512GB", "26.0", 445.44),
    ],
)
def test_recommended_memory_of_the_other_sizes(mac: str, macos: str, gib: float) -> None:
    recommended = parse_mac(mac, macos).recommended_max_bytes
    assert recommended / GIB == pytest.approx(gib, abs=0.0005)
    assert recommended % (16 << 10) == 0


@pytest.mark.parametrize(
    ("mac", "macos", "mib"),
    [
        ("M1 8GB", "14.4", 4096),
        ("M1 Max 64GB", "14.0", 36864),
        ("M2 Max 96GB", "14.0", 55296),
        ("M4 24GB", "26.0", 13639.68),
    ],
)
def test_the_largest_buffer_is_three_quarters_of_the_recommended_memory(
    mac: str, macos: str, mib: float
) -> None:
    assert parse_mac(mac, macos).max_buffer_bytes / MIB == pytest.approx(mib, abs=0.05)


# Figures of out-of-memory errors that people reported.
@pytest.mark.parametrize(
    ("mac", "macos", "gib"),
    [
        ("M1 8GB", "14.4", "9.07"),
        ("M1 16GB", "14.4", "18.13"),
        ("M1 Pro 32GB", "14.4", "36.27"),
        ("M1 Max 64GB", "14.4", "81.60"),
        ("M4 Max 128GB", "15.1", "163.20"),
    ],
)
def test_the_limit_is_what_pytorch_prints(mac: str, macos: str, gib: str) -> None:
    assert f"{parse_mac(mac, macos).high_watermark_bytes / GIB:.2f}" == gib


@pytest.mark.parametrize(
    ("text", "release"),
    [
        ("14.0", (14, 0)),
        ("14.4", (14, 4)),
        ("15", (15, 0)),
        ("15.1.1", (15, 1)),
        ("26", (26, 0)),
        ("26.4", (26, 4)),
        ("27", (27, 0)),
        ("macOS 15.2", (15, 2)),
        (" MACOS14.4 ", (14, 4)),
    ],
)
def test_macos_releases_parse(text: str, release: tuple[int, int]) -> None:
    assert parse_macos(text) == release


@pytest.mark.parametrize(
    "text", ["", "13.6", "16.0", "25.1", "28.0", "Sonoma", "15.x", "1e9", "14.", "-14", "14.4.1.2"]
)
def test_bad_macos_releases_are_refused(text: str) -> None:
    with pytest.raises(SettingError, match=r"14\.0 or newer") as error:
        parse_macos(text)
    assert error.value.found == repr(text)
    assert "macOS 14, 15, 26 or 27" in error.value.next_step
