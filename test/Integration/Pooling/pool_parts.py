#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Pools of few channels, whose rows are reduced in parts side by side.

usage: pool_parts.py [--seeds=FIRST:END]

Windows of drawn extents over maps that leave partitions of small machines idle:
the rows of a part come from another place of the map, and the last band has
fewer than the others. Compared with the definition, to the bit.
"""

import os
import random
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

import common  # noqa: E402
import seed_sweep  # noqa: E402


def maximum(x, kernel, strides, pads):
    """ONNX's MaxPool of two axes."""
    (top, left, bottom, right), (height, width) = pads, x.shape[2:]
    padded = np.pad(x, ((0, 0), (0, 0), (top, bottom), (left, right)),
                    constant_values=-np.inf)
    rows = (height + top + bottom - kernel[0]) // strides[0] + 1
    columns = (width + left + right - kernel[1]) // strides[1] + 1
    return np.max([padded[:, :, i:i + (rows - 1) * strides[0] + 1:strides[0],
                          j:j + (columns - 1) * strides[1] + 1:strides[1]]
                   for i in range(kernel[0]) for j in range(kernel[1])], axis=0)


def save(path, shape, kernel, strides, pads):
    info = helper.make_tensor_value_info
    node = helper.make_node("MaxPool", ["x"], ["y"], kernel_shape=kernel, strides=strides,
                            pads=pads)
    graph = helper.make_graph([node], "pool", [info("x", TensorProto.FLOAT, shape)],
                              [info("y", TensorProto.FLOAT, None)])
    onnx.save(helper.make_model(graph, ir_version=8,
                                opset_imports=[helper.make_opsetid("", 17)]), path)


def check(seed, folder):
    draw = random.Random(seed)
    shape = draw.choice([[1, 4], [4, 3], [1, 8]]) + [draw.randint(9, 48), draw.randint(24, 64)]
    kernel = [draw.randint(3, 9), draw.randint(2, 4)]
    strides = [draw.choice([1, 1, 1, 2]), 1]
    pads = [draw.randint(0, k - 1) for k in kernel + kernel]
    partitions = draw.choice([8, 16, 24])
    model, machine, binary, inputs, outputs = (
        os.path.join(folder, name)
        for name in ("pool.onnx", "pool.yaml", "pool.ash", "in.npz", "out.npz"))
    with open(machine, "w", encoding="utf-8") as stream:
        stream.write(f"base: a1-tiny\nsb: {{partitions: {partitions}}}\n"
                     f"vec: {{lanes: {partitions}}}\n")
    save(model, shape, kernel, strides, pads)
    x = np.random.default_rng(seed).standard_normal(shape).astype(np.float32)
    np.savez(inputs, x=x)
    common.run_tool("ashlarc", model, "-o", binary, f"--machine={machine}")
    common.run_tool("ashlar-run", binary, f"--inputs={inputs}", f"--outputs={outputs}", "--quiet")
    with np.load(outputs) as found:
        wrong = int(np.sum(found["y"] != maximum(x, kernel, strides, pads)))
    text = f"{shape}, kernel {kernel}, strides {strides}, pads {pads}, {partitions} partitions"
    if wrong:
        raise seed_sweep.Mismatch(f"{text}: {wrong} elements differ")
    return "equal", text


if __name__ == "__main__":
    sys.exit(seed_sweep.main(__doc__, "pools", check))
