#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes two convolutions, of which the first one's result can stay where it is.

usage: kept_map.py FOLDER
"""

import os
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper


def main():
    folder = sys.argv[1]
    draw = np.random.default_rng(3)
    numbers = lambda *shape: draw.normal(0, 0.4, shape).astype(np.float32)
    nodes = [helper.make_node("Conv", ["x", "v", "b"], ["c"], name="first", pads=[1] * 4),
             helper.make_node("LeakyRelu", ["c"], ["l"], name="act"),
             helper.make_node("Conv", ["l", "w", "b"], ["y"], name="second", pads=[1] * 4)]
    info = lambda name: helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, 8, 9, 9])
    graph = helper.make_graph(
        nodes, "kept_map", [info("x")], [info("y")],
        [numpy_helper.from_array(numbers(8, 8, 3, 3), "v"),
         numpy_helper.from_array(numbers(8, 8, 3, 3), "w"),
         numpy_helper.from_array(numbers(8), "b")])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    model.ir_version = 8
    onnx.save(model, os.path.join(folder, "kept.onnx"))
    np.savez(os.path.join(folder, "kept.npz"), x=numbers(1, 8, 9, 9))


if __name__ == "__main__":
    main()
