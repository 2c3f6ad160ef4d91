from __future__ import annotations

import gc
import threading
import time
import warnings
from concurrent.futures import ThreadPoolExecutor

import torch

from ..agreement import assert_matches

THREADS = 8
SECONDS = 2.0


def work(seed, until):
    """Trains a small model until the time is over; returns its rounds and its last gradient."""
    generator = torch.Generator().manual_seed(seed)
    data = torch.randn(16, 8, generator=generator)
    weight = torch.randn(8, 4, generator=generator)
    moved = data.to("mps")
    rounds = 0
    gradient = None
    while rounds == 0 or time.monotonic() < until:
        leaf = weight.to("mps").requires_grad_()
        grown = torch.empty(rounds % 50, device="mps").resize_(100).fill_(seed)
        view = grown[10:].view(9, 10).t()
        view.mul_(2)
        torch.tanh(moved @ leaf).square().sum().backward()
        assert grown.sum().item() == seed * (10 + 90 * 2)
        gradient = leaf.grad
        rounds += 1
    return rounds, gradient


def expected_gradient(seed):
    generator = torch.Generator().manual_seed(seed)
    data = torch.randn(16, 8, generator=generator)
    weight = torch.randn(8, 4, generator=generator).requires_grad_()
    torch.tanh(data @ weight).square().sum().backward()
    return weight.grad


def test_a_thread_may_begin_with_a_product():
    """First in this file: it is said only once that a GPU's libraries are not ready for that."""
    table = torch.arange(4.0, device="mps").view(2, 2)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with ThreadPoolExecutor(1) as pool:
            assert pool.submit(lambda: (table @ table).tolist()).result() == [[2, 3], [6, 11]]


def test_threads_compute_allocate_and_differentiate_at_once():
    gc.collect()
    before = torch.mps.current_allocated_memory()
    until = time.monotonic() + SECONDS
    with ThreadPoolExecutor(THREADS) as pool:
        results = list(pool.map(lambda seed: work(seed, until), range(THREADS)))
    assert all(rounds > 0 for rounds, _ in results)
    for seed, (_, gradient) in enumerate(results):
        assert_matches(gradient, expected_gradient(seed))
    del results, gradient
    gc.collect()
    assert torch.mps.current_allocated_memory() == before


def test_threads_share_one_tensor_for_reading():
    shared = torch.arange(1000.0, device="mps")
    with ThreadPoolExecutor(THREADS) as pool:
        sums = list(pool.map(lambda n: (shared * n).sum(), range(THREADS)))
    assert_matches(sums, [(torch.arange(1000.0) * n).sum() for n in range(THREADS)])


def test_backward_of_one_graph_from_several_threads():
    leaf = torch.ones(100, device="mps", requires_grad=True)
    with ThreadPoolExecutor(THREADS) as pool:
        list(pool.map(lambda n: (leaf * n).sum().backward(), range(THREADS)))
    assert_matches(leaf.grad, torch.full((100,), float(sum(range(THREADS)))))


def test_a_tensor_outlives_the_thread_that_made_it():
    made = []
    thread = threading.Thread(target=lambda: made.append(torch.arange(10.0, device="mps") + 1))
    thread.start()
    thread.join()
    assert_matches(made[0] * 2, (torch.arange(10.0) + 1) * 2)


def test_many_short_threads_leave_no_memory_behind():
    def compute():
        torch.ones(100, device="mps").add(1).sum().item()

    gc.collect()
    before = torch.mps.current_allocated_memory()
    for _ in range(50):
        thread = threading.Thread(target=compute)
        thread.start()
        thread.join()
    assert torch.mps.current_allocated_memory() == before


def test_grad_mode_and_autocast_are_per_thread():
    seen = []

    def look():
        data = torch.ones(2, 2, device="mps", requires_grad=True)
        seen.append(((data @ data).requires_grad, (data @ data).dtype))

    with torch.no_grad(), torch.autocast("mps", dtype=torch.float16):
        thread = threading.Thread(target=look)
        thread.start()
        thread.join()
    assert seen == [(True, torch.float32)]


def test_random_draws_of_threads_do_not_repeat():
    torch.manual_seed(0)
    with ThreadPoolExecutor(THREADS) as pool:
        draws = list(pool.map(lambda _: torch.rand(8, device="mps"), range(200)))
    values = torch.stack(draws)
    assert values.device.type == "mps"
    assert values.unique(dim=0).size(0) == 200
