#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Pruned convolutions of three spatial dimensions on the sparse cluster.

usage: depth.py [--machine=a1]

Each layer is compiled for the array and for the cluster, and by choice. Fails if
an output differs in a bit, if the cluster runs nothing, or if the choice takes more
cycles than the array. Prints the cycles of the three.
"""

import argparse
import json
import os
import sys
import tempfile

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))

import common  # noqa: E402

# name, input, outputs, kernel, further attributes of Conv, residual
LAYERS = [
    ("3 x 3 x 3", (1, 32, 8, 14, 14), 64, (3, 3, 3), {"pads": [1] * 6}, False),
    ("deep channels", (1, 144, 4, 7, 7), 64, (3, 1, 3), {"pads": [1, 0, 1, 1, 0, 1]}, False),
    ("stride and dilation, 20 channels, two images", (2, 20, 9, 13, 10), 24, (3, 2, 3),
     {"pads": [2, 0, 1, 1, 1, 2], "strides": [2, 1, 2], "dilations": [2, 1, 1]}, False),
    ("more taps than planes, residual", (1, 16, 3, 9, 9), 16, (5, 3, 3),
     {"pads": [2, 1, 1, 2, 1, 1]}, True),
    ("planes of padding alone", (1, 16, 2, 6, 6), 8, (2, 3, 3),
     {"pads": [4, 1, 1, 3, 1, 1]}, False),
    ("one tap along the depth", (1, 24, 5, 8, 8), 40, (1, 3, 3),
     {"pads": [0, 1, 1, 0, 1, 1]}, False),
]


def weights_of(source, shape, density):
    values = source.normal(size=shape) * (source.random(shape) < density)
    return values.astype(np.float32)


def layer(path, shape, outputs, kernel, attributes, residual, seed):
    """y = relu(conv(x) + b (+ x)), as a file."""
    source = np.random.default_rng(seed)
    constants = {"w": weights_of(source, (outputs, shape[1]) + kernel, 0.1),
                 "b": source.normal(size=outputs).astype(np.float32)}
    nodes = [helper.make_node("Conv", ["x", "w", "b"], ["c"], "conv", **attributes)]
    if residual:
        nodes.append(helper.make_node("Add", ["c", "x"], ["s"], "add"))
    nodes.append(helper.make_node("Relu", ["s" if residual else "c"], ["y"], "relu"))
    graph = helper.make_graph(
        nodes, "layer", [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [None] * 5)],
        [numpy_helper.from_array(value, key) for key, value in constants.items()])
    onnx.save(helper.make_model(graph, ir_version=8,
                                opset_imports=[helper.make_opsetid("", 17)]), path)
    return {"x": source.normal(size=shape).astype(np.float32)}


def integers(path):
    """The same of bytes."""
    source = np.random.default_rng(9)
    weights = source.integers(-127, 128, (24, 16, 3, 3, 3)) * (
        source.random((24, 16, 3, 3, 3)) < 0.1)
    constants = {"w": weights.astype(np.int8), "sx": np.float32(0.02), "zx": np.int8(0),
                 "sw": np.float32(0.01), "zw": np.int8(0), "sy": np.float32(0.1),
                 "zy": np.int8(3), "b": source.integers(-500, 500, 24).astype(np.int32)}
    node = helper.make_node("QLinearConv", ["x", "sx", "zx", "w", "sw", "zw", "sy", "zy", "b"],
                            ["y"], "conv", pads=[1] * 6)
    graph = helper.make_graph(
        [node], "layer",
        [helper.make_tensor_value_info("x", TensorProto.INT8, (1, 16, 6, 10, 10))],
        [helper.make_tensor_value_info("y", TensorProto.INT8, [None] * 5)],
        [numpy_helper.from_array(np.asarray(value), key) for key, value in constants.items()])
    onnx.save(helper.make_model(graph, ir_version=8,
                                opset_imports=[helper.make_opsetid("", 17)]), path)
    return {"x": source.integers(-128, 128, (1, 16, 6, 10, 10)).astype(np.int8)}


def run(folder, model, mode, machine):
    """(output, cycles, instructions of the cluster)"""
    path = lambda end: os.path.join(folder, mode + end)
    common.run_tool("ashlarc", model, "-o", path(".ash"), f"--sparse={mode}",
                    f"--machine={machine}")
    common.run_tool("ashlar-run", path(".ash"), "--quiet",
                    f"--inputs={os.path.join(folder, 'in.npz')}",
                    f"--outputs={path('.npz')}", f"--report={path('.json')}")
    with open(path(".json"), encoding="utf-8") as file:
        report = json.load(file)
    with np.load(path(".npz")) as outputs:
        return outputs["y"], report["total_cycles"], report["engines"]["tcc"]["busy"]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--machine", default="a1")
    options = parser.parse_args()
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        model = os.path.join(folder, "model.onnx")
        for seed, (name, *shape) in enumerate(LAYERS + [("bytes",)]):
            inputs = layer(model, *shape, seed) if shape else integers(model)
            np.savez(os.path.join(folder, "in.npz"), **inputs)
            dense, slow, _ = run(folder, model, "off", options.machine)
            forced, cycles, busy = run(folder, model, "tile", options.machine)
            chosen, auto, _ = run(folder, model, "auto", options.machine)
            same = dense.tobytes() == forced.tobytes() == chosen.tobytes()
            failed += not same or busy == 0 or auto > slow
            print(f"{name}: array {slow}, cluster {cycles}, chosen {auto} cycles, "
                  f"bits {'equal' if same else 'DIFFER'}, units busy for {busy}", flush=True)
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
