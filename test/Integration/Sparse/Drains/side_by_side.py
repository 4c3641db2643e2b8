#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Drains of the sparse cluster that take several tiles side by side.

usage: side_by_side.py [--count=N] [--seed=S]

Draws convolutions of few channels, depthwise and dense ones, and machines with
different units and lanes. The bits must be those of the array. For each drain with
`sideBySide` the cycles are computed again from the tiles that the disassembly shows, by
the formula of docs/Machine.md, and compared with those that the drain took.
"""

import argparse
import json
import os
import sys
import tempfile

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.dirname(
    os.path.abspath(__file__)))))
sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

import common  # noqa: E402
from tile_cycles import Tables, get, instructions  # noqa: E402


def draw_network(path, random):
    """A depthwise and a dense convolution of few channels, on one map."""
    channels = int(random.choice([3, 8, 16, 20, 32]))
    height, width = (int(n) for n in random.integers(9, 40, 2))
    nodes, weights, value = [], [], "x"
    for i, group in enumerate((channels, 1)):
        outputs = channels if group > 1 else int(random.choice([4, 16, 24]))
        shape = (outputs, channels // group, 3, 3)
        kept = random.random(shape) < (1.0 if group > 1 else 0.3)
        weights.append(numpy_helper.from_array(
            (random.normal(size=shape) * kept).astype(np.float32), f"w{i}"))
        stride = int(random.choice([1, 1, 2]))
        nodes += [helper.make_node("Conv", [value, f"w{i}"], [f"c{i}"], f"conv{i}",
                                   pads=[1] * 4, strides=[stride] * 2, group=group),
                  helper.make_node("Relu", [f"c{i}"], [f"r{i}"], f"relu{i}")]
        value = f"r{i}"
    batch = int(random.choice([1, 1, 2]))
    tensor = lambda name, shape: helper.make_tensor_value_info(
        name, TensorProto.FLOAT, shape)
    graph = helper.make_graph(nodes, "g", [tensor("x", [batch, channels, height, width])],
                              [tensor(value, None)], weights)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)],
                                ir_version=8), path)


def steps_of(tiles, side_by_side):
    """Results of a drain: of tiles that are taken together the largest counts."""
    results = [images * rows * cols for _, _, (images, rows, cols) in tiles]
    return sum(max(results[i:i + side_by_side])
               for i in range(0, len(results), side_by_side))


def check_drains(text, events, lanes, units):
    """Drains with several tiles side by side, and how many of them took other cycles."""
    tables, checked, wrong = Tables(units), 0, 0
    program = [own for own in instructions(text) if not own[0].startswith(".")]
    for index, (name, fields) in enumerate(program):
        if name == "tcc.tile":
            tables.write(fields)
        if name != "act.drain" or not fields.get("sideBySide"):
            continue
        tiles = [tile for tile in tables.active(get(fields, "table"))
                 if tile[0] == get(fields, "group")]
        steps = steps_of(tiles, lanes // get(fields, "cols"))
        checked += 1
        if events[index] != steps:
            print(f"drain {index}: {events[index]} cycles, expected {steps}")
            wrong += 1
    return checked, wrong


def check(folder, random):
    """One network on one machine: drains that were checked, and problems."""
    path = lambda name: os.path.join(folder, name)
    draw_network(path("m.onnx"), random)
    lanes, units = int(random.choice([24, 40, 64])), int(random.choice([4, 8, 16]))
    with open(path("machine.yaml"), "w", encoding="utf-8") as file:
        # Ports and functions would be the limit of some drains.
        file.write(f"name: drawn\nbase: a1-ideal\nact: {{lanes: {lanes}}}\n"
                   f"sparse: {{tcus: {units}, wm_banks: {units}}}\n")
    outputs = []
    for sparse in ("tile", "off"):
        common.run_tool("ashlarc", path("m.onnx"), "-o", path("m.ash"), "--fold-w=off",
                        f"--machine={path('machine.yaml')}", f"--sparse={sparse}")
        common.run_tool("ashlar-run", path("m.ash"), "--random-inputs=1", "--quiet",
                        f"--outputs={path('o.npz')}", f"--trace={path('t.json')}")
        with np.load(path("o.npz")) as stored:
            outputs.append(next(iter(stored.values())))
        if sparse == "tile":
            text = common.run_tool("ashlar-dis", path("m.ash")).stdout
            with open(path("t.json"), encoding="utf-8") as file:
                events = {e["args"]["instruction"]: e["dur"]
                          for e in json.load(file)["traceEvents"]
                          if e.get("cat") == "instruction"}
    checked, wrong = check_drains(text, events, lanes, units)
    return checked, wrong + (outputs[0].tobytes() != outputs[1].tobytes())


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=12)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    random = np.random.default_rng(options.seed)
    checked = problems = 0
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(options.count):
            drains, wrong = check(folder, random)
            checked, problems = checked + drains, problems + wrong
    print(f"{options.count} networks, {checked} drains of several tiles, "
          f"{problems} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
