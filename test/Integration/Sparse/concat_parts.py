#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Convolutions whose results are joined along channels, as one network.

usage: concat_parts.py OUT.onnx IN.npz PART... [--batch=N] [--density=D]

A convolution, one of each PART channels on its result (1 x 1 and 3 x 3 in turn),
their concatenation, a maximum over 3 x 3 with stride 2 and a convolution after
it, with seeded weights of which D are not zero, and inputs for it.
"""

import argparse

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

SIDE = 15


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model")
    parser.add_argument("inputs")
    parser.add_argument("parts", nargs="+", type=int)
    parser.add_argument("--batch", type=int, default=1)
    parser.add_argument("--density", type=float, default=1)
    options = parser.parse_args()
    random = np.random.default_rng(7)
    nodes, weights = [], []

    def convolution(name, source, channels, outputs, kernel):
        values = random.standard_normal((outputs, channels, kernel, kernel))
        values *= random.random(values.shape) < options.density
        weights.append(numpy_helper.from_array(values.astype(np.float32),
                                               name + "_w"))
        nodes.append(helper.make_node("Conv", [source, name + "_w"],
                                      [name + "_y"], name=name,
                                      pads=[kernel // 2] * 4))
        nodes.append(helper.make_node("Relu", [name + "_y"], [name],
                                      name=name + "_relu"))

    convolution("squeeze", "x", 16, 32, 1)
    names = []
    for index, part in enumerate(options.parts):
        names.append(f"part{index}")
        convolution(names[-1], "squeeze", 32, part, 1 + index % 2 * 2)
    nodes.append(helper.make_node("Concat", names, ["joined"], name="joined",
                                  axis=1))
    nodes.append(helper.make_node("MaxPool", ["joined"], ["pooled"],
                                  name="pool", kernel_shape=[3, 3],
                                  strides=[2, 2], pads=[1, 1, 1, 1]))
    convolution("y", "pooled", sum(options.parts), 16, 1)
    shape = [options.batch, 16, SIDE, SIDE]
    graph = helper.make_graph(
        nodes, "joined",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)], weights)
    model = helper.make_model(
        graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    onnx.save(onnx.shape_inference.infer_shapes(model, strict_mode=True),
              options.model)
    np.savez(options.inputs, x=random.standard_normal(shape, np.float32))


if __name__ == "__main__":
    main()
