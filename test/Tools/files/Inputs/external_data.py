#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes DIR/model.onnx, whose weights lie in DIR/weights.bin and DIR/w.npy.

usage: external_data.py DIR
"""

import os
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper


def external(array, name, folder, file):
    array.tofile(os.path.join(folder, file))
    tensor = numpy_helper.from_array(array, name)
    tensor.ClearField("raw_data")
    tensor.data_location = TensorProto.EXTERNAL
    entry = tensor.external_data.add()
    entry.key, entry.value = "location", file
    return tensor


def main():
    folder = sys.argv[1]
    rng = np.random.default_rng(1)
    weights = [external(rng.normal(size=(16, 16)).astype(np.float32), name, folder, file)
               for name, file in (("v", "weights.bin"), ("w", "w.npy"))]
    graph = helper.make_graph(
        [helper.make_node("MatMul", ["x", "v"], ["t"]),
         helper.make_node("MatMul", ["t", "w"], ["y"])], "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [4, 16])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [4, 16])], weights)
    onnx.save(helper.make_model(graph, ir_version=8,
                                opset_imports=[helper.make_opsetid("", 13)]),
              os.path.join(folder, "model.onnx"))


main()
