#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checks the fast numpy reference against slow, literal Python integers."""

import math
import sys
from fractions import Fraction

import numpy as np

import blocks
import exact
import movement
import ops
import products
from storage import Value


def rne(value):
    """Round a Fraction to the nearest integer, ties to even."""
    return round(Fraction(value))


def slow_encode_block(values, width):
    finite = [abs(Fraction(float(v))) for v in values if math.isfinite(v)]
    top = max(finite, default=Fraction(0))
    if top == 0:
        return -128, [0] * len(values)
    x = 0
    while Fraction(2) ** (x + 1) <= top:
        x += 1
    while Fraction(2) ** x > top:
        x -= 1
    x = min(max(x, -127), 127)
    limit = 2 ** (width - 1) - 1
    out = []
    for v in values:
        if math.isnan(v):
            out.append(0)
        elif math.isinf(v):
            out.append(limit if v > 0 else -limit)
        else:
            m = rne(Fraction(float(v)) * Fraction(2) ** -(x - width + 2))
            out.append(max(-limit, min(limit, m)))
    return (x if any(out) else -128), out


def slow_align(m, x, width, depth, scale):
    e = x - (width - 2)
    s = scale - e
    if m == 0:
        return 0
    if s > depth:
        return rne(Fraction(m) / 2 ** (s - depth))
    if s < 0:
        limit = 2 ** (width - 1) - 1
        return max(-limit, min(limit, m * 2 ** -s)) << depth
    return m << (depth - s)


def slow_f32(value):
    """Nearest binary32 of an exact Fraction, through its integer ratio."""
    if value == 0:
        return np.float32(0)
    sign, v = (-1, -value) if value < 0 else (1, value)
    x = 0
    while Fraction(2) ** (x + 1) <= v:
        x += 1
    while Fraction(2) ** x > v:
        x -= 1
    ulp = max(x - 23, -149)
    m = rne(v / Fraction(2) ** ulp)
    if m * Fraction(2) ** ulp >= Fraction(2) ** 128:
        return np.float32(sign * math.inf)
    return np.float32(sign * math.ldexp(m, ulp))


def random_values(rng, count):
    values = rng.normal(0, 1, count) * 2.0 ** rng.integers(-20, 20, count)
    special = rng.integers(0, 12, count)
    values[special == 0] = 0
    values[special == 1] = 1e-42
    values = values.astype(np.float32)
    values[special == 2] = np.float32(1.9999999)
    if rng.integers(0, 4) == 0:
        values[rng.integers(0, count)] = [np.nan, np.inf, -np.inf][rng.integers(0, 3)]
    return values


def check_encode(rng):
    for width in range(3, 17):
        for block in (8, 16, 0, -1):
            values = random_values(rng, 2 * 21 * 3).reshape(2, 21, 3)
            fmt = blocks.Format(width, block, 7, 1)
            got = blocks.encode(values, fmt)
            if block == -1:
                x, m = slow_encode_block(values.ravel(), width)
                assert got.exponents.ravel()[0] == x
                assert got.mantissas.ravel().tolist() == m
                continue
            length = block or 21
            for n in range(2):
                for k in range(3):
                    for b in range(-(-21 // length)):
                        part = values[n, b * length:(b + 1) * length, k]
                        x, m = slow_encode_block(part, width)
                        assert got.exponents[n, b, k] == x, (width, part)
                        assert got.mantissas[n, b * length:(b + 1) * length,
                                             k].tolist() == m


def check_rows(rng):
    """Tiles of output channels by a block, of a convolution and a matrix."""
    for shape, axis in (((7, 21, 2), 1), ((21, 7), 0)):
        for rows, block in ((2, 8), (3, 16), (7, 0), (50, 8)):
            values = random_values(rng, int(np.prod(shape))).reshape(shape)
            fmt = blocks.Format(6, block, 7, axis, rows=rows)
            got = blocks.encode(values, fmt)
            channels, length = shape[1 - axis], block or 21
            for o in range(0, channels, rows):
                for b in range(0, 21, length):
                    for tap in range(2 if axis else 1):
                        at = (slice(o, o + rows), slice(b, b + length), tap) if axis \
                            else (slice(b, b + length), slice(o, o + rows))
                        cell = (o // rows, b // length, tap) if axis \
                            else (b // length, o // rows)
                        x, m = slow_encode_block(values[at].ravel(), 6)
                        assert got.exponents[cell] == x
                        assert got.mantissas[at].ravel().tolist() == m


def check_align(rng):
    for width in (3, 8, 9, 16):
        for depth in (0, 1, 3, 7, 15):
            limit = 2 ** (width - 1) - 1
            m = rng.integers(-limit, limit + 1, (1, 64))
            x = rng.integers(-30, 10, (1, 8))
            fmt = blocks.Format(width, 8, depth, 1)
            enc = blocks.Encoded(m, x, fmt)
            for scale in (enc.scale_exponent(), -10, 3):
                got = blocks.align(enc, scale)
                for i in range(64):
                    want = slow_align(int(m[0, i]), int(x[0, i // 8]), width,
                                      depth, scale)
                    assert int(got[0, i]) == want


def check_products(rng):
    for bits_a, bits_b, depth in ((8, 8, 5), (22, 22, 40), (23, 22, 200),
                                  (30, 24, 50)):
        a = rng.integers(-2 ** bits_a, 2 ** bits_a, (3, depth))
        b = rng.integers(-2 ** bits_b, 2 ** bits_b, (depth, 4))
        got = exact.matmul(a, b)
        for i in range(3):
            for j in range(4):
                want = sum(int(a[i, k]) * int(b[k, j]) for k in range(depth))
                assert int(got[i, j]) == want


def check_rounding(rng):
    acc = np.concatenate([
        rng.integers(-2 ** 62, 2 ** 62, 500),
        rng.integers(-2 ** 27, 2 ** 27, 500),
        (rng.integers(1, 2 ** 24, 200) << 30) + (1 << 29),
        (rng.integers(1, 2 ** 24, 200) << 30) + (1 << 29) + 1])
    exponent = rng.integers(-200, 70, acc.shape)
    got = exact.scaled_to_f32(acc, exponent)
    for a, e, g in zip(acc, exponent, got):
        want = slow_f32(Fraction(int(a)) * Fraction(2) ** int(e))
        assert g == want, (a, e, g, want)


def encoded_value(values, width, block, depth, axis, channel_axis=None):
    enc = blocks.encode(values, blocks.Format(width, block, depth, axis))
    return Value("bfp", enc, enc.scale_exponent(), channel_axis)


def element(enc, index, scale):
    """The aligned integer of one element by the literal rule."""
    block = list(index)
    block[enc.format.axis] //= enc.format.block
    return slow_align(int(enc.mantissas[index]), int(enc.exponents[tuple(block)]),
                      enc.format.mantissa, enc.format.range, scale)


def slow_conv_sum(x, w, scale, n, o, i, j, attrs):
    """acc of one output element by four loops; scale of w per channel."""
    depth = w.shape[1]
    group = o // (w.shape[0] // attrs["group"])
    total = 0
    for c in range(depth):
        for a in range(w.shape[2]):
            for b in range(w.shape[3]):
                y = i * attrs["strides"][0] + a * attrs["dilations"][0] - attrs["pads"][0]
                z = j * attrs["strides"][1] + b * attrs["dilations"][1] - attrs["pads"][1]
                if 0 <= y < x.shape[2] and 0 <= z < x.shape[3]:
                    total += (element(x.data, (n, group * depth + c, y, z),
                                      x.scale_exponent)
                              * element(w.data, (o, c, a, b), scale))
    return total


def check_conv(rng):
    for width, group, block in ((8, 1, 8), (16, 1, 16), (8, 4, 8), (6, 2, 16)):
        x = encoded_value(random_values(rng, 8 * 49).reshape(1, 8, 7, 7),
                          width, block, 7, 1)
        w = encoded_value(rng.normal(0, 1, (4, 8 // group, 3, 2)), width, block, 7, 1, 0)
        attrs = {"strides": [2, 1], "pads": [1, 0, 0, 2], "dilations": [1, 2],
                 "group": group}
        bias = Value("f32", rng.normal(0, 1, 4).astype(np.float32))
        got = products.conv(x, w, attrs, {"bias": bias}, {"name": "relu"})
        scales = products.channel_exponents(w.data, 0)
        for o in range(4):
            for i in range(got.shape[2]):
                for j in range(got.shape[3]):
                    acc = slow_conv_sum(x, w, int(scales[o]), 0, o, i, j, attrs)
                    power = x.scale_exponent + int(scales[o]) - 14
                    v = slow_f32(Fraction(acc) * Fraction(2) ** power)
                    v = slow_f32(Fraction(float(v)) + Fraction(float(bias.data[o])))
                    assert got[0, o, i, j] == max(v, 0), (o, i, j)


def check_matmul(rng):
    x = encoded_value(random_values(rng, 3 * 20).reshape(3, 20), 8, 8, 7, 1)
    w = encoded_value(rng.normal(0, 1, (20, 5)), 8, 8, 7, 0, 1)
    got = products.matmul(x, w, {}, {}, None)
    # A second factor computed at run time has one E for the whole tensor.
    moving = encoded_value(w.numbers(), 8, 8, 7, 0)
    ratio = products.matmul(x, moving, {}, {}, None) - got
    assert np.abs(ratio).max() < 0.05 * np.abs(got).max()
    scales = products.channel_exponents(w.data, 1)
    for i in range(3):
        for j in range(5):
            acc = sum(element(x.data, (i, k), x.scale_exponent)
                      * element(w.data, (k, j), int(scales[j])) for k in range(20))
            power = x.scale_exponent + int(scales[j]) - 14
            assert got[i, j] == slow_f32(Fraction(acc) * Fraction(2) ** power)


def check_pool(rng):
    x = Value("f32", rng.normal(0, 1, (1, 2, 6, 5)).astype(np.float32))
    attrs = {"kernel": [3, 2], "strides": [2, 2], "pads": [1, 0, 1, 1]}
    tensor = {"shape": [1, 2, 3, 3], "type": "f32"}
    for include in (0, 1):
        got = ops.avg_pool(dict(attrs, count_include_pad=include), {"x": x}, tensor)
        best = ops.max_pool(attrs, {"x": x}, tensor)
        for c in range(2):
            for i in range(3):
                for j in range(3):
                    total, count, top = np.float32(0), 0, -math.inf
                    for a in range(3):
                        for b in range(2):
                            y, z = 2 * i + a - 1, 2 * j + b
                            inside = 0 <= y < 6 and 0 <= z < 5
                            count += inside or bool(include)
                            if inside:
                                total = total + x.data[0, c, y, z]
                                top = max(top, x.data[0, c, y, z])
                    assert got[0, c, i, j] == total / np.float32(count)
                    assert best[0, c, i, j] == top


def check_movement(rng):
    """Moving blocks equals moving their values."""
    x = encoded_value(rng.normal(0, 1, (1, 32, 4, 6)), 8, 16, 7, 1)
    fmt = x.data.format
    cases = [
        ("slice", {"starts": [0, 16, 1, 0]}, [x], (1, 16, 2, 6), 1),
        ("transpose", {"perm": [0, 2, 3, 1]}, [x], (1, 4, 6, 32), 3),
        ("reshape", {}, [x], (1, 32, 24), 1),
        ("concat", {"axis": 1}, [x, x], (1, 64, 4, 6), 1),
        ("concat", {"axis": 3}, [x, x], (1, 32, 4, 12), 1),
        ("interleave", {"factors": [1, 1, 1, 2]}, [x, x], (1, 32, 4, 12), 1),
        ("pad", {"low": [0, 0, 1, 0], "high": [0, 0, 0, 2]}, [x], (1, 32, 5, 8), 1),
        ("gather", {"axis": 2, "indices": [3, 0, 0]}, [x], (1, 32, 3, 6), 1)]
    for op, attrs, parts, shape, axis in cases:
        own = blocks.Format(8, 16, 7, axis)
        got = movement.move_encoded(op, attrs, [p.data for p in parts], own, shape)
        want = movement.move(op, attrs, [p.numbers() for p in parts], shape)
        assert np.array_equal(got.decode(), want), op
        again = blocks.encode(want, own)
        assert np.array_equal(again.exponents, got.exponents), op
    broken = ("slice", {"starts": [0, 8, 0, 0]}, [x.data], fmt, (1, 16, 4, 6))
    assert movement.move_encoded(*broken) is None


def main():
    rng = np.random.default_rng(7)
    for check in (check_encode, check_rows, check_align, check_products, check_rounding,
                  check_conv, check_matmul, check_pool, check_movement):
        check(rng)
        print(check.__name__, "ok")


if __name__ == "__main__":
    sys.exit(main())
