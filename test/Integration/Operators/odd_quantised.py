# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Graphs in QDQ form as ONNX Runtime's static quantiser writes them: unsigned
activations, signed weights per tensor or per channel, 32-bit biases. odd_models.py
compiles, runs and compares them, bit for bit."""

import numpy as np

from odd_graphs import case


class Quantised:
    """Writes QDQ pairs as ONNX Runtime's quantize_static does."""

    def __init__(self, m):
        self.m = m

    def pair(self, x, scale, zero):
        m = self.m
        scale, zero = m.constant(np.float32(scale)), m.constant(np.uint8(zero))
        q = m.node("QuantizeLinear", [x, scale, zero])
        return m.node("DequantizeLinear", [q, scale, zero])

    def weights(self, shape, axis, per_channel=True):
        m = self.m
        w = m.np.integers(-127, 128, shape).astype(np.int8)
        extent = shape[axis] if per_channel else ()
        scale = m.np.uniform(0.002, 0.01, extent).astype(np.float32)
        zero = np.zeros(extent, np.int8)
        attributes = {"axis": axis} if per_channel else {}
        name = m.node("DequantizeLinear", [m.constant(w), m.constant(scale), m.constant(zero)],
                      **attributes)
        return name, scale

    def bias(self, size, scale):
        m = self.m
        scale = np.broadcast_to(scale, size).astype(np.float32)
        values = m.np.integers(-5000, 5000, size).astype(np.int32)
        inputs = [m.constant(values), m.constant(scale), m.constant(np.zeros(size, np.int32))]
        return m.node("DequantizeLinear", inputs, axis=0)


def qdq_network(m, per_channel):
    m.exact = True
    q = Quantised(m)
    x = q.pair(m.input("x", [2, 3, 13, 11]), 0.02, 114)
    w, scale = q.weights((16, 3, 3, 3), 0, per_channel)
    y = m.node("Conv", [x, w, q.bias(16, scale * np.float32(0.02))], pads=[1] * 4, strides=[2, 2])
    y = q.pair(m.node("Relu", [y]), 0.011, 0)
    w, scale = q.weights((16, 1, 3, 3), 0, per_channel)
    z = m.node("Conv", [y, w, q.bias(16, scale * np.float32(0.011))], pads=[1] * 4, group=16)
    z = q.pair(m.node("Clip", [z, m.constant(np.float32(0)), m.constant(np.float32(6))]), 0.02, 0)
    y = q.pair(m.node("Add", [y, z]), 0.025, 3)
    y = q.pair(m.node("MaxPool", [y], kernel_shape=[2, 2], strides=[2, 2]), 0.025, 3)
    y = q.pair(m.node("Concat", [y, y], axis=1), 0.025, 3)
    y = q.pair(m.node("GlobalAveragePool", [y]), 0.01, 0)
    y = q.pair(m.node("Reshape", [y, m.constant(np.array([2, 32]))]), 0.01, 0)
    w, scale = q.weights((32, 10), 1, per_channel)
    z = q.pair(m.node("MatMul", [y, w]), 0.03, 120)
    z = q.pair(m.node("Add", [z, q.pair(m.weights(10), 0.01, 128)]), 0.03, 120)
    w, scale = q.weights((10, 32), 0, per_channel)
    v = m.node("Gemm", [y, w, q.bias(10, scale * np.float32(0.01))], transB=1)
    m.output(z, q.pair(v, 0.04, 99))


@case
def qdq_per_channel(m):
    qdq_network(m, True)


@case
def qdq_per_tensor(m):
    qdq_network(m, False)


@case
def qdq_attention(m):
    m.exact = True
    q = Quantised(m)
    x = q.pair(m.input("x", [1, 7, 12]), 0.03, 128)
    parts = []
    for _ in range(3):
        w, _ = q.weights((12, 12), 1)
        y = q.pair(m.node("MatMul", [x, w]), 0.02, 131)
        y = q.pair(m.node("Reshape", [y, m.constant(np.array([1, 7, 3, 4]))]), 0.02, 131)
        parts.append(y)
    turned = [q.pair(m.node("Transpose", [p], perm=perm), 0.02, 131)
              for p, perm in zip(parts, ([0, 2, 1, 3], [0, 2, 3, 1], [0, 2, 1, 3]))]
    y = q.pair(m.node("MatMul", turned[:2]), 0.05, 117)
    m.output(q.pair(m.node("MatMul", [y, turned[2]]), 0.1, 128))
