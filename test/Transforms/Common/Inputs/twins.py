# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A model with two equal branches: convolution and ReLU of one input, added up.

usage: twins.py OUT.onnx
"""

import sys

import numpy as np
from onnx import TensorProto, helper, numpy_helper, save

weight = np.random.default_rng(1).standard_normal((8, 3, 3, 3)).astype(np.float32)
nodes = []
for branch in ("a", "b"):
    nodes += [helper.make_node("Conv", ["x", "w"], [f"conv_{branch}"], name=f"conv_{branch}",
                               pads=[1] * 4),
              helper.make_node("Relu", [f"conv_{branch}"], [f"relu_{branch}"], name=f"relu_{branch}")]
nodes.append(helper.make_node("Add", ["relu_a", "relu_b"], ["y"], name="sum"))
graph = helper.make_graph(
    nodes, "twins", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 3, 8, 8])],
    [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 8, 8, 8])],
    [numpy_helper.from_array(weight, "w")])
model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)])
model.ir_version = 8
save(model, sys.argv[1])
