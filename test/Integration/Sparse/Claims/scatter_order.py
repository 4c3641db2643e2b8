#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Order of the coefficients in a scattering unit, from ONNX to bits and cycles.

usage: scatter_order.py [--seed=1] [--table MODEL... [--density=1] [--inputs=FILE.npz]]

A convolution with strides and dilations, all of its weights or a part of them, on
units of each variant, with every --scatter-order. Fails if a bit differs from the
dense array; if the instructions have another turn than the order says; if the
cycles in which the units of variant A wait for their windows are not those that
the weights of the model, walked here, take, or the cycles of their runs not those that
were predicted; if variants B and D do not take the
same cycles in both orders; or if `auto` takes more cycles than another order.

--table prints cycles of whole networks, all convolutions in scatter mode, by variant
and order.
"""

import argparse
import json
import math
import os
import re
import sys
import tempfile

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../.."))

from common import run_tool  # noqa: E402

ORDERS = ["ascending", "snake", "auto"]


def write(path, weights, size, stride, dilation):
    """One convolution over data without zeros, made by an addition."""
    pad = dilation * (weights.shape[2] // 2)
    nodes = [helper.make_node("Conv", ["x", "w"], ["y"], name="conv", strides=[stride] * 2,
                              dilations=[dilation] * 2, pads=[pad] * 4)]
    out = (size + 2 * pad - dilation * (weights.shape[2] - 1) - 1) // stride + 1
    value = lambda name, shape: helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)
    graph = helper.make_graph(nodes, "order", [value("x", [1, weights.shape[1], size, size])],
                              [value("y", [1, weights.shape[0], out, out])],
                              [numpy_helper.from_array(weights, "w")])
    onnx.save(helper.make_model(graph, ir_version=8,
                                opset_imports=[helper.make_opsetid("", 17)]), path)


def moves(weights, stride, dilation, turn, shift=1):
    """Cycles in which windows move on, by result and channel."""
    taken = np.zeros(weights.shape[:2], int)
    rows, columns = weights.shape[2:]
    for z, c in np.ndindex(*weights.shape[:2]):
        last = {}
        for ky in range(rows):
            back = turn and ky // turn % 2
            for kx in reversed(range(columns)) if back else range(columns):
                if not weights[z, c, ky, kx]:
                    continue
                y, x = ky * dilation, kx * dilation
                phase, place = (y % stride, x % stride), (y // stride, x // stride)
                if phase in last:
                    way = abs(place[0] - last[phase][0]) + abs(place[1] - last[phase][1])
                    taken[z, c] += max(math.ceil(way / shift) - 1, 0)
                last[phase] = place
    return taken


class Result:
    """A network on one kind of unit."""

    def __init__(self, model, folder, variant, order, inputs, machine, *options):
        program, report = (os.path.join(folder, n) for n in ("p.ash", "run.json"))
        run_tool("ashlarc", model, "-o", program, "--sparse=scatter", f"--scatter-unit={variant}",
                 f"--scatter-order={order}", f"--machine={machine}", f"--report={report}", *options)
        with open(report, encoding="utf-8") as file:
            self.predicted = [decision["engines"]["run"] for decision in
                              json.load(file)["decisions"] if "engines" in decision]
        outputs = os.path.join(folder, "out.npz")
        run_tool("ashlar-run", program, f"--inputs={inputs}", f"--outputs={outputs}",
                 f"--report={report}", "--quiet")
        self.outputs = dict(np.load(outputs))
        with open(report, encoding="utf-8") as file:
            data = json.load(file)
        self.cycles = data["total_cycles"]
        self.busy = data["engines"]["tcc"]["busy"]
        self.turns = {int(re.search(r"turn=(\d+)", line)[1]) if "turn=" in line else 0
                      for line in run_tool("ashlar-dis", program).stdout.splitlines()
                      if re.match(r"\s*tcc\.run", line)}


def check(folder, draw, machine, size, stride, dilation, density):
    """Problems of one convolution: one unit, so that all of its waits add up."""
    # None of them so small that encoding makes it a zero.
    weights = draw.uniform(0.5, 1, (6, 32, 3, 3)).astype(np.float32)
    weights *= draw.choice(np.float32([-1, 1]), weights.shape)
    weights[draw.random(weights.shape) >= density] = 0
    model, inputs = os.path.join(folder, "m.onnx"), os.path.join(folder, "in.npz")
    write(model, weights, size, stride, dilation)
    np.savez(inputs, x=draw.uniform(0.5, 1, (1, 32, size, size)).astype(np.float32))
    run_tool("ashlarc", model, "-o", os.path.join(folder, "d.ash"), "--sparse=off")
    run_tool("ashlar-run", os.path.join(folder, "d.ash"), f"--inputs={inputs}",
             f"--outputs={folder}/d.npz", "--quiet")
    dense = dict(np.load(os.path.join(folder, "d.npz")))
    snake = stride // math.gcd(stride, dilation)
    waits = {turn: int(moves(weights, stride, dilation, turn).sum()) for turn in (0, snake)}
    problems = []
    for variant in "ABCD":
        results = {order: Result(model, folder, variant, order, inputs, machine,
                                 f"--calibrate={inputs}") for order in ORDERS}
        for order, result in results.items():
            if any(result.outputs[name].tobytes() != value.tobytes()
                   for name, value in dense.items()):
                problems.append(f"{variant} {order}: other bits than the array")
        best = snake if variant == "A" and waits[snake] < waits[0] else 0
        for order, turn in (("ascending", 0), ("snake", snake), ("auto", best)):
            if results[order].turns != {turn}:
                problems.append(f"{variant} {order}: turns {results[order].turns}, "
                                f"expected {turn}")
        up, down, auto = (results[order].busy for order in ORDERS)
        if variant == "A" and up - down != waits[0] - waits[snake]:
            problems.append(f"A: {up} cycles in ascending order, {down} in snake order, windows "
                            f"move for {waits[0]} and {waits[snake]}")
        # One unit, one run, and the cycles of the tcc.init before it.
        for order, result in results.items():
            if variant == "A" and not 0 <= result.busy - sum(result.predicted) <= 4:
                problems.append(f"A {order}: {result.busy} cycles, predicted {result.predicted}")
        if variant in "BD" and up != down:
            problems.append(f"{variant}: {up} and {down} cycles")
        if auto > up or (variant == "A" and auto > down):
            problems.append(f"{variant} auto: {auto} cycles, {up} and {down} by order")
        print(f"{size}x{size}, stride {stride}, dilation {dilation}, density {density}, "
              f"{variant}: {up} ascending, {down} snake, {auto} auto")
    return problems


def table(options, folder):
    print("| network | unit | ascending | snake | auto | turns of auto |")
    print("|---|---|---|---|---|---|")
    for model in options.table:
        name = os.path.splitext(os.path.basename(model))[0]
        if options.density < 1:
            pruned = os.path.join(folder, "p.onnx")
            run_tool("ashlar-prune", model, "-o", pruned, f"--density={options.density}")
            model = pruned
        for variant, block in (("A", ""), ("A", "3x3"), ("C", ""), ("C", "3x3")):
            extra = [f"--scatter-block={block}"] if block else []
            results = {order: Result(model, folder, variant, order, options.inputs,
                                     options.machine, *extra) for order in ORDERS}
            cycles = " | ".join(f"{results[order].cycles:,}" for order in ORDERS)
            print(f"| {name} | {variant}{', blocks ' + block if block else ''} | {cycles} | "
                  f"{sorted(results['auto'].turns)} |", flush=True)


def main():
    parser = argparse.ArgumentParser(usage=__doc__.split("usage: ")[1].split("\n\n")[0])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--machine", default="a1")
    parser.add_argument("--density", type=float, default=1)
    parser.add_argument("--inputs")
    parser.add_argument("--table", nargs="+", default=[])
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        if options.table:
            return table(options, folder)
        machine = os.path.join(folder, "one.yaml")
        with open(machine, "w", encoding="utf-8") as file:
            file.write("name: one\nsparse: {tcus: 1, lanes: 64, wm_broadcast: 64, "
                       "window_shift: 1}\n")
        draw = np.random.default_rng(options.seed)
        problems = []
        for size, stride, dilation, density in ((6, 1, 1, 1), (6, 1, 1, 0.5), (9, 2, 1, 1),
                                                (9, 2, 1, 0.6), (8, 1, 2, 1), (12, 3, 2, 0.8)):
            problems += check(folder, draw, machine, size, stride, dilation, density)
    for problem in problems:
        print(problem, file=sys.stderr)
    return bool(problems)


if __name__ == "__main__":
    sys.exit(main())
