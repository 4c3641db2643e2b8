#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Weights that move and stay loaded for a second image, in more chunks than the
machine has partitions for their records.

usage: moving_records.py

The outputs are compared with numpy.
"""

import os
import sys
import tempfile

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

import common  # noqa: E402


def model(weights):
    def ints(name, *values):
        return numpy_helper.from_array(np.array(values, np.int64), name)

    info = helper.make_tensor_value_info
    nodes = [helper.make_node("Tile", ["x", "three"], ["map"]),
             helper.make_node("Tile", ["map", "twice"], ["wide"]),
             helper.make_node("Slice", ["map", "from", "to", "axis"], ["part"]),
             helper.make_node("GlobalAveragePool", ["map"], ["mean"]),
             helper.make_node("Conv", ["mean", "w"], ["gate"])]
    graph = helper.make_graph(
        nodes, "gate", [info("x", TensorProto.FLOAT, [2, 40, 7, 7])],
        [info(name, TensorProto.FLOAT, None) for name in ("wide", "part", "gate")],
        [ints("three", 1, 3, 1, 2), ints("twice", 1, 1, 1, 2), ints("from", 59), ints("to", 120),
         ints("axis", 1), numpy_helper.from_array(weights, "w")])
    return helper.make_model(graph, ir_version=8, opset_imports=[helper.make_opsetid("", 17)])


def main():
    random = np.random.default_rng(1)
    x = random.standard_normal((2, 40, 7, 7)).astype(np.float32)
    weights = random.standard_normal((120, 120, 1, 1)).astype(np.float32)
    with tempfile.TemporaryDirectory() as folder:
        network, binary, inputs, outputs = (
            os.path.join(folder, name) for name in ("m.onnx", "m.ash", "in.npz", "out.npz"))
        onnx.save(model(weights), network)
        np.savez(inputs, x=x)
        common.run_tool("ashlarc", network, "-o", binary, "--machine=a1-tiny", "--format=bfp16",
                        "--sparse=scatter", f"--calibrate={inputs}")
        common.run_tool("ashlar-run", binary, f"--inputs={inputs}", f"--outputs={outputs}",
                        "--quiet")
        with np.load(outputs) as found:
            gate = found["gate"][:, :, 0, 0]
    mean = np.tile(x, (1, 3, 1, 2)).mean(axis=(2, 3))
    snr = common.snr_db(mean @ weights[:, :, 0, 0].T, gate)
    if snr < 60:
        sys.exit(f"{snr:.1f} dB")


if __name__ == "__main__":
    main()
