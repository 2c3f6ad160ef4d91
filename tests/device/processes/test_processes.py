from __future__ import annotations

import itertools
import os
import pickle
import subprocess
import sys
import threading
import warnings

import pytest
import torch
from torch.utils.data import DataLoader, TensorDataset

from ..agreement import assert_matches

FEATURES = torch.arange(24.0).view(12, 2)
LABELS = torch.arange(12)


def batches(**options):
    return DataLoader(TensorDataset(FEATURES, LABELS), batch_size=4, **options)


def moved(loader):
    return [(x.to("mps", non_blocking=True), y.to("mps")) for x, y in loader]


EXPECTED = [(FEATURES[i : i + 4], LABELS[i : i + 4]) for i in (0, 4, 8)]


def test_batches_of_the_main_process_move_to_mps():
    assert_matches(moved(batches()), EXPECTED)


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_batches_of_workers_move_to_mps(method):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # fork in a process with threads
        loader = batches(num_workers=1, multiprocessing_context=method)
        assert_matches(moved(loader), EXPECTED)


def test_pinning_memory_warns_and_goes_on():
    with pytest.warns(UserWarning, match="pin_memory"):
        assert_matches(moved(batches(pin_memory=True)), EXPECTED)


def test_a_dataset_on_mps_is_collated_on_mps():
    dataset = TensorDataset(FEATURES.to("mps"), LABELS.to("mps"))
    got = [tuple(batch) for batch in DataLoader(dataset, batch_size=4)]
    assert_matches(got, EXPECTED)


def test_shuffling_draws_from_the_cpu():
    order = [y.tolist() for _, y in batches(shuffle=True, generator=torch.Generator())]
    assert sorted(itertools.chain(*order)) == list(range(12))


def test_mps_tensors_do_not_travel_through_queues():
    context = torch.multiprocessing.get_context("spawn")
    with pytest.raises(RuntimeError, match="only available on CPU"):
        context.reducer.ForkingPickler.dumps(torch.ones(2, device="mps"))


def test_putting_an_mps_tensor_into_a_queue_reports_the_error(capfd):
    queue = torch.multiprocessing.get_context("spawn").Queue()
    queue.put(torch.ones(2, device="mps"))
    queue.close()
    queue.join_thread()
    assert "only available on CPU" in capfd.readouterr().err


def in_forked_child(function):
    """What `function` returns in a fork of this process, or the text of what it raises."""
    reader, writer = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # fork in a process with threads
        child = os.fork()
    if child == 0:
        try:
            os.write(writer, pickle.dumps(function()))
        except BaseException as error:
            os.write(writer, pickle.dumps(str(error)))
        finally:
            os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as pipe:
        answer = pipe.read()
    os.waitpid(child, 0)
    return pickle.loads(answer)


@pytest.mark.cpu_engine("a card's driver does not survive a fork")
def test_a_forked_child_computes_on_mps():
    parent = torch.arange(4.0, device="mps")

    def compute():
        total = (parent + torch.ones(4, device="mps")).sum()
        parent.zero_()
        return total.item(), str(total.device), torch.randperm(4, device="mps").sort()[0].tolist()

    assert in_forked_child(compute) == (10.0, "mps:0", [0, 1, 2, 3])
    assert_matches(parent, torch.arange(4.0))


@pytest.mark.cuda_engine("elsewhere nothing is lost in a fork")
def test_a_forked_child_of_a_process_that_used_the_card_is_told_so():
    parent = torch.arange(4.0, device="mps")
    told = in_forked_child(lambda: (parent + 1).sum().item())
    assert isinstance(told, str)
    assert "CUDA" in told
    assert_matches(parent + 1, torch.arange(4.0) + 1)


def test_a_child_forked_before_the_first_use_computes_on_mps(python):
    done = python(
        "-W",
        "ignore::DeprecationWarning",
        "-c",
        "import os, torch\n"
        "assert torch.backends.mps.is_available()\n"
        "child = os.fork()\n"
        "total = torch.arange(4.0, device='mps').sum().item()\n"
        "assert total == 6.0, total\n"
        "if child == 0:\n"
        "    os._exit(0)\n"
        "print(os.waitpid(child, 0)[1])\n",
        OPENMPS="1",
    )
    assert (done.stdout, done.stderr) == ("0\n", "")


# The threads that run backward() on an accelerator do not survive a fork; torch says so.
@pytest.mark.cpu_engine("a card's driver does not survive a fork, and says so first")
def test_backward_in_a_forked_child_is_refused_once_the_parent_used_it():
    def differentiate():
        leaf = torch.ones(3, device="mps", requires_grad=True)
        (leaf * 2).sum().backward()
        return leaf.grad.tolist()

    assert differentiate() == [2.0, 2.0, 2.0]
    assert "autograd's threading in combination with fork" in in_forked_child(differentiate)


def run(code):
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=False
    )


def test_a_started_process_has_the_device_too():
    done = run("import torch; print(torch.ones(2, device='mps').sum().item())")
    assert done.stdout.strip() == "2.0", done.stderr


def test_a_process_that_leaves_tensors_behind_exits_quietly(engine):
    alias = "alias = torch._C._mps_host_alias_storage(keep.detach().untyped_storage())\n"
    # Where dill is installed, torch imports it, and it keeps this program's names until torch's own
    # are gone: an event that ends then is an error of torch's, on a Mac too.
    done = run(
        "import sys\n"
        "sys.modules['dill'] = None\n"
        "import torch\n"
        "keep = torch.ones(10, device='mps', requires_grad=True)\n"
        "(keep * 2).sum().backward()\n"
        "event = torch.mps.Event()\n"
        f"{alias if engine == 'cpu' else ''}"
        "import threading\n"
        "threading.Thread(target=lambda: torch.ones(3, device='mps') + 1).start()\n"
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_spawned_functions_compute_on_mps():
    context = torch.multiprocessing.get_context("spawn")
    with context.Pool(1) as pool:
        # By name of a torch function: the test module cannot be imported by the child.
        assert pool.apply(torch.backends.mps.is_available)
        assert pool.apply(torch.mps.device_count) == 1


def test_the_main_thread_is_the_only_one_left():
    loader = batches(num_workers=1, multiprocessing_context="spawn")
    assert_matches(moved(loader), EXPECTED)
    assert all("pin_memory" not in thread.name.lower() for thread in threading.enumerate())
