#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes models in which passes move or divide nodes, and their inputs.

usage: moved_names.py FOLDER
"""

import os
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper


def write(name, nodes, shape, output, constants):
    graph = helper.make_graph(
        nodes, name, [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
        [helper.make_tensor_value_info("y", *output)],
        [numpy_helper.from_array(value, key) for key, value in constants.items()])
    onnx.save(helper.make_model(
        graph, ir_version=8, opset_imports=[helper.make_opsetid("", 13)]), f"{name}.onnx")
    values = np.random.default_rng(1).normal(size=shape)
    np.savez(f"{name}.npz", x=values.astype(np.float32))


def main():
    os.chdir(sys.argv[1])
    node = helper.make_node
    write("exchanged",
          [node("Reshape", ["x", "s"], ["r"], name="reshape"),
           node("Relu", ["r"], ["y"], name="relu")],
          [8, 1, 1, 7], (TensorProto.FLOAT, [4, 2, 7]),
          {"s": np.array([4, 2, 7])})
    weights = np.random.default_rng(2).normal(size=(5, 3)).astype(np.float32)
    write("divided",
          [node("MatMul", ["x", "w"], ["m"], name="product"),
           node("QuantizeLinear", ["m", "c"], ["y"], name="quantise")],
          [2, 5], (TensorProto.UINT8, [2, 3]),
          {"w": weights, "c": np.array(0.0625, np.float32)})
    write("sunk",
          [node("Einsum", ["x"], ["e"], name="exchange", equation="abc->cab"),
           node("Slice", ["e", "begin", "end"], ["y"], name="slice")],
          [4, 3, 5], (TensorProto.FLOAT, [2, 4, 3]),
          {"begin": np.array([1]), "end": np.array([3])})
    write("turned",
          [node("Transpose", ["x"], ["t"], name="turn", perm=[1, 0, 2]),
           node("ReduceSumSquare", ["t"], ["r"], name="squares", axes=[2], keepdims=0),
           node("Mul", ["r", "c"], ["y"], name="scale")],
          [4, 4, 5], (TensorProto.FLOAT, [4, 4]), {"c": np.array(3, np.float32)})
    table = np.random.default_rng(3).normal(size=(96, 64)) * 2.0 ** np.arange(-4, 4).repeat(12)[:, None]
    write("scaled",
          [node("Transpose", ["w"], ["t"], name="turned_weights", perm=[1, 0]),
           node("MatMul", ["x", "t"], ["m"], name="product"),
           node("MatMul", ["m", "w"], ["y"], name="back")],
          [4, 64], (TensorProto.FLOAT, [4, 64]), {"w": table.astype(np.float32)})
    write("narrowed",
          [node("Cast", ["x"], ["h"], name="narrow", to=TensorProto.BFLOAT16),
           node("Cast", ["h"], ["y"], name="widen", to=TensorProto.FLOAT)],
          [3, 4], (TensorProto.FLOAT, [3, 4]), {})
    # One channel: the factor becomes weights, the sum of 64 columns cannot.
    one = np.ones(1, np.float32)
    write("normalised",
          [node("MatMul", ["x", "w"], ["m"], name="product"),
           node("BatchNormalization", ["m", "scale", "shift", "mean", "one"], ["y"],
                name="normalise")],
          [5, 1, 16], (TensorProto.FLOAT, [5, 1, 64]),
          {"w": np.random.default_rng(4).normal(size=(16, 64)).astype(np.float32),
           "scale": one * 1.37, "shift": one * 0.42, "mean": one * 0.4, "one": one * 1.09})
    # Hidden features that are one number: what they add goes to the sum behind.
    random = np.random.default_rng(5)
    first = random.normal(size=(6, 16)).astype(np.float32)
    first[:, 8:] = 0
    write("biased",
          [node("MatMul", ["x", "w"], ["h"], name="hidden"),
           node("Sigmoid", ["h"], ["s"], name="squash"),
           node("MatMul", ["s", "v"], ["m"], name="product"),
           node("Add", ["m", "b"], ["y"], name="sum")],
          [5, 6], (TensorProto.FLOAT, [5, 24]),
          {"w": first, "v": random.normal(size=(16, 24)).astype(np.float32),
           "b": random.normal(size=24).astype(np.float32)})


main()
