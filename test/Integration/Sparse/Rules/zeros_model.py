# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""usage: zeros_model.py MODEL.onnx SAMPLES.npz

A convolution with dense weights on a feature map of which three fifths are zero:
sparse by its zeros, faster on the array by its cycles."""

import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper


def main():
    rng = np.random.default_rng(3)
    constants = {
        "w": np.eye(64, dtype=np.float32).reshape(64, 64, 1, 1),
        "b": np.full(64, -0.6, np.float32),
        "v": rng.normal(size=(64, 64, 3, 3)).astype(np.float32),
    }
    nodes = [helper.make_node("Conv", ["x", "w", "b"], ["a"], name="make"),
             helper.make_node("Relu", ["a"], ["r"], name="relu"),
             helper.make_node("Conv", ["r", "v"], ["y"], name="read", pads=[1] * 4)]
    graph = helper.make_graph(
        nodes, "zeros", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 64, 14, 14])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 64, 14, 14])],
        [numpy_helper.from_array(value, name) for name, value in constants.items()])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8),
              sys.argv[1])
    np.savez(sys.argv[2], x=rng.random((1, 64, 14, 14)).astype(np.float32))


if __name__ == "__main__":
    main()
