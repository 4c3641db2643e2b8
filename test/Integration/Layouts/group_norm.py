#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Normalisations of groups of channels, as exporters write them.

usage: group_norm.py [--machine=a1] [--shape=32x16x16] [--groups=8]
                     [--most-copied=BYTES]

A convolution, a normalisation, a swish and a convolution: the normalisation as
one of instances between two reshapes, as GroupNormalization with parameters per
group and per channel, with one group, for two samples, and as a normalisation
of all that is in a sample. Every planned tensor is compared with the numpy
reference, every layer with its error bound. Fails if the program copies more
than BYTES inside the chip: less than a map of floats, so that none changes its
layout.
"""

import argparse
import json
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


def normalised(form, shape, groups, constant):
    """Nodes from `a` to `n`."""
    channels = shape[1]
    node = helper.make_node
    if form == "layer":
        return [node("LayerNormalization",
                     ["a", constant(shape[1:], 1.0), constant(shape[1:])],
                     ["n"], axis=1)]
    if form in ("per-group", "per-channel"):
        count = groups if form == "per-group" else channels
        return [node("GroupNormalization",
                     ["a", constant([count], 1.0), constant([count])], ["n"],
                     num_groups=groups)]
    return [
        node("Reshape", ["a", constant(np.array([0, groups, -1]))], ["g"]),
        node("InstanceNormalization",
             ["g", constant([groups], 1.0), constant([groups])], ["i"]),
        node("Reshape", ["i", constant(np.array(shape))], ["r"]),
        node("Mul", ["r", constant([channels, 1, 1], 1.0)], ["s"]),
        node("Add", ["s", constant([channels, 1, 1])], ["n"])]


def network(form, shape, groups, path):
    random = np.random.default_rng(5)
    constants = []

    def constant(extents, around=0.0):
        values = extents if isinstance(extents, np.ndarray) else \
            random.normal(around, 0.3, extents).astype(np.float32)
        constants.append(numpy_helper.from_array(values,
                                                 f"c{len(constants)}"))
        return constants[-1].name

    channels = shape[1]
    kernel = (channels, channels, 3, 3)
    nodes = [
        helper.make_node("Conv", ["x", constant(kernel)], ["a"],
                         pads=[1] * 4),
        *normalised(form, shape, groups, constant),
        helper.make_node("Sigmoid", ["n"], ["q"]),
        helper.make_node("Mul", ["n", "q"], ["c"]),
        helper.make_node("Conv", ["c", constant(kernel)], ["y"],
                         pads=[1] * 4)]
    graph = helper.make_graph(
        nodes, "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, shape)],
        constants)
    opset = 18 if form == "per-group" else 21
    model = helper.make_model(graph,
                              opset_imports=[helper.make_opsetid("", opset)])
    model.ir_version = 8
    onnx.save(model, path)
    np.savez(path + ".npz", x=random.normal(0.5, 1, shape).astype(np.float32))


def run(*command):
    done = subprocess.run(command, text=True, capture_output=True, check=False)
    if done.returncode:
        raise SystemExit(f"{' '.join(command)}: {done.stderr.strip()}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--shape", default="32x16x16")
    parser.add_argument("--groups", type=int, default=8)
    parser.add_argument("--machine", default="a1")
    parser.add_argument("--most-copied", type=int)
    options = parser.parse_args()
    machine = "--machine=" + options.machine
    extents = [int(extent) for extent in options.shape.split("x")]
    failed = False
    for form, samples, groups in [("instances", 1, options.groups),
                                  ("instances", 2, options.groups),
                                  ("instances", 1, 1),
                                  ("per-group", 1, options.groups),
                                  ("per-channel", 1, options.groups),
                                  ("layer", 1, 1)]:
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "m.onnx")
            network(form, [samples, *extents], groups, path)
            program, out = path + ".ash", path + ".json"
            run(common.tool("ashlarc"), path, machine, "-o", program,
                "--verify", "--inputs=" + path + ".npz")
            run(common.tool("ashlar-run"), program, "--random-inputs=1",
                "--report=" + out, "--quiet")
            compared = subprocess.run(
                [sys.executable, numerics_model.__file__, path, path + ".npz",
                 machine], check=False)
            with open(out, encoding="utf-8") as file:
                report = json.load(file)
        copied = sum(node["copied"] for node in report["nodes"])
        print(f"{options.machine}: {form}, {samples} samples, {groups} groups: "
              f"{report['total_cycles']} cycles, {copied} bytes copied")
        failed |= compared.returncode != 0
        failed |= bool(options.most_copied) and copied > options.most_copied
    return failed


if __name__ == "__main__":
    sys.exit(main())
