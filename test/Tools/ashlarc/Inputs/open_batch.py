# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A model with an open, named batch."""
import sys

import numpy
import onnx
from onnx import helper, numpy_helper

weights = numpy.arange(15, dtype="float32").reshape(3, 5)
info = helper.make_tensor_value_info
graph = helper.make_graph(
    [helper.make_node("MatMul", ["x", "w"], ["y"])], "open",
    [info("x", onnx.TensorProto.FLOAT, ["samples", 3])],
    [info("y", onnx.TensorProto.FLOAT, ["samples", 5])],
    [numpy_helper.from_array(weights, "w")])
model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)])
model.ir_version = 7
onnx.save(model, sys.argv[1])
