#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Layer by layer, what cuts of equal work change against equal tiles.

usage: cut_layers.py [MODEL|FILE.onnx]... [--inputs=FILE.npz] [--density=D] [--table] [--all]

Each model is profiled on one input and run on another in scatter mode, with equal tiles where
these are predicted to take fewer cycles (--partition-cuts=profile), and with unequal ones
wherever possible (always-profile). A layer that was cut pays if its node completes sooner after
the one before it than with equal tiles and the units were busy for less. Fails if a bit differs, or if `profile` leaves
more than --slack of a layer's cycles on the table. --table prints a row for each model, --all a row
for each layer that was cut: cycles and busy cycles of units and drains with both."""

import argparse
import json
import os
import sys
import tempfile

import numpy as np

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from cut_times import common, run, samples  # noqa: E402


def measure(model, cuts, paths, folder):
    """Nodes of a run by name, layers with unequal tiles, and the outputs."""
    program = os.path.join(folder, cuts + ".ash")
    run("ashlarc", model, "-o", program, "--sparse=scatter", f"--partition-cuts={cuts}",
        f"--calibrate={paths[1]}", f"--report={program}.decisions")
    run("ashlar-run", program, f"--inputs={paths[0]}", f"--outputs={program}.npz",
        f"--report={program}.json", "--quiet")
    with open(program + ".json", encoding="utf-8") as file:
        report = json.load(file)
    with open(program + ".decisions", encoding="utf-8") as file:
        decisions = json.load(file)["decisions"]
    cut = {d["node"] for d in decisions if d.get("cuts", {}).get("algorithm", "uniform") != "uniform"}
    layers = {d["node"] for d in decisions if "cuts" in d}
    nodes = {node["name"]: node for node in report["nodes"]}
    return nodes, layers, cut, dict(np.load(program + ".npz")), report["total_cycles"]


def completions(nodes, order):
    """Cycles from the completion of the node before to that of each node. Shares of the critical
    path would move with what continues in parallel."""
    ends = [0] + [nodes[name]["end"] for name in order]
    return {name: end - before for name, before, end in zip(order, ends, ends[1:])}


def compare(name, options):
    """True if the model passes."""
    with tempfile.TemporaryDirectory() as folder:
        model = name if name.endswith(".onnx") else common.model_path(name)
        paths = samples(name, model, folder, options.inputs)
        if options.density:
            pruned = os.path.join(folder, "pruned.onnx")
            run("ashlar-prune", model, "-o", pruned, f"--density={options.density}")
            model = pruned
        even, layers, chosen, first, total = measure(model, "profile", paths, folder)
        uneven, _, cut, second, forced = measure(model, "always-profile", paths, folder)
    if any(first[key].tobytes() != second[key].tobytes() for key in first):
        print(f"{name}: cuts give other bits")
        return False
    order = sorted(even, key=lambda node: even[node]["end"])
    whole, parts = completions(even, order), completions(uneven, order)
    pays, lost = [], 0
    for node in sorted(cut):
        a, b = even[node], uneven[node]
        units = [n["busy"].get("tcc", 0) for n in (a, b)]
        gain = whole[node] - parts[node]
        if gain > 0 and units[1] < units[0]:
            pays.append(node)
            lost += gain if node not in chosen else 0
        if options.all:
            print(f"| {name} {node} | {units[0]:,} | {units[1]:,} | {a['busy'].get('act', 0):,} | "
                  f"{whole[node]:,} | {parts[node]:,} |")
    if options.table:
        print(f"| {name} | {options.density or 'all'} | {len(layers)} | {len(chosen)} | {len(cut)} | "
              f"{', '.join(pays) or 'none'} | {lost:,} | {total:,} | {forced:,} |")
    return lost <= options.slack * total


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("models", nargs="*", default=["resnet8_cifar10"])
    parser.add_argument("--inputs")
    parser.add_argument("--density")
    parser.add_argument("--slack", type=float, default=0.05)
    parser.add_argument("--table", action="store_true")
    parser.add_argument("--all", action="store_true")
    options = parser.parse_args()
    sys.exit(not all([compare(name, options) for name in options.models]))


if __name__ == "__main__":
    main()
