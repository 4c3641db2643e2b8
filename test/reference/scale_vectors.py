#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Cases of scale selection, block arithmetic and the aligned bias with results
from exact fractions, as C++ initialisers (test/Unit/Numerics/ScaleVectors.inc).

Written from docs/Numerics.md alone: rationals, integer square roots, no code
shared with lib/.
"""

import random
from fractions import Fraction

CLEARED = -32768


def power(e):
    return Fraction(2) ** e


def lead(value, ceil):
    """lead(log2 value) of a positive fraction."""
    j = value.numerator.bit_length() - value.denominator.bit_length() - 1
    while power(j + 1) <= value:
        j += 1
    return j + 1 if ceil and power(j) != value else j


def spread_lead(values, k, ceil):
    """lead(log2(mean + k/16 * deviation)); roots compared by their squares."""
    n = len(values)
    mean = sum(values) / n
    variance = sum(v * v for v in values) / n - mean * mean
    part = Fraction(k, 16)

    def reaches(j):
        gap = power(j) - mean
        return gap <= 0 or gap * gap <= part * part * variance

    j = lead(mean, False)
    while reaches(j + 1):
        j += 1
    gap = power(j) - mean
    exact = gap >= 0 and gap * gap == part * part * variance
    return j + 1 if ceil and not exact else j


def nearest_even(value):
    return round(value)  # of a Fraction: ties to even


def encode(values, w):
    """(cell, mantissas, saturated) of one block of fractions."""
    top = max(abs(v) for v in values)
    if top == 0:
        return -128, [0] * len(values), 0
    cell = min(127, max(-127, lead(top, False)))
    limit, saturated, result = 2 ** (w - 1) - 1, 0, []
    for v in values:
        m = nearest_even(v / power(cell - (w - 2)))
        saturated += abs(m) > limit
        result.append(max(-limit, min(limit, m)))
    return cell if any(result) else -128, result, saturated


def list_of(values):
    return "{" + ", ".join(map(str, values)) + "}"


def selections(draw):
    for _ in range(60):
        n, k, w = draw.randint(1, 12), draw.choice((0, 8, 16, 48, 64, 255)), 8
        m = [draw.randint(-127, 127) * draw.randint(0, 1) for _ in range(n)]
        if draw.random() < 0.3:
            m = [draw.choice((4, 8, 16))] * n
        e = [draw.randint(-6, 6) for _ in range(n)]
        values = [abs(a) * power(b) for a, b in zip(m, e)]
        found = [CLEARED] * 4
        if any(values):
            found = [spread_lead(values, k, c) - (w - 2) for c in (0, 1)]
            found += [lead(max(values), c) - (w - 2) for c in (0, 1)]
        yield "SELECT(" + ", ".join(
            (list_of(m), list_of(e), str(k), str(w), list_of(found))) + ")"


def products(draw):
    for index in range(80):
        w = draw.randint(3, 16)
        limit = 2 ** (w - 1) - 1
        count, op = draw.randint(1, 6), ("Add", "Sub", "Mul", "Div")[index % 4]
        m = [[draw.randint(-limit, limit) for _ in range(count)]
             for _ in range(2)]
        reach = draw.choice((3, 40, 140))
        e = [[draw.randint(-reach, reach) for _ in range(count)]
             for _ in range(2)]
        if op == "Div":
            m[1] = [b or 1 for b in m[1]]
        values = []
        for a, b, ea, eb in zip(*m, *e):
            x, y = a * power(ea), b * power(eb)
            values.append({"Add": x + y, "Sub": x - y, "Mul": x * y,
                           "Div": x / y if op == "Div" else 0}[op])
        cell, result, saturated = encode(values, w)
        yield "APPLY(" + ", ".join(
            [op, str(w)] + [list_of(v) for v in m + e]
            + [str(cell), list_of(result), str(saturated)]) + ")"


def biases(draw):
    for _ in range(40):
        m, shift = draw.randint(-32767, 32767), draw.randint(-20, 47)
        base = draw.randint(-100, 100)
        yield (f"BIAS({m}, {base + shift}, {base}, "
               f"{nearest_even(m * power(shift))})")


def main():
    draw = random.Random(8)
    print("// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception")
    print("//")
    print("// Written by test/reference/scale_vectors.py.")
    print("// clang-format off")
    for make in (selections, products, biases):
        for case in make(draw):
            # Braced lists hold commas: parentheses protect them.
            print(case.replace("{", "(List{").replace("}", "})"))
    print("// clang-format on")


if __name__ == "__main__":
    main()
