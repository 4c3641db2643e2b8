#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Realised skip of each convolution: cycles without skipping by cycles with it.

usage: zero_skip.py MODEL.onnx SKIPPED.json ISSUED.json [--table]

The reports are those of ashlar-run for one model with --zero-skip=on and off. Fails
unless the products that units issued without skipping are at least those of the
weights that the model has, by the density of the layer more than with it, and the
cluster is busy for longer. --table prints a row for each layer.
"""

import json
import sys

import numpy as np
import onnx
from onnx import numpy_helper


def load(path):
    with open(path, encoding="utf-8") as file:
        return {node["name"]: node for node in json.load(file)["nodes"]}


def main():
    model, skipped, issued = sys.argv[1:4]
    graph = onnx.load(model).graph
    weights = {tensor.name: numpy_helper.to_array(tensor) for tensor in graph.initializer}
    on, off = load(skipped), load(issued)
    problems, layers = [], 0
    for node in graph.node:
        name = node.name
        if node.op_type != "Conv" or node.input[1] not in weights:
            continue
        busy = [nodes[name]["busy"].get("tcc", 0) for nodes in (on, off)]
        products = [nodes[name]["issued"] for nodes in (on, off)]
        density = np.count_nonzero(weights[node.input[1]]) / weights[node.input[1]].size
        if not busy[0] or density > 0.5:
            continue
        layers += 1
        if products[1] * density * 1.3 < products[0]:
            problems.append(f"{name}: {products[0]} products issued with skipping, "
                            f"{products[1]} without, density {density:.2f}")
        if busy[1] < 2 * busy[0]:
            problems.append(f"{name}: the cluster is busy for {busy[1]} cycles without "
                            f"skipping, {busy[0]} with it")
        if "--table" in sys.argv:
            print(f"| {name} | {density:.2f} | {products[1] / products[0]:.1f} | "
                  f"{busy[1] / busy[0]:.1f} |")
    if not layers:
        problems.append("no pruned convolution runs on the cluster")
    for problem in problems:
        print(problem)
    sys.exit(bool(problems))


if __name__ == "__main__":
    main()
