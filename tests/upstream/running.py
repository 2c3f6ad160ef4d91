"""Gives cases to workers, several at a time, and keeps what became of them."""

from __future__ import annotations

import queue
import sys
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
    shift = _Shift(cases, keep, alone=alone)
    shift.work(workers)
    for case in shift.too_large:
        # What went over a worker's cap gets the machine: only what that is too small for is listed.
        worker = Worker(suite, 0, int(available_bytes() * _SHARE_ALONE))
        try:
            keep(worker.run(case))
        finally:
            worker.stop()


class _Shift:
    """A thread for each worker, all of them fed from one queue."""

    def __init__(self, cases: Sequence[Case], keep: Keep, *, alone: bool) -> None:
        self.too_large: list[Case] = []
        self._waiting: queue.SimpleQueue[Case] = queue.SimpleQueue()
        for case in cases:
            self._waiting.put(case)
        self._keep = keep
        self._alone = alone
        self._problems: list[BaseException] = []
        # Not Thread.join: interrupted, it takes the thread for ended (until Python 3.13).
        self._ended: queue.SimpleQueue[Worker] = queue.SimpleQueue()

    def work(self, workers: Sequence[Worker]) -> None:
        for worker in workers:
            threading.Thread(target=self._serve, args=(worker,), daemon=True).start()
        working = len(workers)
        while working:
            try:
                self._ended.get(timeout=0.2)
                working -= 1
            except queue.Empty:
                if self._problems:
                    for worker in workers:  # again and again: one may be starting just now
                        worker.kill()
            except KeyboardInterrupt as interrupt:
                self._problems.append(interrupt)
        if self._problems:
            raise self._problems[0]

    def _serve(self, worker: Worker) -> None:
        try:
            while not self._problems:
                self._take(worker, self._waiting.get_nowait())
        except queue.Empty:
            pass
        except BaseException as problem:
            self._problems.append(problem)
        finally:
            worker.stop()
            self._ended.put(worker)

    def _take(self, worker: Worker, case: Case) -> None:
        result = worker.run(case)
        if self._problems:  # it was killed for that: how it ended says nothing about the case
            return
        if result.outcome is Outcome.MEMORY:
            self.too_large.append(case)
            print(f"  {case.name}: {result.error}; again later, alone", file=sys.stderr)
        else:
            self._keep(result)
        if self._alone or worker.held_bytes() > worker.memory_bytes * _FULL:
            worker.stop()
