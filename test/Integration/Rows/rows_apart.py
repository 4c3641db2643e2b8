#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Rows of the operand side by side in the rows of the array.

usage: rows_apart.py random [--count=N] [--seed=S]
       rows_apart.py integers [--count=N] [--seed=S]
       rows_apart.py steps
       rows_apart.py save MODEL

`random` draws chains of convolutions whose rows fit the array several times:
kernels of any height, strides, dilations and pads, batches, maps with depth,
residual connections, few or many outputs, behind a function, a depthwise convolution or
an input of the network, on several machines, some with little memory. With
--pack-rows=apart every planned tensor is that of the numpy reference, and the
outputs of --pack-rows=auto, columns and off are the same.
`integers` compares quantised convolutions, whose channels need no whole exponent
cells, with --pack-rows=apart and off.
`steps` shows that the array takes the steps of docs/Machine.md, and how many cycles
layers take with and without. `save` writes the first of these networks.
"""

import argparse
import json
import math
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

SMALL = """name: small
base: a1
sb: {bytes_per_partition: 8192}
"""
WIDE = """name: wide
base: a1-ideal
sb: {partitions: 256}
pe: {rows: 256, columns: 96}
"""
HEIGHTS = [2, 4, 6, 8, 12, 15, 16, 21, 24, 28, 30]


class Chain:
    """Nodes and weights of a network under construction."""

    def __init__(self, seed, shape):
        self.rng = np.random.default_rng(seed)
        self.shape, self.value = list(shape), "x"
        self.input = list(shape)
        self.nodes, self.weights = [], []

    def node(self, op, inputs, **attributes):
        name = f"v{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, inputs, [name], name=f"{op.lower()}{name}",
                                           **attributes))
        return name

    def conv(self, outputs, kernel, strides, pads, dilations, groups=1):
        extents = [outputs, self.shape[1] // groups, *kernel]
        weights = self.rng.standard_normal(extents) / math.sqrt(math.prod(extents[1:]))
        self.weights.append(numpy_helper.from_array(weights.astype(np.float32),
                                                    f"w{len(self.weights)}"))
        self.value = self.node("Conv", [self.value, self.weights[-1].name], kernel_shape=kernel,
                               strides=strides, pads=pads, dilations=dilations, group=groups)
        spatial = len(kernel)
        self.shape[1] = outputs
        for i in range(spatial):
            size = self.shape[2 + i] + pads[i] + pads[spatial + i]
            self.shape[2 + i] = (size - (kernel[i] - 1) * dilations[i] - 1) // strides[i] + 1

    def save(self, path):
        graph = helper.make_graph(
            self.nodes, "apart",
            [helper.make_tensor_value_info("x", TensorProto.FLOAT, self.input)],
            [helper.make_tensor_value_info(self.value, TensorProto.FLOAT, self.shape)],
            self.weights)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)])
        model.ir_version = 8
        onnx.save(model, path)


def add_layer(chain, source):
    """A convolution; its height may reach over several rows of a step."""
    kernel, strides, dilations, low, high = [], [], [], [], []
    for i, size in enumerate(chain.shape[2:]):
        tall = i + 4 == len(chain.shape)
        dilation = source.choice([1, 1, 1, 2])
        before, after = source.choice([(0, 0), (0, 0), (1, 1), (2, 1), (0, 3), (3, 0)])
        longest = (size + before + after - 1) // dilation + 1
        taps = source.choice([1, 1, 2, 3, 5] if tall else [1, 1, 3])
        kernel.append(min(taps, longest))
        strides.append(source.choice([1, 1, 1, 2, 3] if tall else [1, 1, 2]))
        dilations.append(dilation)
        low.append(before)
        high.append(after)
    outputs = source.choice([1, 8, 12, 16, 24, 32, 40, 72, 96, 100, 144])
    before, shape = chain.value, list(chain.shape)
    chain.conv(outputs, kernel, strides, low + high, dilations)
    if chain.shape == shape and source.random() < 0.5:
        chain.value = chain.node("Add", [chain.value, before])
    if source.random() < 0.5:
        chain.value = chain.node("Relu", [chain.value])


def draw(seed):
    source = random.Random(seed)
    rank = source.choice([2, 2, 2, 2, 3])
    sizes = [source.choice(HEIGHTS), source.randint(1, 24)]
    if rank == 3:
        sizes.insert(0, source.randint(1, 4))
    chain = Chain(seed, [source.choice([1, 1, 2]),
                         source.choice([8, 8, 16, 16, 24, 32, 40, 64]),
                         *sizes])
    front = source.choice(["none", "relu", "depthwise"])
    if front == "relu":
        chain.value = chain.node("Relu", [chain.value])
    elif front == "depthwise":
        chain.conv(chain.shape[1], [3] * rank, [1] * rank, [1] * 2 * rank, [1] * rank,
                   chain.shape[1])
    for _ in range(source.choice([1, 2, 3])):
        add_layer(chain, source)
    return chain, source


def outputs_of(folder, model, *options):
    binary, outputs = (os.path.join(folder, name) for name in ("other.ash", "other.npz"))
    common.run_tool("ashlarc", model, "-o", binary, *options)
    common.run_tool("ashlar-run", binary, f"--inputs={os.path.join(folder, 'in.npz')}",
                    f"--outputs={outputs}", "--quiet")
    with np.load(outputs) as arrays:
        return {name: arrays[name].tobytes() for name in arrays.files}


def check_random(seed, folder, machines):
    """(convolutions with rows apart, whether a bit differs)."""
    chain, source = draw(seed)
    model = os.path.join(folder, "model.onnx")
    chain.save(model)
    options = [f"--machine={source.choice(machines)}",
               "--fold-w=" + source.choice(["auto", "off"]),
               "--sparse=" + source.choice(["auto", "off", "off"]),
               "--format=" + source.choice(["bfp8", "bfp8", "bfp5", "bfp16"])]
    done = folds.compare_bits(model, chain.input, seed, folder, "--pack-rows=apart", *options)
    with open(os.path.join(folder, "compiled.json"), encoding="utf-8") as stream:
        apart = sum(decision["choice"].endswith("-apart")
                    for decision in json.load(stream)["decisions"])
    with np.load(os.path.join(folder, "out.npz")) as arrays:
        found = {name: arrays[name].tobytes() for name in arrays.files}
    others = [mode for mode in ("auto", "columns", "off")
              if outputs_of(folder, model, f"--pack-rows={mode}", *options) != found]
    if done.returncode or others:
        print(f"seed {seed}: {' '.join(options)}: differs from {others or 'the reference'}\n"
              f"{done.stdout}{done.stderr}")
    return apart, bool(done.returncode or others)


def check_all(count, first):
    apart = differ = 0
    with tempfile.TemporaryDirectory() as folder:
        machines = ["a1", "a1", "a1-ideal", "a1-edge", "a1-tiny"]
        for name, text in (("small", SMALL), ("wide", WIDE)):
            path = os.path.join(folder, f"{name}.yaml")
            with open(path, "w", encoding="utf-8") as stream:
                stream.write(text)
            machines.append(path)
        for seed in range(first, first + count):
            some, differs = check_random(seed, folder, machines)
            apart, differ = apart + some, differ + differs
    print(f"{count} networks, {differ} differ; {apart} convolutions with rows apart")
    return differ > 0


def save_quantised(path, seed):
    """A convolution of integers with zero points and a bias."""
    source, rng = random.Random(seed), np.random.default_rng(seed)
    channels, outputs = source.choice([3, 5, 8, 12, 16, 24]), source.choice([7, 8, 16, 32, 40])
    kernel, pad = source.choice([1, 1, 2, 3]), source.choice([0, 1])
    dtype = source.choice([np.uint8, np.int8])
    constants = {
        "xs": np.float32(0.05), "xz": np.array(source.randint(0, 20), dtype),
        "w": rng.integers(-100, 100, (outputs, channels, kernel, kernel)).astype(np.int8),
        "ws": np.float32(0.02), "wz": np.int8(0), "ys": np.float32(3),
        "yz": np.array(source.randint(0, 20), dtype),
        "b": rng.integers(-1000, 1000, outputs).astype(np.int32)}
    nodes = [
        helper.make_node("QuantizeLinear", ["x", "xs", "xz"], ["q"]),
        helper.make_node("QLinearConv", ["q", "xs", "xz", "w", "ws", "wz", "ys", "yz", "b"], ["y"],
                         pads=[pad] * 4, strides=[source.choice([1, 2])] * 2),
        helper.make_node("DequantizeLinear", ["y", "ys", "yz"], ["o"])]
    shape = [1, channels, source.choice([4, 6, 8, 12, 24]), source.randint(3, 20)]
    graph = helper.make_graph(
        nodes, "quantised", [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
        [helper.make_tensor_value_info("o", TensorProto.FLOAT, None)],
        [numpy_helper.from_array(np.asarray(value), name) for name, value in constants.items()])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)])
    model.ir_version = 8
    onnx.save(onnx.shape_inference.infer_shapes(model), path)
    return shape


def check_integers(count, first):
    apart = differ = 0
    with tempfile.TemporaryDirectory() as folder:
        model = os.path.join(folder, "model.onnx")
        for seed in range(first, first + count):
            shape = save_quantised(model, seed)
            np.savez(os.path.join(folder, "in.npz"),
                     x=np.random.default_rng(seed).standard_normal(shape).astype(np.float32))
            report = os.path.join(folder, "compiled.json")
            options = ["--sparse=off", "--fold-w=off", f"--report={report}"]
            plain = outputs_of(folder, model, "--pack-rows=off", *options)
            differ += plain != outputs_of(folder, model, "--pack-rows=apart", *options)
            with open(report, encoding="utf-8") as stream:
                apart += any(decision["choice"].endswith("-apart")
                             for decision in json.load(stream)["decisions"])
    print(f"{count} quantised networks, {differ} differ; {apart} convolutions with rows apart")
    return differ > 0


LAYERS = [(16, 32, 1, 64), (8, 16, 1, 64), (24, 144, 1, 48), (128, 128, 1, 28)]


def save_layer(path, channels, outputs, kernel, side):
    """One layer between a function and a pool, which the vector unit computes."""
    chain = Chain(1, [1, channels, side, side])
    chain.value = chain.node("Relu", [chain.value])
    chain.conv(outputs, [kernel] * 2, [1, 1], [kernel // 2] * 4, [1, 1])
    chain.value, chain.shape[2:] = chain.node("GlobalAveragePool", [chain.value]), [1, 1]
    chain.save(path)


def steps(channels, outputs, kernel, side):
    """Busy cycles of the array, and whether the network takes fewer than without."""
    with tempfile.TemporaryDirectory() as folder:
        model, binary, report = (os.path.join(folder, name)
                                 for name in ("m.onnx", "m.ash", "r.json"))
        save_layer(model, channels, outputs, kernel, side)
        found = []
        for mode in ("columns", "auto"):
            common.run_tool("ashlarc", model, "-o", binary, "--machine=a1", "--sparse=off",
                            f"--pack-rows={mode}")
            common.run_tool("ashlar-run", binary, "--random-inputs=1", f"--report={report}",
                            "--quiet")
            with open(report, encoding="utf-8") as stream:
                data = json.load(stream)
            busy = next(n["pe_busy"] for n in data["nodes"] if n["name"] == "convv1")
            found.append((busy, data["total_cycles"]))
    (_, before), (busy, now) = found
    print(f"{channels} channels, {outputs} outputs, {kernel}x{kernel}: {busy} cycles of the array, "
          f"{'fewer' if now < before else 'no fewer'} in all")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("check", choices=["random", "integers", "steps", "save"])
    parser.add_argument("model", nargs="?")
    parser.add_argument("--count", type=int, default=12)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    if options.check == "random":
        return check_all(options.count, options.seed)
    if options.check == "integers":
        return check_integers(options.count, options.seed)
    if options.check == "save":
        save_layer(options.model, *LAYERS[0])
        return 0
    for layer in LAYERS:
        steps(*layer)
    return 0


if __name__ == "__main__":
    sys.exit(main())
