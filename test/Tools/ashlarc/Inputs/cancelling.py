# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A convolution whose sum cancels on the input that is written beside it: what
folding the normalisation rounds off is larger than the result.

usage: cancelling.py FOLDER
"""
import os
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

CHANNELS = 8

rng = np.random.default_rng(5)
weights = rng.standard_normal((1, CHANNELS, 1, 1)).astype(np.float32)
image = rng.standard_normal((1, CHANNELS, 1, 1)).astype(np.float32)
rest = np.dot(weights.ravel()[1:].astype(np.float64), image.ravel()[1:])
image.ravel()[0] = -rest / weights.ravel()[0]

constants = {"w": weights, "scale": [0.3], "shift": [0], "mean": [0],
             "variance": [0.7]}
graph = helper.make_graph(
    [helper.make_node("Conv", ["x", "w"], ["sum"], name="conv"),
     helper.make_node("BatchNormalization",
                      ["sum", "scale", "shift", "mean", "variance"], ["y"],
                      name="norm")],
    "cancelling",
    [helper.make_tensor_value_info("x", TensorProto.FLOAT,
                                   [1, CHANNELS, 1, 1])],
    [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
    [numpy_helper.from_array(np.asarray(value, np.float32), name)
     for name, value in constants.items()])
folder = sys.argv[1]
onnx.save(helper.make_model(
    graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8),
    os.path.join(folder, "cancelling.onnx"))
np.savez(os.path.join(folder, "cancelling.npz"), x=image)
