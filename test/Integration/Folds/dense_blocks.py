#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Normalisations between concatenations, bit by bit.

usage: dense_blocks.py [--count=N] [--seed=S]

Draws networks in which maps are scaled and shifted by constants along some axis
or by one number, pass through a function and a convolution, and are added to a
concatenation that grows; readers of the parts in between, pools and other
orders of the operands included. All planned tensors are compared with the numpy
reference, on machines of ample and of little memory. Prints how many programs
scale or shift within an instruction, and how many concatenations took no copy.
"""

import os
import random
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

import common  # noqa: E402
import folds  # noqa: E402

FUNCTIONS = ["Relu", "Tanh", "Sigmoid", "LeakyRelu", None]


class Network:
    """A graph under construction; values are (name, channels)."""

    def __init__(self, source):
        self.source = source
        self.rng = np.random.default_rng(source.randrange(1 << 30))
        self.nodes, self.constants = [], []
        self.shape = [source.choice([1, 1, 2]), source.choice([4, 16, 32, 48]),
                      source.randint(2, 9), source.randint(2, 9)]

    def constant(self, array):
        name = f"c{len(self.constants)}"
        self.constants.append(
            numpy_helper.from_array(np.asarray(array, np.float32), name))
        return name

    def node(self, kind, inputs, **attributes):
        name = f"n{len(self.nodes)}"
        self.nodes.append(
            helper.make_node(kind, inputs, [name], name=name, **attributes))
        return name

    def parameter(self, channels):
        """A constant for a feature map: mostly along channels."""
        extents = [channels] + self.shape[2:]
        axis = self.source.choice([0, 0, 0, 1, 2, None])
        shape = [] if axis is None else \
            [n if i == axis else 1 for i, n in enumerate(extents)]
        return self.constant(self.rng.standard_normal(shape))

    def normalise(self, value, channels):
        for _ in range(self.source.choice([1, 1, 2])):
            for kind in ("Mul", "Add"):
                if self.source.random() < 0.8:
                    value = self.node(kind, self.shuffled(
                        [value, self.parameter(channels)]))
        function = self.source.choice(FUNCTIONS)
        return self.node(function, [value]) if function else value

    def shuffled(self, values):
        return values[::-1] if self.source.random() < 0.3 else values

    def convolve(self, value, channels, outputs):
        kernel = self.source.choice([1, 3])
        weights = self.rng.standard_normal((outputs, channels, kernel, kernel))
        return self.node("Conv", [value, self.constant(weights * 0.3)],
                         kernel_shape=[kernel] * 2, pads=[kernel // 2] * 4)

    def pool(self, value):
        return self.node(self.source.choice(["MaxPool", "AveragePool"]),
                         [value], kernel_shape=[3, 3], pads=[1, 1, 1, 1])

    def grow(self):
        """Values that a network may return."""
        value, channels = "x", self.shape[1]
        if self.source.random() < 0.6:
            value = self.pool(value)
        elif self.source.random() < 0.5:
            value, channels = self.convolve(value, channels, 16), 16
        others = []
        for _ in range(self.source.randint(1, 4)):
            added = self.source.choice([8, 16, 16, 32, 5])
            made = self.normalise(value, channels)
            made = self.convolve(made, channels, added)
            if self.source.random() < 0.3:
                made = self.pool(made)
            parts = [value, made]
            if self.source.random() < 0.2:
                parts.reverse()
            before = value
            value = self.node("Concat", parts, axis=1)
            if self.source.random() < 0.3:
                others.append(self.node("Relu", [before]))
            channels += added
        return [self.normalise(value, channels)] + others

    def save(self, path):
        outputs = self.grow()
        graph = helper.make_graph(
            self.nodes, "dense",
            [helper.make_tensor_value_info("x", TensorProto.FLOAT,
                                           self.shape)],
            [helper.make_tensor_value_info(name, TensorProto.FLOAT, None)
             for name in outputs], self.constants)
        model = helper.make_model(
            graph, opset_imports=[helper.make_opsetid("", 13)])
        model.ir_version = 8
        onnx.save(onnx.shape_inference.infer_shapes(model), path)


def small_machine(folder):
    path = os.path.join(folder, "small.yaml")
    with open(path, "w", encoding="utf-8") as stream:
        stream.write("name: small\nsb: {bytes_per_partition: 2048}\n")
    return path


def check(seed, folder):
    """(whether a bit differs, an instruction has parameters, joined concats)."""
    source = random.Random(seed)
    network = Network(source)
    model = os.path.join(folder, "model.onnx")
    network.save(model)
    machine = source.choice(["a1", "a1", "a1-tiny", small_machine(folder)])
    done = folds.compare_bits(model, network.shape, seed, folder,
                              f"--machine={machine}")
    if done.returncode:
        print(f"seed {seed} on {os.path.basename(machine)}:\n"
              f"{done.stdout}{done.stderr}")
    lines = folds.instructions(os.path.join(folder, "model.ash"))
    parameters = sum(line.startswith("vec.map") and
                     ("hasScale" in line or "hasBias" in line)
                     for line in lines)
    plan = common.run_tool("ashlarc", model, "--compile-to=plan", "-o", "-",
                           f"--machine={machine}").stdout
    joined = sum('npu.dma.move "concat"' in line and
                 "#npu.route<view>" in line
                 for line in plan.splitlines())
    return done.returncode != 0, parameters > 0, joined


if __name__ == "__main__":
    sys.exit(common.check_drawn(check,
                                "with parameters in instructions",
                                "concatenations without a copy"))
