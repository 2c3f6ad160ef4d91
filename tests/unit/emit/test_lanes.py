"""Control flow: what lanes that part ways do."""

from __future__ import annotations

import numpy as np
import pytest


def test_both_sides_of_a_branch(launch) -> None:
    r = launch("if (x & 1) out[x] = in[x]; else { out[x] = -in[x]; io[x] = 3; }")
    odd = r.x % 2 == 1
    assert np.array_equal(r.out[:64], np.where(odd, r.given[:64], -r.given[:64]))
    assert np.array_equal(r.io[:64], np.where(odd, 0, 3))


@pytest.mark.parametrize("threads", [1, 7, 32, 45, 96])
def test_partial_simdgroups_touch_nothing_else(launch, threads: int) -> None:
    r = launch("out[x] = in[x] + 1; io[x] = openmps_active();", (threads, 1, 1))
    assert np.array_equal(r.out[:threads], r.given[:threads] + 1)
    assert not r.out[threads:].any()
    whole, rest = divmod(threads, 32)
    expected = [0xFFFFFFFF] * (32 * whole) + [(1 << rest) - 1] * rest
    assert np.array_equal(r.io[:threads].view(np.uint32), expected)


def test_early_return(launch) -> None:
    r = launch("if (x % 3 == 0) return; out[x] = 1; if (x > 20) return; out[x] += 1;")
    expected = np.where(r.x % 3 == 0, 0, np.where(r.x > 20, 1, 2))
    assert np.array_equal(r.out[:64], expected)


def test_loop_with_as_many_turns_as_the_lane_wants(launch) -> None:
    r = launch("int s = 0; for (int i = 0; i < key[x]; i++) s += i * key[i]; io[x] = s;")
    products = np.concatenate([[0], np.cumsum(np.arange(200) * r.key[:200])])
    assert np.array_equal(r.io[:64], products[r.key[:64]])


def test_break_continue_and_values_after_the_loop(launch) -> None:
    r = launch(
        "int s = 0, i, last = -1; for (i = 0; i < 50; i++) { if (i % int(x + 2) == 1) continue;"
        " if (key[i] > 90 - int(x)) break; last = key[i]; s += last; }"
        " io[x] = s; io[x + 64] = i; io[x + 128] = last;"
    )
    for x in range(64):
        total, last = 0, -1
        for i in range(51):
            if i == 50:
                break
            if i % (x + 2) == 1:
                continue
            if r.key[i] > 90 - x:
                break
            last = r.key[i]
            total += last
        assert (r.io[x], r.io[x + 64], r.io[x + 128]) == (total, i, last)


def test_switch_inside_a_uniform_loop(launch) -> None:
    r = launch(
        "int s = 0; for (int k = 0; k < 8; k++) switch ((x + k) % 5) { case 0: s += 1; break;"
        " case 1: s += 10; case 2: s += 100; break; case 3: if (x > 40) return; continue;"
        " default: s ^= k; } io[x] = s;"
    )
    for x in range(64):
        total = 0
        for k in range(8):
            case = (x + k) % 5
            if case == 0:
                total += 1
            elif case in (1, 2):
                total += 110 if case == 1 else 100
            elif case == 3 and x > 40:
                total = 0
                break
            elif case == 4:
                total ^= k
        assert r.io[x] == total


def test_leaving_two_loops_at_once(launch) -> None:
    r = launch(
        "int s = 0; for (int i = 0; i < key[x] % 7; i++) for (int j = 0; j < int(x % 5) + i; j++) {"
        " if (j == 3 && i == 2) goto done; s += i * j + 1; } done: io[x] = s;"
    )
    for x in range(64):
        pairs = [(i, j) for i in range(r.key[x] % 7) for j in range(x % 5 + i)]
        cut = pairs.index((2, 3)) if (2, 3) in pairs else len(pairs)
        assert r.io[x] == sum(i * j + 1 for i, j in pairs[:cut])


def test_nobody_runs_what_no_lane_wants(launch) -> None:
    """The pointer would fault, the division would trap, the loop would not end."""
    r = launch(
        "int n = key[0] * 0; if (int(x) < n) { int* nothing = (int*)(long)n; io[x] = *nothing / n;"
        " while (n == 0) n = *nothing; } out[x] = 1;"
    )
    assert r.out[:64].all()


@pytest.mark.parametrize("shape", [(8, 4, 2), (5, 5, 3), (33, 2, 1), (7, 1, 1)])
def test_threads_in_any_arrangement(launch, shape) -> None:
    r = launch(
        "unsigned t = x + tg->shape[0] * (y + tg->shape[1] * z); io[t] = x * 10000 + y * 100 + z;"
        " io[t + 512] = lane + 32 * sg;",
        shape,
        "any",
    )
    z, y, x = np.meshgrid(*(np.arange(n) for n in shape[::-1]), indexing="ij")
    assert np.array_equal(r.io[: len(r.x)], (x * 10000 + y * 100 + z).ravel())
    assert np.array_equal(r.io[512 : 512 + len(r.x)], r.x)


def test_threads_along_x_and_along_y(launch) -> None:
    r = launch("io[x + 64 * (y + 2 * z)] = x * 100 + y * 10 + z + 1;", (64, 2, 2), "x")
    assert (r.io[64 * 3 + 5], r.io[64 * 2 + 63]) == (5 * 100 + 12, 63 * 100 + 2)
    r = launch("io[y] = y * 10 + x + 1; out[y] = in[y];", (1, 45, 1), "y")
    assert np.array_equal(r.io[:45], np.arange(45) * 10 + 1)
    assert np.array_equal(r.out[:46], np.append(r.given[:45], 0))
