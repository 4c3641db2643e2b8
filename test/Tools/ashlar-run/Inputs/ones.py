# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes a network between whose products a sigmoid is almost 1 everywhere."""

import sys

import numpy as np
import onnx
from onnx import helper, numpy_helper

source = np.random.default_rng(1)
weights = [numpy_helper.from_array(source.normal(0, 0.1, (16, 16)).astype(np.float32), n)
           for n in ("v", "w")]
weights.append(numpy_helper.from_array(np.full(16, 8, np.float32), "b"))
nodes = [helper.make_node("MatMul", ["x", "v"], ["a"]),
         helper.make_node("Add", ["a", "b"], ["c"]),
         helper.make_node("Sigmoid", ["c"], ["s"]),
         helper.make_node("MatMul", ["s", "w"], ["y"])]
graph = helper.make_graph(
    nodes, "ones", [helper.make_tensor_value_info("x", 1, [4, 16])],
    [helper.make_tensor_value_info("y", 1, [4, 16])], weights)
model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)])
model.ir_version = 8
onnx.save(model, sys.argv[1])
