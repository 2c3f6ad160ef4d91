"""The objects that compile_shader returns, apart from what their kernels do."""

from __future__ import annotations

import copy
import pickle
import threading
from pathlib import Path

import pytest
import torch

from openmps.shader.language import language_options

from .recorder import Recorder, record

SOURCE = """
kernel void first(device float* out, uint i [[thread_position_in_grid]]) { out[i] = i; }
[[kernel]] void second(device float* out, uint i [[thread_position_in_grid]]) { out[i] = i; }
template <typename T> kernel void third(device T* out, uint i [[thread_position_in_grid]]) {
  out[i] = T(i);
}
template [[host_name("third_float")]] kernel void third<float>(device float*, uint);
template [[host_name("third_int")]] kernel void third<int>(device int*, uint);
void not_a_kernel() {}
"""
NAMES = {"first", "second", "third_float", "third_int"}


def test_dir_lists_the_kernels_and_nothing_else() -> None:
    assert set(dir(record(SOURCE, Recorder()))) == NAMES


def test_a_library_may_have_no_kernel() -> None:
    assert dir(record("constant int n = 3;", Recorder())) == []


@pytest.mark.parametrize("name", ["nothing", "third", "not_a_kernel", "__wrapped__", "_kernels"])
def test_any_other_attribute_is_a_runtime_error(name: str) -> None:
    library = record(SOURCE, Recorder())
    with pytest.raises(RuntimeError, match=f"^Failed to create function state object for: {name}$"):
        getattr(library, name)
    with pytest.raises(RuntimeError):
        hasattr(library, name)


def test_kernels_are_built_when_asked_for_and_once() -> None:
    recorder = Recorder()
    library = record(SOURCE, recorder)
    assert recorder.built == []
    for _ in range(3):
        library.first(torch.zeros(2, device="mps"))
    assert recorder.built == ["first"]
    assert len(recorder.launches) == 3


def test_two_threads_that_ask_at_once_get_one_build() -> None:
    recorder = Recorder()
    library = record(SOURCE, recorder)
    ready = threading.Barrier(8)

    def ask() -> None:
        ready.wait()
        _ = library.second

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert recorder.built == ["second"]


def test_a_kernel_outlives_its_library() -> None:
    recorder = Recorder()
    kernel = record(SOURCE, recorder).first
    kernel(torch.zeros(2, device="mps"))
    assert len(recorder.launches) == 1


def test_properties() -> None:
    kernel = record(SOURCE, Recorder(max_threads=256, static_bytes=48)).first
    assert kernel.max_threads_per_threadgroup == 256
    assert kernel.thread_execution_width == 32
    assert kernel.static_thread_group_memory_length == 48
    with pytest.raises(AttributeError):
        kernel.thread_execution_width = 64


def test_types_have_native_names() -> None:
    library = record(SOURCE, Recorder())
    assert repr(type(library)) == "<class 'torch._C._mps_ShaderLibrary'>"
    assert repr(type(library.first)) == "<class 'torch._C._mps_MetalKernel'>"


def test_attributes_cannot_be_set() -> None:
    library = record(SOURCE, Recorder())
    with pytest.raises(AttributeError, match="no attribute 'first'"):
        library.first = 1
    with pytest.raises(AttributeError):
        library.first.note = "mine"


def test_neither_can_be_pickled() -> None:
    library = record(SOURCE, Recorder())
    with pytest.raises(TypeError, match=r"^cannot pickle 'torch\._C\._mps_ShaderLibrary' object$"):
        pickle.dumps(library)
    with pytest.raises(TypeError, match=r"^cannot pickle 'torch\._C\._mps_MetalKernel' object$"):
        pickle.dumps(library.first)
    with pytest.raises(TypeError, match="cannot pickle"):
        copy.copy(library.first)


def test_too_much_threadgroup_memory_is_a_pipeline_failure() -> None:
    assert record(SOURCE, Recorder(static_bytes=32768)).first is not None
    library = record(SOURCE, Recorder(static_bytes=32784))
    for _ in range(2):
        with pytest.raises(RuntimeError) as refused:
            _ = library.first
        assert str(refused.value) == (
            "Failed to created pipeline state object, error: Threadgroup memory size (32784) "
            "exceeds the maximum threadgroup memory allowed (32768)"
        )


@pytest.mark.parametrize(
    ("macos", "version"),
    [
        ((14, 0), 310),
        ((14, 8), 310),
        ((15, 0), 320),
        ((15, 6), 320),
        ((26, 0), 400),
        ((26, 4), 400),
    ],
)
def test_the_language_follows_macos(macos: tuple[int, int], version: int) -> None:
    assert language_options(macos).version == version


@pytest.mark.parametrize(("value", "fast"), [(None, False), ("0", False), ("1", True)])
def test_fast_math_is_asked_for(
    monkeypatch: pytest.MonkeyPatch, value: str | None, fast: bool
) -> None:
    monkeypatch.delenv("PYTORCH_MPS_FAST_MATH", raising=False)
    if value is not None:
        monkeypatch.setenv("PYTORCH_MPS_FAST_MATH", value)
    assert language_options((26, 0)).fast_math is fast


@pytest.mark.skipif(
    not hasattr(torch.mps, "load_metallib"),
    reason=f"torch {torch.__version__} has no torch.mps.load_metallib",
)
def test_binary_libraries_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "square.metallib"
    file.write_bytes(b"MTLB")
    with pytest.raises(
        RuntimeError, match=r"^Failed to load metallib: .*compile_shader"
    ) as refused:
        torch.mps.load_metallib(file.read_bytes())
    assert "Mac" in str(refused.value)
    for path in (file, str(file), tmp_path / "missing"):
        with pytest.raises(RuntimeError) as refused:
            torch.mps.load_metallib(path)
        assert str(refused.value).startswith(f"Failed to load metallib from '{path}': ")
        assert "torch.mps.compile_shader" in str(refused.value)
    with pytest.raises(TypeError, match="expected bytes or path"):
        torch.mps.load_metallib(3)


def test_launches_from_two_threads_do_not_mix() -> None:
    wrong = []

    def check(launch: object) -> None:
        number = launch.floats(1)[0]
        if launch.grid[0] != number or launch.floats(2)[0] != -number:
            wrong.append(launch)

    kernel = record(SOURCE, Recorder(check=check)).first
    x = torch.zeros(3, device="mps")

    def call(number: int) -> None:
        for _ in range(500):
            kernel(x, float(number), [-float(number)] * 5, threads=number)

    threads = [threading.Thread(target=call, args=(number,)) for number in (5, 6, 7, 8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_a_kernel_may_be_called_while_it_is_being_called() -> None:
    x = torch.zeros(3, device="mps")
    seen = []

    def check(launch: object) -> None:
        if launch.floats(1) == (1.0,):
            kernel(x, 2.0)
        seen.append(launch.floats(1)[0])

    kernel = record(SOURCE, Recorder(check=check)).first
    kernel(x, 1.0)
    assert seen == [2.0, 1.0]
