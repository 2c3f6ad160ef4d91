from __future__ import annotations

import re

import numpy as np
import pytest

from openmps.emit.lanes.vectorise import vectorise


def test_strides_of_all_kinds(launch) -> None:
    r = launch(
        "io[x * 2] = key[x * 3]; io[256 + x * 3] = key[x * 4 + 1]; out[500 - x] = in[300 - x];"
        " out[600 + x * 7] = in[x * 5]; ((short*)io)[2000 + x] = key[x];",
    )
    x = r.x
    assert np.array_equal(r.io[2 * x], r.key[3 * x])
    assert np.array_equal(r.io[256 + 3 * x], r.key[4 * x + 1])
    assert np.array_equal(r.out[500 - x], r.given[300 - x])
    assert np.array_equal(r.out[600 + 7 * x], r.given[5 * x])
    assert np.array_equal(r.io.view(np.int16)[2000:2064], r.key[:64])
    assert not r.io[1:128:2].any()


def test_index_that_wraps_between_two_lanes(launch) -> None:
    r = launch(
        "unsigned w = x - 1; if (x > 0) out[w] = in[w]; unsigned far = x * 0x10000000u;"
        " io[far >> 28] = x; unsigned v = x + 0xFFFFFFF0u; if (x >= 16) io[100 + v] = key[v];",
        (32, 1, 1),
    )
    assert np.array_equal(r.out[:32], np.append(r.given[:31], 0))
    assert np.array_equal(r.io[100:116], r.key[:16])


def test_pieces_of_four(launch) -> None:
    r = launch(
        "typedef float f4 __attribute__((ext_vector_type(4))); f4 v = *(f4*)(in + 4 * x);"
        " if (x % 5) *(f4*)(out + 4 * x) = v.wzyx * 2.f; out[1000 + x] = v.y;"
    )
    pieces = r.given[:256].reshape(64, 4)
    expected = np.where((r.x % 5 != 0)[:, None], pieces[:, ::-1] * 2, 0)
    assert np.array_equal(r.out[:256].reshape(64, 4), expected)
    assert np.array_equal(r.out[1000:1064], pieces[:, 1])


def test_last_lane_wins_at_one_address(launch) -> None:
    r = launch("if (x % 7 == 3) { io[5] = x; out[9] = 2; }", (32, 1, 1))
    assert (r.io[5], r.out[9]) == (31, 2)


def test_private_arrays(launch) -> None:
    r = launch(
        "int a[8]; for (int i = 0; i < 8; i++) a[i] = i; for (int i = 0; i < int(x % 9); i++)"
        " a[key[x + i] & 7] += i; int s = 0; for (int i = 0; i < 8; i++) s += a[i] * (i + 1);"
        " io[x] = s; short b[4] = {1, 2, 3, 4}; b[x & 3] += 5; long t; __builtin_memcpy(&t, b, 8);"
        " ((long*)io)[100 + x] = t; int c[3] = {1, 2, 3}; int* p = key[x] & 1 ? a : c; p[1] = x;"
        " io[500 + x] = c[1];"
    )
    for x in range(64):
        a = list(range(8))
        for i in range(x % 9):
            a[r.key[x + i] & 7] += i
        b = np.array([1, 2, 3, 4], np.int16)
        b[x & 3] += 5
        assert r.io[x] == sum(v * (i + 1) for i, v in enumerate(a))
        assert r.io.view(np.int64)[100 + x] == b.view(np.int64)[0]
        assert r.io[500 + x] == (2 if r.key[x] & 1 else x)


def test_block_copies(launch) -> None:
    r = launch(
        "struct S { float a; float b[9]; } s; __builtin_memcpy(&s, in + x, 40);"
        " s.b[key[x] % 9] = 7; __builtin_memcpy(out + x * 10, &s, 40);"
        " char big[300]; __builtin_memset(big, key[x], 300); big[key[x]] = 1;"
        " int t = 0; for (int i = 0; i < 300; i++) t += big[i]; io[x] = t;"
    )
    for x in range(64):
        piece = r.given[x : x + 10].copy()
        piece[1 + r.key[x] % 9] = 7
        assert np.array_equal(r.out[10 * x : 10 * x + 10], piece)
        assert r.io[x] == 299 * r.key[x] + 1


def test_atomics_in_lane_order(launch) -> None:
    r = launch(
        "io[x] = __atomic_fetch_add(io + 100, key[x], 0); __atomic_fetch_max(io + 101, key[x], 0);"
        " if (x % 2) __atomic_fetch_sub(io + 102, 3, 0);"
        " __atomic_fetch_add(io + 200 + (key[x] & 15), 1, 0); int e = 0;"
        " bool won = __atomic_compare_exchange_n(io + 300 + (x & 7), &e, x + 1, 0, 0, 0);"
        " io[400 + x] = won; io[500 + x] = e; __atomic_store_n(io + 600 + x / 3, x, 0);",
        (32, 1, 1),
    )
    key = r.key[:32]
    assert np.array_equal(r.io[:32], np.cumsum(key) - key)
    assert (r.io[101], r.io[102]) == (key.max(), -48)
    assert np.array_equal(r.io[200:216], np.bincount(key & 15, minlength=16))
    assert np.array_equal(r.io[300:308], np.arange(8) + 1)
    assert np.array_equal(r.io[400:432], np.arange(32) < 8)
    assert np.array_equal(r.io[500:532], np.where(np.arange(32) < 8, 0, np.arange(32) % 8 + 1))
    assert np.array_equal(r.io[600:611], np.append(np.arange(10) * 3 + 2, 31))


def test_threadgroup_atomics_are_plain_updates(launch) -> None:
    r = launch(
        "static thread_local int bins[16]; int* more = (int*)(tg->dynamic + 256);"
        " if (x < 16) bins[x] = 0; __atomic_fetch_add(&bins[key[x] & 15], 1, 0);"
        " __atomic_fetch_or(more + (x & 3), 1 << x, 0); openmps_threadgroup_barrier();"
        " if (x < 16) io[x] = bins[x]; if (x < 4) io[20 + x] = more[x];",
        (32, 1, 1),
    )
    assert np.array_equal(r.io[:16], np.bincount(r.key[:32] & 15, minlength=16))
    assert np.array_equal(r.io[20:24].view(np.uint32), [0x11111111 << k for k in range(4)])


def test_threadgroup_atomics_need_no_lock(to_ir) -> None:
    body = "static thread_local int bins[16]; __atomic_fetch_add(&bins[key[x] & 15], 1, 0);"
    assert "atomicrmw" not in vectorise(to_ir(body), axis="x")
    body = "__atomic_fetch_add(&io[3], key[x], 0);"
    whole, part = functions(vectorise(to_ir(body), axis="x"))
    assert whole.count("atomicrmw") == part.count("atomicrmw") == 1


def functions(text: str) -> list[str]:
    """The one for whole simdgroups, and the one for the rest of a threadgroup."""
    return re.findall(r"^define internal void @openmps_\w+simdgroup\(.*?^}", text, re.M | re.S)


@pytest.mark.parametrize(
    "body", ["out[x] = in[x] * 2;", "out[x * 4] = in[x * 3];", "out[x] = in[row * 64 + x];"]
)
def test_known_strides_need_no_gather_in_the_common_case(to_ir, body: str) -> None:
    text = vectorise(to_ir("unsigned row = tg->position[1];" + body), axis="x")
    slowly = re.compile(r"= phi i32 \[|llvm\.masked\.(gather|scatter)\.v32")  # or lane by lane
    for function in functions(text):
        for way in re.split(r"^(?=(?:even|uneven|either)\.\d+:)", function, flags=re.M)[1:]:
            assert bool(slowly.search(way)) == way.startswith("uneven"), way
        assert not slowly.search(re.split(r"^uneven\.", function, flags=re.M)[0])


def test_threadgroup_variables_lie_in_the_block_of_the_threadgroup(to_ir) -> None:
    """Not in thread_local memory: LLVM keeps vectors where __tls_get_addr may change them."""
    body = (
        "static thread_local int a[9]; static thread_local float b;"
        " a[x & 7] = 1; b = 2; openmps_threadgroup_barrier(); io[x] = a[0] + b;"
    )
    text = vectorise(to_ir(body), axis="x")
    assert "thread_local" not in text
    assert "@openmps_variables = constant i32 64" in text
