from __future__ import annotations

import copy
import io
import pickle

import numpy
import pytest
import safetensors
import safetensors.torch
import torch

from ..agreement import assert_matches

DTYPES = [
    torch.float32, torch.float16, torch.bfloat16, torch.int64, torch.int32, torch.uint8,
    torch.bool, torch.complex64,
]  # fmt: skip


def saved(value):
    buffer = io.BytesIO()
    torch.save(value, buffer)
    buffer.seek(0)
    return buffer


def module():
    torch.manual_seed(0)
    return torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.BatchNorm1d(4))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("weights_only", [True, False])
def test_save_and_load_keep_values_and_device(dtype, weights_only):
    expected = torch.arange(6).view(2, 3).to(dtype)
    loaded = torch.load(saved(expected.to("mps")), weights_only=weights_only)
    assert_matches(loaded, expected)


@pytest.mark.parametrize("weights_only", [True, False])
@pytest.mark.parametrize(
    "location",
    [
        "cpu",
        torch.device("cpu"),
        {"mps:0": "cpu"},
        {"mps": "cpu"},
        lambda storage, where: storage,
    ],
)
def test_map_location_to_the_cpu(location, weights_only):
    expected = torch.arange(6.0)
    loaded = torch.load(saved(expected.to("mps")), map_location=location, weights_only=weights_only)
    if location == {"mps:0": "cpu"}:  # torch writes "mps"; this key never matches
        assert_matches(loaded, expected)
        return
    assert loaded.device.type == "cpu"
    torch.testing.assert_close(loaded, expected, rtol=0, atol=0)


@pytest.mark.parametrize("weights_only", [True, False])
@pytest.mark.parametrize(
    "location",
    ["mps", "mps:0", torch.device("mps"), {"cpu": "mps"}, lambda storage, where: storage.mps()],
)
def test_map_location_to_mps(location, weights_only):
    expected = torch.arange(6.0)
    loaded = torch.load(saved(expected), map_location=location, weights_only=weights_only)
    assert_matches(loaded, expected)


def test_location_tag_of_an_mps_storage_is_the_one_of_a_mac():
    seen = []
    torch.load(saved(torch.ones(2, device="mps")), map_location=lambda s, where: seen.append(where))
    assert seen == ["mps"]


def test_views_of_one_storage_stay_views_of_one_storage():
    base = torch.arange(6.0, device="mps")
    loaded_base, loaded_view = torch.load(saved([base, base[2:4]]))
    assert loaded_view.untyped_storage().data_ptr() == loaded_base.data_ptr()
    loaded_base.zero_()
    assert_matches(loaded_view, torch.zeros(2))


def test_strides_survive_saving():
    expected = torch.arange(6.0).view(2, 3).t()
    assert_matches(torch.load(saved(expected.to("mps").t().contiguous().t())), expected)


def test_the_old_file_format():
    buffer = io.BytesIO()
    torch.save(torch.arange(3.0, device="mps"), buffer, _use_new_zipfile_serialization=False)
    buffer.seek(0)
    assert_matches(torch.load(buffer), torch.arange(3.0))


def test_saving_to_a_file_and_mapping_it(tmp_path):
    path = tmp_path / "tensor.pt"
    torch.save({"a": torch.arange(3.0, device="mps")}, path)
    assert_matches(torch.load(path), {"a": torch.arange(3.0)})
    assert_matches(torch.load(path, mmap=True, map_location="mps"), {"a": torch.arange(3.0)})


def test_a_parameter_stays_a_parameter():
    loaded = torch.load(saved(torch.nn.Parameter(torch.ones(2, device="mps"))))
    assert isinstance(loaded, torch.nn.Parameter)
    assert_matches(loaded, torch.nn.Parameter(torch.ones(2)))


def test_a_whole_module_is_saved():
    loaded = torch.load(saved(module().to("mps")), weights_only=False)
    assert_matches(dict(loaded.state_dict()), dict(module().state_dict()))


def test_state_dict_crosses_devices():
    target = module().to("mps")
    torch.nn.init.zeros_(target[0].weight)
    target.load_state_dict(module().state_dict())
    assert_matches(dict(target.state_dict()), dict(module().state_dict()))
    back = module()
    back.load_state_dict(target.state_dict())
    assert back[0].weight.device.type == "cpu"
    torch.testing.assert_close(back[0].weight, module()[0].weight, rtol=0, atol=0)


def test_state_dict_by_assignment():
    target = torch.nn.Sequential(
        torch.nn.Linear(3, 4, device="meta"), torch.nn.BatchNorm1d(4, device="meta")
    )
    target.load_state_dict(module().to("mps").state_dict(), assign=True)
    assert_matches(dict(target.state_dict()), dict(module().state_dict()))


def test_pickle_keeps_values_and_device():
    for expected in (torch.arange(6.0).view(2, 3), torch.tensor(2), torch.empty(0)):
        assert_matches(pickle.loads(pickle.dumps(expected.to("mps"))), expected)
    leaf = torch.ones(2, device="mps", requires_grad=True)
    assert_matches(pickle.loads(pickle.dumps(leaf)), torch.ones(2, requires_grad=True))


def test_deepcopy_of_a_tensor_is_independent():
    tensor = torch.arange(6.0, device="mps").view(2, 3)
    copied = copy.deepcopy(tensor.t())
    tensor.zero_()
    assert_matches(copied, torch.arange(6.0).view(2, 3).t())


def test_deepcopy_takes_views_apart_as_on_a_mac():
    base = torch.arange(6.0, device="mps")
    copied_base, copied_view = copy.deepcopy([base, base[2:4]])
    copied_base.zero_()
    base.zero_()
    assert_matches(copied_view, torch.tensor([2.0, 3.0]))


def test_deepcopy_of_one_tensor_twice_stays_one_tensor():
    tensor = torch.arange(6.0, device="mps")
    first, second = copy.deepcopy([tensor, tensor])
    assert first is second
    assert_matches(first, torch.arange(6.0))


def test_deepcopy_keeps_the_gradient():
    tensor = torch.ones(2, device="mps", requires_grad=True)
    (tensor * 3).sum().backward()
    assert_matches(copy.deepcopy(tensor).grad, torch.full((2,), 3.0))


def test_deepcopy_of_a_module_with_tied_weights():
    first, second = torch.nn.Linear(3, 3), torch.nn.Linear(3, 3)
    second.weight = first.weight
    tied = torch.nn.Sequential(first, second).to("mps")
    assert tied[0].weight is tied[1].weight
    copied = copy.deepcopy(tied)
    assert copied[0].weight is copied[1].weight
    assert copied[0].weight.data_ptr() != tied[0].weight.data_ptr()


def test_copy_shares_the_bytes():
    tensor = torch.arange(3.0, device="mps")
    assert copy.copy(tensor).data_ptr() == tensor.data_ptr()


@pytest.mark.parametrize("device", ["mps", "cpu"])
def test_safetensors_round_trip(tmp_path, device):
    path = tmp_path / "weights.safetensors"
    tensors = {str(dtype): torch.arange(6).view(2, 3).to(dtype) for dtype in DTYPES[:7]}
    safetensors.torch.save_file({k: t.to("mps") for k, t in tensors.items()}, path)
    loaded = safetensors.torch.load_file(path, device=device)
    if device == "mps":
        assert_matches(dict(sorted(loaded.items())), dict(sorted(tensors.items())))
    else:
        for name, tensor in tensors.items():
            assert loaded[name].device.type == "cpu"
            torch.testing.assert_close(loaded[name], tensor, rtol=0, atol=0)


def test_safetensors_slices_and_bytes(tmp_path):
    path = tmp_path / "weights.safetensors"
    matrix = torch.arange(12.0).view(3, 4)
    safetensors.torch.save_file({"m": matrix.to("mps")}, path)
    with safetensors.safe_open(path, framework="pt", device="mps") as file:
        assert_matches(file.get_tensor("m"), matrix)
        assert_matches(file.get_slice("m")[1:, :2], matrix[1:, :2].contiguous())
    loaded = safetensors.torch.load(safetensors.torch.save({"m": matrix.to("mps")}))
    torch.testing.assert_close(loaded["m"], matrix, rtol=0, atol=0)


def test_safetensors_save_model(tmp_path):
    path = tmp_path / "model.safetensors"
    safetensors.torch.save_model(module().to("mps"), path)
    target = module().to("mps")
    torch.nn.init.zeros_(target[0].weight)
    safetensors.torch.load_model(target, path, device="mps")
    assert_matches(dict(target.state_dict()), dict(module().state_dict()))


def test_safetensors_refuses_shared_memory_on_mps(tmp_path):
    base = torch.arange(6.0, device="mps")
    with pytest.raises(RuntimeError, match="share memory"):
        safetensors.torch.save_file({"a": base, "b": base[:]}, tmp_path / "w.safetensors")


def test_numpy_needs_a_cpu_tensor():
    tensor = torch.arange(3.0, device="mps")
    with pytest.raises(TypeError, match="can't convert mps:0 device type tensor to numpy"):
        tensor.numpy()
    with pytest.raises(TypeError, match="can't convert mps:0 device type tensor to numpy"):
        numpy.asarray(tensor)
    numpy.testing.assert_array_equal(tensor.cpu().numpy(), numpy.arange(3.0))
    numpy.testing.assert_array_equal(tensor.numpy(force=True), numpy.arange(3.0))


def test_numpy_arrays_move_to_mps():
    array = numpy.arange(6, dtype=numpy.float32).reshape(2, 3)
    expected = torch.arange(6.0).view(2, 3)
    assert_matches(torch.from_numpy(array).to("mps"), expected)
    assert_matches(torch.tensor(array, device="mps"), expected)
    assert_matches(torch.as_tensor(array, device="mps"), expected)


def test_dlpack_round_trip_shares_memory():
    tensor = torch.arange(6.0, device="mps")
    capsule = torch.utils.dlpack.to_dlpack(tensor)
    back = torch.utils.dlpack.from_dlpack(capsule)
    assert back.data_ptr() == tensor.data_ptr()
    tensor.add_(1)
    assert_matches(back, torch.arange(6.0) + 1)
    assert_matches(back * 2, (torch.arange(6.0) + 1) * 2)


def test_dlpack_protocol_shares_memory():
    tensor = torch.arange(6.0, device="mps").view(2, 3).t()
    kind, index = tensor.__dlpack_device__()
    assert (int(kind), index) == (8, 0)  # kDLMetal
    back = torch.from_dlpack(tensor)
    assert back.data_ptr() == tensor.data_ptr()
    assert_matches(back, torch.arange(6.0).view(2, 3).t())


def test_a_dlpack_tensor_keeps_the_bytes_alive():
    back = torch.from_dlpack(torch.arange(1000.0, device="mps"))
    churn = [torch.zeros(1000, device="mps") for _ in range(20)]
    assert_matches(back, torch.arange(1000.0))
    back.add_(1)
    assert_matches(back[churn[0].long()], torch.ones(1000))
