#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes a network that puts constant rows before those of its input, as
decoders with learnt tokens do: a movement reads an encoded constant.

usage: constant_rows.py FOLDER
"""

import os
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

ROWS, CONSTANT, WIDTH = 3, 5, 16


def main():
    folder = sys.argv[1]
    draw = np.random.default_rng(1)
    numbers = lambda *shape: draw.standard_normal(shape).astype(np.float32)
    nodes = [helper.make_node("Concat", ["tokens", "x"], ["all"], name="join", axis=1),
             helper.make_node("MatMul", ["all", "w"], ["p"], name="product"),
             helper.make_node("Add", ["all", "p"], ["y"], name="residual")]
    graph = helper.make_graph(
        nodes, "constant_rows",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, ROWS, WIDTH])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT,
                                       [1, CONSTANT + ROWS, WIDTH])],
        [numpy_helper.from_array(numbers(1, CONSTANT, WIDTH), "tokens"),
         numpy_helper.from_array(numbers(WIDTH, WIDTH) / 4, "w")])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    model.ir_version = 8
    onnx.save(model, os.path.join(folder, "rows.onnx"))
    np.savez(os.path.join(folder, "rows.npz"), x=numbers(1, ROWS, WIDTH))


if __name__ == "__main__":
    main()
