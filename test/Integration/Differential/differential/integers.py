# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Integer parts: quantise, integer products, dequantise, and the QDQ form."""

import math

import numpy as np

from .network import fits
from .windows import Window


def scale(net, low=0.01, high=0.03):
    return net.number(net.rng.uniform(low, high))


def zero(net, type):
    info = np.iinfo(type)
    middle = (int(info.min) + int(info.max) + 1) // 2
    return net.constant(np.dtype(type).type(middle + net.between(-20, 20)), "z")


def quantised(net, x, type="uint8"):
    """(integers, scale, zero point)"""
    fits(net.opset >= 10 and x.is_float)
    s, z = scale(net), zero(net, type)
    return net.node("QuantizeLinear", [x, s, z], x.shape, type), s, z


def int_weights(net, shape, type):
    info = np.iinfo(type)
    return net.constant(net.rng.integers(info.min, info.max + 1, shape).astype(type), "wq")


def product_weights(net, shape, type):
    """Weights of products of bytes: of half the range if they have a sign. On hosts
    without VNNI ONNX Runtime adds pairs of products of u8 and i8 in 16 bits,
    which saturate."""
    info = np.iinfo(type)
    values = net.rng.integers(info.min, info.max + 1, shape)
    return net.constant((values // 2 if info.min < 0 else values).astype(type), "wq")


def parameters(net, outs, type, per_channel):
    """Scales and zero points of weights."""
    if not per_channel:
        return scale(net, 0.002, 0.01), net.constant(np.dtype(type).type(
            0 if type == "int8" else 128), "z")
    scales = net.rng.uniform(0.002, 0.01, outs).astype(np.float32)
    zeros = np.full(outs, 0 if type == "int8" else 128, type)
    return net.constant(scales, "s"), net.constant(zeros, "z")


def dequantised(net, q, s, z):
    return net.node("DequantizeLinear", [q, s, z], q.shape)


def qlinear_conv(net, x):
    fits(x.rank == 4 and x.shape[1] <= 64)
    n, c, *extents = x.shape
    q, s, z = quantised(net, x)
    group = c if net.chance(0.2) else 1
    outs = c if group == c else net.pick([1, 3, 4, 8, 16, 17])
    win = Window(net, extents, automatic=False)
    shape = win.out(extents)
    depth = c // group * math.prod(win.kernel)
    net.work(n * outs * math.prod(shape) * depth)
    type = net.pick(["int8", "uint8"])
    ws, wz = parameters(net, outs, type, type == "int8" and net.chance(0.4))
    operands = [q, s, z, product_weights(net, (outs, c // group, *win.kernel), type), ws, wz,
                net.number(0.02 * math.sqrt(depth)), zero(net, "uint8")]
    if net.chance(0.5):
        operands.append(net.constant(net.rng.integers(-2000, 2000, outs).astype(np.int32), "b"))
    y = net.node("QLinearConv", operands, (n, outs, *shape), "uint8", group=group,
                 **win.attributes())
    return dequantised(net, y, operands[6], operands[7])


def qlinear_matmul(net, x):
    fits(x.rank >= 2)
    q, s, z = quantised(net, x)
    k, n = x.shape[-1], net.pick([1, 5, 8, 16, 33, 64, 300])
    net.work(x.size * n)
    type = net.pick(["int8", "uint8"])
    ws, wz = parameters(net, n, type, False)
    operands = [q, s, z, product_weights(net, (k, n), type), ws, wz,
                net.number(0.02 * math.sqrt(k)), zero(net, "uint8")]
    y = net.node("QLinearMatMul", operands, x.shape[:-1] + (n,), "uint8")
    return dequantised(net, y, operands[6], operands[7])


def integer_products(net, x):
    """MatMulInteger and ConvInteger, their sums as floats."""
    q, _, z = quantised(net, x)
    if x.rank == 4 and net.chance(0.5):
        n, c, *extents = x.shape
        win, outs = Window(net, extents, automatic=False), net.pick([1, 4, 8, 16])
        shape, depth = win.out(extents), c * math.prod(win.kernel)
        net.work(n * outs * math.prod(shape) * depth)
        weights = int_weights(net, (outs, c, *win.kernel), "uint8")
        y = net.node("ConvInteger", [q, weights, z, zero(net, "uint8")], (n, outs, *shape), "int32",
                     **win.attributes())
    else:
        fits(x.rank >= 2)
        depth, n = x.shape[-1], net.pick([1, 5, 8, 16, 33, 64])
        net.work(x.size * n)
        weights = int_weights(net, (depth, n), "uint8")
        y = net.node("MatMulInteger", [q, weights, z, zero(net, "uint8")], x.shape[:-1] + (n,),
                     "int32")
    y = net.node("Cast", [y], y.shape, to=1)
    return net.like("Mul", y, net.number(1e-4 / math.sqrt(depth)))


def dynamic(net, x):
    """DynamicQuantizeLinear before a MatMulInteger."""
    fits(net.opset >= 11 and x.is_float and x.rank >= 2)
    q, s, z = net.nodes_of("DynamicQuantizeLinear", [x], [x.shape, (), ()],
                           ["uint8", "float32", "uint8"])
    k, n = x.shape[-1], net.pick([1, 5, 8, 16, 33, 64])
    net.work(x.size * n)
    y = net.node("MatMulInteger", [q, int_weights(net, (k, n), "uint8"), z, zero(net, "uint8")],
                 x.shape[:-1] + (n,), "int32")
    y = net.node("Cast", [y], y.shape, to=1)
    y = net.node("Mul", [y, s], y.shape)
    return net.like("Mul", y, net.number(0.01 / math.sqrt(k)))


def qdq(net, x):
    """Fake quantisation, which leaves a float."""
    type = net.pick(["uint8", "int8"])
    return dequantised(net, *quantised(net, x, type))


def qdq_conv(net, x):
    """A convolution of dequantised operands, quantised again."""
    fits(x.rank == 4 and x.shape[1] <= 64)
    n, c, *extents = x.shape
    y = qdq(net, x)
    win, outs = Window(net, extents, automatic=False), net.pick([1, 3, 4, 8, 16])
    shape, depth = win.out(extents), c * math.prod(win.kernel)
    net.work(n * outs * math.prod(shape) * depth)
    ws, wz = parameters(net, outs, "int8", False)
    weights = dequantised(net, int_weights(net, (outs, c, *win.kernel), "int8"), ws, wz)
    y = net.node("Conv", [y, weights], (n, outs, *shape), **win.attributes())
    y = net.like("Relu", y) if net.chance(0.5) else y
    y = net.like("Mul", y, net.number(1.0)) if net.chance(0.1) else y
    q = net.node("QuantizeLinear", [y, net.number(0.02 * math.sqrt(depth)), zero(net, "uint8")],
                 y.shape, "uint8")
    return dequantised(net, q, net.number(0.02), zero(net, "uint8"))


def qdq_matmul(net, x):
    fits(x.rank >= 2)
    k, n = x.shape[-1], net.pick([1, 5, 8, 16, 33, 64, 300])
    net.work(x.size * n)
    y = qdq(net, x)
    ws, wz = parameters(net, n, "int8", False)
    weights = dequantised(net, int_weights(net, (k, n), "int8"), ws, wz)
    y = net.node("MatMul", [y, weights], x.shape[:-1] + (n,))
    return net.like("Mul", y, net.number(1 / math.sqrt(k)))


ALL = [qlinear_conv, qlinear_matmul, integer_products, dynamic, qdq, qdq_conv, qdq_matmul]
