# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operations that move values and never change a bit (docs/Numerics.md 7).

`move(op, attrs, arrays, shape)` works on plain arrays. Encoded operands move
as mantissas and, with the block axis counted in blocks, as exponents.
"""

import numpy as np

import blocks


def _slice(attrs, arrays, shape):
    x = arrays[0]
    starts = attrs["starts"]
    steps = attrs.get("steps") or [1] * len(starts)
    axes = attrs.get("axes") or range(len(starts))
    index = [slice(None)] * x.ndim
    for axis, start, step in zip(axes, starts, steps):
        stop = start + step * shape[axis]
        index[axis] = slice(start, None if stop < 0 else stop, step)
    return x[tuple(index)]


def _interior(x, interior):
    if not any(interior):
        return x, None
    shape = [s + i * max(s - 1, 0) for s, i in zip(x.shape, interior)]
    return shape, tuple(slice(None, None, i + 1) for i in interior)


def _pad(attrs, arrays, shape):
    x = arrays[0]
    rank = x.ndim
    low, high = (attrs.get(k) or [0] * rank for k in ("low", "high"))
    interior = attrs.get("interior") or [0] * rank
    value = float(attrs.get("value") or 0)
    mode = attrs.get("mode", "constant")
    spread, index = _interior(x, interior)
    if index is not None:
        wide = np.full(spread, value, x.dtype)
        wide[index] = x
        x = wide
    crop = tuple(slice(max(-l, 0), s - max(-h, 0))
                 for l, h, s in zip(low, high, x.shape))
    widths = [(max(l, 0), max(h, 0)) for l, h in zip(low, high)]
    if mode == "constant":
        fill = np.array(value).astype(x.dtype)
        return np.pad(x[crop], widths, constant_values=fill)
    return np.pad(x[crop], widths, mode=mode)


def _interleave(attrs, arrays, shape):
    """Array number p holds the elements from index p on (in the mixed base of
    the factors), one in so many."""
    factors = attrs["factors"]
    result = np.empty(shape, arrays[0].dtype)
    for phase, x in zip(np.ndindex(*factors), arrays):
        result[tuple(slice(p, None, f) for p, f in zip(phase, factors))] = x
    return result


MOVES = {
    "reshape": lambda attrs, arrays, shape: arrays[0].reshape(shape),
    "transpose": lambda attrs, arrays, shape: arrays[0].transpose(attrs["perm"]),
    "expand": lambda attrs, arrays, shape: np.broadcast_to(arrays[0], shape),
    "broadcast": lambda attrs, arrays, shape: np.broadcast_to(arrays[0], shape),
    "gather": lambda attrs, arrays, shape: np.take(
        arrays[0], attrs["indices"], axis=attrs["axis"]).reshape(shape),
    "concat": lambda attrs, arrays, shape: np.concatenate(arrays, attrs["axis"]),
    "interleave": _interleave,
    "slice": _slice,
    "pad": _pad,
}


def move(op, attrs, arrays, shape):
    return MOVES[op](attrs, arrays, shape)


# Encoded operands.

def _blocks_of(shape, fmt):
    """The shape of the exponents of an encoded tensor."""
    if fmt.block == -1:
        return [1] * len(shape)
    length = blocks.block_length(shape, fmt)
    result = list(shape)
    result[fmt.axis] = -(-shape[fmt.axis] // length)
    return result


def _keeps_axis(op, attrs, parts, fmt, shape):
    """Whether the block axis of the operands becomes that of the result with
    every block whole."""
    own, new = parts[0].format, fmt
    if op == "reshape":
        before, after = parts[0].shape, shape
        length, other = before[own.axis], after[new.axis]
        return (np.prod(before[own.axis + 1:]) == np.prod(after[new.axis + 1:])
                and (length == other
                     or own.block > 0 and length % own.block == 0
                     and other % own.block == 0))
    if op == "transpose":
        return attrs["perm"][new.axis] == own.axis
    if op in ("expand", "broadcast"):
        lead = len(shape) - len(parts[0].shape)
        return (own.axis + lead == new.axis
                and parts[0].shape[own.axis] == shape[new.axis])
    if own.axis != new.axis:
        return False
    length = blocks.block_length(parts[0].shape, own)
    if op == "gather":
        return attrs["axis"] != own.axis
    if op == "concat":
        return attrs["axis"] != own.axis or (
            own.block > 0 and all(p.shape[own.axis] % length == 0
                                  for p in parts[:-1]))
    if op == "interleave":
        return attrs["factors"][own.axis] == 1 and own.block != -1
    if op == "slice":
        steps = attrs.get("steps") or [1] * len(shape)
        whole = parts[0].shape[own.axis] == shape[own.axis]
        ends = attrs["starts"][own.axis] + shape[own.axis]
        return steps[own.axis] == 1 and (whole or (
            attrs["starts"][own.axis] % length == 0
            and (ends % length == 0 or ends == parts[0].shape[own.axis])))
    rank = len(shape)
    around = [attrs.get(k) or [0] * rank for k in ("low", "high", "interior")]
    return (not any(side[own.axis] for side in around)
            and (attrs.get("mode", "constant") != "constant"
                 or not attrs.get("value")))


def _block_attrs(op, attrs, part):
    """`attrs` with positions along the block axis counted in blocks."""
    if op != "slice":
        return attrs
    fmt = part.format
    starts = list(attrs["starts"])
    starts[fmt.axis] //= blocks.block_length(part.shape, fmt)
    return dict(attrs, starts=starts)


def move_encoded(op, attrs, parts, fmt, shape):
    """Encoded operands moved block by block, or None where blocks would break
    (the plan then encodes after the data movement)."""
    own = parts[0].format
    alike = all((p.format.mantissa, p.format.block, p.format.range)
                == (fmt.mantissa, fmt.block, fmt.range) for p in parts)
    if not alike or fmt.block == -1 and len(parts) > 1:
        return None
    if fmt.block != -1 and not _keeps_axis(op, attrs, parts, fmt, shape):
        return None
    mantissas = move(op, attrs, [p.mantissas for p in parts], shape)
    if fmt.block == -1:
        exponents = own.exponents.reshape([1] * len(shape))
        return blocks.Encoded(mantissas, exponents, fmt)
    if op == "pad" and attrs.get("mode", "constant") == "constant":
        attrs = dict(attrs, value=blocks.ZERO_BLOCK)
    exponents = move(op, _block_attrs(op, attrs, parts[0]),
                     [p.exponents for p in parts], _blocks_of(shape, fmt))
    # Padding may have made blocks of zeros next to others: both views hold.
    return blocks.Encoded(mantissas, exponents, fmt)
