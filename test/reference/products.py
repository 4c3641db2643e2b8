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
    # JSON writes infinite parameters as strings, which float() reads.
    function = function or {}
    return functions.unary(function.get("name", "copy"), v,
                           float(function.get("alpha") or 0),
                           float(function.get("beta") or 0))


def aligned(operand):
    """(scale exponents, aligned integers): one E, or a vector of them along
    the operand's channel axis."""
    if operand.channel_axis is None:
        return operand.scale_exponent, blocks.align(operand.data,
                                                    operand.scale_exponent)
    per_channel = channel_exponents(operand.data, operand.channel_axis)
    spread = along(per_channel, operand.channel_axis, len(operand.shape))
    return per_channel, blocks.align(operand.data, spread)


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


def exponent_of(x, scale_x, w, scale_w, channel_axis, rank):
    """The accumulators' exponent, a number or one per output channel."""
    exponent = scale_x - x.data.format.range - w.data.format.range
    if np.ndim(scale_w):
        scale_w = along(scale_w, channel_axis, rank)
    return exponent + scale_w


def requantised(acc, attrs, operands, function):
    """docs/Numerics.md 12: rounded to binary32, scaled, rounded to integers,
    moved by the zero point; the caller limits to the type."""
    if "bias" in operands:
        acc = acc + along(operands["bias"].integers(), 1, acc.ndim)
    v = exact.scaled_to_f32(acc, 0)
    v = v * along(operands["scale"].numbers(), 1, acc.ndim)
    v = functions.unary((function or {}).get("name", "copy"), v, 0.0, 0.0)
    return np.rint(v).astype(np.float64) + attrs["zero_point"]


def conv(x, w, attrs, operands, function):
    if x.type != "bfp":
        acc = conv_integers(x.integers(), w.integers(), attrs)
        return requantised(acc, attrs, operands, function) if "scale" in operands else acc
    scale_x, moving = aligned(x)
    scale_w, stationary = aligned(w)
    acc = conv_integers(moving, stationary, attrs)
    exponent = exponent_of(x, scale_x, w, scale_w, 1, acc.ndim)
    return epilogue(acc, exponent, 1, operands, function)


def matmul(x, w, attrs, operands, function):
    """x [.., M, K] @ w [.., K, N]."""
    if x.type != "bfp":
        return exact.matmul(x.integers() - attrs.get("x_zero", 0),
                            w.integers() - attrs.get("w_zero", 0))
    scale_x, left = aligned(x)
    scale_w, right = aligned(w)
    acc = exact.matmul(left, right)
    exponent = exponent_of(x, scale_x, w, scale_w, acc.ndim - 1, acc.ndim)
    return epilogue(acc, exponent, acc.ndim - 1, operands, function)
