#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Small models in ONNX's text form against ONNX Runtime.

usage: operators.py FILE [--only=REGEX] [--machine=a1] [--reference]
                    [--definition] [--no-ort] [--format=bfp16]

A line `#--- NAME` of FILE starts a model; make_model.py reads the same files.
Within a model the line `#input NAME LOW HIGH` draws integers, or floats evenly,
from [LOW, HIGH]; other floats are drawn from the normal distribution. Every
model is compiled with bfp16, or --format of as many bits, and run. Results pass within 1e-3 |ref| + 2^-12
max |ref|; integers, booleans and models with a line `#exact` must be equal.
The line `#as OTHER` takes the results of model OTHER as the reference, for
forms that ONNX Runtime no longer reads.
With --reference every planned tensor is compared with the numpy reference as
well, with --no-ort only with it; with --definition every layer with what the
operator means (ashlarc --verify).
"""

import argparse
import os
import re
import subprocess
import sys
import tempfile

import numpy as np
import onnx
import onnx.mapping
import onnx.parser

INTEGRATION = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, INTEGRATION)

import common  # noqa: E402
from debian_cases import Outcome, check  # noqa: E402



class Case:
    """One model of a file: its text and what its comment lines ask for."""

    def __init__(self, name):
        self.name, self.lines = name, []
        self.ranges, self.exact = {}, False
        self.same_as = None

    def add(self, line):
        words = line[1:].split()
        if line.startswith("#input "):
            self.ranges[words[1]] = (float(words[2]), float(words[3]))
        elif words == ["exact"]:
            self.exact = True
        elif line.startswith("#as "):
            self.same_as = words[1]
        elif not line.startswith("#"):
            self.lines.append(line)

    def draw(self, info):
        """A random array for a graph input."""
        tensor = info.type.tensor_type
        shape = [d.dim_value for d in tensor.shape.dim]
        dtype = onnx.mapping.TENSOR_TYPE_TO_NP_TYPE[tensor.elem_type]
        source = np.random.default_rng(
            [ord(c) for c in self.name + info.name])
        if dtype == np.bool_:
            return source.random(shape) < 0.5
        low, high = self.ranges.get(info.name, (-9, 9))
        if dtype.kind in "iu":
            return source.integers(int(low), int(high) + 1, shape).astype(dtype)
        if info.name in self.ranges:
            return source.uniform(low, high, shape).astype(dtype)
        return np.asarray(source.normal(0, 1, shape), dtype)


def read_cases(path):
    cases = []
    with open(path, encoding="utf-8") as file:
        for line in file:
            if line.startswith("#---"):
                cases.append(Case(line[4:].strip()))
            elif cases:
                cases[-1].add(line)
    return cases


def against_runtime(case, path, reference, inputs, folder, options):
    binary = os.path.join(folder, "case.ash")
    outputs = os.path.join(folder, "out.npz")
    common.run_tool("ashlarc", path, "-o", binary, f"--format={options.format}",
                    f"--machine={options.machine}")
    arguments = []
    for k, (name, array) in enumerate(inputs.items()):
        file = os.path.join(folder, f"in{k}.npy")
        np.save(file, array)
        arguments.append(f"--input={name}={file}")
    common.run_tool("ashlar-run", binary, f"--outputs={outputs}", *arguments)
    wanted = common.ort.run(reference, [inputs])[0][0]
    with np.load(outputs) as found:
        for name, right in wanted.items():
            check(name, found[name], right, case.exact)


def against_reference(path, inputs, folder, machine):
    file = os.path.join(folder, "in.npz")
    np.savez(file, **inputs)
    done = subprocess.run(
        [sys.executable, os.path.join(INTEGRATION, "numerics_model.py"), path, file,
         f"--machine={machine}"], capture_output=True, text=True)
    if done.returncode:
        raise Outcome("numpy reference: " + done.stdout + done.stderr, True)


def against_definition(path, inputs, folder, machine):
    file = os.path.join(folder, "definition.npz")
    np.savez(file, **inputs)
    common.run_tool("ashlarc", path, "--verify", f"--inputs={file}",
                    "--format=bfp16", f"--machine={machine}")


def write_model(case, path):
    model = onnx.parser.parse_model("".join(case.lines))
    with open(path, "wb") as file:
        file.write(model.SerializeToString())
    return model


def run_case(case, options, cases):
    with tempfile.TemporaryDirectory() as folder:
        path = reference = os.path.join(folder, "case.onnx")
        model = write_model(case, path)
        inputs = {info.name: case.draw(info) for info in model.graph.input}
        if case.same_as:
            reference = os.path.join(folder, "reference.onnx")
            write_model(cases[case.same_as], reference)
        if not options.no_ort:
            against_runtime(case, path, reference, inputs, folder, options)
        if options.reference or options.no_ort:
            against_reference(path, inputs, folder, options.machine)
        if options.definition:
            against_definition(path, inputs, folder, options.machine)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("file")
    parser.add_argument("--only", default="")
    parser.add_argument("--machine", default="a1")
    parser.add_argument("--reference", action="store_true")
    parser.add_argument("--format", default="bfp16")
    parser.add_argument("--definition", action="store_true")
    parser.add_argument("--no-ort", action="store_true")
    options = parser.parse_args()
    known = {c.name: c for c in read_cases(options.file)}
    cases = [c for c in known.values() if re.search(options.only, c.name)]
    return common.run_cases(
        cases, lambda case: run_case(case, options, known), "models")


if __name__ == "__main__":
    sys.exit(main())
