#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Element-wise operations on maps whose last channel tile fills few lanes.

usage: tail_parts.py [--seeds=FIRST:END]

The positions of such a tile are computed in parts side by side. Drawn maps,
functions and operands: squares, two maps, views that overlap, single elements,
few channels. Convolutions of small integers, which are exact, make the maps, of inputs that are
encoded in parts as well, with zeros between channels that end inside a block. Compared with
numpy, to the bit.
"""

import os
import random
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

import common  # noqa: E402
import seed_sweep  # noqa: E402


def rows(map_, first, count):
    return map_[:, :, first:first + count]


FUNCTIONS = [("Mul", np.multiply), ("Max", np.maximum), ("Add", np.add), ("Sub", np.subtract)]


class Network:
    """Inputs x and z, two maps, and a chain of operations on both."""

    def __init__(self, shape, numbers):
        self.values = {name: numbers.integers(-15, 16, shape).astype(np.float32) for name in "xz"}
        self.nodes, self.constants = [], []
        self.numbers = numbers

    def add(self, kind, inputs, value):
        name = f"v{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, inputs, [name]))
        self.values[name] = value
        return name

    def constant(self, value):
        name = f"c{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(value, name))
        return name

    def slice(self, map_, first, count):
        ints = [self.constant(np.array([i], np.int64)) for i in (first, first + count, 2)]
        return self.add("Slice", [map_, *ints], rows(self.values[map_], first, count))

    def binary(self, draw, a, b, functions=FUNCTIONS):
        function = draw.choice(functions)
        return self.add(function[0], [a, b], function[1](self.values[a], self.values[b]))

    def conv(self, a):
        channels = self.values[a].shape[1]
        kernel = self.numbers.integers(-1, 2, (channels, channels)).astype(np.float32)
        return self.add("Conv", [a, self.constant(kernel[:, :, None, None])],
                        np.einsum("oc,nchw->nohw", kernel, self.values[a]))


def draw_network(draw, numbers, shape):
    net = Network(shape, numbers)
    y, z = net.conv("x"), net.conv("z")
    for _ in range(draw.randint(1, 3)):
        kind = draw.choice(["square", "two", "shifted", "single"])
        if kind == "square":
            y = net.binary(draw, y, y)
        elif kind == "two" and net.values[y].shape == net.values[z].shape:
            y = net.binary(draw, y, z)
        elif kind == "shifted":
            count = net.values[y].shape[2] - draw.randint(1, 3)
            first = draw.randint(0, net.values[y].shape[2] - count)
            y = net.binary(draw, net.slice(y, first, count), net.slice(y, 0, count))
        else:
            # Exact, however the compiler joins constants.
            value = np.float32(draw.choice([0.5, -2]))
            name = net.constant(value)
            net.values[name] = value
            y = net.binary(draw, y, name, FUNCTIONS[:2])
    return net, y


def check(seed, folder):
    draw, numbers = random.Random(seed), np.random.default_rng(seed)
    partitions = draw.choice([8, 12, 16, 33, 64])
    group = draw.choice([g for g in (1, 4) if partitions % g == 0])
    channels = draw.choice([0, 0, partitions]) + draw.choice([1, 1, 2, 3, 4, 5])
    shape = [draw.choice([1, 2, 3]), channels, draw.randint(8, 24), draw.randint(8, 33)]
    net, last = draw_network(draw, numbers, shape)
    info = helper.make_tensor_value_info
    graph = helper.make_graph(
        net.nodes, "maps", [info(name, TensorProto.FLOAT, shape) for name in "xz"],
        [info(last, TensorProto.FLOAT, None)], net.constants)
    model, machine, binary, inputs, outputs = (
        os.path.join(folder, name)
        for name in ("maps.onnx", "maps.yaml", "maps.ash", "in.npz", "out.npz"))
    onnx.save(helper.make_model(graph, ir_version=8,
                                opset_imports=[helper.make_opsetid("", 17)]), model)
    with open(machine, "w", encoding="utf-8") as stream:
        stream.write(f"base: a1\nxm_group: {group}\nsb: {{partitions: {partitions}}}\n"
                     f"pe: {{rows: {partitions}, columns: {partitions}, "
                     f"row_group_granularity: {partitions}}}\n")
    np.savez(inputs, **{name: net.values[name] for name in "xz"})
    common.run_tool("ashlarc", model, "-o", binary, f"--machine={machine}", "--format=bfp16",
                    "--sparse=off")
    common.run_tool("ashlar-run", binary, f"--inputs={inputs}", f"--outputs={outputs}", "--quiet")
    with np.load(outputs) as found:
        wrong = int(np.sum(found[last] != net.values[last]))
    text = f"{shape}, {partitions} partitions: {[n.op_type for n in net.nodes]}"
    if wrong:
        raise seed_sweep.Mismatch(f"{text}: {wrong} elements differ")
    return "equal", text


if __name__ == "__main__":
    sys.exit(seed_sweep.main(__doc__, "networks", check))
