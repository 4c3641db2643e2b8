#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Transposed convolutions and pixel shuffles, bit by bit.

usage: interleave.py [--count=N] [--seed=S]

Draws networks of a convolution, a transposed convolution or a convolution with
DepthToSpace, a function, and a convolution that reads the result: kernels,
strides, dilations, pads, output padding and groups of any kind, one to three
spatial dimensions, on machines of ample and of little memory, with and without
the sparse cluster. All planned tensors are compared with the numpy reference,
and the outputs with ONNX's definition of the operators. Prints how many
interleaved maps took no copy.
"""

import os
import random
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

INTEGRATION = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, INTEGRATION)
sys.path.insert(0, os.path.join(INTEGRATION, "Folds"))

import common  # noqa: E402
import folds  # noqa: E402

MACHINES = ["a1", "a1", "a1-ideal", "a1-edge", "a1-tiny"]
SPARSE = ["auto", "off", "tile"]


class Network:
    """A graph under construction."""

    def __init__(self, source):
        self.source = source
        self.rng = np.random.default_rng(source.randrange(1 << 30))
        self.nodes, self.constants = [], []
        self.spatial = source.choice([1, 2, 2, 2, 3])
        most = {1: 40, 2: 14, 3: 6}[self.spatial]
        self.shape = [1, 3] + [source.randint(3, most)
                               for _ in range(self.spatial)]

    def weights(self, *shape):
        name = f"c{len(self.constants)}"
        array = self.rng.standard_normal(shape) * 0.3
        self.constants.append(
            numpy_helper.from_array(array.astype(np.float32), name))
        return name

    def node(self, kind, inputs, **attributes):
        name = f"n{len(self.nodes)}"
        self.nodes.append(
            helper.make_node(kind, inputs, [name], name=name, **attributes))
        return name

    def convolve(self, value, channels, outputs, kernel=3):
        weights = self.weights(outputs, channels, *[kernel] * self.spatial)
        return self.node("Conv", [value, weights, self.weights(outputs)],
                         pads=[kernel // 2] * (2 * self.spatial))

    def transpose(self, value, channels, outputs):
        source = self.source
        group = source.choice([1, 1, 1, 2])
        kernel = [source.randint(1, 5) for _ in range(self.spatial)]
        strides = [source.randint(1, 3) for _ in range(self.spatial)]
        dilations = [source.choice([1, 1, 1, 2]) for _ in range(self.spatial)]
        reach = [(k - 1) * d for k, d in zip(kernel, dilations)]
        pads = [source.randint(0, min(r, 2)) for r in reach * 2]
        more = [source.randint(0, max(s, d) - 1)
                for s, d in zip(strides, dilations)]
        return self.node(
            "ConvTranspose",
            [value, self.weights(channels, outputs // group, *kernel),
             self.weights(outputs)],
            strides=strides, dilations=dilations, pads=pads, group=group,
            output_padding=more, kernel_shape=kernel)

    def shuffle(self, value, channels, outputs):
        size = self.source.choice([2, 2, 3])
        value = self.convolve(value, channels, outputs * size * size,
                              self.source.choice([1, 3]))
        if self.source.random() < 0.3:
            value = self.node("Relu", [value])
        return self.node("DepthToSpace", [value], blocksize=size,
                         mode=self.source.choice(["DCR", "CRD"]))

    def save(self, path):
        source = self.source
        channels, outputs = source.choice([8, 16, 48]), source.choice([16, 64])
        value = self.node("Relu", [self.convolve("x", 3, channels)])
        shuffles = self.spatial == 2 and source.random() < 0.4
        value = (self.shuffle if shuffles else self.transpose)(
            value, channels, outputs)
        if source.random() < 0.7:
            value = self.node(source.choice(["Relu", "Sigmoid"]), [value])
        value = self.convolve(value, outputs, 8)
        graph = helper.make_graph(
            self.nodes, "phases",
            [helper.make_tensor_value_info("x", TensorProto.FLOAT,
                                           self.shape)],
            [helper.make_tensor_value_info(value, TensorProto.FLOAT, None)],
            self.constants)
        model = helper.make_model(
            graph, opset_imports=[helper.make_opsetid("", 13)])
        model.ir_version = 8
        onnx.save(onnx.shape_inference.infer_shapes(model), path)


def check(seed, folder):
    """(whether anything differs, interleaves without a copy)."""
    source = random.Random(seed)
    network = Network(source)
    model = os.path.join(folder, "model.onnx")
    network.save(model)
    options = [f"--machine={source.choice(MACHINES)}",
               f"--sparse={source.choice(SPARSE)}"]
    done = folds.compare_bits(model, network.shape, seed, folder, *options)
    wrong = done.returncode != 0
    if wrong:
        print(f"seed {seed}, {options}:\n{done.stdout}{done.stderr}")
    elif common.differs_from_fp32(model, folder):
        wrong = True
        print(f"seed {seed}, {options}: far from fp32")
    plan = common.run_tool("ashlarc", model, "--compile-to=plan", "-o", "-",
                           *options).stdout
    joined = sum('npu.dma.move "interleave"' in line and
                 "#npu.route<view>" in line for line in plan.splitlines())
    return wrong, joined


if __name__ == "__main__":
    sys.exit(common.check_drawn(check, "interleaves without a copy"))
