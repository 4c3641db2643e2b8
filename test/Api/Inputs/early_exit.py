#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes a network in two parts into a folder: head.onnx makes features and a
score, which is 0.25 for an input of zeros; tail.onnx works on the features."""

import os
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

FEATURES = [1, 8, 12, 12]


def save(path, nodes, inputs, outputs, constants):
    def values(pairs):
        return [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)
                for name, shape in pairs]
    graph = helper.make_graph(
        nodes, "part", values(inputs), values(outputs),
        [numpy_helper.from_array(array.astype(np.float32), name)
         for name, array in constants.items()])
    model = helper.make_model(graph,
                              opset_imports=[helper.make_opsetid("", 13)])
    model.ir_version = 8
    onnx.checker.check_model(model)
    onnx.save(model, path)


def main():
    folder = sys.argv[1]
    rng = np.random.default_rng(1)
    save(os.path.join(folder, "head.onnx"),
         [helper.make_node("Conv", ["image", "w", "b"], ["sums"], name="conv",
                           pads=[1, 1, 1, 1]),
          helper.make_node("Relu", ["sums"], ["features"], name="relu"),
          helper.make_node("ReduceMax", ["features"], ["score"], name="score",
                           keepdims=0)],
         [("image", [1, 3, 12, 12])], [("features", FEATURES), ("score", [])],
         {"w": rng.standard_normal((8, 3, 3, 3)), "b": np.full(8, 0.25)})
    save(os.path.join(folder, "tail.onnx"),
         [helper.make_node("Conv", ["features", "w"], ["y"], name="conv")],
         [("features", FEATURES)], [("y", [1, 16, 12, 12])],
         {"w": rng.standard_normal((16, 8, 1, 1))})


if __name__ == "__main__":
    main()
