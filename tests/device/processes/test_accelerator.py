from __future__ import annotations

import time

import pytest
import torch


def test_the_device_is_there():
    assert torch.backends.mps.is_available()
    assert torch.backends.mps.is_built()
    assert torch.mps.is_available()
    assert torch.mps.device_count() == 1
    assert torch.accelerator.is_available()
    assert torch.accelerator.device_count() == 1
    assert torch.accelerator.current_accelerator() == torch.device("mps")
    assert torch.get_device_module("mps") is torch.mps


def test_no_other_accelerator_is_there():
    assert not torch.cuda.is_available()
    assert torch.cuda.device_count() == 0
    assert not torch.xpu.is_available()


def test_mac_questions_are_answered():
    assert torch.backends.mps.get_name().startswith("Apple M")
    assert torch.backends.mps.get_core_count() >= 7
    assert torch.backends.mps.is_macos_or_newer(14, 0)
    assert torch.backends.mps.is_macos13_or_newer()
    assert isinstance(torch.backends.mps.is_macos_or_newer(26, 0), bool)


def test_unknown_macos_releases_are_answered_with_a_warning():
    torch.backends.mps.is_macos_or_newer.cache_clear()
    with pytest.warns(UserWarning, match="unexpected MacOS"):
        assert not torch.backends.mps.is_macos_or_newer(99, 0)


def test_synchronize_and_empty_cache_return_nothing():
    assert torch.mps.synchronize() is None
    assert torch.mps.empty_cache() is None
    assert torch.accelerator.synchronize() is None
    assert torch.accelerator.empty_cache() is None


def test_events_time_the_work_between_them():
    start, end = torch.mps.Event(enable_timing=True), torch.mps.Event(enable_timing=True)
    start.record()
    start.synchronize()  # a GPU comes to it a little later than the host
    torch.ones(100, device="mps").sum()
    time.sleep(0.02)
    end.record()
    end.synchronize()
    assert 20 <= start.elapsed_time(end) < 5000


def test_an_event_is_done_once_recorded():
    event = torch.mps.Event()
    event.record()
    event.wait()
    event.synchronize()
    assert event.query() is True


def test_event_ids_are_used_again():
    def id_of(event):
        return event._Event__eventId

    first = torch.mps.Event()
    number = id_of(first)
    other = torch.mps.Event()
    assert id_of(other) != number
    del first
    assert id_of(torch.mps.Event()) == number


def test_elapsed_time_needs_timing():
    start, end = torch.mps.Event(), torch.mps.Event()
    start.record()
    end.record()
    with pytest.raises(RuntimeError, match="not created with argument 'enable_timing=True'"):
        start.elapsed_time(end)


def test_elapsed_time_needs_the_right_order():
    start, end = torch.mps.Event(enable_timing=True), torch.mps.Event(enable_timing=True)
    end.record()
    start.record()
    with pytest.raises(RuntimeError, match="was not recorded after start event"):
        start.elapsed_time(end)


def test_generic_events():
    start = torch.Event("mps", enable_timing=True)
    end = torch.Event("mps", enable_timing=True)
    assert start.device.type == "mps"
    start.record()
    start.synchronize()
    time.sleep(0.005)
    end.record()
    end.synchronize()
    assert end.query()
    assert start.elapsed_time(end) >= 5
    end.wait()


def test_streams():
    stream = torch.Stream(device="mps")
    assert stream.device.type == "mps"
    assert stream.query()
    stream.synchronize()
    event = stream.record_event()
    stream.wait_event(event)
    stream.wait_stream(torch.accelerator.current_stream())
    assert torch.accelerator.current_stream().device.type == "mps"
    torch.accelerator.set_stream(stream)
    with stream:
        assert torch.ones(2, device="mps").sum().item() == 2


def test_device_index():
    assert torch.accelerator.current_device_index() == 0
    torch.accelerator.set_device_index(0)
    with torch.accelerator.device_index(0):
        assert torch.ones(1, device="mps").get_device() == 0
    assert torch.accelerator.current_device_index() == 0


def test_device_capability_lists_the_dtypes_of_a_mac():
    capability = torch.accelerator.get_device_capability()
    dtypes = capability["supported_dtypes"]
    assert {torch.float32, torch.float16, torch.bfloat16, torch.int64, torch.bool} <= set(dtypes)
    assert torch.float64 not in dtypes


def test_profiler_signposts_are_harmless():
    assert torch.mps.profiler.is_metal_capture_enabled() is False
    assert torch.mps.profiler.is_capturing_metal() is False


def test_deterministic_algorithms_run_on_mps():
    torch.use_deterministic_algorithms(True)
    try:
        tensor = torch.zeros(3, dtype=torch.int64, device="mps")
        ones = torch.ones(2, dtype=torch.int64, device="mps")
        tensor.index_add_(0, torch.tensor([0, 0], device="mps"), ones)
        assert tensor.tolist() == [2, 0, 0]
        with pytest.raises(RuntimeError, match=r"^index_put_with_accumulate_mps does not have"):
            tensor.float().index_add_(0, torch.tensor([0, 0], device="mps"), ones.float())
    finally:
        torch.use_deterministic_algorithms(False)


@pytest.mark.skipif(
    not hasattr(torch.mps, "Stream"),
    reason=f"torch {torch.__version__} has no torch.mps.Stream",
)
def test_streams_run_in_order():
    other = torch.mps.Stream()
    assert torch.mps.current_stream() == torch.mps.default_stream()
    assert other != torch.mps.default_stream()
    with torch.mps.stream(other):
        assert torch.mps.current_stream() == other
        result = torch.ones(2, device="mps") + 1
    other.synchronize()
    assert torch.mps.current_stream() == torch.mps.default_stream()
    assert result.tolist() == [2.0, 2.0]
