#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Sums that start from the bias, from ONNX to cycles.

A QDQ network on the array, on the cluster, and there with --sparse-bias=sums:
outputs equal to the bit, no drain of the cluster adds a bias, and no layer takes more
than a twentieth more or less."""

import json
import os
import re
import sys
import tempfile

import integer_cluster as cluster


def nodes(model, inputs, *options):
    """Cycles of the layers, and the program's text."""
    program, report = model[:-5] + ".ash", model[:-5] + ".json"
    cluster.run("ashlarc", model, "-o", program, "--sparse=tile", *options)
    cluster.run("ashlar-run", program, f"--inputs={inputs}", f"--expect={model[:-5]}.npz",
                f"--report={report}")
    with open(report, encoding="utf-8") as file:
        cycles = {n["name"]: n["cycles"] for n in json.load(file)["nodes"]}
    return cycles, cluster.run("ashlar-dis", program)


def main():
    with tempfile.TemporaryDirectory() as folder:
        model = os.path.join(folder, "chain.onnx")
        cluster.Chain(5, integers=True).build(model)
        inputs = cluster.sample(model, 1, folder)
        cluster.execute(model, inputs, "--sparse=off")
        drained, plain = nodes(model, inputs)
        started, text = nodes(model, inputs, "--sparse-bias=sums")
        inits = re.findall(r"^.*tcc\.init .*fromMemory=1.*$", text, re.M)
        drains = re.findall(r"^.*act\.drain .*fromTcu=1.*$", text, re.M)
        if "fromMemory" in plain or not inits or any("hasBias" in d for d in drains):
            sys.exit("biases in the wrong place")
        for name in drained:
            if abs(started[name] - drained[name]) > drained[name] / 20:
                sys.exit(f"{name}: {drained[name]} cycles, {started[name]} from the bias")
        print(f"{len(inits)} starts from the bias, {sum(started.values())} cycles of the "
              f"nodes, {sum(drained.values())} with the drain's bias")
        print(inits[0].strip())


if __name__ == "__main__":
    main()
