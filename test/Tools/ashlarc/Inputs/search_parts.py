#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The network of auto-format-parts.test, and its check.

usage: search_parts.py write FOLDER
       search_parts.py check FOLDER REPORT.json

`write` makes deep.onnx, fourteen convolutions with residual additions that read
tensors from far before, and samples.npz. `check` compiles some candidates of
the report as whole networks, runs them, and compares their signal-to-noise
ratio with what the search says, which computed them in parts.
"""

import json
import os
import subprocess
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

CHANNELS, SIDE, LAYERS, SAMPLES = 16, 8, 14, 3


def write(folder):
    random = np.random.default_rng(5)
    nodes, weights = [], []

    def conv(x, inputs, name):
        w = random.normal(0, 0.6 / np.sqrt(9 * inputs),
                          (CHANNELS, inputs, 3, 3)).astype(np.float32)
        weights.append(numpy_helper.from_array(w, name + "_w"))
        nodes.append(helper.make_node("Conv", [x, name + "_w"], [name],
                                      name=name, pads=[1, 1, 1, 1]))
        nodes.append(helper.make_node("Relu", [name], [name + "_r"]))
        return name + "_r"

    x = conv("x", 3, "conv0")
    early = x
    for layer in range(1, LAYERS):
        y = conv(x, CHANNELS, f"conv{layer}")
        # Every other sum reads what all layers up to it have let pass.
        nodes.append(helper.make_node("Add", [y, early if layer % 2 else x],
                                      [f"sum{layer}"]))
        x = f"sum{layer}"
    nodes.append(helper.make_node("ReduceMean", [x], ["mean"], axes=[2, 3],
                                  keepdims=0))
    values = [helper.make_tensor_value_info(
        name, TensorProto.FLOAT, shape) for name, shape in (
            ("x", [1, 3, SIDE, SIDE]), ("mean", [1, CHANNELS]))]
    graph = helper.make_graph(nodes, "deep", values[:1], values[1:], weights)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)])
    model.ir_version = 8
    onnx.save(model, os.path.join(folder, "deep.onnx"))
    np.savez(os.path.join(folder, "samples.npz"),
             x=random.normal(0, 1, (SAMPLES, 3, SIDE, SIDE)).astype(np.float32))


def outputs_of(folder, *command):
    path = os.path.join(folder, "outputs.npz")
    subprocess.run([*command, f"--inputs={folder}/samples.npz",
                    f"--outputs={path}"], check=True,
                   stdout=subprocess.DEVNULL)
    with np.load(path) as arrays:
        return arrays["mean"].reshape(SAMPLES, -1).astype(np.float64)


def check(folder, report):
    with open(report, encoding="utf-8") as stream:
        search = json.load(stream)["format_search"]
    model = os.path.join(folder, "deep.onnx")
    exact = outputs_of(folder, "ashlar-reference", model, "--fp64")
    candidates = search["candidates"]
    # The first, some of one node each, and the choice.
    for index in sorted({0, len(candidates) // 2, len(candidates) - 1,
                         search["chosen"]}):
        table, binary = (os.path.join(folder, name)
                         for name in ("table.json", "whole.ash"))
        with open(table, "w", encoding="utf-8") as stream:
            json.dump(candidates[index]["formats"], stream)
        subprocess.run(["ashlarc", model, "-o", binary, f"--formats={table}",
                        "--weight-scaling=off", "--sparse=off"], check=True,
                       stdout=subprocess.DEVNULL)
        found = outputs_of(folder, "ashlar-run", binary, "--functional",
                           "--quiet")
        ratio = np.mean(10 * np.log10((exact ** 2).sum(1) /
                                      ((found - exact) ** 2).sum(1)))
        said = candidates[index]["snr_db"]
        if abs(ratio - said) > 1e-5:
            sys.exit(f"candidate {index} has {ratio} dB, the search says {said}")
    print(f"{len(candidates)} candidates, those compared are equal")


if __name__ == "__main__":
    {"write": write, "check": check}[sys.argv[1]](*sys.argv[2:])
