#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Layers whose records of bias and scale would fill a small state buffer.

usage: record_waves.py

Pruned layers on the sparse cluster of a1-tiny with BYTES bytes in every
partition. Prints the bytes of a partition that the records of all
outputs would take, and the bytes that those of a wave of columns take; fails if
outputs are not those of the array, or if the cluster did not run.
"""

import json
import os
import re
import subprocess
import sys
import tempfile

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

BYTES = 8192
# Outputs, channels and the extents of the map.
LAYERS = ((1000, 64, (1, 1)), (2000, 64, (1, 1)), (1000, 32, (2, 3)), (600, 8, (4, 4)))
ALIGNED, COLUMNS = 64, 4  # of a chunk of records, and of the array


def save(path, outputs, channels, extents):
    rng = np.random.default_rng(outputs)
    weights = rng.standard_normal((outputs, channels, 1, 1))
    weights[rng.random(weights.shape) > 0.1] = 0
    values = {"w": weights, "b": rng.standard_normal(outputs)}
    graph = helper.make_graph(
        [helper.make_node("Conv", ["x", "w", "b"], ["y"], name="layer")], "records",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, (1, channels) + extents)],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
        [numpy_helper.from_array(v.astype(np.float32), n) for n, v in values.items()])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)])
    model.ir_version = 8
    onnx.save(onnx.shape_inference.infer_shapes(model), path)


def machine(folder):
    """The description of a1-tiny with a smaller state buffer."""
    path = os.path.join(folder, "machine.yaml")
    text = subprocess.run(["ashlarc", "--dump-machine=a1-tiny"], check=True,
                          capture_output=True, text=True).stdout
    with open(path, "w", encoding="utf-8") as file:
        file.write(re.sub(r"(?m)^(  bytes_per_partition:) \d+", rf"\1 {BYTES}", text))
    return path


def run(model, mode, folder):
    program, outputs, report = (os.path.join(folder, mode + end)
                                for end in (".ash", ".npz", ".json"))
    done = subprocess.run(["ashlarc", model, "-o", program, f"--sparse={mode}", "--explain",
                           f"--machine={os.path.join(folder, 'machine.yaml')}"],
                          check=True, capture_output=True, text=True)
    subprocess.run(["ashlar-run", program, "--random-inputs=1", "--quiet",
                    f"--outputs={outputs}", f"--report={report}"], check=True)
    with open(report, encoding="utf-8") as file:
        found = json.load(file)
    return np.load(outputs)["y"].view(np.uint32), found, done.stdout


def main():
    failed = False
    with tempfile.TemporaryDirectory() as folder:
        machine(folder)
        model = os.path.join(folder, "model.onnx")
        for outputs, channels, extents in LAYERS:
            save(model, outputs, channels, extents)
            expected, dense, _ = run(model, "off", folder)
            found, report, explained = run(model, "tile", folder)
            wave = re.search(r"records of at most (\d+) bytes", explained)
            equal = np.array_equal(expected, found) and report["engines"]["tcc"]["busy"] > 0
            failed |= not equal
            print(f"{outputs} outputs of {extents}: records {-(-outputs // COLUMNS) * ALIGNED}, "
                  f"of a wave {wave.group(1) if wave else 'all'}; cluster "
                  f"{report['total_cycles']}, array {dense['total_cycles']} cycles"
                  f"{', bits equal' if equal else ''}")
    return failed


if __name__ == "__main__":
    sys.exit(main())
