#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Normalisations of few-channel maps: their bits and their share of a bound.

usage: instance_norm.py [--shape=32x128x128] [--machine=a1]
                        [--most-node=CYCLES] [--most-alone=RATIO]

Two networks: an instance normalisation alone, whose input comes from DRAM and
whose result goes there, and one between two convolutions, with a relu. Every
planned tensor of the second is compared with the numpy reference. Prints

* the cycles of the node between the convolutions, and those of its passes on
  the vector unit, the bound of a feature map that stays on the chip;
* the cycles of the network with the normalisation alone, and those of input and
  result at DRAM's full rate.

Fails if the first are more than CYCLES, or the second more than RATIO times
their bound.
"""

import argparse
import json
import math
import os
import subprocess
import sys
import tempfile

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                ".."))
import common  # noqa: E402
import numerics_model  # noqa: E402


def network(shape, between, path):
    """The normalisation, alone or between two convolutions."""
    channels = shape[0]
    random = np.random.default_rng(3)
    constants = []

    def constant(name, extents, around=0.0):
        values = random.normal(around, 0.3, extents).astype(np.float32)
        constants.append(numpy_helper.from_array(values, name))
        return name

    scale = constant("scale", channels, 1.0)
    bias = constant("bias", channels)
    if not between:
        nodes = [helper.make_node("InstanceNormalization", ["x", scale, bias],
                                  ["y"], name="norm")]
    else:
        kernel = (channels, channels, 3, 3)
        nodes = [
            helper.make_node("Conv", ["x", constant("w1", kernel)], ["a"],
                             name="first", pads=[1] * 4),
            helper.make_node("InstanceNormalization", ["a", scale, bias],
                             ["b"], name="norm"),
            helper.make_node("Relu", ["b"], ["c"], name="relu"),
            helper.make_node("Conv", ["c", constant("w2", kernel)], ["y"],
                             name="second", pads=[1] * 4)]
    extents = [1, *shape]
    graph = helper.make_graph(
        nodes, "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, extents)],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, extents)],
        constants)
    model = helper.make_model(graph,
                              opset_imports=[helper.make_opsetid("", 17)])
    model.ir_version = 8
    onnx.save(model, path)
    np.savez(path + ".npz", x=random.normal(0, 1, extents).astype(np.float32))


def report(path, machine):
    program, out = path + ".ash", path + ".json"
    for command in ([common.tool("ashlarc"), path, "--machine=" + machine,
                     "-o", program],
                    [common.tool("ashlar-run"), program, "--random-inputs=1",
                     "--report=" + out, "--quiet"]):
        done = subprocess.run(command, text=True, capture_output=True)
        if done.returncode:
            raise SystemExit(f"{' '.join(command)}: {done.stderr.strip()}")
    with open(out, encoding="utf-8") as file:
        return json.load(file)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--shape", default="32x128x128")
    parser.add_argument("--machine", default="a1")
    parser.add_argument("--most-node", type=int)
    parser.add_argument("--most-alone", type=float)
    options = parser.parse_args()
    shape = [int(extent) for extent in options.shape.split("x")]
    failed = False
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "between.onnx")
        network(shape, True, path)
        between = report(path, options.machine)
        node = next(n for n in between["nodes"] if n["name"] == "norm")
        compared = subprocess.run(
            [sys.executable, numerics_model.__file__, path, path + ".npz",
             "--machine=" + options.machine], check=False)
        failed |= compared.returncode != 0
        vector = node["busy"].get("vec", 0)
        print(f"{options.machine}: {options.shape} between convolutions: "
              f"{node['cycles']} cycles, {vector} of the vector unit "
              f"({vector / node['cycles']:.2f})")
        failed |= bool(options.most_node) and node["cycles"] > options.most_node
        path = os.path.join(folder, "alone.onnx")
        network(shape, False, path)
        alone = report(path, options.machine)
        bound = 2 * 4 * math.prod(shape) / 64
        ratio = alone["total_cycles"] / bound
        print(f"{options.machine}: {options.shape} alone: "
              f"{alone['total_cycles']} cycles, {ratio:.2f} times the "
              f"{bound:.0f} of DRAM")
        failed |= bool(options.most_alone) and ratio > options.most_alone
    return failed


if __name__ == "__main__":
    sys.exit(main())
