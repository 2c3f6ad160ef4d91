"""The high and low watermarks: what is accepted, and what happens at them."""

from __future__ import annotations

import pytest
import torch

from openmps.mac.chips import parse_mac

from .program import M1, NAMES

HIGH = "PYTORCH_MPS_HIGH_WATERMARK_RATIO"
LOW = "PYTORCH_MPS_LOW_WATERMARK_RATIO"
NO_LIMIT = (
    "Use PYTORCH_MPS_HIGH_WATERMARK_RATIO=0.0 to disable upper limit for memory allocations "
    "(may cause system failure)."
)

FILL = """
kept = [take(2.5 * GIB) for _ in range(3)]
answer = [error(lambda: kept.append(take(2.5 * GIB)))]
"""


def test_a_program_that_does_not_fit_an_m1_with_8_gb_fails(programs):
    program = f"""{FILL}
answer += [len(kept), current(), (kept[0][:10].zero_() + 1).sum().item()]
kept.pop()
answer.append(error(lambda: kept.append(take(2.5 * GIB))))
answer.append(len(kept))
"""
    assert programs.run(program) == [
        "MPS backend out of memory (MPS allocated: 7.50 GiB, other allocations: 0 bytes, max "
        f"allowed: 9.07 GiB). Tried to allocate 2.50 GiB on shared pool. {NO_LIMIT}",
        3,
        int(7.5 * 2**30),
        10,
        None,
        3,
    ]


@pytest.mark.parametrize(
    "variables",
    [{HIGH: "0.0"}, {HIGH: "2.0"}],
    ids=["no_limit", "twice_the_recommended"],
)
def test_the_same_program_fits_a_higher_limit(programs, variables):
    assert programs.run(FILL, **variables) == [None]


def test_the_same_program_fits_an_m1_with_16_gb(python):
    program = f"import openmps; openmps.activate()\n{NAMES}\n{FILL}\nprint(answer)"
    result = python("-c", program, OPENMPS_MAC="M1 16GB", OPENMPS_MACOS="15.0")
    assert (result.stdout, result.returncode) == ("[None]\n", 0), result.stderr


def test_small_sizes_are_told_in_their_units(programs):
    program = """
kept = take(1)
torch.mps.set_per_process_memory_fraction(driver() / torch.mps.recommended_max_memory())
answer = [error(take, 10), error(take, 5000), error(take, 3 * MIB)]
"""
    # The limit is below the heap by the rounding of the fraction: nothing at all fits any more.
    text = (
        "MPS backend out of memory (MPS allocated: 8.00 MiB, other allocations: 0 bytes, max "
        f"allowed: 8.00 MiB). Tried to allocate {{}} on shared pool. {NO_LIMIT}"
    )
    sizes = ("256 bytes", "5.00 KiB", "3.00 MiB")
    assert programs.run(program) == [text.format(size) for size in sizes]


@pytest.mark.cpu_engine("measures the memory of the host")
def test_nothing_is_taken_from_the_machine_before_the_check(programs):
    program = """
def peak():
    status = open("/proc/self/status").read()
    return int(status.split("VmPeak:")[1].split()[0]) << 10

kept = [take(2.5 * GIB) for _ in range(3)]
small = torch.ones(10, device="mps") + 1
before = peak()
answer = [
    error(lambda: kept[0] + kept[1])[:25],
    error(lambda: kept[0].flip(0))[:25],
    error(lambda: torch.bitwise_xor(kept[0], kept[1], out=take(0)))[:25],
    error(lambda: small.resize_(700 << 20))[:25],
    error(lambda: take(2.5 * GIB))[:25],
    small.tolist() == [2.0] * 10,
    peak() - before < 100 * MIB,
]
"""
    assert programs.run(program) == ["MPS backend out of memory"] * 5 + [True, True]


@pytest.mark.skipif(
    not hasattr(torch._C, "_mps_maxBufferLength"),
    reason=f"torch {torch.__version__} has no torch._C._mps_maxBufferLength",
)
def test_buffers_have_a_largest_size(programs):
    program = """
limit = torch._C._mps_maxBufferLength()
kept = take(limit - 1)
answer = [limit, error(take, limit), error(take, 2 * limit), error(kept.resize_, 3 * limit)]
"""
    limit, *errors = programs.run(program)
    assert limit == parse_mac(M1["OPENMPS_MAC"], M1["OPENMPS_MACOS"]).max_buffer_bytes
    assert errors == [
        "Invalid buffer size: 4.00 GiB",
        "Invalid buffer size: 8.00 GiB",
        "Invalid buffer size: 12.00 GiB",
    ]


NOT_A_NUMBER = 'PYTORCH_MPS_{}_WATERMARK_RATIO is "{}", which is not a number. Use a multiple of '
HIGH_RANGE = "the recommended memory from 0.0 (no limit) to 2.0; the default is 1.7."
LOW_RANGE = "the recommended memory from 0.0 (off) to PYTORCH_MPS_HIGH_WATERMARK_RATIO; the default"

WRONG = {
    "high_above": ({HIGH: "2.1"}, "invalid high watermark ratio 2.1"),
    "high_below": ({HIGH: "-1"}, "invalid high watermark ratio -1"),
    "high_nan": ({HIGH: "nan"}, "invalid high watermark ratio nan"),
    "high_infinite": ({HIGH: "inf"}, "invalid high watermark ratio inf"),
    "high_below_the_standard_low": ({HIGH: "1.0"}, "invalid low watermark ratio 1.4"),
    "low_above_high": ({HIGH: "1.0", LOW: "1.1"}, "invalid low watermark ratio 1.1"),
    "low_above_no_limit": ({HIGH: "0", LOW: "2.5"}, "invalid low watermark ratio 2.5"),
    "high_text": ({HIGH: "abc"}, NOT_A_NUMBER.format("HIGH", "abc") + HIGH_RANGE),
    "high_empty": ({HIGH: ""}, NOT_A_NUMBER.format("HIGH", "") + HIGH_RANGE),
    "high_percent": ({HIGH: "80%"}, NOT_A_NUMBER.format("HIGH", "80%") + HIGH_RANGE),
    "low_text": ({LOW: "low"}, NOT_A_NUMBER.format("LOW", "low") + LOW_RANGE + " is 1.4."),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_watermarks_are_told_at_every_use(programs, name):
    variables, text = WRONG[name]
    program = """
answer = [error(take, 1), error(lambda: torch.ones(2).to("mps")), error(current)]
answer.append(torch.ones(2).sum().item())
"""
    assert programs.run(program, **variables) == [text, text, text, 2.0]


@pytest.mark.parametrize(
    "variables",
    [
        {HIGH: "1.0", LOW: "1.0"},
        {HIGH: "0", LOW: "2"},
        {HIGH: " 1.5 ", LOW: "0"},
        {HIGH: "0x1p-1", LOW: "0.25"},
    ],
    ids=["equal", "no_limit", "spaces", "hexadecimal"],
)
def test_right_watermarks_are_taken(programs, variables):
    assert programs.run("answer = error(take, 1)", **variables) is None


def test_watermarks_may_be_set_after_activation(programs):
    program = f"""
import os
os.environ["{HIGH}"] = "7"
answer = error(take, 1)
"""
    assert programs.run(program) == "invalid high watermark ratio 7"


def test_the_fraction_leaves_the_low_watermark_alone(programs):
    program = """
torch.mps.set_per_process_memory_fraction(0.5)  # below the low watermark: accepted
kept = [take(2.5 * GIB)]
answer = error(lambda: kept.append(take(GIB)))
"""
    assert programs.run(program) == (
        "MPS backend out of memory (MPS allocated: 2.50 GiB, other allocations: 0 bytes, max "
        f"allowed: 2.67 GiB). Tried to allocate 1024.00 MiB on shared pool. {NO_LIMIT}"
    )


@pytest.mark.parametrize(
    ("low", "after"),
    # Garbage collection frees one buffer, to get below the low watermark; without it, as many go as
    # the new one needs.
    [("1.4", 8.5), ("0", 6.0)],
)
def test_cached_buffers_make_room(programs, low, after):
    program = """
own = [take(2.5 * GIB) for _ in range(3)]
del own
answer = [driver(), error(lambda: take(3.5 * GIB)), driver()]
"""
    assert programs.run(program, **{LOW: low}) == [int(7.5 * 2**30), None, int(after * 2**30)]


@pytest.mark.cpu_engine("fills the memory of the host")
def test_a_machine_without_the_memory_says_so(programs):
    program = """
import resource
resource.setrlimit(resource.RLIMIT_AS, (8 * GIB, resource.RLIM_INFINITY))
kept = []
while not (text := error(lambda: kept.append(take(2 * GIB)))):
    pass
now = current()
small = torch.ones(2, device="mps") + 1
answer = [text, len(kept) * 2 * GIB == now, small.sum().item()]
"""
    text, *rest = programs.run(program, **{HIGH: "0"})
    assert text.startswith("MPS backend out of memory (MPS allocated: ")
    assert "Tried to allocate 2.00 GiB on shared pool. They fit the Mac, and this machine" in text
    assert "can't allocate memory" in text
    assert rest == [True, 4.0]


@pytest.mark.cpu_engine("a card's driver does not survive a fork")
def test_a_forked_child_may_free_what_it_inherits(programs):
    program = """
import os, threading
kept = [torch.ones(1000, device="mps") + n for n in range(100)]
stop = []
def churn():
    while not stop:
        torch.ones(10, device="mps") + 1
thread = threading.Thread(target=churn)
thread.start()
answer = []
for _ in range(10):
    child = os.fork()
    if child == 0:
        del kept
        os._exit(0)
    answer.append(os.waitpid(child, 0)[1])
stop.append(1)
thread.join()
"""
    assert programs.run(program) == [0] * 10
