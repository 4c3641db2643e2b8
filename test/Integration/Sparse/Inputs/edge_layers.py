# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Layers at the edges of a tile plan; usage: edge_layers.py FOLDER

padding.onnx  a feature map, and a layer of it whose results meet nothing but padding
outside.onnx  a layer that reaches nothing, whose strides step over the feature map
blocks.onnx   groups whose channels begin inside a block of exponents
"""

import os
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper


def save(folder, name, shape, weights, **attributes):
    """A convolution with a bias, and the input itself doubled, which lies where
    results of the convolution may come."""
    outputs = weights.shape[0]
    constants = {"w": weights, "b": np.arange(1, outputs + 1) / 4, "two": np.array(2.0)}
    nodes = [helper.make_node("Mul", ["x", "two"], ["doubled"], "doubled"),
             helper.make_node("Relu", ["doubled"], ["map"], "map"),
             helper.make_node("Conv", ["map", "w", "b"], ["y"], "layer", **attributes)]
    graph = helper.make_graph(
        nodes, name, [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
        [helper.make_tensor_value_info(n, TensorProto.FLOAT, None) for n in ("y", "map")],
        [numpy_helper.from_array(v.astype(np.float32), k) for k, v in constants.items()])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8),
              os.path.join(folder, name + ".onnx"))
    values = np.random.default_rng(5).normal(size=shape).astype(np.float32)
    np.savez(os.path.join(folder, name + ".npz"), x=values)


folder = sys.argv[1]
numbers = np.random.default_rng(3)
save(folder, "padding", [2, 3, 1, 4], numbers.normal(size=[5, 3, 2, 2]), strides=[2, 1],
     pads=[4, 0, 0, 9])
save(folder, "outside", [1, 2, 1, 3], numbers.normal(size=[4, 2, 1, 1]), strides=[2, 2],
     pads=[1, 0, 1, 0])
save(folder, "blocks", [2, 20, 7, 7], numbers.normal(size=[6, 10, 7, 7]), strides=[3, 3],
     dilations=[2, 1], pads=[6, 3, 6, 3], group=2)
