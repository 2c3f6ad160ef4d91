"""Under limits on memory and threads a launch does with less, or says what it has not got."""

from __future__ import annotations

LIMIT = """
import resource
def leave(mib):
    pages = int(open("/proc/self/statm").read().split()[0])
    bytes = pages * resource.getpagesize() + mib * 2**20 if mib else resource.RLIM_INFINITY
    resource.setrlimit(resource.RLIMIT_AS, (bytes, resource.RLIM_INFINITY))
import numpy as np
from openmps.errors import ShaderError
visited, turns = np.zeros((64, 64), np.uint32), np.array([3], np.uint32)
def barriers(workers, stack_bytes=0, groups=64):
    grid = (512 * groups, 1, 1)
    kernels.call("barriers", SIMDGROUPS, grid, (512, 1, 1), visited, turns,
                 workers=workers, stack_bytes=stack_bytes)
    assert (visited[:, 32:] == 0).all()
    return kernels.runtime.last_report().workers
"""


def test_helpers_without_memory_for_stacks_leave_the_work_to_the_others(script) -> None:
    """A helper's stacks take 16 MiB at least; the launching thread has its own already."""
    done = script(
        LIMIT
        + """
barriers(workers=1, groups=1)
turns[0] = 2000  # work enough to wake others for
leave(12)
assert {barriers(workers=4) for _ in range(5)} == {1}
leave(None)
assert any(barriers(workers=2) == 2 for _ in range(20))
print("done")
"""
    )
    assert (done.stdout, done.returncode) == ("done\n", 0), done.stderr


def test_without_threads_the_launching_one_does_all(script) -> None:
    """A thread's stack is 8 MiB."""
    done = script(
        LIMIT
        + """
barriers(workers=1, groups=1)
turns[0] = 2000
leave(4)
assert {barriers(workers=4) for _ in range(5)} == {1}
print("done")
"""
    )
    assert (done.stdout, done.returncode) == ("done\n", 0), done.stderr


def test_a_user_who_may_start_no_more_threads(script) -> None:
    done = script(
        LIMIT
        + """
if os.geteuid() == 0:
    os.setuid(65534)  # root has no such limit
resource.setrlimit(resource.RLIMIT_NPROC, (1, 1))
try:
    threading.Thread(target=print).start()
except RuntimeError:
    turns[0] = 2000
    assert {barriers(workers=4) for _ in range(5)} == {1}
    print("done")
"""
    )
    assert (done.stdout, done.returncode) == ("done\n", 0), done.stderr


def test_stacks_that_cannot_be_mapped_are_told_and_nothing_is_left_behind(script) -> None:
    done = script(
        LIMIT
        + """
barriers(workers=1)
leave(8)
try:
    barriers(workers=1, stack_bytes=8 << 20)
except ShaderError as error:
    print(error)
# Its fibres of before went with their stacks.
leave(None)
barriers(workers=1)
kernels.check_all_styles()
"""
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == (
        "no memory to run kernel 'barriers'\n"
        "  found: its stacks or its threadgroup memory could not be allocated, for 16 stacks of "
        "8388608 bytes and more\n"
        "  next: use smaller threadgroups, raise the limit (ulimit -v), or end other programs\n"
    )


def test_where_address_space_is_short_only_what_is_needed_is_reserved(script) -> None:
    """The stacks of 1024 threads would take 256 MiB."""
    done = script(
        LIMIT
        + """
leave(40)
out = np.zeros(64, np.float32)
for _ in range(2):
    kernels.call("reverse", THREADS, (64, 1, 1), (64, 1, 1), out)
assert out[0] == 63
try:
    kernels.call("reverse", THREADS, (1024, 1, 1), (1024, 1, 1), np.zeros(1024, np.float32))
except ShaderError as error:
    print(error.problem)
leave(None)
larger = np.zeros(1024, np.float32)
kernels.call("reverse", THREADS, (1024, 1, 1), (1024, 1, 1), larger)
assert larger[0] == 1023
kernels.check_all_styles()
"""
    )
    assert (done.stdout, done.returncode) == ("no memory to run kernel 'reverse'\n", 0), done.stderr
