#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Folds of W are chosen together with the cluster.

usage: fold_or_cluster.py [--machine=a1-ideal]

Convolutions of few channels whose weights are mostly zeros, after another convolution: a
fold fills the array, but the sparse cluster reads the map as it is, without the copies of
a fold. The compiler's own choice may not take more cycles than any that an option asks
for (but for half a percent), and has to leave the fold at least once.
"""

import argparse
import json
import os
import sys
import tempfile

import numpy
import onnx
from onnx import TensorProto, helper, numpy_helper

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))
import common  # noqa: E402

# Channels, kernel, side of the map, stride.
LAYERS = [(4, 5, 32, 1), (3, 7, 64, 2), (7, 3, 64, 2)]
DENSITY, LATER_CHOICES = 0.05, 0.005


def model(path, channels, kernel, side, stride):
    draw = numpy.random.default_rng(1)
    shape = (64, channels, kernel, kernel)
    first = draw.standard_normal((channels, 16, 1, 1)).astype("f4")
    second = (draw.standard_normal(shape) * (draw.random(shape) < DENSITY)).astype("f4")
    nodes = [helper.make_node("Conv", ["x", "v"], ["h"], name="first"),
             helper.make_node("Conv", ["h", "w"], ["y"], name="second",
                              pads=[kernel // 2] * 4, strides=[stride] * 2)]
    graph = helper.make_graph(
        nodes, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 16, side, side])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
        [numpy_helper.from_array(first, "v"), numpy_helper.from_array(second, "w")])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)]), path)


def volume(path):
    """A stem of three spatial dimensions."""
    draw = numpy.random.default_rng(2)
    weights = draw.standard_normal((16, 3, 3, 3, 3)).astype("f4")
    graph = helper.make_graph(
        [helper.make_node("Conv", ["x", "w"], ["y"], name="stem", pads=[1] * 6)], "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 3, 8, 16, 32])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
        [numpy_helper.from_array(weights, "w")])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)]), path)


def forced_cluster_copies(folder, path, machine):
    """True if a forced cluster pays for a fold that it does not read."""
    volume(path)
    own, forced = (run(folder, path, machine, "--sparse=" + mode) for mode in ("auto", "tile"))
    folded = any(decision["node"] == "stem" and decision["choice"] == "lane-fold"
                 for decision in forced["decisions"])
    wrong = not folded or forced["total_cycles"] > own["total_cycles"] * (1 + LATER_CHOICES)
    print(f"volume: {own['total_cycles']:,} cycles, forced {forced['total_cycles']:,}"
          f"{' WRONG' if wrong else ''}")
    return wrong


def run(folder, path, machine, *options):
    binary, report = os.path.join(folder, "a.ash"), os.path.join(folder, "r.json")
    common.run_tool("ashlarc", path, "-o", binary, "--machine=" + machine, *options)
    common.run_tool("ashlar-run", binary, "--random-inputs=1", "--report=" + report)
    with open(report, encoding="utf-8") as file:
        return json.load(file)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--machine", default="a1-ideal")
    options = parser.parse_args()
    failed, left = 0, 0
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "m.onnx")
        for layer in LAYERS:
            model(path, *layer)
            own = run(folder, path, options.machine)
            others = {name: run(folder, path, options.machine, name)["total_cycles"]
                      for name in ("--fold-w=off", "--fold-w=stride", "--sparse=off")}
            choices = [decision["choice"] for decision in own["decisions"]
                       if decision["node"] == "second"]
            left += "plain" in choices and "sparse-tile" in choices
            wrong = own["total_cycles"] > min(others.values()) * (1 + LATER_CHOICES)
            failed += wrong
            print(f"{layer}: {own['total_cycles']:,} cycles, {others}, {choices}"
                  f"{' WRONG' if wrong else ''}")
        failed += forced_cluster_copies(folder, path, options.machine)
    return int(failed > 0 or left == 0)


if __name__ == "__main__":
    sys.exit(main())
