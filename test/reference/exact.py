# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Exact integer products and the one rounding after them.

Matrix products run in binary64 BLAS only where every partial sum is an
integer below 2^53, so that any order of summation is exact.
"""

import numpy as np

INT64 = np.int64
EXACT = 2 ** 53


def _bound(a, b):
    top = lambda m: int(np.abs(m).max()) if m.size else 0
    return top(a), top(b), a.shape[-1]


def matmul(a, b):
    """a[..., M, K] @ b[..., K, N] for int64 operands, exact in int64."""
    top_a, top_b, depth = _bound(a, b)
    if top_a * top_b * depth < EXACT:
        wide = np.matmul(a.astype(np.float64), b.astype(np.float64))
        return wide.astype(INT64)
    if top_a * top_b * depth >= 2 ** 63:
        raise OverflowError("the accumulator bound of docs/Numerics.md 4 fails")
    # Cut the operand with more bits in two: a = high * 2^k + low, 0 <= low.
    if top_a < top_b:
        return np.swapaxes(
            matmul(np.swapaxes(b, -1, -2), np.swapaxes(a, -1, -2)), -1, -2)
    bits = (top_a.bit_length() + 1) // 2
    high = a >> bits
    low = a & ((1 << bits) - 1)
    return (matmul(high, b) << bits) + matmul(low, b)


def scaled_to_f32(acc, exponent):
    """rne_f32(acc * 2^exponent), one rounding; `exponent` broadcasts."""
    negative = acc < 0
    magnitude = np.abs(acc)
    big = magnitude >= EXACT
    # Beyond 53 bits: drop 11 bits, keep a sticky one far below the result's
    # last bit, so that the conversion rounds as if it saw them all.
    sticky = (magnitude >> 11) | ((magnitude & 0x7FF) != 0)
    reduced = np.where(big, sticky, magnitude).astype(np.float64)
    shift = np.asarray(exponent, INT64) + np.where(big, 11, 0)
    with np.errstate(over="ignore"):
        value = np.ldexp(reduced, shift).astype(np.float32)
    return np.where(negative, -value, value)


def in_units(values, exponent, unit):
    """values * 2^exponent as integers of 2^unit: exact to the left, where they
    must fit, to nearest even to the right."""
    shift = np.asarray(exponent, INT64) - np.asarray(unit, INT64)
    values, shift = np.broadcast_arrays(np.asarray(values, INT64), shift)
    left = np.left_shift(values, np.clip(shift, 0, 62))
    right = np.clip(-shift, 1, 63)
    whole = values >> right
    # Twice the rest against the divisor, without leaving 64 bits.
    rest = (values - (whole << right)).astype(np.uint64)
    half = np.uint64(1) << (right - 1).astype(np.uint64)
    up = (rest > half) | ((rest == half) & (whole % 2 != 0))
    return np.where(values == 0, 0, np.where(shift >= 0, left, whole + up))


def scaled(values, exponent):
    """values * 2^exponent as binary64 that any rounding to 17 bits or fewer
    cannot tell from it: bits below the 53rd are one sticky bit."""
    magnitude = np.abs(values)
    big = magnitude >= EXACT
    sticky = (magnitude >> 11) | ((magnitude & 0x7FF) != 0)
    reduced = np.where(big, sticky, magnitude).astype(np.float64)
    value = np.ldexp(reduced, np.asarray(exponent, INT64) + np.where(big, 11, 0))
    return np.where(values < 0, -value, value)


def to_bf16(values):
    """binary32 to the nearest bfloat16, ties to even, as binary32."""
    bits = np.asarray(values, np.float32).view(np.uint32)
    rounded = bits + np.uint32(0x7FFF) + ((bits >> np.uint32(16)) & np.uint32(1))
    quiet = (bits | np.uint32(0x00400000))
    out = np.where(np.isnan(values), quiet, rounded) & np.uint32(0xFFFF0000)
    return out.astype(np.uint32).view(np.float32)
