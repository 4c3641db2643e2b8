#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""siblings.py OUT.onnx: two readers of one map, between which others run.

A block of a residual network with a tenth of its weights: its first convolution and
the one beside the block both read the map, but the second one comes last.
"""

import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

# Name, input, outputs, kernel, stride.
LAYERS = [("before", "x", 256, 1, 1), ("reduce", "before", 128, 1, 1),
          ("middle", "reduce", 128, 3, 2), ("expand", "middle", 512, 1, 1),
          ("side", "before", 512, 1, 2)]


def main():
    numbers = np.random.default_rng(5)
    nodes, weights, channels = [], [], {"x": 64}
    for name, source, outputs, kernel, stride in LAYERS:
        shape = (outputs, channels[source], kernel, kernel)
        kept = numbers.normal(size=shape) * (numbers.random(shape) < 0.1)
        weights.append(numpy_helper.from_array(kept.astype(np.float32), "w_" + name))
        nodes += [helper.make_node("Conv", [source, "w_" + name], ["c_" + name], name,
                                   pads=[kernel // 2] * 4, strides=[stride] * 2),
                  helper.make_node("Relu", ["c_" + name], [name], "relu_" + name)]
        channels[name] = outputs
    nodes.append(helper.make_node("Add", ["expand", "side"], ["y"], "sum"))
    tensor = lambda name, shape: helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)
    graph = helper.make_graph(nodes, "siblings", [tensor("x", [1, 64, 56, 56])],
                              [tensor("y", [1, 512, 28, 28])], weights)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)],
                                ir_version=8), sys.argv[1])


if __name__ == "__main__":
    main()
