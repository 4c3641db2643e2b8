#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes a network in float16 whose products are sums that nearly cancel.

usage: narrowed.py FOLDER

A function in float16 is read by a product, which takes the wider numbers, and by
a movement, which takes the rounded ones.
"""

import os
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

LENGTH = 16


def main():
    folder = sys.argv[1]
    draw = np.random.default_rng(3)
    signs = np.repeat(np.array([1, -1], np.float16), LENGTH).reshape(2 * LENGTH, 1)
    nodes = [helper.make_node("Pow", ["x", "two"], ["square"], name="square"),
             helper.make_node("Mul", ["square", "x"], ["cube"], name="cube"),
             helper.make_node("Tanh", ["cube"], ["t"], name="tanh"),
             helper.make_node("MatMul", ["t", "signs"], ["p"], name="cancel"),
             helper.make_node("Reshape", ["t", "shape"], ["m"], name="move"),
             helper.make_node("Cast", ["m"], ["moved"], name="moved",
                              to=TensorProto.FLOAT),
             helper.make_node("Cast", ["p"], ["y"], name="wide", to=TensorProto.FLOAT)]
    graph = helper.make_graph(
        nodes, "narrowed",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT16, [5, 2 * LENGTH])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [5, 1]),
         helper.make_tensor_value_info("moved", TensorProto.FLOAT, [10, LENGTH])],
        [numpy_helper.from_array(signs, "signs"),
         numpy_helper.from_array(np.float16(2), "two"),
         numpy_helper.from_array(np.array([10, LENGTH], np.int64), "shape")])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    model.ir_version = 8
    onnx.save(model, os.path.join(folder, "narrowed.onnx"))
    half = draw.standard_normal((5, LENGTH)).astype(np.float32)
    np.savez(os.path.join(folder, "narrowed.npz"),
             x=np.concatenate([half, np.float32(0.998) * half], axis=1).astype(np.float16))


if __name__ == "__main__":
    main()
