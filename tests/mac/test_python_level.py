"""numpy, storages, processes, pinned memory, DLPack and printing on a Mac."""

from __future__ import annotations

import copy
import io
import warnings
from multiprocessing.reduction import ForkingPickler

import numpy
import pytest
import torch
import torch.multiprocessing
from torch.utils.data import DataLoader

TABLE = torch.arange(12.0, device="mps").reshape(3, 4)
NO_NUMPY = (
    "can't convert mps:0 device type tensor to numpy. Use Tensor.cpu() to copy the tensor to host "
    "memory first."
)


@pytest.mark.parametrize("convert", [torch.Tensor.numpy, numpy.asarray])
def test_numpy_is_refused(convert) -> None:
    with pytest.raises(TypeError) as refused:
        convert(TABLE)
    assert str(refused.value) == NO_NUMPY


def test_numpy_by_force() -> None:
    tensor = TABLE.clone().requires_grad_()
    array = tensor.numpy(force=True)
    assert (array.dtype, array.tolist()) == (numpy.float32, TABLE.tolist())


def test_a_storage_is_not_resized() -> None:
    with pytest.raises(RuntimeError) as refused:
        TABLE.clone().untyped_storage().resize_(4)
    assert str(refused.value) == "UntypedStorage.resize_: got unexpected device type mps"


def test_a_tensor_is() -> None:
    tensor = torch.ones(2, device="mps")
    assert tensor.resize_(3)[:2].tolist() == [1.0, 1.0]
    held = tensor.untyped_storage().nbytes()
    assert tensor.resize_(1).untyped_storage().nbytes() == held


@pytest.mark.needs_torch("2.13", "does not count mps storages as shared")
def test_storages_count_as_shared() -> None:
    assert TABLE.untyped_storage().is_shared()
    assert TABLE.share_memory_() is TABLE


@pytest.mark.parametrize(
    ("strategy", "text"),
    [
        ("file_descriptor", "_share_fd_: only available on CPU"),
        ("file_system", "_share_filename_: only available on CPU"),
    ],
)
def test_tensors_do_not_travel_between_processes(strategy: str, text: str) -> None:
    before = torch.multiprocessing.get_sharing_strategy()
    torch.multiprocessing.set_sharing_strategy(strategy)
    try:
        with pytest.raises(RuntimeError) as refused:
            ForkingPickler.dumps(TABLE)
    finally:
        torch.multiprocessing.set_sharing_strategy(before)
    assert str(refused.value) == text


def test_memory_cannot_be_pinned() -> None:
    with pytest.raises(RuntimeError) as refused:
        torch.ones(2).pin_memory()
    assert str(refused.value) == (
        'Attempted to set the storage of a tensor on device "cpu" to a storage on different device '
        '"mps:0".  This is no longer allowed; the devices must match.'
    )
    with pytest.raises(RuntimeError) as refused:
        TABLE.pin_memory()
    assert str(refused.value) == "cannot pin 'MPSFloatType' only dense CPU tensors can be pinned"
    assert not TABLE.is_pinned()


def test_a_loader_does_without_pinned_memory_and_says_so() -> None:
    with pytest.warns(UserWarning, match="pin_memory") as caught:
        batches = list(DataLoader([1.0, 2.0], pin_memory=True))
    assert [str(warning.message) for warning in caught] == [
        "'pin_memory' argument is set as true but not supported on MPS now, device pinned memory "
        "won't be used."
    ]
    assert torch.cat(batches).tolist() == [1.0, 2.0]


def test_dlpack_says_metal() -> None:
    kind, index = TABLE.__dlpack_device__()
    assert (int(kind), index) == (8, 0)
    shared = torch.from_dlpack(TABLE)
    assert shared.device == torch.device("mps:0")
    assert shared.data_ptr() == TABLE.data_ptr()


def test_dlpack_keeps_offsets_and_strides() -> None:
    part = TABLE[1:, ::2]
    shared = torch.from_dlpack(part)
    assert shared.tolist() == part.tolist()
    assert shared.stride() == part.stride()
    assert shared.data_ptr() == part.data_ptr()


REPRESENTATIONS = {
    "tensor([0.1000, 2.5000], device='mps:0')": lambda: torch.tensor([0.1, 2.5], device="mps"),
    "tensor(7, device='mps:0')": lambda: torch.tensor(7, device="mps"),
    "tensor([1., 2.], device='mps:0', dtype=torch.float16)": lambda: torch.tensor(
        [1.0, 2.0], dtype=torch.float16, device="mps"
    ),
    "tensor([True], device='mps:0')": lambda: torch.tensor([True], device="mps"),
    "tensor([1.+2.j], device='mps:0')": lambda: torch.tensor([1 + 2j], device="mps"),
    "tensor([], device='mps:0')": lambda: torch.tensor([], device="mps"),
    "tensor([1.], device='mps:0', requires_grad=True)": lambda: torch.tensor(
        [1.0], device="mps", requires_grad=True
    ),
    "tensor([1.0000e-10, 1.0000e+10], device='mps:0')": lambda: torch.tensor(
        [1e-10, 1e10], device="mps"
    ),
}


@pytest.mark.parametrize("text", REPRESENTATIONS)
def test_repr(text: str) -> None:
    assert repr(REPRESENTATIONS[text]()) == text


def test_a_default_device_does_not_hide_the_suffix() -> None:
    torch.set_default_device("mps")
    try:
        assert repr(torch.ones(1)) == "tensor([1.], device='mps:0')"
    finally:
        torch.set_default_device(None)


def test_deepcopy_shares_nothing() -> None:
    base = torch.zeros(4, device="mps")
    one, two = copy.deepcopy([base, base[:2]])
    one.fill_(1)
    assert two.tolist() == [0.0, 0.0]


def test_checkpoints_say_mps() -> None:
    buffer = io.BytesIO()
    torch.save(TABLE, buffer)
    places = []
    buffer.seek(0)
    torch.load(buffer, map_location=lambda storage, place: places.append(place) or storage)
    assert places == ["mps"]


@pytest.mark.parametrize("place", ["mps", "mps:0", torch.device("mps"), {"cpu": "mps"}], ids=str)
def test_checkpoints_load_to_mps(place) -> None:
    buffer = io.BytesIO()
    torch.save(TABLE.cpu(), buffer)
    buffer.seek(0)
    loaded = torch.load(buffer, map_location=place)
    assert loaded.device == torch.device("mps:0")
    assert torch.equal(loaded, TABLE)


def test_the_dtypes_of_the_accelerator() -> None:
    assert torch.accelerator.get_device_capability()["supported_dtypes"] == {
        torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64, torch.float16,
        torch.float32, torch.complex32, torch.complex64, torch.bool, torch.bfloat16, torch.uint16,
        torch.uint32, torch.uint64,
    }  # fmt: skip


def test_data_parallel_is_a_plain_wrapper() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        wrapped = torch.nn.DataParallel(torch.nn.Linear(4, 2, device="mps"))
    assert wrapped.device_ids == []
    assert wrapped(TABLE).device == torch.device("mps:0")
