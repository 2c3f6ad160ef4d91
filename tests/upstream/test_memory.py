from __future__ import annotations

import mmap
import os
import subprocess
import sys
import threading

from .memory import peak_bytes, reset_peak, resident_bytes

_MIB = 1 << 20


def test_children_count_whichever_thread_started_them() -> None:
    code = "kept = b'x' * (200 << 20); print(flush=True); input()"
    started = []

    def start() -> None:
        child = subprocess.Popen(
            [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        started.append(child)
        child.stdout.readline()  # type: ignore[union-attr]
        done.wait()

    done = threading.Event()
    before = resident_bytes(os.getpid())
    thread = threading.Thread(target=start)
    thread.start()
    try:
        for _ in range(1000):
            if resident_bytes(os.getpid()) > before + 200 * _MIB:
                break
            thread.join(0.01)
        else:
            raise AssertionError("the child's 200 MiB were not seen")
    finally:
        done.set()
        thread.join()
        for child in started:
            child.communicate(b"\n")


def test_an_ended_process_holds_nothing() -> None:
    child = subprocess.Popen([sys.executable, "-c", ""])
    child.wait()
    assert resident_bytes(child.pid) == 0


def test_the_peak_is_of_the_time_since_the_reset() -> None:
    # Pages of their own: malloc may hold back, and hand out again, what earlier tests freed.
    with mmap.mmap(-1, 100 * _MIB) as pages:
        pages.write(b"x" * (100 * _MIB))
        assert peak_bytes() > 100 * _MIB
    reset_peak()
    before = peak_bytes()
    with mmap.mmap(-1, 50 * _MIB) as pages:
        for page in range(0, 50 * _MIB, mmap.PAGESIZE):
            pages[page] = 1
        assert 40 * _MIB < peak_bytes() - before < 80 * _MIB
