# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Scale exponents that depend on earlier runs (docs/Numerics.md 5: stats,
predict and error), in integers and fractions.

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


def lead_of(value, lead):
    """floor or ceil of log2 of a positive fraction."""
    j = floor_log2(value)
    return j + 1 if lead == "ceil" and power(j) < value else j


def spread(count, total, squares, k, lead="floor"):
    """lead(log2(mean + k/16 * deviation)); roots are compared by squares."""
    mean = total / count
    part = Fraction(k, 16) ** 2 * (squares / count - mean * mean)
    j = floor_log2(mean)
    while power(j + 1) <= mean or (power(j + 1) - mean) ** 2 <= part:
        j += 1
    exact = power(j) >= mean and (power(j) - mean) ** 2 == part
    return j + 1 if lead == "ceil" and not exact else j


def samples_of(encoded, limit):
    """(|m|, e) of the first `limit` values, the block axis fastest; 0: all."""
    step = encoded.element_exponents() - (encoded.format.mantissa - 2)
    m, e = (np.moveaxis(np.asarray(a), encoded.format.axis, -1).reshape(-1)
            for a in (np.abs(encoded.fetched()), step))
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


def loss(places, exponent, width):
    """Sum of what values of the leading places {l: count} can lose in mantissas
    of steps of 2^exponent."""
    total = Fraction(0)
    for place, count in places.items():
        if place > exponent + width - 2:
            each = power(place + 1) - power(exponent + width - 1)
        elif place < exponent - 1:
            each = power(place + 1)
        else:
            each = power(exponent - 1)
        total += each * count
    return total


def after_errors(m, e, exponent, width, tolerance, lead):
    """E after `exponent` by the policy error."""
    top = largest(m, e)
    if not top:
        return CLEARED
    most = lead_of(top[0] * power(top[1]), lead) - (width - 2)
    if exponent == CLEARED:
        return most
    used = m != 0
    leads, counts = np.unique(np.frexp(m[used].astype(np.float64))[1] - 1
                              + e[used], return_counts=True)
    places = dict(zip(leads.tolist(), counts.tolist()))
    if loss(places, exponent, width) * power(tolerance) <= sums(m, e)[1]:
        return exponent
    return min((exponent, exponent - 1, exponent + 1, most),
               key=lambda step: loss(places, step, width))


class State:
    """What one event carries from run to run."""

    def __init__(self, exponent=CLEARED, window=()):
        self.exponent = exponent
        self.window = [tuple(pair) for pair in window]

    def used(self, observed):
        return observed if self.exponent == CLEARED else self.exponent

    def advance(self, policy, encoded, observed):
        """Ends a run whose values are `encoded`; `observed` is the largest
        exponent that its blocks have by themselves, None for zeros."""
        width = encoded.format.mantissa
        if policy["kind"] == "error":
            self.exponent = after_errors(
                *samples_of(encoded, policy["samples"]), self.exponent, width,
                policy["tolerance"], policy.get("lead"))
            return
        if policy["kind"] == "stats":
            count, total, squares = sums(*samples_of(encoded,
                                                     policy["samples"]))
            self.exponent = CLEARED if not total else spread(
                count, total, squares, policy["k_sixteenths"],
                policy.get("lead")) - (width - 2)
            return
        overflow = underflow = False
        if self.exponent != CLEARED and observed is not None:
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
