#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Convolutions whose taps lie far apart, in phases.

usage: dilations.py [large] [random --seeds=0:20]

`large`: dilations of 16 and 32, which were refused or took a tile for each few results.
Fails above a bound of cycles. `random`: chains of convolutions of two and three
dimensions with any dilations, pads, batch and groups, on a machine whose partitions are
too small for the box that the taps span, and on one where all maps fit: equal bits of the
output. Fails if no layer was split.
"""

import argparse
import json
import os
import sys
import tempfile

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import common  # noqa: E402

SMALL = "name: small\nbase: a1\nsb: {{bytes_per_partition: {}}}\n"


def model(path, shape, layers, seed):
    """`layers`: (outputs, kernel, attributes of Conv, function or None)."""
    draw = np.random.default_rng(seed)
    nodes, constants, value, channels = [], [], "x", shape[1]
    for i, (outputs, kernel, attributes, function) in enumerate(layers):
        per_group = channels // attributes.get("group", 1)
        weights = draw.standard_normal((outputs, per_group) + kernel) / np.sqrt(
            per_group * np.prod(kernel))
        constants += [numpy_helper.from_array(weights.astype("f4"), f"w{i}"),
                      numpy_helper.from_array(draw.standard_normal(outputs).astype("f4"), f"b{i}")]
        nodes.append(helper.make_node("Conv", [value, f"w{i}", f"b{i}"], [f"c{i}"], f"conv{i}",
                                      **attributes))
        value, channels = f"c{i}", outputs
        if function:
            nodes.append(helper.make_node(function, [value], [f"f{i}"], f"f{i}"))
            value = f"f{i}"
    graph = helper.make_graph(
        nodes, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
        [helper.make_tensor_value_info(value, TensorProto.FLOAT, None)], constants)
    onnx.save(helper.make_model(graph, ir_version=8,
                                opset_imports=[helper.make_opsetid("", 17)]), path)
    return draw.standard_normal(shape).astype("f4")


def drawn(seed):
    """A random chain: input shape and layers. Channels fill their blocks, so that no
    fold, which changes blocks, depends on the machine."""
    draw = np.random.default_rng(seed)
    spatial = int(draw.integers(2, 4))
    least, most = (20, 44) if spatial == 2 else (10, 20)
    extents = tuple(int(draw.integers(least, most)) for _ in range(spatial))
    channels = int(draw.choice([8, 16, 24]))
    shape, layers = (int(draw.integers(1, 3)), channels) + extents, []
    for _ in range(int(draw.integers(1, 4))):
        kernel = tuple(int(draw.integers(1, 4)) for _ in range(spatial))
        dilations = [int(draw.choice([1, 2, 3, 5, 6, 7])) for _ in range(spatial)]
        reach = [(k - 1) * d for k, d in zip(kernel, dilations)]
        begin = [int(draw.integers(0, r + 1)) for r in reach]
        # Results as many as elements, or somewhat fewer or more.
        end = [max(r - b + int(draw.integers(-1, 2)), 0) for r, b in zip(reach, begin)]
        group = 2 if channels % 2 == 0 and draw.random() < 0.2 else 1
        outputs = int(draw.choice([8, 16, 24]))
        layers.append((outputs, kernel,
                       {"pads": begin + end, "dilations": dilations, "group": group},
                       str(draw.choice(["Relu", "Sigmoid", ""])) or None))
        channels = outputs
    return shape, layers


def run(folder, path, inputs, machine, *options):
    """(output, report)"""
    place = lambda name: os.path.join(folder, name)
    common.run_tool("ashlarc", path, "-o", place("a.ash"), f"--machine={machine}", *options)
    np.savez(place("in.npz"), x=inputs)
    common.run_tool("ashlar-run", place("a.ash"), "--quiet", f"--inputs={place('in.npz')}",
                    f"--outputs={place('o.npz')}", f"--report={place('r.json')}")
    with np.load(place("o.npz")) as outputs, open(place("r.json"), encoding="utf-8") as file:
        return outputs[outputs.files[0]], json.load(file)


def splits(report):
    return sum(decision["choice"].endswith("-phases") for decision in report["decisions"])


# Input, outputs, dilation, bound of cycles, axes in phases. A map of the last one that is
# kept on the chip leaves no room for the box of its reader: it goes to DRAM instead.
LARGE = [((1, 4, 64, 64, 64), 8, 16, 800_000, 1),
         ((1, 16, 64, 64, 64), 16, 16, 2_300_000, 1),
         ((1, 64, 256, 256), 64, 32, 1_450_000, 0)]


def large(folder):
    path, failed = os.path.join(folder, "m.onnx"), False
    for shape, outputs, dilation, limit, phases in LARGE:
        axes = len(shape) - 2
        inputs = model(path, shape, [(outputs, (3,) * axes, {
            "pads": [dilation] * 2 * axes, "dilations": [dilation] * axes}, "Relu")], 1)
        _, report = run(folder, path, inputs, "a1")
        wrong = report["total_cycles"] > limit or splits(report) != phases
        failed |= wrong
        print(f"{shape} to {outputs}, dilation {dilation}: {report['total_cycles']:,} cycles"
              f"{' WRONG' if wrong else ''}", flush=True)
    return failed


def random(folder, seeds):
    path, failed, split = os.path.join(folder, "m.onnx"), 0, 0
    for seed in seeds:
        shape, layers = drawn(seed)
        inputs = model(path, shape, layers, seed)
        small = os.path.join(folder, "small.yaml")
        bytes_ = int(np.random.default_rng(seed).choice([512, 768, 1024, 1536]))
        with open(small, "w", encoding="utf-8") as file:
            file.write(SMALL.format(bytes_))
        options = [] if seed % 3 else ["--sparse=off"]
        if seed % 5 == 4:
            options.append("--format=bfp16")
        try:
            few, report = run(folder, path, inputs, small, *options)
        except SystemExit as refusal:
            print(f"seed {seed}: {refusal}")
            failed += 1
            continue
        many, _ = run(folder, path, inputs, "a1", *options)
        split += splits(report)
        if few.tobytes() != many.tobytes():
            print(f"seed {seed}: {shape} {layers} DIFFERS, {splits(report)} split", flush=True)
            failed += 1
    print(f"{len(seeds)} networks, {split} layers in phases, {failed} failed")
    return failed > 0 or split == 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=("large", "random"))
    parser.add_argument("--seeds", default="0:20")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        if options.what == "large":
            return int(large(folder))
        first, last = map(int, options.seeds.split(":"))
        return int(random(folder, range(first, last)))


if __name__ == "__main__":
    sys.exit(main())
