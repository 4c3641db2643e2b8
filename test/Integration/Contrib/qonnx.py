#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Quantisers of QONNX and Brevitas against their definitions in numpy, and a
network of quantised layers against exact products.

usage: qonnx.py

ONNX Runtime has no kernels for them. ashlarc --verify judges each model by the
compiler's own definitions as well.
"""

import math
import os
import sys

import numpy as np
from onnx import helper, numpy_helper

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                "..", "Types"))
import narrow_types  # noqa: E402

DOMAINS = ("onnx.brevitas", "qonnx.custom_op.general", "finn.custom_op.general")
MODES = ("ROUND", "ceil", "FLOOR", "UP", "DOWN", "HALF_UP", "half_down")


def rounded(v, mode):
    size, sign = np.abs(v), np.sign(v)
    return {"ROUND": lambda: np.rint(v), "CEIL": lambda: np.ceil(v),
            "FLOOR": lambda: np.floor(v), "UP": lambda: sign * np.ceil(size),
            "DOWN": lambda: sign * np.floor(size),
            "HALF_UP": lambda: sign * np.floor(size + np.float32(0.5)),
            "HALF_DOWN": lambda: sign * np.ceil(size - np.float32(0.5)),
            }[mode.upper()]()


def limits(bits, signed, narrow):
    if signed:
        return -2.0 ** (bits - 1) + narrow, 2.0 ** (bits - 1) - 1
    return 0.0, 2.0 ** bits - 1 - narrow


def quantised(x, scale, zero, bits, signed=1, narrow=0, mode="ROUND"):
    """The integers of x, in binary32 as QONNX has them."""
    v = x / scale + zero
    if bits == 1 and signed:
        return np.where(v >= 0, 1, -1).astype(np.float32)
    low, high = limits(bits, signed, narrow)
    return rounded(np.clip(v, np.float32(low), np.float32(high)), mode)


def quant(x, scale, zero, bits, **attributes):
    return (quantised(x, scale, zero, bits, **attributes) - zero) * scale


def trunc(x, scale, zero, before, after, mode="FLOOR"):
    v = np.rint(x / scale + zero) / np.float32(2.0 ** (before - after))
    return (rounded(v, mode) - zero) * scale


def trunc_to(x, scale, zero, outer, bits, signed=1, narrow=0, mode="FLOOR"):
    factor = np.float32(2.0 ** round(math.log2(outer / scale)))
    low, high = limits(bits, signed, narrow)
    v = np.clip(np.rint(x / scale + zero) / factor, low, high)
    return (rounded(v, mode) - zero / factor) * outer


def float_quant(x, scale, exponent, mantissa, bias, limit, saturation=1,
                has_inf=0):
    v = (x / scale).astype(np.float64)
    largest = min(limit, (2 - 2.0 ** -mantissa) * 2.0 ** (2 ** exponent - 1 - bias))
    _, power = np.frexp(np.where(v == 0, 2.0 ** -99, v))
    unit = 2.0 ** np.maximum(power - 1 - mantissa, 1 - bias - mantissa)
    q = np.rint(v / unit) * unit
    beyond = np.abs(q) > largest
    cut = np.clip(q, -largest, largest)
    if not saturation:
        special = np.copysign(math.inf, q) if has_inf else math.nan
        cut = np.where(beyond, special, cut)
    return cut.astype(np.float32) * scale


def thresholds(x, steps, scale, bias):
    wide = x[..., None] >= steps.reshape(1, -1, 1, steps.shape[1])
    return wide.sum(-1).astype(np.float32) * np.float32(scale) + np.float32(bias)


def data():
    """Some of it halfway between integers of the scales below."""
    source = np.random.default_rng(7)
    x = source.normal(0, 2, (2, 6, 40)).astype(np.float32)
    x[0, :, :20] = source.integers(-40, 40, (6, 20)) * np.float32(0.125)
    x[1, 0, :4] = [0, -0.0, 1e9, -1e9]
    return x


def check(op, x, operands, wanted, domain=DOMAINS[0], imported=True,
          **attributes):
    constants = [numpy_helper.from_array(np.asarray(v, np.float32), f"c{k}")
                 for k, v in enumerate(operands)]
    node = helper.make_node(op, ["x"] + [c.name for c in constants], ["y"],
                            domain=domain, **attributes)
    made = narrow_types.model([node], [("x", 1, list(x.shape))],
                              [("y", 1, list(x.shape))], constants)
    if imported:
        made.opset_import.append(helper.make_opsetid(domain, 1))
    found = narrow_types.run(made, {"x": x}, verify=np.isfinite(wanted).all())["y"]
    narrow_types.expect(f"{op} {attributes} of {operands}", found, wanted)


def check_quant():
    x = data()
    scales = np.exp2(np.arange(6) - 4).astype(np.float32).reshape(1, 6, 1)
    for k, mode in enumerate(MODES):
        check("Quant", x, [0.25, 0, 4], quant(x, np.float32(0.25), 0, 4, mode=mode),
              DOMAINS[k % 3], rounding_mode=mode, signed=1, narrow=0)
    for op, bits, signed, narrow in (("IntQuant", 8, 1, 1), ("Quant", 8, 0, 0),
                                     ("Quant", 3, 0, 1), ("Quant", 1, 1, 0),
                                     ("Quant", 2, 1, 1), ("Quant", 12, 1, 0)):
        wanted = quant(x, scales, 0, bits, signed=signed, narrow=narrow)
        # Models of QONNX use domains that they do not import.
        check(op, x, [scales, 0, bits], wanted, DOMAINS[1], imported=False,
              signed=signed, narrow=narrow)
    zero = np.float32(3)
    check("Quant", x, [0.125, 3, 8],
          quant(x, np.float32(0.125), zero, 8, signed=0), signed=0)
    zeros = np.arange(6, dtype=np.float32).reshape(1, 6, 1)
    check("Quant", x, [0.125, zeros, 8],
          quant(x, np.float32(0.125), zeros, 8, signed=0), signed=0)
    check("BipolarQuant", x, [0.5],
          np.where(x >= 0, np.float32(0.5), np.float32(-0.5)))


def check_others():
    x = data()
    x[1, 0, 2:4] = 0
    for mode in ("FLOOR", "ROUND"):
        check("Trunc", x, [0.125, 0, 8, 5],
              trunc(x, np.float32(0.125), 0, 8, 5, mode), rounding_mode=mode)
    check("Trunc", x, [0.125, 4, 8, 1.0, 4],
          trunc_to(x, np.float32(0.125), np.float32(4), np.float32(1), 4,
                   signed=0), signed=0)
    for exponent, mantissa, bias, limit in ((4, 3, 7, 448), (5, 2, 15, 57344),
                                            (2, 1, 1, 6), (3, 4, 3, 1e9)):
        check("FloatQuant", x, [0.5, exponent, mantissa, bias, limit],
              float_quant(x, np.float32(0.5), exponent, mantissa, bias, limit),
              has_subnormal=1)
    for has_inf in (0, 1):
        check("FloatQuant", x, [0.5, 2, 1, 1, 6],
              float_quant(x, np.float32(0.5), 2, 1, 1, 6, 0, has_inf),
              saturation=0, has_inf=has_inf, has_nan=1)
    steps = np.sort(np.random.default_rng(3).normal(0, 1, (6, 7)), 1)
    steps = steps.astype(np.float32)
    check("MultiThreshold", x, [steps], thresholds(x, steps, 0.5, -1),
          DOMAINS[2], out_scale=0.5, out_bias=-1.0, out_dtype="INT4")


def check_layers():
    """Products of quantised operands are exact, whatever the format."""
    source = np.random.default_rng(11)
    x = source.normal(0, 1, (1, 8, 9, 9)).astype(np.float32)
    w = source.normal(0, 1, (5, 8, 3, 3)).astype(np.float32)
    scale = source.uniform(0.01, 0.02, (5, 1, 1, 1)).astype(np.float32)
    nodes, constants = [], []

    def constant(value):
        constants.append(numpy_helper.from_array(
            np.asarray(value, np.float32), f"c{len(constants)}"))
        return constants[-1].name

    def layer(source_name, name, scale_value, bits, signed):
        nodes.append(helper.make_node(
            "Quant", [source_name, constant(scale_value), constant(0),
                      constant(bits)], [name], domain=DOMAINS[0],
            signed=signed, narrow=signed))
        return name
    a = layer("x", "a", 0.03, 8, 1)
    b = layer(constant(w), "b", scale, 4, 1)
    nodes.append(helper.make_node("Conv", [a, b], ["z"]))
    nodes.append(helper.make_node("Relu", ["z"], ["r"]))
    layer("r", "y", 0.25, 6, 0)
    made = narrow_types.model(nodes, [("x", 1, list(x.shape))],
                              [("y", 1, [1, 5, 7, 7])], constants)
    made.opset_import.append(helper.make_opsetid(DOMAINS[0], 1))
    found = narrow_types.run(made, {"x": x})["y"]
    qx = quantised(x, np.float32(0.03), 0, 8, narrow=1).astype(np.int64)
    qw = quantised(w, scale, 0, 4, narrow=1).astype(np.int64)
    sums = np.zeros((1, 5, 7, 7), np.int64)
    for i in range(3):
        for j in range(3):
            sums += np.einsum("ncyx,oc->noyx", qx[:, :, i:i + 7, j:j + 7],
                              qw[:, :, i, j])
    # One rounding of the sums, as QLinearConv has it.
    factor = np.float32(0.03) * scale.reshape(1, 5, 1, 1) / np.float32(0.25)
    v = np.maximum(sums.astype(np.float32) * factor, 0)
    wanted = np.clip(np.rint(v), 0, 63) * np.float32(0.25)
    narrow_types.expect("quantised layers", found, wanted.astype(np.float32))


def main():
    check_quant()
    check_others()
    check_layers()
    print("all values equal")


if __name__ == "__main__":
    main()
