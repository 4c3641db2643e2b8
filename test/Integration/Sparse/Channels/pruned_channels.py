#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Networks with whole channels pruned, compiled with and without them.

Random networks of convolutions, depthwise convolutions, sums, concatenations,
slices, pools and dense layers lose random channels: weights of results, weights
of inputs, with and without the bias. Both programs run; outputs of integer
networks are equal to the bit, others to the rounding of the format. For integers
`--verify` compares every phase with what ONNX's operators mean."""

import argparse
import json
import os
import subprocess
import sys
import tempfile

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

MODELS = os.environ.get("ASHLAR_MODELS", "")


class Network:
    """A random network in NCHW; `weight` keeps a list of what it made."""

    def __init__(self, seed, integers=False):
        self.rng = np.random.default_rng(seed)
        self.nodes, self.constants, self.count = [], [], 0
        self.integers = integers

    def constant(self, value):
        self.count += 1
        name = f"c{self.count}"
        self.constants.append(numpy_helper.from_array(np.asarray(value), name))
        return name

    def node(self, kind, inputs, **attributes):
        self.count += 1
        name = f"{kind.lower()}{self.count}"
        self.nodes.append(helper.make_node(kind, inputs, [name], name=name, **attributes))
        return name

    def pruned(self, outputs, inputs, kernel):
        """Weights without some results, inputs and single values."""
        rng = self.rng
        shape = (outputs, inputs, *kernel)
        weights = rng.normal(size=shape).astype(np.float32)
        if self.integers:
            weights = rng.integers(-100, 101, shape).astype(np.int8)
        weights[rng.random(outputs) < rng.choice([0, 0.4])] = 0
        weights[:, rng.random(inputs) < rng.choice([0, 0.4])] = 0
        weights[rng.random(shape) < rng.choice([0, 0.5])] = 0
        return weights

    def bias(self, weights):
        bias = self.rng.normal(size=len(weights)).astype(np.float32)
        if self.rng.random() < 0.4:
            bias[~weights.reshape(len(weights), -1).any(1)] = 0
        return self.constant(bias)

    def conv(self, x, inputs, outputs, kernel=3, group=1, pad=None):
        pad = kernel // 2 if pad is None else pad
        weights = self.pruned(outputs, inputs // group, (kernel, kernel))
        return self.node("Conv", [x, self.constant(weights), self.bias(weights)],
                         pads=[pad] * 4, group=group, kernel_shape=[kernel] * 2)

    def qdq(self, x, scale, zero):
        operands = [self.constant(np.float32(scale)), self.constant(np.uint8(zero))]
        return self.node("DequantizeLinear",
                         [self.node("QuantizeLinear", [x, *operands]), *operands])

    def qconv(self, x, inputs, outputs, kernel=3):
        weights = self.pruned(outputs, inputs, (kernel, kernel))
        scales = self.constant(np.full(outputs, 2.0 ** -9, np.float32))
        zeros = self.constant(np.zeros(outputs, np.int8))
        w = self.node("DequantizeLinear", [self.constant(weights), scales, zeros], axis=0)
        bias = self.rng.integers(-2000, 2000, outputs).astype(np.int32)
        if self.rng.random() < 0.5:
            bias[~weights.reshape(outputs, -1).any(1)] = 0
        b = self.node("DequantizeLinear",
                      [self.constant(bias), self.constant(np.full(outputs, 2.0 ** -14, np.float32)),
                       self.constant(np.zeros(outputs, np.int32))], axis=0)
        y = self.node("Conv", [x, w, b], pads=[self.rng.integers(2)] * 4)
        if self.rng.random() < 0.7:
            y = self.node("Relu", [y])
        return self.qdq(y, 2.0 ** -5, self.rng.choice([0, 128]))

    def body(self, x, channels):
        """Some layers; the channels of the result."""
        rng = self.rng
        kind = rng.integers(6)
        if kind == 0:
            outputs = int(rng.integers(1, 40))
            y = self.conv(x, channels, outputs, kernel=int(rng.choice([1, 3])),
                          pad=int(rng.integers(2)))
            return self.node(rng.choice(["Relu", "Sigmoid", "Identity"]), [y]), outputs
        if kind == 1:
            a = self.conv(x, channels, channels)
            return self.node("Relu", [self.node("Add", [a, x])]), channels
        if kind == 2:
            y = self.conv(x, channels, channels, group=channels)
            return self.node("Clip", [y, self.constant(np.float32(0)),
                                      self.constant(np.float32(6))]), channels
        if kind == 3:
            outputs = int(rng.integers(1, 20))
            a = self.node("Relu", [self.conv(x, channels, outputs, kernel=1, pad=0)])
            b = self.conv(x, channels, 8)
            return self.node("Concat", [a, b], axis=1), outputs + 8
        if kind == 4 and channels > 3:
            ends = [self.constant(np.array([v], np.int64)) for v in (1, channels - 1, 1)]
            y = self.node("Slice", [x, *ends])
            return self.conv(self.node("Relu", [y]), channels - 2, 16), 16
        return self.node(rng.choice(["MaxPool", "AveragePool"]), [x], kernel_shape=[3, 3],
                         pads=[int(rng.integers(2))] * 4, strides=[1, 1]), channels

    def build(self, path):
        rng = self.rng
        channels, size = int(rng.integers(1, 24)), 12
        x, given = "x", channels
        if self.integers:
            x = self.qdq(x, 2.0 ** -6, 128)
            for _ in range(int(rng.integers(2, 5))):
                outputs = int(rng.integers(2, 40))
                x, channels = self.qconv(x, channels, outputs, int(rng.choice([1, 3]))), outputs
        else:
            for _ in range(int(rng.integers(2, 6))):
                x, channels = self.body(x, channels)
            x = self.node("Flatten", [self.node("GlobalAveragePool", [x])])
            hidden = self.pruned(24, channels, ())
            x = self.node("Relu", [self.node("Gemm", [x, self.constant(hidden), self.bias(hidden)],
                                             transB=1)])
            last = self.pruned(5, 24, ())
            x = self.node("Gemm", [x, self.constant(last), self.bias(last)], transB=1)
        save(self, path, x, [1, given, size, size])
        return self


def save(network, path, y, shape):
    graph = helper.make_graph(
        network.nodes, "pruned", [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
        [helper.make_tensor_value_info(y, TensorProto.FLOAT, None)], network.constants)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.save(onnx.shape_inference.infer_shapes(model), path)


def run(command):
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}: {done.stderr}")
    return done.stdout


def measure(path, inputs, mode, options=()):
    """Outputs, the report of the run and the decisions of a model compiled with `mode`."""
    stem = path[:-5] + "-" + mode
    run(["ashlarc", path, "-o", stem + ".ash", "--dead-channels=" + mode,
         "--report=" + stem + ".compile.json", *options])
    run(["ashlar-run", stem + ".ash", "--inputs=" + inputs, "--outputs=" + stem + ".npz",
         "--report=" + stem + ".json", "--quiet"])
    with np.load(stem + ".npz") as data:
        outputs = {name: data[name] for name in data.files}
    with open(stem + ".json", encoding="utf-8") as file:
        report = json.load(file)
    with open(stem + ".compile.json", encoding="utf-8") as file:
        decisions = json.load(file)["decisions"]
    return outputs, report, [d for d in decisions if d.get("choice") == "fewer-channels"]


def snr(wanted, found):
    noise = float(np.sum((wanted.astype(np.float64) - found) ** 2))
    signal = float(np.sum(wanted.astype(np.float64) ** 2))
    return np.inf if noise == 0 else 10 * np.log10(max(signal, 1e-30) / noise)


def check(seed, folder, integers):
    """Compiles one random network both ways; what its channels saved."""
    path = os.path.join(folder, f"n{seed}.onnx")
    Network(seed, integers).build(path)
    model = onnx.load(path)
    shape = [d.dim_value for d in model.graph.input[0].type.tensor_type.shape.dim]
    inputs = os.path.join(folder, "x.npz")
    x = np.random.default_rng(seed + 1).normal(size=shape).astype(np.float32)
    np.savez(inputs, x=x)
    options = [] if integers else ["--format=bfp16"]
    if integers:
        run(["ashlarc", path, "-o", path[:-5] + ".ash", "--verify", "--inputs=" + inputs])
    kept, before, _ = measure(path, inputs, "keep", options)
    found, after, decisions = measure(path, inputs, "remove", options)
    name = next(iter(kept))
    if integers and not np.array_equal(kept[name], found[name]):
        sys.exit(f"seed {seed}: outputs of an integer network differ")
    quality = snr(kept[name], found[name])
    if quality < 45:
        sys.exit(f"seed {seed}: {quality:.1f} dB between the two programs")
    return len(decisions), before["total_cycles"], after["total_cycles"]


def check_model(name, folder):
    """A shared model with half of its channels, both ways."""
    path = os.path.join(folder, name + ".onnx")
    run(["ashlar-prune", os.path.join(MODELS, name + ".onnx"), "-o", path,
         "--pattern=channel", "--density=0.5"])
    shape = [d.dim_value for d in onnx.load(path).graph.input[0].type.tensor_type.shape.dim]
    inputs = os.path.join(folder, "x.npz")
    np.savez(inputs, **{onnx.load(path).graph.input[0].name:
                        np.random.default_rng(1).random(shape, np.float32)})
    kept, before, none = measure(path, inputs, "keep")
    found, after, decisions = measure(path, inputs, "remove")
    name = next(iter(kept))
    macs = before["totals"]["macs"], after["totals"]["macs"]
    print(f"half of the channels: {len(none)} and {len(decisions)} decisions, "
          f"{before['total_cycles']} -> {after['total_cycles']} cycles, "
          f"{macs[0]} -> {macs[1]} multiply-accumulates, "
          f"{snr(kept[name], found[name]):.0f} dB")
    if not decisions or none or after["total_cycles"] >= before["total_cycles"]:
        sys.exit("nothing gained")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", default="0:8", help="FIRST:END")
    parser.add_argument("--integers", action="store_true", help="networks in QDQ form")
    parser.add_argument("--model", help="a shared model instead")
    arguments = parser.parse_args()
    if arguments.model:
        with tempfile.TemporaryDirectory() as folder:
            check_model(arguments.model, folder)
        return
    first, end = map(int, arguments.seeds.split(":"))
    decided = before = after = 0
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(first, end):
            found, kept, removed = check(seed, folder, arguments.integers)
            decided, before, after = decided + found, before + kept, after + removed
    print(f"{end - first} networks agree, {decided} products have fewer channels, "
          f"cycles {before} -> {after}")
    if decided == 0:
        sys.exit("no channel was removed")


if __name__ == "__main__":
    main()
