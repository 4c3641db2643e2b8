#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Windows over channels, bit by bit.

usage: channel_sums.py [--count=N] [--seed=S]

Draws networks of a convolution, windows over its channels, and a convolution:
local response normalisations of any size, and averages of channels that may be
negative, also -0, with dilations and uneven pads, on machines of ample and of
little memory. All planned tensors are compared with the numpy reference, and
the outputs with ONNX's definition of the operators. Prints how many windows lie
along the partition dimension.
"""

import os
import random
import subprocess
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

INTEGRATION = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, INTEGRATION)

import common  # noqa: E402
import numerics_model  # noqa: E402

MACHINES = ["a1", "a1", "a1-ideal", "a1-edge", "a1-tiny"]


class Network:
    """A graph of a seed."""

    def __init__(self, source):
        self.source = source
        self.rng = np.random.default_rng(source.randrange(1 << 30))
        self.nodes, self.constants = [], []
        self.channels = source.choice([1, 3, 24, 64, 96, 130, 192, 260])
        self.extents = [source.randint(2, 9), source.randint(2, 9)]
        self.normalises = source.random() < 0.5

    def constant(self, array):
        name = f"c{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(array, name))
        return name

    def node(self, kind, inputs, **attributes):
        name = f"n{len(self.nodes)}"
        self.nodes.append(
            helper.make_node(kind, inputs, [name], name=name, **attributes))
        return name

    def convolve(self, value, inputs, outputs):
        weights = self.rng.standard_normal((outputs, inputs, 3, 3)) * 0.3
        return self.node("Conv", [value,
                                  self.constant(weights.astype(np.float32))],
                         pads=[1] * 4)

    def normalise(self, value):
        if self.source.random() < 0.5:
            value = self.node("Relu", [value])
        return self.node("LRN", [value], size=self.source.randint(1, 7),
                         alpha=self.source.choice([0.0001, 0.5]),
                         beta=self.source.choice([0.75, 0.5]), bias=1.0)

    def average(self, value):
        source = self.source
        kernel, dilation = source.randint(2, 5), source.choice([1, 1, 2])
        reach = (kernel - 1) * dilation
        before = source.choice([reach - reach // 2, source.randint(0, reach)])
        before = min(before, kernel - 1)  # pads are smaller than kernels
        after = min(reach - before, kernel - 1)
        spatial = self.extents[0] * self.extents[1]
        if self.channels + before + after <= reach:
            return value
        # Made by the vector unit, with channels across partitions: also -0.
        value = self.node("Neg", [value])
        shape = np.array([1, 1, self.channels, spatial])
        value = self.node("Reshape", [value, self.constant(shape)])
        value = self.node("AveragePool", [value], kernel_shape=[kernel, 1],
                          dilations=[dilation, 1], pads=[before, 0, after, 0],
                          count_include_pad=source.choice([1, 1, 1, 0]))
        channels = self.channels + before + after - reach
        self.channels = channels
        shape = np.array([1, channels, *self.extents])
        return self.node("Reshape", [value, self.constant(shape)])

    def save(self, folder):
        source, plain = self.source, self.source.random() < 0.5
        inputs = self.channels if plain else 3
        extents = [1, inputs, *self.extents]
        value = "x" if plain else self.convolve("x", 3, self.channels)
        value = (self.normalise if self.normalises else self.average)(value)
        if source.random() < 0.6:
            value = self.convolve(value, self.channels, 16)
        value = self.node("Relu", [value])
        graph = helper.make_graph(
            self.nodes, "windows",
            [helper.make_tensor_value_info("x", TensorProto.FLOAT, extents)],
            [helper.make_tensor_value_info(value, TensorProto.FLOAT, None)],
            self.constants)
        model = helper.make_model(
            graph, opset_imports=[helper.make_opsetid("", 19)])
        model.ir_version = 9
        path = os.path.join(folder, "model.onnx")
        onnx.save(onnx.shape_inference.infer_shapes(model), path)
        x = self.rng.standard_normal(extents).astype(np.float32)
        x[self.rng.random(extents) < 0.5] = 0
        x[self.rng.random(extents) < 0.2] = -0.0
        np.savez(os.path.join(folder, "in.npz"), x=x)
        return path


def check(seed, folder):
    """(whether anything differs, windows along partitions)."""
    source = random.Random(seed)
    model = Network(source).save(folder)
    machine = f"--machine={source.choice(MACHINES)}"
    compared = subprocess.run(
        [sys.executable, numerics_model.__file__, model,
         os.path.join(folder, "in.npz"), machine], text=True,
        capture_output=True)
    wrong = compared.returncode != 0
    if not wrong:
        wrong = common.differs_from_fp32(model, folder)
    if wrong:
        print(f"seed {seed}, {machine}: {compared.stdout}{compared.stderr}")
    plan = common.run_tool("ashlarc", model, "--compile-to=assign", "-o", "-",
                           machine).stdout
    across = sum("npu.vec.pool" in line and "#npu.layout<axis = 2" in line
                 for line in plan.splitlines())
    return wrong, across


if __name__ == "__main__":
    sys.exit(common.check_drawn(check, "windows along partitions"))
