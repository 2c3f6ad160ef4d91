"""Gives cases to workers, several at a time, and keeps what became of them."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Sequence

from .cases import Case
from .memory import available_bytes
from .process import Suite, Worker
from .results import Outcome, Result

Keep = Callable[[Result], None]

# A worker that holds this part of its cap between cases is started anew.
_FULL = 0.5
_SHARE_ALONE = 0.85


def run_cases(
    suite: Suite, cases: Sequence[Case], workers: Sequence[Worker], keep: Keep, *, alone: bool
) -> None:
    """alone: a new process for each case."""
    waiting: queue.SimpleQueue[Case] = queue.SimpleQueue()
    for case in cases:
        waiting.put(case)
    too_large: list[Case] = []
    problems: list[BaseException] = []

    def serve(worker: Worker) -> None:
        try:
            while not problems:
                try:
                    case = waiting.get_nowait()
                except queue.Empty:
                    return
                result = worker.run(case)
                if problems:  # interrupted: how it ended says nothing about the case
                    return
                if result.outcome is Outcome.MEMORY:
                    too_large.append(case)
                else:
                    keep(result)
                if alone or result.peak_mb << 20 > worker.memory_bytes * _FULL:
                    worker.stop()
        except BaseException as problem:
            problems.append(problem)
        finally:
            worker.stop()

    threads = [threading.Thread(target=serve, args=(worker,), daemon=True) for worker in workers]
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    except KeyboardInterrupt as interrupt:
        problems.append(interrupt)
        for worker in workers:
            worker.kill()
        for thread in threads:
            thread.join()
    if problems:
        raise problems[0]
    _run_alone(suite, too_large, keep)


def _run_alone(suite: Suite, cases: Sequence[Case], keep: Keep) -> None:
    """What went over a worker's cap gets the machine: only what is too large for that is listed."""
    for case in cases:
        worker = Worker(suite, 0, int(available_bytes() * _SHARE_ALONE))
        try:
            keep(worker.run(case))
        finally:
            worker.stop()
