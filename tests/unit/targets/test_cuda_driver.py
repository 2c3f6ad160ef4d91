"""The one place that opens NVIDIA's driver, and what it offers to the C++ core."""

from __future__ import annotations

import ctypes
from typing import Any

import pytest

from openmps import layouts
from openmps.targets import cuda_driver
from openmps.targets.cuda_driver import Driver, table_address, version

from .fake_cuda import CONTEXT, FakeCuda


@pytest.fixture
def cuda() -> FakeCuda:
    return FakeCuda()


def test_the_core_finds_the_table_of_the_process_s_driver(
    cuda: FakeCuda, monkeypatch: pytest.MonkeyPatch
) -> None:
    driver = Driver(cuda)
    monkeypatch.setattr(cuda_driver, "_driver", lambda: driver)
    table = layouts.CudaDriver.from_address(table_address())
    assert table.context == CONTEXT
    for name, _ in layouts.CudaDriver._fields_:
        assert getattr(table, name), name


def test_a_copy_on_the_gpu(cuda: FakeCuda) -> None:
    table = Driver(cuda).table
    copy = ctypes.CFUNCTYPE(
        ctypes.c_int, ctypes.c_uint64, ctypes.c_uint64, ctypes.c_size_t, ctypes.c_void_p
    )(table.copy)
    assert copy(0x20, 0x10, 64, None) == 0
    assert cuda.calls == ["copy 64 from 0x10 to 0x20"]


def test_the_text_of_an_error(cuda: FakeCuda) -> None:
    table = Driver(cuda).table
    error_text = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int, ctypes.POINTER(ctypes.c_char_p))(
        table.error_text
    )
    text = ctypes.c_char_p()
    assert error_text(2, ctypes.byref(text)) == 0
    assert text.value == b"out of memory"
    assert error_text(12345, ctypes.byref(text)) != 0


class TestVersion:
    def test_the_driver_is_not_started(self, cuda: FakeCuda) -> None:
        assert version(cuda) == (13, 2)
        assert not cuda.is_started
        Driver(cuda)
        assert cuda.is_started

    def test_no_answer(self, cuda: FakeCuda) -> None:
        cuda.answers["cuDriverGetVersion"] = 1
        assert version(cuda) is None

    def test_no_driver(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def missing(name: str) -> Any:
            raise OSError(name)

        monkeypatch.setattr(cuda_driver.ctypes, "CDLL", missing)
        assert version() is None
