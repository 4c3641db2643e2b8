#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A network whose convolutions read joined maps, and an input.

usage: joined_maps.py MODEL.onnx INPUT.npz

a, b and c follow a stem; `joined` reads [a, c, b], `nested` reads [[a, c, b], d],
`twice` reads [e, e] and `again` reads e alone.
"""

import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

SIZE = 20


def main():
    model, inputs = sys.argv[1:]
    numbers = np.random.default_rng(7)
    nodes, weights, channels = [], [], {"x": 16}

    def conv(name, x, outputs, kernel):
        shape = (outputs, channels[x], kernel, kernel)
        values = numbers.standard_normal(shape).astype(np.float32)
        values[numbers.random(shape) < 0.7] = 0
        weights.append(numpy_helper.from_array(values, name + "_w"))
        nodes.append(helper.make_node(
            "Conv", [x, name + "_w"], [name + "_sum"], name=name,
            pads=[kernel // 2] * 4))
        nodes.append(helper.make_node("Relu", [name + "_sum"], [name]))
        channels[name] = outputs

    def concat(name, *parts):
        nodes.append(helper.make_node("Concat", parts, [name], name=name,
                                      axis=1))
        channels[name] = sum(channels[part] for part in parts)

    conv("stem", "x", 32, 3)
    conv("a", "stem", 48, 1)
    conv("b", "stem", 32, 3)
    conv("c", "stem", 16, 1)
    concat("acb", "a", "c", "b")
    conv("joined", "acb", 16, 3)
    conv("d", "joined", 32, 1)
    concat("acbd", "acb", "d")
    conv("nested", "acbd", 16, 3)
    conv("e", "nested", 32, 1)
    concat("ee", "e", "e")
    conv("twice", "ee", 16, 3)
    conv("again", "e", 16, 3)
    concat("y", "twice", "again")
    shape = [1, 16, SIZE, SIZE]
    graph = helper.make_graph(
        nodes, "joined",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT,
                                       [1, 32, SIZE, SIZE])], weights)
    onnx.save(helper.make_model(
        graph, opset_imports=[helper.make_opsetid("", 13)]), model)
    np.savez(inputs, x=numbers.standard_normal(shape).astype(np.float32))


if __name__ == "__main__":
    main()
