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
    x = np.repeat(x.max(axis=others), encoded.format.rows)
    return x[:encoded.shape[keep]] - (encoded.format.mantissa - 2)


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
    alpha = float(function.get("alpha") or 0)
    if operands.get("slope") is not None:
        alpha = along(operands["slope"].numbers(), channel_axis, v.ndim)
    return functions.unary(function.get("name", "copy"), v, alpha,
                           float(function.get("beta") or 0))


# What a cleared register counts as, and the bits that make 15 of them 61.
LEAST, ROOM = -142, 46


def bias_terms(bias):
    """(mantissas of 16 bits, exponents) of docs/Numerics.md 6."""
    bias = np.asarray(bias, np.float64)
    size = np.where(bias == 0, 1, np.abs(bias))
    exponent = np.where(bias == 0, 0, blocks.floor_log2(size) - 14)
    mantissa = np.clip(np.rint(np.ldexp(bias, -exponent)), -32767, 32767)
    return mantissa.astype(INT64), exponent


def residual_terms(residual):
    data = residual.data
    exponent = data.element_exponents() - (data.format.mantissa - 2)
    return data.fetched(), exponent


def limit_in_units(limit, unit):
    """A limit of a clip, to nearest even; beyond 63 bits their largest."""
    most = np.iinfo(INT64).max
    if not np.isfinite(limit):
        return np.where(limit < 0, -most, most)
    mantissa, exponent = np.frexp(float(limit))
    mantissa, exponent = int(mantissa * 2 ** 24), int(exponent) - 24
    fits = exponent - np.asarray(unit) + abs(mantissa).bit_length() <= 63
    inside = exact.in_units(mantissa, np.where(fits, exponent, unit), unit)
    return np.where(fits | (mantissa == 0), inside, most if mantissa > 0 else -most)


def integer_epilogue(acc, exponent, channel_axis, operands, function):
    """docs/Numerics.md 6, mode block: the exact sum for one rounding."""
    terms = []
    if operands.get("bias") is not None:
        terms.append([along(part, channel_axis, acc.ndim)
                      for part in bias_terms(operands["bias"].numbers())])
    if operands.get("residual") is not None:
        terms.append(residual_terms(operands["residual"]))
    unit = np.broadcast_to(np.asarray(exponent, INT64), acc.shape)
    for mantissa, own in terms:
        unit = np.where(mantissa == 0, unit, np.maximum(unit, own - ROOM))
    total = exact.in_units(acc, exponent, unit)
    for mantissa, own in terms:
        total = total + exact.in_units(mantissa, own, unit)
    name = (function or {}).get("name", "copy")
    if name == "relu":
        total = np.maximum(total, 0)
    elif name == "clip":
        low, high = (limit_in_units(float(function[key]), unit)
                     for key in ("alpha", "beta"))
        total = np.minimum(np.maximum(total, low), high)
    elif name != "copy":
        raise ValueError(f"an integer epilogue with the function {name}")
    return exact.scaled(total, unit)


def least_if_cleared(scale, operand):
    cleared = blocks.ZERO_BLOCK - (operand.data.format.mantissa - 2)
    return scale if np.ndim(scale) or scale != cleared else LEAST


def finish(acc, x, scale_x, w, scale_w, channel_axis, attrs, operands, function):
    """The epilogue that the operation asks for."""
    if attrs.get("epilogue") != "integer":
        exponent = exponent_of(x, scale_x, w, scale_w, channel_axis, acc.ndim)
        return epilogue(acc, exponent, channel_axis, operands, function)
    exponent = exponent_of(x, least_if_cleared(scale_x, x), w,
                           least_if_cleared(scale_w, w), channel_axis, acc.ndim)
    return integer_epilogue(acc, exponent, channel_axis, operands, function)


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
    return finish(acc, x, scale_x, w, scale_w, 1, attrs, operands, function)


def matmul(x, w, attrs, operands, function):
    """x [.., M, K] @ w [.., K, N]."""
    if x.type != "bfp":
        return exact.matmul(x.integers() - attrs.get("x_zero", 0),
                            w.integers() - attrs.get("w_zero", 0))
    scale_x, left = aligned(x)
    scale_w, right = aligned(w)
    acc = exact.matmul(left, right)
    return finish(acc, x, scale_x, w, scale_w, acc.ndim - 1, attrs, operands,
                  function)
