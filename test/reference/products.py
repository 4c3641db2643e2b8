# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Multiplying operations: convolution and matrix product, epilogue included."""

import numpy as np

import blocks
import exact
import functions
import windows as win

INT64 = np.int64


def channel_exponents(encoded, keep):
    """E per index of axis `keep`: the largest e over its non-zero blocks."""
    x = encoded.exponents
    others = tuple(a for a in range(x.ndim) if a != keep)
    return x.max(axis=others) - (encoded.format.mantissa - 2)


def along(vector, axis, rank):
    shape = [1] * rank
    shape[axis] = -1
    return np.asarray(vector).reshape(shape)


def epilogue(acc, exponent, channel_axis, operands, function):
    """docs/Numerics.md 6, mode f32."""
    v = exact.scaled_to_f32(acc, exponent)
    with np.errstate(all="ignore"):
        for name in ("scale", "bias", "residual"):
            operand = operands.get(name)
            if operand is None:
                continue
            number = operand.numbers()
            if number.ndim == 1 and name != "residual":
                number = along(number, channel_axis, v.ndim)
            v = v * number if name == "scale" else v + number
    v = functions.canonical(v)
    function = function or {}
    return functions.unary(function.get("name", "copy"), v,
                           function.get("alpha", 0), function.get("beta", 0))


def weight_scale(weight, axis):
    """(scale exponents along `axis`, aligned integers) of a weight operand."""
    if weight.scale_exponent is not None and weight.type == "bfp" and \
            getattr(weight, "dynamic", False):
        return weight.scale_exponent, blocks.align(weight.data, weight.scale_exponent)
    per_channel = channel_exponents(weight.data, axis)
    spread = along(per_channel, axis, len(weight.shape))
    return per_channel, blocks.align(weight.data, spread)


def conv_integers(x, w, attrs):
    """Exact int64 convolution of x [N, C, ...] with w [O, C/g, ...]."""
    groups = int(attrs.get("group", 1) or 1)
    shape = win.Windows(x.shape[2:], w.shape[2:], attrs)
    outputs = shape.outputs()
    n, outs = x.shape[0], w.shape[0]
    depth = w.shape[1]
    result = np.empty((n, outs, int(np.prod(outputs))), INT64)
    share = outs // groups
    padded = shape.padded(x, 0, outputs)
    for g in range(groups):
        part = padded[:, g * depth:(g + 1) * depth]
        planes = [shape.view(part, tap, outputs) for tap in shape.taps()]
        columns = np.stack(planes, axis=2).reshape(n, depth * len(planes), -1)
        rows = w[g * share:(g + 1) * share].reshape(share, -1)
        result[:, g * share:(g + 1) * share] = exact.matmul(rows[None], columns)
    return result.reshape(n, outs, *outputs)


def conv(x, w, attrs, operands, function):
    fmt_x, fmt_w = x.data.format, w.data.format
    scales, rows = weight_scale(w, 0)
    acc = conv_integers(blocks.align(x.data, x.scale_exponent), rows, attrs)
    exponent = (x.scale_exponent - fmt_x.range - fmt_w.range
                + along(scales, 1, acc.ndim))
    return epilogue(acc, exponent, 1, operands, function)


def matmul(a, b, operands, function):
    """a [.., M, K] @ b [.., K, N]; a constant b has one E per column."""
    left = blocks.align(a.data, a.scale_exponent)
    scales, right = weight_scale(b, len(b.shape) - 1)
    acc = exact.matmul(left, right)
    exponent = a.scale_exponent - a.data.format.range - b.data.format.range
    if np.ndim(scales):
        exponent = exponent + along(scales, acc.ndim - 1, acc.ndim)
    else:
        exponent = exponent + scales
    return epilogue(acc, exponent, acc.ndim - 1, operands, function)
