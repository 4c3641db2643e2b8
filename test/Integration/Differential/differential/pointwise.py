# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Element-wise operations, reductions, softmax and normalisations."""

import math

import numpy as np

from .network import fits

ACTIVATIONS = [("Relu", 1), ("Relu", 1), ("LeakyRelu", 1), ("Sigmoid", 1), ("Tanh", 1), ("Elu", 1),
               ("Selu", 1), ("Softplus", 1), ("Softsign", 1), ("HardSigmoid", 1), ("HardSwish", 14),
               ("Celu", 12), ("ThresholdedRelu", 10), ("Erf", 9), ("Gelu", 20), ("Mish", 18),
               ("Abs", 1), ("Neg", 1)]


def activation(net, x):
    fits(x.is_float)
    op, since = net.pick(ACTIVATIONS)
    fits(net.opset >= since)
    attributes = {"alpha": net.pick([0.01, 0.125, 0.5])} if op in ("LeakyRelu", "Elu") else {}
    return net.node(op, [x], x.shape, **attributes)


def clip(net, x):
    fits(x.is_float)
    return net.clip(x, net.pick([0, -1, -0.5]), net.pick([1, 6, 0.75]))


def gelu_parts(net, x):
    """x / 2 * (1 + erf(x / sqrt 2)), as exporters write it."""
    fits(x.is_float)
    y = net.like("Div", x, net.number(2 ** 0.5))
    y = net.like("Add", net.like("Erf", y), net.number(1))
    return net.like("Mul", net.like("Mul", x, y), net.number(0.5))


def prelu(net, x):
    fits(x.is_float and x.rank >= 2)
    shape = (x.shape[1],) + (1,) * (x.rank - 2)
    return net.like("PRelu", x, net.vector(net.pick([shape, (1,) * x.rank])))


def broadcast(net, x):
    """A binary operation with a constant of a shape that broadcasts."""
    fits(x.is_float)
    shape = [n if net.chance(0.6) else 1 for n in x.shape]
    while shape and net.chance(0.2):
        shape = shape[1:]
    op = net.pick(["Add", "Add", "Mul", "Mul", "Sub", "Div", "Max", "Min"])
    low, high = (0.5, 2) if op == "Div" else (-1, 1)
    y = net.vector(tuple(shape), low, high)
    operands = [x, y] if op == "Div" or net.chance(0.7) else [y, x]
    return net.node(op, operands, x.shape)


def combine(net, x):
    """Two values of the network that broadcast."""
    others = [v for v in net.live if v.is_float and compatible(v.shape, x.shape)]
    fits(x.is_float and others)
    y = net.pick(others)
    op = net.pick(["Add", "Add", "Add", "Mul", "Sub", "Max", "Min"])
    operands = [x, y] if net.chance(0.5) else [y, x]
    return net.node(op, operands, np.broadcast_shapes(x.shape, y.shape))


def compatible(a, b):
    return all(m == n or 1 in (m, n) for m, n in zip(a[::-1], b[::-1]))


def residual_turned(net, x):
    """A sum through a transpose or a reshape of a value with as many elements."""
    fits(x.is_float)
    others = [v for v in net.live if v.is_float and v.size == x.size and v.name != x.name]
    fits(others)
    y = net.pick(others)
    perms = [p for p in ([*range(y.rank)][::-1], [*range(1, y.rank), 0],
                         [*range(y.rank - 2), y.rank - 1, y.rank - 2])
             if len(p) == y.rank and tuple(y.shape[k] for k in p) == x.shape]
    if perms and y.rank > 1:
        y = net.transpose(y, net.pick(perms))
    elif y.shape != x.shape:
        y = net.reshape(y, x.shape)
    return net.node("Add", [x, y] if net.chance(0.5) else [y, x], x.shape)


def where(net, x):
    """A comparison chooses; both sides are near each other where it is close."""
    fits(x.is_float)
    ops = ["Greater", "Less"] + (["GreaterOrEqual", "LessOrEqual"] if net.opset >= 12 else [])
    condition = net.node(net.pick(ops), [x, net.number(net.pick([0, 0.25, -0.5]))], x.shape, "bool")
    if net.chance(0.2):
        condition = net.like("Not", condition)
    other = net.like("Mul", x, net.number(0.5)) if net.chance(0.5) else net.number(0.1)
    return net.node("Where", [condition, x, other] if net.chance(0.5) else [condition, other, x],
                    x.shape)


def masked(net, x):
    """A constant mask, which moves nothing near a border."""
    fits(x.is_float and x.rank >= 1)
    shape = x.shape[-2:] if net.chance(0.7) else x.shape
    mask = net.constant(net.rng.random(shape) < 0.7, "mask")
    return net.node("Where", [mask, x, net.number(0)], x.shape)


def functions(net, x):
    """Roots, powers, logarithms of what is positive."""
    fits(x.is_float)
    y = net.like("Add", net.like("Abs", x), net.number(0.5))
    op = net.pick(["Sqrt", "Log", "Reciprocal", "Pow", "Exp"])
    if op == "Pow":
        return net.like("Pow", y, net.number(net.pick([0.5, 2, 3, -1])))
    if op == "Exp":
        return net.like("Exp", net.clip(x, -4, 2))
    return net.like(op, y)


def rounding(net, x):
    fits(x.is_float)
    op = net.pick(["Floor", "Ceil", "Sign", "Round"])
    fits(op != "Round" or net.opset >= 11)
    return net.node(op, [x], x.shape)


def cast(net, x):
    """To integers and back."""
    fits(x.is_float)
    y = net.node("Cast", [net.like("Mul", x, net.number(8))], x.shape, "int32", to=6)
    return net.node("Cast", [y], x.shape, to=1)


def reduce(net, x):
    fits(x.is_float and x.rank >= 1)
    ops = ["ReduceMean", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceSum", "ReduceL2",
           "ReduceL1", "ReduceSumSquare", "ReduceLogSumExp"]
    axes = [k for k in range(x.rank) if net.chance(0.4)] or [net.between(0, x.rank - 1)]
    op = net.pick(ops)
    depth = math.prod(x.shape[a] for a in axes)
    y = net.reduce(op, x, axes, net.between(0, 1))
    if op in ("ReduceSum", "ReduceL1", "ReduceSumSquare"):
        y = net.like("Mul", y, net.number(1 / depth))
    return y


def best(net, x):
    """The place of the largest; ends there."""
    fits(x.is_float and x.rank >= 2)
    axis, keep = net.between(0, x.rank - 1), net.between(0, 1)
    shape = [1 if k == axis else n for k, n in enumerate(x.shape) if keep or k != axis]
    net.live.append(net.node(net.pick(["ArgMax", "ArgMin"]), [x], shape, "int64",
                             axis=axis, keepdims=keep))
    return x


def softmax(net, x):
    fits(x.is_float and x.rank >= 1)
    op = "LogSoftmax" if net.chance(0.15) else "Softmax"
    return net.softmax(x, net.between(0, x.rank - 1), op)


def layer_norm(net, x):
    """As an operator, or as exporters before set 17 write it."""
    fits(x.is_float and x.rank >= 2 and x.shape[-1] > 1)
    n = x.shape[-1]
    scale, bias = net.vector((n,), 0.5, 1.5), net.vector((n,))
    if net.opset >= 17 and net.chance(0.6):
        if x.rank > 2 and net.chance(0.2):
            scale = net.vector(x.shape[-2:], 0.5, 1.5)
            return net.node("LayerNormalization", [x, scale], x.shape, axis=-2)
        return net.node("LayerNormalization", [x, scale, bias], x.shape, axis=-1, epsilon=1e-3)
    y = net.like("Sub", x, net.reduce("ReduceMean", x, [x.rank - 1]))
    square = net.like("Mul", y, y) if net.chance(0.5) else net.like("Pow", y, net.number(2))
    spread = net.reduce("ReduceMean", square, [x.rank - 1])
    spread = net.like("Sqrt", net.like("Add", spread, net.number(1e-3)))
    return net.like("Add", net.like("Mul", net.like("Div", y, spread), scale), bias)


def rms_norm(net, x):
    fits(x.is_float and x.rank >= 2 and x.shape[-1] > 1)
    scale = net.vector(x.shape[-1:], 0.5, 1.5)
    if net.opset >= 23 and net.chance(0.5):
        return net.node("RMSNormalization", [x, scale], x.shape, axis=-1, epsilon=1e-3)
    y = net.reduce("ReduceMean", net.like("Mul", x, x), [x.rank - 1])
    y = net.like("Sqrt", net.like("Add", y, net.number(1e-3)))
    y = net.like("Mul", x, net.like("Reciprocal", y)) if net.chance(0.5) else net.like("Div", x, y)
    return net.like("Mul", y, scale)


def channel_norm(net, x):
    """Batch, instance and group normalisation."""
    fits(x.is_float and x.rank >= 3)
    c = x.shape[1]
    scale, bias = net.vector((c,), 0.5, 1.5), net.vector((c,))
    kind = net.pick(["batch", "instance", "group"])
    if kind == "batch":
        return net.like("BatchNormalization", x, scale, bias, net.vector((c,)),
                        net.vector((c,), 0.5, 2))
    fits(math.prod(x.shape[2:]) > 1)
    if kind == "instance":
        return net.like("InstanceNormalization", x, scale, bias, epsilon=1e-2)
    fits(net.opset >= 21)
    groups = net.pick([g for g in range(1, c + 1) if c % g == 0])
    return net.like("GroupNormalization", x, scale, bias, num_groups=groups, epsilon=1e-2)


def many(net, x):
    """Sum, mean, extreme of three operands that broadcast."""
    fits(x.is_float)
    others = [v for v in net.live if v.is_float and compatible(v.shape, x.shape)]
    fits(others)
    y = net.pick(others)
    operands = [x, y, net.vector(x.shape[-1:])]
    shape = np.broadcast_shapes(*(v.shape for v in operands))
    operands = [operands[k] for k in net.rng.permutation(3)]
    return net.node(net.pick(["Sum", "Mean", "Max", "Min"]), operands, shape)


def logic(net, x):
    """Two conditions joined, which choose."""
    fits(x.is_float)
    first = net.node("Greater", [x, net.number(-0.5)], x.shape, "bool")
    second = net.node("Less", [x, net.number(net.pick([0.5, 1]))], x.shape, "bool")
    both = net.node(net.pick(["And", "Or", "Xor"]), [first, second], x.shape, "bool")
    if net.chance(0.3):
        return net.node("Cast", [both], x.shape, to=1)
    return net.node("Where", [both, x, net.like("Mul", x, net.number(0.5))], x.shape)


def across_channels(net, x):
    """Local response and mean-variance normalisation."""
    fits(x.is_float and x.rank == 4)
    if net.chance(0.5):
        return net.like("LRN", x, size=net.pick([1, 3, 5]), alpha=0.01, beta=0.75, bias=1.0)
    fits(x.size // x.shape[1] > 1)
    return net.like("MeanVarianceNormalization", x)


def unit_length(net, x):
    fits(x.is_float and x.rank >= 1)
    return net.node("LpNormalization", [x], x.shape, axis=net.between(0, x.rank - 1),
                    p=net.pick([1, 2]))


BINARY = [broadcast, broadcast, combine, combine, residual_turned, residual_turned]
NORMS = [layer_norm, layer_norm, rms_norm, channel_norm, unit_length, softmax, softmax]
ALL = BINARY + NORMS + [activation] * 4 + [clip, gelu_parts, prelu, where, masked, many, many,
                                           logic, across_channels, functions,
                                           rounding, cast, reduce, reduce, reduce, best]
