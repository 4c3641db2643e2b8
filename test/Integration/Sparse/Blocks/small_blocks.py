#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes a convolution with half of its weights, each kernel with its own pattern.

usage: small_blocks.py MODEL.onnx
"""

import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper


def main():
    draw = np.random.default_rng(1)
    weights = draw.normal(0, 0.1, (32, 64, 4, 4)) * (draw.random((32, 64, 4, 4)) < 0.5)
    node = helper.make_node("Conv", ["x", "w"], ["y"], name="conv", pads=[1, 1, 2, 2])
    graph = helper.make_graph(
        [node], "small_blocks",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 64, 28, 28])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 32, 28, 28])],
        [numpy_helper.from_array(weights.astype(np.float32), "w")])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)])
    model.ir_version = 8
    onnx.save(model, sys.argv[1])


if __name__ == "__main__":
    main()
