"""How many registers a kernel gets on a GPU: two of the largest threadgroups should fit at once."""

from __future__ import annotations

import pytest

from openmps.msl.library import parse_library
from openmps.targets import cuda, nvjitlink

PTX = ".visible .entry openmps_cuda()\n.maxntid 1024, 1, 1\n{ ret; }\n"
SAID = (
    "ptxas info    : Function properties for openmps_cuda\n"
    "    {frame} bytes stack frame, {spilled} bytes spill stores, {spilled} bytes spill loads\n"
    "ptxas info    : Used {registers} registers, used 1 barriers, 8192 bytes smem\n"
)


def said(registers: int, spilled: int = 0) -> str:
    return SAID.format(frame=spilled, registers=registers, spilled=spilled)


def test_what_the_assembler_says_is_read() -> None:
    cubin = nvjitlink._read_facts(b"code", said(42, spilled=16))
    assert cubin == nvjitlink.Cubin(b"code", 8192, 42, spills=True)
    assert not nvjitlink._read_facts(b"", said(42)).spills
    assert nvjitlink._read_facts(b"", "") == nvjitlink.Cubin(b"", 0, 0, spills=False)


@pytest.mark.parametrize(
    ("alone", "for_two", "taken"),
    [
        (said(32), None, b"alone"),  # two fit as it is
        (said(42), said(32), b"for two"),
        (said(42), said(32, spilled=8), b"alone"),
    ],
)
def test_two_threadgroups_share_a_multiprocessor_unless_that_spills(
    monkeypatch, alone: str, for_two: str | None, taken: bytes
) -> None:
    asked = []

    def assemble(ptx: str, architecture: str) -> nvjitlink.Cubin:
        asked.append(ptx)
        if ".minnctapersm 2" in ptx:
            assert for_two is not None
            return nvjitlink._read_facts(b"for two", for_two)
        return nvjitlink._read_facts(b"alone", alone)

    monkeypatch.setattr(nvjitlink, "assemble", assemble)
    builder = cuda.CudaBuilder(parse_library("kernel void f() {}"), "sm_90")
    assert builder._assemble(PTX).image == taken
    assert len(asked) == (1 if for_two is None else 2)
    assert asked[-1].replace("\n.minnctapersm 2", "") == PTX
