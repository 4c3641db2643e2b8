#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Plans of the sparse cluster know its prices.

usage: cluster_prices.py

Compiles pruned convolutions for machines with one price each, for tile and for
scatter mode, and compares what the plan expects of the units with what they took:
in tile mode without accumulator banks all but the cycle of each table and of each
start of sums, else within TOLERANCE. Fails too if an output differs in a bit from
the dense array's, if a price makes the whole network faster by more than plans
differ, or if --sparse=auto takes more cycles than off.
"""

import json
import os
import sys
import tempfile

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

import common  # noqa: E402

TOLERANCE, GAIN = 0.15, 1.05
MACHINES = {
    "free": "accumulate_latency: 1",
    "latency": "accumulate_latency: 5",
    "banks": "accumulator_banks: 128",
    "few banks": "accumulator_banks: 32",
    "search": "scan_positions: 8",
    "port": "fmu_write_bytes: 8",
    "narrow": "narrow_tcus: 8, narrow_lanes: 32",
    "all": "accumulate_latency: 3, accumulator_banks: 256, scan_positions: 128, "
           "fmu_write_bytes: 64, narrow_tcus: 4, narrow_lanes: 64",
}


def network(path):
    """Two convolutions behind a relu: 3 x 3 on 28 x 28, 1 x 1 on 14 x 14."""
    numbers = np.random.default_rng(7)
    weights = []
    for name, shape in (("a", [32, 16, 3, 3]), ("b", [64, 32, 3, 3]), ("c", [64, 64, 1, 1])):
        values = numbers.normal(size=shape) * (numbers.random(shape) < 0.2)
        weights.append(numpy_helper.from_array(values.astype(np.float32), name))
    nodes = [helper.make_node("Conv", ["x", "a"], ["p"], "first", pads=[1] * 4),
             helper.make_node("Relu", ["p"], ["q"], "relu"),
             helper.make_node("Conv", ["q", "b"], ["r"], "second", pads=[1] * 4,
                              strides=[2, 2]),
             helper.make_node("Relu", ["r"], ["s"], "relu2"),
             helper.make_node("Conv", ["s", "c"], ["y"], "third")]
    tensor = lambda name, shape: helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)
    graph = helper.make_graph(nodes, "g", [tensor("x", [1, 16, 28, 28])],
                              [tensor("y", [1, 64, 14, 14])], weights)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)],
                                ir_version=8), path)
    return {"x": np.maximum(numbers.normal(size=[1, 16, 28, 28]), 0).astype(np.float32)}


def measure(folder, machine, mode):
    """(cycles, decisions by node, cycles of the units by node, output)."""
    path = lambda name: os.path.join(folder, name)
    common.run_tool("ashlarc", path("m.onnx"), "-o", path("m.ash"), f"--machine={machine}",
                    f"--sparse={mode}", f"--calibrate={path('in.npz')}",
                    f"--report={path('c.json')}")
    common.run_tool("ashlar-run", path("m.ash"), f"--inputs={path('in.npz')}", "--quiet",
                    f"--outputs={path('out.npz')}", f"--report={path('r.json')}")
    with open(path("c.json"), encoding="utf-8") as file:
        decisions = {d["node"]: d for d in json.load(file)["decisions"] if "plan" in d}
    with open(path("r.json"), encoding="utf-8") as file:
        report = json.load(file)
    busy = {n["name"]: n["busy"].get("tcc", 0) for n in report["nodes"]}
    with np.load(path("out.npz")) as arrays:
        return report["total_cycles"], decisions, busy, arrays["y"].tobytes()


def main():
    failures = []
    with tempfile.TemporaryDirectory() as folder:
        np.savez(os.path.join(folder, "in.npz"), **network(os.path.join(folder, "m.onnx")))
        free = {}
        for name, price in MACHINES.items():
            machine = os.path.join(folder, "machine.yaml")
            with open(machine, "w", encoding="utf-8") as file:
                file.write(f"name: priced\nsparse: {{{price}}}\n")
            off, _, _, expected = measure(folder, machine, "off")
            for mode in ("tile", "scatter", "auto"):
                cycles, decisions, busy, found = measure(folder, machine, mode)
                runs = {n: (d["engines"]["run"], busy[n]) for n, d in decisions.items()}
                print(f"{name}, {mode}: {cycles} cycles, {runs}")
                if found != expected:
                    failures.append(f"{name}, {mode}: the output differs from the array's")
                if mode == "auto" and cycles > off:
                    failures.append(f"{name}: auto takes {cycles}, off {off}")
                if cycles * GAIN < free.setdefault(mode, cycles):
                    failures.append(f"{name}, {mode}: {cycles} cycles, without the price "
                                    f"{free[mode]}")
                if mode == "auto":
                    continue
                for node, (planned, taken) in runs.items():
                    slack = 16 if mode == "tile" and "banks" not in price else 0
                    if abs(planned - taken) > max(slack, TOLERANCE * taken):
                        failures.append(f"{name}, {mode}, {node}: planned {planned} cycles, "
                                        f"taken {taken}")
    for failure in failures:
        print(failure)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
