# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Transformer encoders as exporters write them, with random weights.

`bert` has token ids, a mask with its arithmetic, learned positions, separate
projections, 4-D head splits by Reshape and Transpose, keys transposed for the
scores, layer normalisation after the sums, and the error-function form of
GELU. `vit` has a patch convolution, a class token that is expanded, one fused
projection for queries, keys and values that is split on a fifth axis, layer
normalisation in front, and the tanh form. Shapes are partly computed by Shape,
Gather and Concat nodes, as tracing exporters do.
"""

import numpy as np
from onnx import TensorProto, helper, numpy_helper


class Builder:
    """Nodes and initialisers of a graph; every method gives a result's name."""

    def __init__(self, seed, opset):
        self.random = np.random.default_rng(seed)
        self.opset = opset
        self.nodes, self.initialisers, self.count = [], [], 0

    def op(self, kind, *inputs, outputs=1, **attributes):
        self.count += 1
        names = [f"{kind.lower()}_{self.count}_{i}" for i in range(outputs)]
        self.nodes.append(helper.make_node(
            kind, list(inputs), names, name=f"{kind}_{self.count}",
            **attributes))
        return names[0] if outputs == 1 else names

    def constant(self, value, dtype=np.float32):
        self.count += 1
        name = f"constant_{self.count}"
        self.initialisers.append(
            numpy_helper.from_array(np.asarray(value, dtype), name))
        return name

    def integers(self, *values):
        return self.constant(values, np.int64)

    def weight(self, *shape, scale=None):
        scale = scale or 1 / np.sqrt(shape[0])
        return self.constant(self.random.normal(0, scale, shape))

    def linear(self, x, inputs, outputs):
        return self.op("Add", self.op("MatMul", x, self.weight(inputs, outputs)),
                       self.weight(outputs, scale=0.1))

    def layer_norm(self, x, width, fused):
        scale = self.constant(self.random.normal(1, 0.1, width))
        bias = self.constant(self.random.normal(0, 0.1, width))
        if fused:
            return self.op("LayerNormalization", x, scale, bias, axis=-1,
                           epsilon=1e-5)
        centred = self.op("Sub", x, self.mean(x))
        square = self.op("Pow", centred, self.constant(2.0))
        deviation = self.op("Sqrt", self.op("Add", self.mean(square),
                                            self.constant(1e-5)))
        return self.op("Add", self.op("Mul", self.op("Div", centred, deviation),
                                      scale), bias)

    def mean(self, x):
        if self.opset < 18:
            return self.op("ReduceMean", x, axes=[-1], keepdims=1)
        return self.op("ReduceMean", x, self.integers(-1), keepdims=1)

    def gelu_erf(self, x):
        inner = self.op("Div", x, self.constant(np.sqrt(2.0)))
        outer = self.op("Add", self.op("Erf", inner), self.constant(1.0))
        return self.op("Mul", self.op("Mul", x, outer), self.constant(0.5))

    def gelu_tanh(self, x):
        cube = self.op("Pow", x, self.constant(3.0))
        inner = self.op("Add", x, self.op("Mul", cube, self.constant(0.044715)))
        inner = self.op("Mul", inner, self.constant(np.sqrt(2 / np.pi)))
        outer = self.op("Add", self.op("Tanh", inner), self.constant(1.0))
        return self.op("Mul", self.op("Mul", x, outer), self.constant(0.5))

    def extent(self, x, axis):
        """Extent of an axis as a vector of one element, computed."""
        shape = self.op("Shape", x)
        return self.op("Unsqueeze", self.op("Gather", shape,
                                            self.constant(axis, np.int64)),
                       self.integers(0))

    def heads(self, x, heads, depth, perm):
        shape = self.op("Concat", self.extent(x, 0), self.extent(x, 1),
                        self.integers(heads), self.integers(depth), axis=0)
        return self.op("Transpose", self.op("Reshape", x, shape), perm=perm)

    def attend(self, query, key, value, depth, mask=None):
        """Scores, softmax, product with the values; key is transposed."""
        scores = self.op("Div", self.op("MatMul", query, key),
                         self.constant(np.sqrt(depth)))
        if mask:
            scores = self.op("Add", scores, mask)
        return self.op("MatMul", self.op("Softmax", scores, axis=-1), value)

    def join(self, x, width):
        return self.op("Reshape", self.op("Transpose", x, perm=[0, 2, 1, 3]),
                       self.integers(0, 0, width))

    def model(self, name, inputs, outputs):
        graph = helper.make_graph(self.nodes, name, inputs, outputs,
                                  self.initialisers)
        return helper.make_model(
            graph, ir_version=8,
            opset_imports=[helper.make_opsetid("", self.opset)])


def bert(tokens, width, heads, layers, fused_norm, seed=1):
    """(model, inputs) of an encoder with a pooled output."""
    b = Builder(seed, 17 if fused_norm else 14)
    depth, vocabulary = width // heads, 64
    keep = b.op("Cast", b.op("Unsqueeze", "mask", b.integers(1, 2)),
                to=TensorProto.FLOAT)
    mask = b.op("Mul", b.op("Sub", b.constant(1.0), keep), b.constant(-10000.0))
    x = b.op("Add", b.op("Gather", b.weight(vocabulary, width, scale=1), "ids"),
             b.weight(tokens, width, scale=0.3))
    x = b.layer_norm(x, width, fused_norm)
    for _ in range(layers):
        query = b.heads(b.linear(x, width, width), heads, depth, [0, 2, 1, 3])
        key = b.heads(b.linear(x, width, width), heads, depth, [0, 2, 3, 1])
        value = b.heads(b.linear(x, width, width), heads, depth, [0, 2, 1, 3])
        mixed = b.join(b.attend(query, key, value, depth, mask), width)
        x = b.layer_norm(b.op("Add", b.linear(mixed, width, width), x), width,
                         fused_norm)
        inner = b.gelu_erf(b.linear(x, width, 4 * width))
        x = b.layer_norm(b.op("Add", b.linear(inner, 4 * width, width), x),
                         width, fused_norm)
    first = b.op("Gather", x, b.constant(0, np.int64), axis=1)
    pooled = b.op("Tanh", b.op("Gemm", first, b.weight(width, width),
                               b.weight(width, scale=0.1)))
    b.nodes.append(helper.make_node("Identity", [x], ["hidden"], name="hidden"))
    b.nodes.append(helper.make_node("Identity", [pooled], ["pooled"],
                                    name="pooled"))
    info = helper.make_tensor_value_info
    ids = b.random.integers(0, vocabulary, (1, tokens))
    kept = (np.arange(tokens) < tokens - tokens // 4)[None].astype(np.int64)
    model = b.model("bert", [info("ids", TensorProto.INT64, [1, tokens]),
                             info("mask", TensorProto.INT64, [1, tokens])],
                    [info("hidden", TensorProto.FLOAT, [1, tokens, width]),
                     info("pooled", TensorProto.FLOAT, [1, width])])
    return model, {"ids": ids, "mask": kept}


def vit(size, patch, width, heads, layers, fused_norm, seed=2):
    """(model, inputs) of an image classifier of 10 classes."""
    b = Builder(seed, 18 if fused_norm else 13)
    depth, tokens = width // heads, (size // patch) ** 2 + 1
    kernel = b.weight(width, 3, patch, patch, scale=1 / patch)
    x = b.op("Conv", "image", kernel, b.weight(width, scale=0.1),
             strides=[patch, patch])
    shape = b.op("Concat", b.extent("image", 0), b.integers(width, -1), axis=0)
    x = b.op("Transpose", b.op("Reshape", x, shape), perm=[0, 2, 1])
    token = b.op("Expand", b.weight(1, 1, width, scale=1), b.op(
        "Concat", b.extent("image", 0), b.integers(1, 1), axis=0))
    x = b.op("Concat", token, x, axis=1)
    x = b.op("Add", x, b.weight(1, tokens, width, scale=0.3))
    for _ in range(layers):
        normal = b.layer_norm(x, width, fused_norm)
        fused = b.op("Reshape", b.linear(normal, width, 3 * width),
                     b.integers(0, 0, 3, heads, depth))
        fused = b.op("Transpose", fused, perm=[2, 0, 3, 1, 4])
        query, key, value = (b.op("Gather", fused, b.constant(i, np.int64),
                                  axis=0) for i in range(3))
        key = b.op("Transpose", key, perm=[0, 1, 3, 2])
        mixed = b.join(b.attend(query, key, value, depth), width)
        x = b.op("Add", x, b.linear(mixed, width, width))
        inner = b.gelu_tanh(b.linear(b.layer_norm(x, width, fused_norm), width,
                                     4 * width))
        x = b.op("Add", x, b.linear(inner, 4 * width, width))
    first = b.op("Gather", b.layer_norm(x, width, fused_norm),
                 b.constant(0, np.int64), axis=1)
    b.nodes.append(helper.make_node(
        "Gemm", [first, b.weight(10, width, scale=1 / np.sqrt(width)),
                 b.weight(10, scale=0.1)], ["classes"], name="classes",
        transB=1))
    info = helper.make_tensor_value_info
    model = b.model("vit", [info("image", TensorProto.FLOAT,
                                 [1, 3, size, size])],
                    [info("classes", TensorProto.FLOAT, [1, 10])])
    image = b.random.normal(0, 1, (1, 3, size, size)).astype(np.float32)
    return model, {"image": image}
