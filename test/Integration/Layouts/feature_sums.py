#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Reductions of what lies across partitions, bit by bit.

usage: feature_sums.py [--count=N] [--seed=S]

Draws networks of a layer whose features lie across partitions, a reduction of
the features, and a layer: layer normalisations of sequences and of images in
both orders of axes, root mean squares, softmaxes by hand, all kinds of
reductions and the extremum's index, reductions of encoded maps, with features
that fill a part of the partitions or several channel tiles. All planned tensors
are compared with the numpy reference, and the outputs with ONNX's definition of
the operators. Prints how many reductions go through the partitions.
"""

import os
import random
import re
import subprocess
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

INTEGRATION = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, INTEGRATION)

import common  # noqa: E402
import numerics_model  # noqa: E402

MACHINES = ["a1", "a1", "a1-ideal", "a1-edge", "a1-tiny", "a1-iso"]
KINDS = ["ReduceMean", "ReduceMax", "ReduceMin", "ReduceL1", "ReduceL2",
         "ReduceSumSquare", "ReduceLogSumExp", "ArgMax", "ArgMin"]


class Network:
    """A graph of a seed."""

    def __init__(self, source):
        self.source = source
        self.rng = np.random.default_rng(source.randrange(1 << 30))
        self.nodes, self.constants = [], []
        self.features = source.choice([1, 5, 16, 48, 96, 130, 192, 300])
        self.image = source.random() < 0.4
        self.positions = ([source.randint(1, 9), source.randint(1, 9)]
                          if self.image else [source.choice([1, 7, 50, 140])])

    def constant(self, array):
        name = f"c{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(array, name))
        return name

    def random(self, *shape):
        scale = 1 / np.sqrt(shape[0]) if len(shape) > 1 else 1
        return self.constant(
            (self.rng.standard_normal(shape) * scale).astype(np.float32))

    def node(self, kind, inputs, **attributes):
        name = f"n{len(self.nodes)}"
        self.nodes.append(
            helper.make_node(kind, inputs, [name], name=name, **attributes))
        return name

    def layer(self, value, outputs):
        return self.node("MatMul", [value, self.random(self.features, outputs)])

    def normalise(self, value, axis):
        """(x - mean) / sqrt(variance + epsilon), or without the mean."""
        difference = value
        if self.source.random() < 0.8:
            mean = self.node("ReduceMean", [value], axes=[axis])
            difference = self.node("Sub", [value, mean])
        square = self.node("Mul", [difference, difference])
        variance = self.node("ReduceMean", [square], axes=[axis])
        epsilon = self.constant(np.float32(1e-5))
        deviation = self.node("Sqrt",
                              [self.node("Add", [variance, epsilon])])
        value = self.node("Div", [difference, deviation])
        if axis in (-1, len(self.positions) + 1) and self.source.random() < 0.5:
            value = self.node("Mul", [value, self.random(self.features)])
            value = self.node("Add", [value, self.random(self.features)])
        return value

    def softmax(self, value, axis):
        highest = self.node("ReduceMax", [value], axes=[axis])
        powers = self.node("Exp", [self.node("Sub", [value, highest])])
        total = self.node("ReduceSum",
                          [powers, self.constant(np.array([axis]))])
        return self.node("Div", [powers, total])

    def reduce(self, value, axis):
        kind = self.source.choice(KINDS)
        where = ({"axis": axis} if kind.startswith("Arg")
                 else {"axes": [axis]})
        return self.node(kind, [value],
                         keepdims=self.source.choice([1, 1, 0]), **where)

    def beside(self, value):
        """A reduction of a map that a convolution reads, too: encoded."""
        value = self.node("Relu", [value])
        layer = self.node("Conv", [value, self.random(8, self.features, 1, 1)])
        kind = self.source.choice(["ReduceMean", "ReduceMax", "ReduceL2"])
        return self.node("Add", [layer,
                                 self.node(kind, [value], axes=[1])])

    def body(self):
        """The output of a network that reads `x`."""
        source = self.source
        if self.image:
            weights = self.random(self.features, 3, 1, 1)
            value, axis = self.node("Conv", ["x", weights]), 1
            if source.random() < 0.6:
                value = self.node("Transpose", [value], perm=[0, 2, 3, 1])
                axis = 3
        else:
            value, axis = self.layer("x", self.features), 2
        form = source.random()
        if axis == 1 and form > 0.7:
            return self.beside(value)
        if form < 0.3:
            return self.reduce(value, axis)
        if form < 0.45:
            return self.softmax(value, axis)
        value = self.normalise(value, axis)
        return self.layer(value, 24) if axis > 1 else value

    def save(self, folder):
        extents = ([1, 3, *self.positions] if self.image
                   else [1, *self.positions, self.features])
        value = self.body()
        graph = helper.make_graph(
            self.nodes, "features",
            [helper.make_tensor_value_info("x", TensorProto.FLOAT, extents)],
            [helper.make_tensor_value_info(value, TensorProto.UNDEFINED,
                                           None)], self.constants)
        model = helper.make_model(
            graph, opset_imports=[helper.make_opsetid("", 13)])
        model.ir_version = 8
        model = onnx.shape_inference.infer_shapes(model)
        types = {info.name: info for info in model.graph.value_info}
        if value in types:
            model.graph.output[0].CopyFrom(types[value])
        path = os.path.join(folder, "model.onnx")
        onnx.save(model, path)
        np.savez(os.path.join(folder, "in.npz"),
                 x=self.rng.standard_normal(extents).astype(np.float32))
        return path


def check(seed, folder):
    """(whether anything differs, reductions through partitions)."""
    source = random.Random(seed)
    network = Network(source)
    model = network.save(folder)
    machine = f"--machine={source.choice(MACHINES)}"
    compared = subprocess.run(
        [sys.executable, numerics_model.__file__, model,
         os.path.join(folder, "in.npz"), machine], text=True,
        capture_output=True)
    wrong = compared.returncode != 0
    # The index of an extremum is that of the rounded values.
    if not wrong and not network.nodes[-1].op_type.startswith("Arg"):
        wrong = common.differs_from_fp32(model, folder)
    if wrong:
        print(f"seed {seed}, {machine}: {compared.stdout}{compared.stderr}")
    program = os.path.join(folder, "model.ash")
    common.run_tool("ashlarc", model, "-o", program, machine)
    listing = common.run_tool("ashlar-dis", program, "-o", "-").stdout
    return wrong, len(re.findall(r"^\s*vec\.reduce_channels\b", listing, re.M))


if __name__ == "__main__":
    sys.exit(common.check_drawn(check, "reductions through partitions"))
