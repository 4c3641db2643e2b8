#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Layers whose rows, windows or columns do not fit into small partitions.

usage: small_layers.py FOLDER

Writes one network per kind of layer into FOLDER, as models for
small_memories.py: each has something that no tile cuts along the axes of the
model, or a reduction of more elements than 64 KiB of state buffer hold in a
partition.
"""

import os
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

RANDOM = np.random.default_rng(1)


def weights(name, *shape):
    values = RANDOM.standard_normal(shape) / np.sqrt(np.prod(shape[1:]))
    return numpy_helper.from_array(values.astype(np.float32), name)


def ints(name, *values):
    return numpy_helper.from_array(np.array(values, np.int64), name)


def conv(source, result, name):
    return helper.make_node("Conv", [source, name], [result], kernel_shape=[3, 3],
                            pads=[1] * 4)


def node(kind, inputs, **attributes):
    return helper.make_node(kind, inputs.split(), ["y"], **attributes)


def layers():
    """Name, shapes of x and y, nodes and constants of each network."""
    feature = conv("x", "a", "w")
    kernel = weights("w", 32, 16, 3, 3)
    yield ("lrn", [1, 16, 12, 12], [1, 32, 12, 12],
           [feature, node("LRN", "a", size=5)], [kernel])
    yield ("average", [1, 16, 24, 24], [1, 32, 3, 3],
           [feature, node("AveragePool", "a", kernel_shape=[16, 16], strides=[4, 4])],
           [kernel])
    yield ("global", [1, 16, 40, 40], [1, 32, 1, 1],
           [feature, node("GlobalAveragePool", "a")], [kernel])
    yield ("softmax", [1, 20, 16], [1, 20, 600],
           [helper.make_node("MatMul", ["x", "w"], ["a"]), node("Softmax", "a", axis=-1)],
           [weights("w", 16, 600)])
    yield ("norm", [1, 20, 16], [1, 20, 400],
           [helper.make_node("MatMul", ["x", "w"], ["a"]),
            node("LayerNormalization", "a s b", axis=-1)],
           [weights("w", 16, 400), weights("s", 400), weights("b", 400)])
    yield ("instance", [1, 16, 12, 12], [1, 32, 12, 12],
           [feature, node("InstanceNormalization", "a s b")],
           [kernel, weights("s", 32), weights("b", 32)])
    yield ("attention", [1, 130, 16], [1, 130, 16],
           [helper.make_node("MatMul", ["x", "wq"], ["q"]),
            helper.make_node("MatMul", ["x", "wk"], ["k"]),
            helper.make_node("Transpose", ["k"], ["t"], perm=[0, 2, 1]),
            helper.make_node("MatMul", ["q", "t"], ["s"]),
            helper.make_node("Softmax", ["s"], ["p"], axis=-1), node("MatMul", "p x")],
           [weights("wq", 16, 16), weights("wk", 16, 16)])
    yield ("turned", [1, 16, 24, 24], [1, 576, 32],
           [feature, helper.make_node("Reshape", ["a", "shape"], ["r"]),
            node("Transpose", "r", perm=[0, 2, 1])],
           [kernel, ints("shape", 1, 32, 576)])
    # Steps of a sequence before its batch, as an LSTM takes them: the rows of
    # the product are an axis of two loops.
    yield ("joined", [8700, 48], [8700, 24],
           [helper.make_node("Tanh", ["x"], ["a"]),
            helper.make_node("Reshape", ["a", "steps"], ["r"]),
            helper.make_node("Transpose", ["r"], ["t"], perm=[1, 0, 2]),
            helper.make_node("Reshape", ["t", "rows"], ["j"]), node("MatMul", "j w2")],
           [ints("steps", 300, 29, 48), ints("rows", 8700, 48), weights("w2", 48, 24)])


def main():
    os.makedirs(sys.argv[1], exist_ok=True)
    for name, x, y, nodes, constants in layers():
        graph = helper.make_graph(
            nodes, name, [helper.make_tensor_value_info("x", TensorProto.FLOAT, x)],
            [helper.make_tensor_value_info("y", TensorProto.FLOAT, y)], constants)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
        model.ir_version = 8
        onnx.checker.check_model(model)
        onnx.save(model, os.path.join(sys.argv[1], f"layer_{name}.onnx"))


if __name__ == "__main__":
    main()
