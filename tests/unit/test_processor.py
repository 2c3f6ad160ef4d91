"""The processor that kernels are compiled for."""

from __future__ import annotations

import platform

import pytest

from openmps.build import processor
from openmps.build.processor import LEVELS, Processor, chosen_processor, levels_here
from openmps.errors import SettingError

X86 = pytest.mark.skipif(platform.machine() != "x86_64", reason="about levels of x86-64")


@pytest.fixture
def has(monkeypatch: pytest.MonkeyPatch):
    """A machine with these features."""

    def be(*features: str) -> None:
        monkeypatch.setattr(processor, "_features", lambda: frozenset(features))
        processor._chosen.cache_clear()

    yield be
    processor._chosen.cache_clear()


def test_the_machine_itself_is_the_default(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENMPS_SHADER_CPU", raising=False)
    assert chosen_processor() == Processor(platform.machine(), "native")


@X86
def test_a_level_below_the_machine_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENMPS_SHADER_CPU", "x86-64-V2")
    assert chosen_processor().flags == ("-march=x86-64-v2",)


@X86
def test_a_level_above_the_machine_names_what_is_missing(
    monkeypatch: pytest.MonkeyPatch, has
) -> None:
    levels = LEVELS["x86_64"]
    has(*levels["x86-64-v3"])
    monkeypatch.setenv("OPENMPS_SHADER_CPU", "x86-64-v4")
    with pytest.raises(SettingError, match="asks for more than this processor has") as caught:
        chosen_processor()
    assert "x86-64-v4 needs avx512bw, avx512cd, avx512dq, avx512f, avx512vl" in str(caught.value)
    assert "native, x86-64-v2, x86-64-v3," in str(caught.value)


def test_a_name_that_means_nothing_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENMPS_SHADER_CPU", "pentium")
    with pytest.raises(SettingError, match="names no processor level") as caught:
        chosen_processor()
    assert "'pentium'" in str(caught.value)
    assert "native" in str(caught.value)


@X86
def test_levels_are_told_by_what_the_machine_has(has) -> None:
    has(*LEVELS["x86_64"]["x86-64-v3"])
    assert levels_here() == ["x86-64-v2", "x86-64-v3"]
    has("sse2")
    assert levels_here() == []


@pytest.mark.parametrize("name", ["native", "armv8-a"])
def test_atomics_on_arm64_call_no_function(name: str) -> None:
    """Its home would be a library that kernels are not linked against."""
    assert "-mno-outline-atomics" in Processor("aarch64", name).flags
    assert "-mno-outline-atomics" not in Processor("x86_64", name).flags


ONE = "CPU implementer\t: 0x41\nCPU variant\t: 0x3\nCPU part\t: 0xd0c\n"
ANOTHER = "CPU implementer\t: 0x41\nCPU variant\t: 0x3\nCPU part\t: 0xd40\n"
BIG_AND_LITTLE = ONE + "\n" + ONE.replace("0xd0c", "0xd05")


def test_processors_that_have_numbers_for_names_are_told_apart(
    monkeypatch: pytest.MonkeyPatch, has
) -> None:
    has("fp", "asimd")
    identities = set()
    for cpuinfo in (ONE, ANOTHER, BIG_AND_LITTLE, "model name\t: a name\n"):
        monkeypatch.setattr(processor, "_cpuinfo", lambda text=cpuinfo: text)
        processor._this_machine.cache_clear()
        identities.add(Processor("aarch64", "native").identity)
    processor._this_machine.cache_clear()
    assert len(identities) == 4


def test_code_for_a_level_is_shared_by_machines_and_code_for_one_machine_is_not() -> None:
    here = platform.machine()
    names = ["native", *LEVELS.get(here, {})]
    identities = {Processor(here, name).identity for name in names}
    assert len(identities) == len(names)
    assert Processor("x86_64", "x86-64-v3").identity == "x86_64 x86-64-v3"
