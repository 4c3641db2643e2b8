#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Pruned dense layers on the sparse cluster: the bits of the array, and what is gained.

usage: dense_layers.py [--machine=a1]

A line for each layer: cycles on the array and as chosen, DRAM bytes, and those over the
bytes of the stored coefficients.
"""

import argparse
import json
import os
import subprocess
import tempfile

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper


def layer(rows, channels, outputs, density, residual, seed):
    """y = x w + b (+ r), with x of the shape rows + [channels]."""
    rng = np.random.default_rng(seed)
    weights = rng.normal(size=(channels, outputs)) * (rng.random((channels, outputs)) < density)
    nodes = [helper.make_node("MatMul", ["x", "w"], ["m"], name="fc"),
             helper.make_node("Add", ["m", "b"], ["s" if residual else "y"], name="bias")]
    inputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT, rows + [channels])]
    if residual:
        nodes.append(helper.make_node("Add", ["s", "r"], ["y"], name="residual"))
        inputs.append(helper.make_tensor_value_info("r", TensorProto.FLOAT, rows + [outputs]))
    constants = {"w": weights, "b": rng.normal(size=outputs)}
    graph = helper.make_graph(
        nodes, "layer", inputs,
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, rows + [outputs])],
        [numpy_helper.from_array(value.astype(np.float32), key)
         for key, value in constants.items()])
    return helper.make_model(graph, ir_version=8, opset_imports=[helper.make_opsetid("", 13)])


def run(model, folder, mode, machine, *options):
    """(outputs, total cycles, DRAM bytes read, bytes stored, engine of the product)"""
    program, outputs, report, compiled = (
        os.path.join(folder, mode + end) for end in (".ash", ".npz", ".json", ".compile.json"))
    subprocess.run(["ashlarc", model, "-o", program, f"--sparse={mode}", f"--machine={machine}",
                    f"--report={compiled}", *options], check=True, capture_output=True)
    subprocess.run(["ashlar-run", program, "--random-inputs=1", "--quiet",
                    f"--outputs={outputs}", f"--report={report}"], check=True)
    with open(report, encoding="utf-8") as file:
        found = json.load(file)
    with open(compiled, encoding="utf-8") as file:
        stored = json.load(file)["weight_bytes"]
    read = sum(node["dram_read"] for node in found["nodes"])
    runs = found["engines"]["tcc"]["busy"] > 0
    return np.load(outputs)["y"], found["total_cycles"], read, stored, runs


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--machine", default="a1")
    options = parser.parse_args()
    cases = [("2048 x 2048, 5 %, batch 1", [1], 2048, 2048, 0.05, False),
             ("2048 x 2048, 5 %, batch 16", [16], 2048, 2048, 0.05, False),
             ("1024 x 512, 10 %, 2 x 8 rows, residual", [2, 8], 1024, 512, 0.1, True),
             ("300 x 77, 20 %, 3 x 5 x 7 rows", [3, 5, 7], 300, 77, 0.2, False)]
    with tempfile.TemporaryDirectory() as folder:
        for seed, (name, *shape) in enumerate(cases):
            model = os.path.join(folder, "model.onnx")
            onnx.save(layer(*shape, seed), model)
            # All weights stored, zeros too; and without the zeros in DRAM.
            dense, slow, *_ = run(model, folder, "off", options.machine,
                                  "--weight-compression=off")
            short, packed, *_ = run(model, folder, "off", options.machine)
            sparse, fast, read, stored, runs = run(model, folder, "auto", options.machine)
            same = dense.tobytes() == sparse.tobytes() == short.tobytes()
            print(f"{name}: array {slow}, without zeros in DRAM {packed}, "
                  f"{'cluster' if runs else 'array'} {fast} cycles, {slow / fast:.2f} and "
                  f"{packed / fast:.2f} times; {read} bytes read, {read / stored:.2f} of the "
                  f"weights; bits {'equal' if same else 'DIFFER'}")


main()
