#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""PRelu with one slope per channel in the drain of the product before it.

usage: slopes.py random [--count=N] [--seed=S]
       slopes.py apart [--count=N] [--seed=S]
       slopes.py cycles

`random` draws chains of convolutions and matrix products, each with a PRelu
behind it and some with a residual between, on several machines: every planned
tensor is that of the numpy reference.
`apart` compares the output of such a layer with that of the same layer whose
sums are an output of the network, too, so that the vector unit has to compute
the PRelu: equal bits.
`cycles` prints what a network takes both ways, and how many instructions read slopes.
"""

import argparse
import json
import os
import random
import sys
import tempfile

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "Folds"))

import folds  # noqa: E402
from folds import common  # noqa: E402


class Network:
    """Products, each with a PRelu; the value that the next one reads is `value`."""

    def __init__(self, shape, seed):
        self.rng = np.random.default_rng(seed)
        self.shape, self.value, self.current = shape, "x", list(shape)
        self.nodes, self.weights, self.sums = [], [], []

    def constant(self, array):
        name = f"c{len(self.weights)}"
        self.weights.append(numpy_helper.from_array(np.asarray(array, np.float32), name))
        return name

    def emit(self, kind, inputs, **attributes):
        name = f"{kind.lower()}{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, inputs, [name], name=name, **attributes))
        return name

    def slopes(self, count, trailing):
        array = self.rng.uniform(-0.5, 1.5, count)
        array[:: 3] = self.rng.choice([0.0, 1.0, -2.0])
        return self.constant(array.reshape((count,) + (1,) * trailing))

    def conv(self, outputs, kernel, stride=1, groups=1, residual=False, zeros=0.0):
        channels, sizes = self.current[1], self.current[2:]
        weights = self.rng.standard_normal((outputs, channels // groups) + (kernel,) * len(sizes))
        weights[self.rng.random(weights.shape) < zeros] = 0
        inputs = [self.value, self.constant(weights), self.constant(self.rng.standard_normal(outputs))]
        before = self.value
        value = self.emit("Conv", inputs, group=groups, strides=[stride] * len(sizes),
                          pads=[kernel // 2] * 2 * len(sizes))
        sizes = [(size + 2 * (kernel // 2) - kernel) // stride + 1 for size in sizes]
        if residual and [outputs] + sizes == self.current[1:]:
            value = self.emit("Add", [value, before])
        self.sums.append(value)
        self.value = self.emit("PRelu", [value, self.slopes(outputs, len(sizes))])
        self.current = [self.current[0], outputs] + sizes

    def linear(self, outputs):
        depth = self.current[-1]
        value = self.emit("MatMul", [self.value, self.constant(self.rng.standard_normal((depth, outputs)))])
        value = self.emit("Add", [value, self.constant(self.rng.standard_normal(outputs))])
        self.sums.append(value)
        self.value = self.emit("PRelu", [value, self.slopes(outputs, 0)])
        self.current[-1] = outputs

    def save(self, path, apart=False):
        """With `apart` what the functions read is an output, too."""
        outputs = [self.value] + (self.sums if apart else [])
        graph = helper.make_graph(
            self.nodes, "slopes",
            [helper.make_tensor_value_info("x", TensorProto.FLOAT, self.shape)],
            [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in outputs],
            self.weights)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)])
        model.ir_version = 8
        onnx.save(onnx.shape_inference.infer_shapes(model), path)


def draw_network(source, seed, layers):
    if seed % 6 == 0:  # more weights than activations: these wait in the array
        net = Network([source.choice([1, 4]), 400], seed)
        for _ in range(layers):
            net.linear(400)
        return net
    if source.random() < 0.35:
        shape = [source.choice([1, 1, 4, 9, 130]), source.choice([3, 40, 200, 400])]
        net = Network([*shape[:1], source.choice([1, 5]), shape[1]] if source.random() < 0.4 else shape, seed)
        for _ in range(layers):
            net.linear(source.choice([1, 16, 150, 400]))
        return net
    rank = source.choice([1, 2, 2, 2])
    shape = [source.choice([1, 1, 2]), source.choice([3, 16, 24, 130])]
    net = Network(shape + [source.choice([1, 3, 9, 14]) for _ in range(rank)], seed)
    for _ in range(layers):
        channels = net.current[1]
        groups = source.choice([1, 1, 1, channels])
        outputs = channels if groups > 1 else source.choice([8, channels, 40, 150])
        net.conv(outputs, source.choice([1, 3]), source.choice([1, 1, 2]), groups,
                 source.random() < 0.4, source.choice([0, 0, 0.9]))
    return net


def draw_options(source):
    return (f"--machine={source.choice(['a1', 'a1', 'a1', 'a1-edge', 'a1-tiny'])}",
            f"--sparse={source.choice(['auto', 'off', 'tile'])}",
            f"--format={source.choice(['bfp8', 'bfp8', 'bfp6', 'w=12,block=16'])}")


def slope_drains(binary):
    """Drains that read slopes: all, those of records along the steps, those of the cluster."""
    drains = [line for line in folds.instructions(binary)
              if line.startswith("act.drain") and "alphaFromParam=1" in line]
    return (len(drains), sum("paramAlongSteps=1" in line for line in drains),
            sum("fromTcu=1" in line for line in drains))


def check_random(seed, folder):
    """(kinds of drains that read slopes, whether a bit differs)."""
    source = random.Random(seed)
    net = draw_network(source, seed, source.choice([1, 2, 3]))
    options = draw_options(source)
    model = os.path.join(folder, "model.onnx")
    net.save(model)
    done = folds.compare_bits(model, net.shape, seed, folder, *options)
    if done.returncode:
        print(f"seed {seed}: {net.shape} {options}\n{done.stdout}{done.stderr}")
    return (*slope_drains(os.path.join(folder, "model.ash")), done.returncode != 0)


def run(net, folder, apart, seed, *options):
    """(output, report, program) of a network."""
    model, binary, inputs, outputs, report = (
        os.path.join(folder, name) for name in ("m.onnx", "m.ash", "in.npz", "out.npz", "r.json"))
    net.save(model, apart)
    np.savez(inputs, x=np.random.default_rng(seed).standard_normal(net.shape).astype(np.float32))
    common.run_tool("ashlarc", model, "-o", binary, *options)
    common.run_tool("ashlar-run", binary, f"--inputs={inputs}", f"--outputs={outputs}",
                    f"--report={report}", "--quiet")
    with np.load(outputs) as arrays, open(report, encoding="utf-8") as stream:
        return arrays[net.value], json.load(stream), binary


def check_apart(seed, folder):
    """(kinds of drains that read slopes, whether a bit differs)."""
    source = random.Random(seed)
    net = draw_network(source, seed, 1)
    options = draw_options(source)
    fused, _, binary = run(net, folder, False, seed, *options)
    together = slope_drains(binary)
    alone, _, binary = run(net, folder, True, seed, *options)
    equal = fused.tobytes() == alone.tobytes()
    if not equal:
        print(f"seed {seed}: {net.shape} {options}")
    assert slope_drains(binary)[0] == 0
    return (*together, not equal)


def check_cycles(folder):
    net = Network([1, 32, 28, 28], 1)
    for _ in range(4):
        net.conv(32, 3, residual=True)
    report = run(net, folder, False, 1, "--sparse=off")
    lines = folds.instructions(report[2])
    functions = sum(line.startswith("vec.map") and "function=prelu" in line for line in lines)
    print(f"together: {report[1]['total_cycles']} cycles, {slope_drains(report[2])[0]} drains with slopes, "
          f"{functions} functions of the vector unit")
    alone = run(net, folder, True, 1, "--sparse=off")
    assert report[1]["total_cycles"] < alone[1]["total_cycles"], alone[1]["total_cycles"]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("mode", choices=["random", "apart", "cycles"])
    parser.add_argument("--count", type=int, default=24)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        if arguments.mode == "cycles":
            return check_cycles(folder)
        check = check_random if arguments.mode == "random" else check_apart
        done = [check(arguments.seed + i, folder) for i in range(arguments.count)]
    total, along, cluster, differ = (sum(column) for column in zip(*done))
    print(f"{len(done)} networks, {differ} differ; {total} drains with slopes, "
          f"{along} along the steps, {cluster} of the cluster")
    return 0


if __name__ == "__main__":
    sys.exit(main())
