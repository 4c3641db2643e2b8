#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""N:M weights on the array, from an ONNX model to bits, cycles and energy.

usage: n_of_m.py [--seed=1] [--pattern=2:4] [--machine=a1] [--only=NAME] [--table]
       n_of_m.py --write=FILE.onnx

Draws convolutions and products whose weights have N:M zeros along their input channels, in
block floating point and as integers, and compiles each for a machine whose array keeps N
of M rows, with --nm-weights=auto and off. Fails if a bit of the output differs; if auto
uses no N:M instruction although all weights have the pattern, or takes more cycles than
off; if the multiplications are not N of M; or if weights without the pattern are loaded as
such. --table prints cycles of the array, of the network, and energy in uJ, without and with
the pattern.
"""

import argparse
import json
import os
import re
import sys
import tempfile

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../.."))

from common import run_tool  # noqa: E402

node = helper.make_node


def prune(weights, axis, kept, group):
    """Zeros the smallest of every `group` neighbours along `axis`; a rest keeps as many."""
    moved = np.moveaxis(weights, axis, 0)
    for first in range(0, len(moved), group):
        part = moved[first:first + group]
        least = np.argsort(np.abs(part), axis=0)[:max(len(part) - kept, 0)]
        np.put_along_axis(part, least, 0, axis=0)
    return weights


def convolution(draw, channels, outputs, size, kernel=1, stride=1, group=1, batch=1):
    shape = [outputs, channels // group, kernel, kernel]
    weights = draw.standard_normal(shape).astype(np.float32) / np.float32(kernel * channels ** 0.5)
    pad = kernel // 2
    attributes = {"pads": [pad] * 4, "strides": [stride] * 2, "group": group}
    return [batch, channels, *size], weights, 1, lambda x, w: node(
        "Conv", [x, w, "b"], ["t"], name="conv", **attributes), outputs


def product(draw, rows, inner, outputs):
    weights = draw.standard_normal([inner, outputs]).astype(np.float32) / np.float32(inner ** 0.5)
    return [rows, inner], weights, 0, lambda x, w: node("MatMul", [x, w], ["t"], name="fc"), None


# What a layer before it writes for two row groups.
TWO_LANES = "64 channels in two lanes"

LAYERS = {
    "pointwise": lambda draw: convolution(draw, 256, 128, (14, 14)),
    "odd map": lambda draw: convolution(draw, 192, 96, (13, 13)),
    "3 x 3": lambda draw: convolution(draw, 128, 64, (28, 28), 3),
    "3 x 3, few channels": lambda draw: convolution(draw, 24, 40, (30, 19), 3),
    "5 x 5, stride 2": lambda draw: convolution(draw, 72, 56, (21, 23), 5, 2),
    "64 channels": lambda draw: convolution(draw, 64, 64, (36, 40), 3),
    TWO_LANES: lambda draw: convolution(draw, 64, 64, (36, 40), 3),
    "two groups": lambda draw: convolution(draw, 128, 128, (20, 20), 3, group=2),
    "batch": lambda draw: convolution(draw, 160, 64, (9, 7), 3, batch=3),
    "matrix": lambda draw: product(draw, 200, 384, 100),
}


def save(path, nodes, shape, constants):
    value = helper.make_tensor_value_info
    graph = helper.make_graph(nodes, "pattern", [value("x", TensorProto.FLOAT, shape)],
                              [value("y", TensorProto.FLOAT, None)],
                              [numpy_helper.from_array(np.asarray(a), n)
                               for n, a in constants.items()])
    onnx.save(onnx.shape_inference.infer_shapes(helper.make_model(
        graph, ir_version=8, opset_imports=[helper.make_opsetid("", 17)])), path)


def write_float(path, layer, before=0):
    """With `before` a convolution of so many channels makes the input."""
    shape, weights, _, make, outputs = layer
    constants, nodes = {"w": weights}, []
    if outputs:
        constants["b"] = np.linspace(-1, 1, outputs, dtype=np.float32)
    if before:
        constants["w0"] = np.sin(np.arange(shape[1] * before, dtype=np.float32)).reshape(
            shape[1], before, 1, 1)
        nodes.append(node("Conv", ["x", "w0"], ["x0"], name="before"))
        shape = [shape[0], before, *shape[2:]]
    nodes += [make("x0" if before else "x", "w"), node("Relu", ["t"], ["y"], name="relu")]
    save(path, nodes, shape, constants)


def write_integer(path, layer, zero):
    """The same in QDQ form, with weights around `zero`."""
    shape, weights, _, make, outputs = layer
    scale = np.float32(np.abs(weights).max() / 100)
    codes = (np.rint(weights / scale) + zero).astype(np.uint8)
    constants = {"w": codes, "sw": scale, "zw": np.uint8(zero), "sx": np.float32(0.02),
                 "zx": np.uint8(128), "sy": np.float32(0.05), "zy": np.uint8(120)}
    nodes = [node("QuantizeLinear", ["x", "sx", "zx"], ["xq"]),
             node("DequantizeLinear", ["xq", "sx", "zx"], ["xd"]),
             node("DequantizeLinear", ["w", "sw", "zw"], ["wd"])]
    if outputs:
        constants.update(bq=np.arange(outputs, dtype=np.int32) - 7, sb=np.float32(0.02) * scale)
        nodes.append(node("DequantizeLinear", ["bq", "sb"], ["b"]))
    nodes += [make("xd", "wd"), node("QuantizeLinear", ["t", "sy", "zy"], ["yq"]),
              node("DequantizeLinear", ["yq", "sy", "zy"], ["y"])]
    save(path, nodes, shape, constants)


class Result:
    """A compiled model: what the array did."""

    def __init__(self, model, mode, machine, folder):
        program, report, outputs = (os.path.join(folder, mode + n)
                                    for n in (".ash", ".json", ".npz"))
        run_tool("ashlarc", model, "-o", program, f"--nm-weights={mode}", f"--machine={machine}")
        run_tool("ashlar-run", program, "--random-inputs=1", f"--outputs={outputs}",
                 f"--report={report}", "--quiet")
        with open(report, encoding="utf-8") as file:
            data = json.load(file)
        self.cycles, self.busy = data["total_cycles"], data["engines"]["pe"]["busy"]
        self.products = data["actions"]["pe.multiply"]
        self.energy = float(data["energy"]["dynamic_pj"])
        self.picked = data["actions"].get("pattern.pick", 0)
        self.output = dict(np.load(outputs))
        self.loads, self.folded, self.both = {0: 0, 1: 0}, False, False
        for line in run_tool("ashlar-dis", program).stdout.splitlines():
            fields = dict(re.findall(r"(\w+)=(-?\w+)", line))
            pattern = int(fields.get("pattern", 0))
            if "pe.load " in line and fields.get("mode") != "select":
                self.loads[pattern] += 1
            elif "pe.matmul " in line:
                self.folded |= int(fields.get("groups", 1)) > 1
                self.both |= int(fields.get("groups", 1)) > 1 and pattern > 0


def check(name, model, options, folder, expects):
    off, auto = (Result(model, mode, options.nm, folder) for mode in ("off", "auto"))
    kept, group = options.kept, options.group
    problems = []
    if any(auto.output[key].tobytes() != value.tobytes() for key, value in off.output.items()):
        problems.append("the output has other bits")
    if off.loads[1] or off.picked:
        problems.append("N:M instructions in spite of --nm-weights=off")
    # Instructions are other ones, so their order and fetch may cost a little.
    if auto.cycles > off.cycles * 1.01:
        problems.append(f"{auto.cycles} cycles, {off.cycles} without the pattern")
    # The rows of the array serve a lane fold of more lanes where that is faster.
    if expects and (not auto.folded or name.startswith(TWO_LANES)):
        if not auto.loads[1]:
            problems.append("no N:M instruction")
        if auto.loads[0] == 0 and auto.products * group > off.products * kept * 1.05:
            problems.append(f"{auto.products} multiplications of {off.products}")
        if name.startswith(TWO_LANES) and not auto.both:
            problems.append("no stream through N:M weights in row groups")
    elif auto.loads[1]:
        problems.append("N:M instructions for weights without the pattern")
    if options.table:
        print(f"| {name} | {off.busy:,} | {auto.busy:,} | {off.cycles:,} | {auto.cycles:,} | "
              f"{off.energy / 1e6:.3f} | {auto.energy / 1e6:.3f} |")
    return [f"{name}: {problem}" for problem in problems]


def describe(options, folder):
    options.kept, options.group = map(int, options.pattern.split(":"))
    options.nm = os.path.join(folder, "nm.yaml")
    with open(options.nm, "w", encoding="utf-8") as file:
        file.write(f"name: nm\nbase: {options.machine}\nsparse: {{tcus: 0}}\n"
                   f"pe: {{pattern_kept: {options.kept}, pattern_group: {options.group}}}\n")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--machine", default="a1")
    parser.add_argument("--pattern", default="2:4")
    parser.add_argument("--only", help="one of the layers")
    parser.add_argument("--table", action="store_true")
    parser.add_argument("--write", help="write one model with 2:4 weights and end")
    options = parser.parse_args()
    draw = np.random.default_rng(options.seed)
    if options.write:
        layer = LAYERS["pointwise"](draw)
        prune(layer[1], layer[2], 2, 4)
        write_float(options.write, layer)
        return
    problems = []
    with tempfile.TemporaryDirectory() as folder:
        describe(options, folder)
        model = os.path.join(folder, "model.onnx")
        for name, make in LAYERS.items():
            if options.only and name != options.only:
                continue
            layer, before = make(draw), 40 if name == TWO_LANES else 0
            write_float(model, layer, before)
            problems += check(name + ", all weights", model, options, folder, False)
            prune(layer[1], layer[2], options.kept, options.group)
            write_float(model, layer, before)
            problems += check(name, model, options, folder, True)
            if before:
                continue
            write_integer(model, layer, int(draw.integers(100, 140)))
            problems += check(name + ", integers", model, options, folder, True)
    for problem in problems:
        print(problem)
    sys.exit(bool(problems))


if __name__ == "__main__":
    main()
