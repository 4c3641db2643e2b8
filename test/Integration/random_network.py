# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random float networks as ONNX models.

`build(seed)` draws one: convolutions with strides, groups, dilations and uneven
padding, residual adds, pools, concats, slices, shuffles, gates, transposed
convolutions, attention with products of two activations, Gemm and softmax. The
weights have channels of zeros, sparse kernels and magnitudes octaves apart, so
that alignment rounds. The same seed gives the same bytes.
"""

import random

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

ACTIVATIONS = ["Relu", "LeakyRelu", "Sigmoid", "Tanh", "Clip", "HardSwish", "Softplus", "Elu"]


class Network:
    """Nodes, constants and the shapes of what they make."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.np = np.random.default_rng(seed)
        self.nodes, self.constants, self.shapes = [], [], {}
        self.outputs = []

    def constant(self, array, hint):
        name = f"{hint}_{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(np.asarray(array), name))
        return name

    def node(self, op, inputs, shape, **attrs):
        name = f"{op}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, inputs, [name], name=name, **attrs))
        self.shapes[name] = tuple(shape)
        return name

    def chance(self, probability):
        return self.random.random() < probability

    def weights(self, shape, fan_in):
        """He-scaled; some with zeros, some with magnitudes octaves apart."""
        w = self.np.normal(0, np.sqrt(2.0 / fan_in), shape)
        kind = self.random.random()
        if kind < 0.3:
            w *= self.np.random(shape) < self.random.choice([0.05, 0.2, 0.5])
        elif kind < 0.5:
            w *= np.exp2(self.np.integers(-12, 4, shape))
        if self.chance(0.2):
            w[self.random.randrange(shape[0])] = 0
        return self.constant(w.astype(np.float32), "w")

    def vector(self, size, hint="b", scale=0.3):
        return self.constant(self.np.normal(0, scale, size).astype(np.float32), hint)

    def activation(self, x, probability=0.7):
        if not self.chance(probability):
            return x
        op = self.random.choice(["Relu"] * 5 + ACTIVATIONS)
        shape = self.shapes[x]
        if op == "Clip":
            low, high = self.constant(np.float32(0), "lo"), self.constant(np.float32(6), "hi")
            return self.node("Clip", [x, low, high], shape)
        if op == "LeakyRelu":
            return self.node(op, [x], shape, alpha=0.125)
        return self.node(op, [x], shape)

    def normalise(self, x):
        """BatchNormalization as trained networks have it: folded or not."""
        if not self.chance(0.3):
            return x
        c = self.shapes[x][1]
        variance = self.constant(self.np.uniform(0.5, 2, c).astype(np.float32), "v")
        return self.node("BatchNormalization",
                         [x, self.vector(c, "g", 1), self.vector(c), self.vector(c), variance],
                         self.shapes[x])

    # Convolutions.

    def conv(self, x, outs, kernel, stride=1, dilation=1, group=1, pads=None):
        n, c, h, w = self.shapes[x]
        pads = [dilation * (kernel // 2)] * 4 if pads is None else pads
        reach = dilation * (kernel - 1) + 1
        oh = (h + pads[0] + pads[2] - reach) // stride + 1
        ow = (w + pads[1] + pads[3] - reach) // stride + 1
        inputs = [x, self.weights((outs, c // group, kernel, kernel), c // group * kernel ** 2)]
        if self.chance(0.7):
            inputs.append(self.vector(outs))
        return self.node("Conv", inputs, (n, outs, oh, ow), strides=[stride] * 2, pads=pads,
                         dilations=[dilation] * 2, group=group, kernel_shape=[kernel] * 2)

    def channels(self):
        return self.random.choice([3, 4, 8, 8, 12, 16, 16, 24, 32, 40])

    def any_conv(self, x):
        _, c, h, w = self.shapes[x]
        kernel = self.random.choice([1, 1, 3, 3, 5])
        dilation = self.random.choice([1, 1, 1, 2])
        reach = dilation * (kernel - 1) + 1
        pads = [self.random.randint(0, reach // 2) for _ in range(4)]
        if h + pads[0] + pads[2] < reach or w + pads[1] + pads[3] < reach:
            pads = [reach // 2] * 4
        groups = [g for g in (1, 1, 1, 2, 4, c) if c % g == 0]
        group = self.random.choice(groups)
        outs = group * self.random.choice([1, 2]) if group == c else self.channels()
        outs = max(group, outs - outs % group)
        stride = self.random.choice([1, 1, 2, 3]) if min(h, w) >= 6 else 1
        x = self.conv(x, outs, kernel, stride, dilation, group, pads)
        return self.activation(self.normalise(x))

    def residual(self, x):
        c = self.shapes[x][1]
        y = x
        for _ in range(self.random.randint(1, 2)):
            y = self.activation(self.conv(y, c, self.random.choice([1, 3])))
        inputs = [x, y] if self.chance(0.5) else [y, x]
        return self.activation(self.node("Add", inputs, self.shapes[x]))

    def conv_transpose(self, x):
        n, c, h, w = self.shapes[x]
        outs, kernel, stride = self.random.choice([4, 8]), self.random.choice([2, 3]), 2
        weights = self.weights((c, outs, kernel, kernel), c * kernel)
        shape = (n, outs, (h - 1) * stride + kernel, (w - 1) * stride + kernel)
        return self.node("ConvTranspose", [x, weights], shape, strides=[stride] * 2,
                         kernel_shape=[kernel] * 2)

    # Windows, data movement, gates.

    def pool(self, x):
        n, c, h, w = self.shapes[x]
        op = self.random.choice(["MaxPool", "AveragePool"])
        kernel = min(self.random.choice([2, 3]), h, w)
        stride, pad = self.random.choice([1, 2]), self.random.choice([0, kernel // 2])
        attrs = {"count_include_pad": self.random.randint(0, 1)} if op == "AveragePool" else {}
        shape = (n, c, (h + 2 * pad - kernel) // stride + 1, (w + 2 * pad - kernel) // stride + 1)
        return self.node(op, [x], shape, kernel_shape=[kernel] * 2, strides=[stride] * 2,
                         pads=[pad] * 4, **attrs)

    def fork(self, x):
        """Two branches, joined by a concat."""
        parts = [self.activation(self.conv(x, self.channels(), self.random.choice([1, 3])))
                 for _ in range(self.random.randint(1, 2))]
        if self.chance(0.6):
            parts.insert(self.random.randint(0, 1), x)
        c = sum(self.shapes[p][1] for p in parts)
        n, _, h, w = self.shapes[x]
        return self.node("Concat", parts, (n, c, h, w), axis=1)

    def part(self, x):
        n, c, h, w = self.shapes[x]
        if c < 4:
            return x
        first = self.random.choice([0, c // 4, c // 2])
        bounds = [self.constant(np.array([v], np.int64), "s") for v in (first, c, 1)]
        return self.node("Slice", [x, bounds[0], bounds[1], bounds[2]], (n, c - first, h, w))

    def shuffle(self, x):
        n, c, h, w = self.shapes[x]
        if c % 4:
            return x
        x = self.node("Reshape", [x, self.shape((n, 4, c // 4, h, w))], (n, 4, c // 4, h, w))
        x = self.node("Transpose", [x], (n, c // 4, 4, h, w), perm=[0, 2, 1, 3, 4])
        return self.node("Reshape", [x, self.shape((n, c, h, w))], (n, c, h, w))

    def shape(self, dims):
        return self.constant(np.array(dims, np.int64), "shape")

    def gate(self, x):
        n, c, h, w = self.shapes[x]
        y = self.node("GlobalAveragePool", [x], (n, c, 1, 1))
        y = self.node("Sigmoid", [self.conv(y, c, 1)], (n, c, 1, 1))
        return self.node("Mul", [x, y], (n, c, h, w))

    def upsample(self, x):
        n, c, h, w = self.shapes[x]
        scales = self.constant(np.array([1, 1, 2, 2], np.float32), "scales")
        return self.node("Resize", [x, "", scales], (n, c, 2 * h, 2 * w), mode="nearest",
                         coordinate_transformation_mode="asymmetric", nearest_mode="floor")

    def step(self, x):
        steps = [self.any_conv] * 6 + [self.residual] * 3 + [self.pool] * 2 + [
            self.fork, self.part, self.shuffle, self.gate]
        n, c, h, w = self.shapes[x]
        if n * c * h * w < 1500:
            steps += [self.conv_transpose, self.upsample]
        return self.random.choice(steps)(x)

    # Heads.

    def attention(self, x):
        """Products of two activations between linear layers."""
        n, c, h, w = self.shapes[x]
        x = self.node("Reshape", [x, self.shape((n, c, h * w))], (n, c, h * w))
        tokens, d = h * w, self.random.choice([8, 12, 16])
        x = self.node("Transpose", [x], (n, tokens, c), perm=[0, 2, 1])
        q, k, v = (self.node("MatMul", [x, self.weights((c, d), c)], (n, tokens, d))
                   for _ in range(3))
        k = self.node("Transpose", [k], (n, d, tokens), perm=[0, 2, 1])
        scores = self.node("MatMul", [q, k], (n, tokens, tokens))
        scale = self.constant(np.float32(d ** -0.5), "c")
        scores = self.node("Mul", [scores, scale], (n, tokens, tokens))
        scores = self.node("Softmax", [scores], (n, tokens, tokens), axis=-1)
        y = self.node("MatMul", [scores, v], (n, tokens, d))
        y = self.node("MatMul", [y, self.weights((d, c), d)], (n, tokens, c))
        y = self.node("Add", [x, y], (n, tokens, c))
        self.outputs.append(y)

    def dense(self, x):
        n, c, h, w = self.shapes[x]
        if self.chance(0.5):
            x, h, w = self.node("GlobalAveragePool", [x], (n, c, 1, 1)), 1, 1
        if c * h * w > 4000:
            x, h, w = self.node("GlobalMaxPool", [x], (n, c, 1, 1)), 1, 1
        x, size = self.node("Flatten", [x], (n, c * h * w), axis=1), c * h * w
        for outs in self.random.sample([5, 10, 24, 33], self.random.randint(1, 2)):
            turned = self.chance(0.5)
            weights = self.weights((outs, size) if turned else (size, outs), size)
            x = self.activation(self.node("Gemm", [x, weights, self.vector(outs)], (n, outs),
                                          transB=int(turned)), 0.4)
            size = outs
        if self.chance(0.5):
            x = self.node("Softmax", [x], (n, size), axis=1)
        self.outputs.append(x)

    def model(self, shape):
        infos = [helper.make_tensor_value_info(o, TensorProto.FLOAT, self.shapes[o])
                 for o in dict.fromkeys(self.outputs)]
        graph = helper.make_graph(
            self.nodes, "random", [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
            infos, self.constants)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 14)])
        model.ir_version = 7
        return model


def sample(network, shape, plain):
    """An input: Gaussian, or with zeros, outliers, denormals or no numbers."""
    x = network.np.normal(0, 1, shape)
    kind = 1 if plain else network.random.random()
    if kind < 0.15:
        x *= network.np.random(shape) < 0.3
    elif kind < 0.3:
        x *= np.exp2(network.np.integers(-20, 20, shape))
    elif kind < 0.35:
        x *= 2.0 ** -135
    elif kind < 0.4:
        x = np.zeros(shape)
    elif kind < 0.45:
        x.reshape(-1)[:2] = [np.nan, np.inf]
    return x.astype(np.float32)


def build(seed, count=1):
    """(model, list of `count` inputs by name, the first an ordinary one)"""
    network = Network(seed)
    draw = network.random
    size = draw.choice([5, 7, 8, 12, 14])
    shape = (draw.choice([1, 1, 1, 2]), draw.choice([1, 3, 8, 16]), size,
             size + draw.choice([0, 0, 3]))
    network.shapes["x"] = shape
    x = network.any_conv("x") if network.chance(0.8) else "x"
    for _ in range(draw.randint(1, 6)):
        x = network.step(x)
        if network.chance(0.1) and x != "x":
            network.outputs.append(x)
    _, _, h, w = network.shapes[x]
    heads = [network.dense] * 2 + ([network.attention] if h * w <= 100 else [])
    draw.choice(heads)(x)
    inputs = [{"x": sample(network, shape, k == 0)} for k in range(count)]
    return network.model(shape), inputs
