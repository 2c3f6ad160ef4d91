from __future__ import annotations

import math

import numpy as np

from openmps.emit.lanes.matrix_rows import column_of, holder_of, row_of


def tree(values: np.ndarray, operation) -> np.generic:
    values = values.copy()
    while len(values) > 1:
        half = len(values) // 2
        values = operation(values[:half], values[half:])
    return values[0]


def test_reductions_follow_the_fixed_tree(launch) -> None:
    r = launch(
        "out[x] = openmps_reduce_add_f32(in[x]); out[64 + x] = openmps_reduce_max_f32(in[x]);"
        " io[x] = openmps_reduce_umax_u32(x * 77 % 50);"
        " io[64 + x] = openmps_reduce_smin_u32(x - 9);"
        " ((unsigned long*)io)[100 + x] = openmps_reduce_mul_u64(x | 1);",
        (32, 1, 1),
    )
    given = r.given[:32]
    assert (r.out[:32] == tree(given, np.add)).all()
    assert (r.out[64:96] == given.max()).all()
    assert (r.io[:32] == max(x * 77 % 50 for x in range(32))).all()
    assert (r.io[64:96] == -9).all()
    product = math.prod(x | 1 for x in range(32)) % (1 << 64)
    assert (r.io.view(np.uint64)[100:132] == product).all()


def test_only_active_lanes_count(launch) -> None:
    r = launch(
        "if (x % 3 == 1) { io[x] = openmps_reduce_add_u32(key[x]); io[64 + x] = openmps_active();"
        " io[128 + x] = openmps_ballot(key[x] > 50);"
        " io[192 + x] = openmps_scan_exclusive_add_u32(1);"
        " out[x] = openmps_reduce_min_f32(in[x]); }",
        (32, 1, 1),
    )
    on = np.arange(32) % 3 == 1
    key = r.key[:32]
    assert np.array_equal(r.io[:32], np.where(on, key[on].sum(), 0))
    bits = sum(1 << x for x in range(32) if on[x])
    assert np.array_equal(r.io[64:96].view(np.uint32), np.where(on, bits, 0))
    bits = sum(1 << x for x in range(32) if on[x] and key[x] > 50)
    assert np.array_equal(r.io[128:160].view(np.uint32), np.where(on, bits, 0))
    assert np.array_equal(r.io[192:224], np.where(on, np.cumsum(on) - on, 0))
    assert np.array_equal(r.out[:32], np.where(on, r.given[:32][on].min(), 0).astype(np.float32))


def test_scans(launch) -> None:
    r = launch(
        "io[x] = openmps_scan_inclusive_add_u32(key[x]);"
        " out[x] = openmps_scan_exclusive_mul_f32(x % 4 == 0 ? 2.f : 1.f);"
        " ((unsigned long*)io)[100 + x] = openmps_scan_inclusive_mul_u64(x % 5 + 1);",
        (32, 1, 1),
    )
    assert np.array_equal(r.io[:32], np.cumsum(r.key[:32]))
    twos = np.cumprod(np.where(np.arange(32) % 4 == 0, 2.0, 1.0))
    assert np.array_equal(r.out[:32], np.append(1, twos[:-1]))
    products = np.cumprod((np.arange(32) % 5 + 1).astype(np.uint64))
    assert np.array_equal(r.io.view(np.uint64)[100:132], products)


def test_shuffles(launch) -> None:
    r = launch(
        "io[x] = openmps_shuffle_u32(key[x], lane ^ 5); io[64 + x] = openmps_shuffle_u32(key[x],"
        " lane + key[3]); io[128 + x] = openmps_shuffle_u32(key[x], 3); ((long*)io)[100 + x] ="
        " openmps_shuffle_u64(key[x] * 77777777777ul, lane / 2);",
        (32, 1, 1),
    )
    lane = np.arange(32)
    assert np.array_equal(r.io[:32], r.key[lane ^ 5])
    assert np.array_equal(r.io[64:96], r.key[(lane + r.key[3]) & 31])
    assert (r.io[128:160] == r.key[3]).all()
    assert np.array_equal(
        r.io.view(np.int64)[100:132], r.key[lane // 2].astype(np.int64) * 77777777777
    )


def test_matrix_layout_is_its_own_inverse() -> None:
    for lane in range(32):
        for element in range(2):
            assert holder_of(row_of(lane), column_of(lane) + element) == (lane, element)
    assert (row_of(0b10110), column_of(0b01001)) == (7, 6)


def test_matrix_product(launch) -> None:
    part = "openmps_matrix_{}_f32({}, 8, {}, {})"
    loads = [
        part.format("load", base, turned, element)
        for base, turned in (("in", "false"), ("in + 64", "key[0] >= 0"))
        for element in (0, 1)
    ]
    r = launch(
        f"float a0 = {loads[0]}, a1 = {loads[1]}, b0 = {loads[2]}, b1 = {loads[3]};"
        " float c0 = openmps_matrix_multiply_f32(a0, a1, b0, b1, 1.f, 0);"
        " float c1 = openmps_matrix_multiply_f32(a0, a1, b0, b1, 1.f, 1);"
        " openmps_matrix_store_f32(c0, c1, out, 8, false);"
        " openmps_matrix_store_f32(c0, c1, out + 64, 8, true);"
        " unsigned short h0 = openmps_matrix_load_u16(key, 16, 0, 0), h1 ="
        " openmps_matrix_load_u16(key, 16, 0, 1); openmps_matrix_store_u16(h0, h1, io, 8, 0);",
        (32, 1, 1),
    )
    a, b = r.given[:64].reshape(8, 8), r.given[64:128].reshape(8, 8)
    assert np.allclose(r.out[:64].reshape(8, 8), a @ b.T + 1, atol=1e-5)
    assert np.array_equal(r.out[64:128].reshape(8, 8).T, r.out[:64].reshape(8, 8))
    halves = r.key.view(np.uint16)[:128].reshape(8, 16)[:, :8]
    assert np.array_equal(r.io.view(np.uint16)[:64].reshape(8, 8), halves)


def test_mathematics(launch) -> None:
    r = launch(
        "float v = __builtin_fabsf(in[x]); out[x] = __builtin_expf(v) + __builtin_powf(v, 1.5f);"
        " out[64 + x] = __builtin_tanhf(v) + __builtin_sinf(v); out[128 + x] = __builtin_erff(v);"
        " out[192 + x] = __builtin_fminf(v, 0.5f) + __builtin_floorf(v * 4) + __builtin_sqrtf(v);"
        " if (x & 1) out[256 + x] = __builtin_fmodf(v, 0.3f) + __builtin_ldexpf(v, x & 3);"
    )
    v = np.abs(r.given[:64]).astype(np.float64)
    close = {"rtol": 2e-6, "atol": 2e-6}
    assert np.allclose(r.out[:64], np.exp(v) + v**1.5, **close)
    assert np.allclose(r.out[64:128], np.tanh(v) + np.sin(v), **close)
    assert np.allclose(r.out[128:192], [math.erf(a) for a in v], **close)
    assert np.allclose(r.out[192:256], np.minimum(v, 0.5) + np.floor(v * 4) + np.sqrt(v), **close)
    rest = np.fmod(v, np.float32(0.3)) + v * 2.0 ** (r.x & 3)
    assert np.allclose(r.out[256:320], np.where(r.x & 1, rest, 0), **close)


def test_integer_arithmetic(launch) -> None:
    r = launch(
        "int d = key[x] % 7, t = key[x] * 7 - 300; unsigned k = key[x];"
        " if (d) { io[x] = t / d; io[64 + x] = t % d; io[128 + x] = (k - 50) / (unsigned)d; }"
        " io[192 + x] = 0xffffffffu / (x + 1); io[256 + x] = k << (x & 31) | k >> ((32 - x) & 31);"
        " int s; io[320 + x] = __builtin_sadd_overflow(key[x] * 30000000, 1 << 30, &s);"
        " io[384 + x] = __builtin_popcount(key[x]) + __builtin_clz(x + 1);"
    )
    key = r.key[:64].astype(np.int64)
    d = key % 7
    top = key * 7 - 300
    on = d != 0
    safe = np.where(on, d, 1)
    quotient = np.trunc(top / safe).astype(np.int64)
    assert np.array_equal(r.io[:64], np.where(on, quotient, 0))
    assert np.array_equal(r.io[64:128], np.where(on, top - quotient * safe, 0))
    unsigned = ((key - 50) % (1 << 32)) // safe
    assert np.array_equal(r.io[128:192].view(np.uint32), np.where(on, unsigned, 0))
    assert np.array_equal(r.io[192:256].view(np.uint32), 0xFFFFFFFF // (r.x + 1))
    numbers = list(enumerate(map(int, key)))
    turned = [(k << (x % 32) | k >> ((32 - x) % 32)) & 0xFFFFFFFF for x, k in numbers]
    assert np.array_equal(r.io[256:320].view(np.uint32), turned)
    low = (key * 30000000 + (1 << 31)) % (1 << 32) - (1 << 31)
    assert np.array_equal(r.io[320:384], low + (1 << 30) >= 1 << 31)
    counted = [k.bit_count() + 32 - (x + 1).bit_length() for x, k in numbers]
    assert np.array_equal(r.io[384:448], counted)


def test_half(launch) -> None:
    r = launch("_Float16 h = in[x]; h = h * (_Float16)1.5f + (_Float16)x; ((_Float16*)out)[x] = h;")
    half = r.given[:64].astype(np.float16) * np.float16(1.5) + r.x.astype(np.float16)
    assert np.array_equal(r.out.view(np.float16)[:64], half)
