"""Time limits and Ctrl-C end a kernel that does not."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING

import pytest

from openmps.errors import KernelTimeout
from openmps.targets.cpu_runtime import Style

if TYPE_CHECKING:
    from conftest import Kernels

BOXES, GROUPS, SIMDGROUPS, THREADS = Style


@pytest.mark.parametrize("style", [BOXES, GROUPS])
@pytest.mark.parametrize("workers", [1, 2])
def test_the_time_limit(kernels: Kernels, style: Style, workers: int) -> None:
    begin = time.monotonic()
    with pytest.raises(KernelTimeout, match=r"longer than 0\.05 s") as caught:
        kernels.call("endless", style, (100_000, 1, 1), (32, 1, 1), workers=workers, limit_s=0.05)
    assert 0.04 < time.monotonic() - begin < 2
    assert isinstance(caught.value, TimeoutError)
    kernels.check_all_styles()


def test_the_time_limit_in_another_thread(kernels: Kernels) -> None:
    raised = []

    def work() -> None:
        try:
            kernels.call("endless", GROUPS, (64, 1, 1), (32, 1, 1), workers=2, limit_s=0.05)
        except KernelTimeout as error:
            raised.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join(timeout=10)
    assert len(raised) == 1


def test_a_launch_within_its_limit_is_left_alone(kernels: Kernels) -> None:
    for _ in range(200):
        kernels.call("nothing", BOXES, (1, 1, 1), (1, 1, 1), limit_s=0.002)
    time.sleep(0.01)


@pytest.mark.parametrize("workers", [1, 2])
def test_ctrl_c_stops_a_kernel(script, workers: int) -> None:
    done = script(
        f"""
        def press():
            time.sleep(0.2)
            os.kill(os.getpid(), signal.SIGINT)
        for i in range(3):
            threading.Thread(target=press).start()
            try:
                kernels.call("endless_after_2", GROUPS, (64, 1, 1), (1, 1, 1), workers={workers})
            except KeyboardInterrupt:
                print("interrupted")
        kernels.check_all_styles()
        threading.Thread(target=press).start()
        try:
            time.sleep(10)
        except KeyboardInterrupt:
            print("as usual")
        """
    )
    assert done.stdout == "interrupted\n" * 3 + "as usual\n", done.stderr
    assert done.returncode == 0


def test_the_time_limit_where_all_handlers_were_put_back(script) -> None:
    """As Lightning's Trainer does: those that Python knows of, for every signal."""
    done = script(
        """
        kernels.call("nothing", BOXES, (1, 1, 1), (1, 1, 1))
        for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}:
            if signal.getsignal(number) is not None:
                signal.signal(number, signal.getsignal(number))
        try:
            kernels.call("endless", GROUPS, (64, 1, 1), (32, 1, 1), workers=2, limit_s=0.05)
        except TimeoutError:
            print("stopped")
        """
    )
    assert (done.returncode, done.stdout) == (0, "stopped\n"), done.stderr


def test_other_handlers_of_ctrl_c_are_called(script) -> None:
    done = script(
        """
        kernels.call("nothing", BOXES, (1, 1, 1), (1, 1, 1))
        class Mine(Exception): pass
        def handler(number, frame): raise Mine
        signal.signal(signal.SIGINT, handler)
        threading.Timer(0.2, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
        try:
            kernels.call("endless", GROUPS, (64, 1, 1), (1, 1, 1))
        except Mine:
            print("mine")
        """
    )
    assert done.stdout == "mine\n", done.stderr


def test_sigterm_ends_the_process(script) -> None:
    done = script(
        """
        threading.Timer(0.2, lambda: os.kill(os.getpid(), signal.SIGTERM)).start()
        kernels.call("endless", GROUPS, (64, 1, 1), (1, 1, 1), workers=2)
        """
    )
    assert done.returncode == -15


def test_the_process_ends_with_a_kernel_still_running(script) -> None:
    done = script(
        """
        def work():
            kernels.call("endless", GROUPS, (64, 1, 1), (1, 1, 1), workers=2)
        threading.Thread(target=work, daemon=True).start()
        time.sleep(0.2)
        print("done", flush=True)
        """
    )
    assert (done.stdout, done.returncode) == ("done\n", 0), done.stderr
