#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""com.amd.quark: block formats against their definitions, block by block.

usage: quark.py
"""

import math
import os
import sys

import numpy as np
from onnx import helper

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                "..", "Types"))
import narrow_types  # noqa: E402

DOMAIN = "com.amd.quark"
# Bits of the fraction, exponent of the least normal number, largest number.
ELEMENTS = {"fp8_e5m2": (2, -14, 57344), "fp8_e4m3": (3, -6, 448),
            "fp6_e3m2": (2, -2, 28), "fp6_e2m3": (3, 0, 7.5),
            "fp4_e2m1": (1, 0, 6), "int8": None}


def exponent(x):
    """The exponent field of binary32 minus its bias."""
    if x == 0 or not math.isfinite(x):
        return -127
    return max(math.frexp(x)[1] - 1, -127)


def halved(x, mode):
    if mode == 2:
        return float(np.rint(x))
    if mode == 1:
        return math.floor(x + 0.5)
    return math.copysign(math.floor(abs(x) + 0.5), x)


def to_bfp(block, bits, mode):
    digits = bits - 9
    scale = max(map(exponent, block)) - (digits - 1)
    finite = [x for x in block if math.isfinite(x)]
    numbers = [halved(math.ldexp(x, -scale), mode) for x in finite]
    if any(q >= 2 ** digits or q < -2 ** digits for q in numbers):
        scale += 1
    return [math.ldexp(halved(math.ldexp(x, -scale), mode), scale)
            if math.isfinite(x) else x for x in block]


def to_bfp_prime(block, bits, mode, part, shift_bits):
    if not all(map(math.isfinite, block)):
        return [math.nan] * len(block)
    digits, top, result = bits - 9, max(map(exponent, block)), []
    for start in range(0, len(block), part):
        own = max(map(exponent, block[start:start + part]))
        shift = min(top - own, 2 ** shift_bits - 1)
        unit = top - shift + 1 - digits
        result += [math.ldexp(halved(math.ldexp(x, -unit), mode), unit)
                   for x in block[start:start + part]]
    return result


def to_mx(block, name, mode):
    element = ELEMENTS[name]
    top = 0 if element is None else math.frexp(element[2])[1] - 1
    scale, result = max(map(exponent, block)) - top, []
    for x in block:
        if not math.isfinite(x):
            result.append(x)
            continue
        e = math.ldexp(x, -scale)
        if element is None:
            e = min(max(halved(e * 64, mode), -128), 127) / 64
        elif e != 0:
            unit = max(math.frexp(e)[1] - 1, element[1]) - element[0]
            e = math.ldexp(float(np.rint(math.ldexp(e, -unit))), unit)
            e = min(max(e, -element[2]), element[2])
        result.append(math.ldexp(e, scale))
    return result


def by_blocks(x, axis, size, fn):
    moved = np.moveaxis(x.astype(np.float64), axis, -1)
    rows = moved.reshape(-1, moved.shape[-1])
    result = np.zeros_like(rows)
    for row, out in zip(rows, result):
        for start in range(0, len(row), size):
            part = row[start:start + size]
            block = list(part) + [0.0] * (size - len(part))
            out[start:start + size] = fn(block)[:len(part)]
    return np.moveaxis(result.reshape(moved.shape), -1, axis)


def data():
    source = np.random.default_rng(5)
    x = source.normal(0, 1, (4, 37, 3)) * np.exp2(
        source.integers(-9, 9, (4, 37, 3)))
    x[1] = np.round(x[1])
    x[2, :20] = 0
    x[2, 1, 1] = math.inf
    x[2, 2, 2] = 255.99
    x[3, 0, 0] = -127.75
    return x.astype(np.float32)


def check(op, attributes, fn):
    x = data()
    size, axis = attributes["block_size"], attributes.get("axis", 1)
    node = helper.make_node(op, ["x"], ["y"], domain=DOMAIN, **attributes)
    made = narrow_types.model([node], [("x", 1, list(x.shape))],
                              [("y", 1, list(x.shape))])
    made.opset_import.append(helper.make_opsetid(DOMAIN, 1))
    found = narrow_types.run(made, {"x": x})["y"]
    narrow_types.expect(f"{op} {attributes}", found,
                        by_blocks(x, axis, size, fn).astype(np.float32))


def main():
    for mode in (0, 1, 2):
        check("BFPQuantizeDequantize",
              {"bfp_method": "to_bfp", "bit_width": 16, "block_size": 8,
               "axis": 1, "rounding_mode": mode},
              lambda block: to_bfp(block, 16, mode))
        check("MXQuantizeDequantize",
              {"element_dtype": "int8", "block_size": 32, "axis": 1,
               "rounding_mode": mode}, lambda block: to_mx(block, "int8", mode))
    for bits in (11, 13, 16):
        check("BFPQuantizeDequantize",
              {"bfp_method": "to_bfp_prime", "bit_width": bits,
               "block_size": 16, "axis": 1, "rounding_mode": 2,
               "sub_block_size": 2, "sub_block_shift_bits": 1},
              lambda block: to_bfp_prime(block, bits, 2, 2, 1))
    for name in ELEMENTS:
        check("MXQuantizeDequantize",
              {"element_dtype": name, "block_size": 32, "axis": -2,
               "rounding_mode": 2}, lambda block: to_mx(block, name, 2))
    print("all values equal")


if __name__ == "__main__":
    main()
