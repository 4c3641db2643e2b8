# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Scale exponents that depend on earlier runs (docs/Numerics.md 5, stats and
predict), in integers and fractions.

Written from docs/Numerics.md and docs/NumericPlan.md alone.
"""

from fractions import Fraction

import numpy as np

CLEARED = -32768


def power(e):
    return Fraction(2) ** e


def floor_log2(value):
    """floor(log2 value) of a positive fraction."""
    j = value.numerator.bit_length() - value.denominator.bit_length()
    return j if power(j) <= value else j - 1


def spread(count, total, squares, k):
    """floor(log2(mean + k/16 * deviation)); roots are compared by squares."""
    mean = total / count
    part = Fraction(k, 16) ** 2 * (squares / count - mean * mean)
    j = floor_log2(mean)
    while power(j + 1) <= mean or (power(j + 1) - mean) ** 2 <= part:
        j += 1
    return j


def samples_of(encoded, limit):
    """(|m|, e) of the first `limit` values, the block axis fastest; 0: all."""
    step = encoded.element_exponents() - (encoded.format.mantissa - 2)
    m, e = (np.moveaxis(np.asarray(a), encoded.format.axis, -1).reshape(-1)
            for a in (np.abs(encoded.mantissas), step))
    count = limit or len(m)
    return m[:count], e[:count]


def sums(m, e):
    """(count, sum, sum of squares) of the values m * 2^e."""
    total = squares = Fraction(0)
    for step in np.unique(e[m != 0]):
        own = m[e == step].astype(object)
        total += int(own.sum()) * power(int(step))
        squares += int((own * own).sum()) * power(2 * int(step))
    return len(m), total, squares


def largest(m, e):
    """(m, e) of the largest value, the least e of equal ones; None for zeros."""
    used = m != 0
    if not used.any():
        return None
    pairs = set(zip(m[used].tolist(), e[used].tolist()))
    return max(pairs, key=lambda p: (p[0] * power(p[1]), -p[1]))


class State:
    """What one event carries from run to run."""

    def __init__(self, exponent=CLEARED, window=()):
        self.exponent = exponent
        self.window = [tuple(pair) for pair in window]

    def used(self, observed):
        return observed if self.exponent == CLEARED else self.exponent

    def advance(self, policy, encoded):
        """Ends a run whose values are `encoded`."""
        width = encoded.format.mantissa
        if policy["kind"] == "stats":
            count, total, squares = sums(*samples_of(encoded,
                                                     policy["samples"]))
            self.exponent = CLEARED if not total else spread(
                count, total, squares, policy["k_sixteenths"]) - (width - 2)
            return
        used = encoded.exponents[encoded.exponents != -128]
        overflow = underflow = False
        if self.exponent != CLEARED and used.size:
            observed = int(used.max()) - (width - 2)
            overflow = observed > self.exponent
            underflow = self.exponent - observed > encoded.format.range
        if overflow or underflow:
            self.window = []
        top = largest(*samples_of(encoded, 0))
        if top:
            self.window.append((top[0], top[1] + int(overflow)))
            self.window = self.window[-policy["depth"]:]
        self.exponent = CLEARED
        if self.window:
            values = [m * power(e) for m, e in self.window]
            lead = spread(len(values), sum(values), sum(v * v for v in values),
                          policy["k_sixteenths"])
            self.exponent = max(lead, floor_log2(values[-1])) - (width - 2)

    def to_json(self):
        return {"exponent": self.exponent, "window": self.window}
