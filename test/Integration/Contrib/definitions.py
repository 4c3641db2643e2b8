#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operators of com.microsoft that ONNX Runtime's CPU provider has no kernel
for, against numpy written from their definitions.

usage: definitions.py FAMILY [REGEX]

FAMILY is a module of this folder, definitions_FAMILY.py; REGEX chooses cases
by name. Every case is judged by the definition of the compiler as well
(ashlarc --verify).
"""

import importlib
import os
import re
import sys
import tempfile

import numpy as np
import onnx
import onnx.mapping
import onnx.parser

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.dirname(HERE),
                os.path.join(os.path.dirname(HERE), "Operators")]
import common  # noqa: E402
from debian_cases import check  # noqa: E402


class Case:
    """A graph of one operator and the function that defines its results.

    `graph` is the text of the graph without its name; `fn` takes the inputs in
    their order and gives the results. `ranges` has the first and the last
    number of inputs that are drawn evenly, and integers of all; an array there
    is the input itself. Where `exact`, all numbers must be equal."""

    def __init__(self, name, graph, fn, exact=False, **ranges):
        self.name, self.graph, self.fn = name, graph, fn
        self.exact, self.ranges = exact, ranges

    def model(self):
        return onnx.parser.parse_model(
            '<ir_version: 10, opset_import: ["" : 21, "com.microsoft" : 1]>\n'
            "g " + self.graph)

    def draw(self, info):
        tensor = info.type.tensor_type
        shape = [d.dim_value for d in tensor.shape.dim]
        dtype = onnx.mapping.TENSOR_TYPE_TO_NP_TYPE[tensor.elem_type]
        source = np.random.default_rng(
            [ord(c) for c in self.name + info.name])
        given = self.ranges.get(info.name)
        if isinstance(given, np.ndarray):
            return given.astype(dtype).reshape(shape)
        if dtype == np.bool_:
            return source.random(shape) < 0.5
        if dtype.kind in "iu":
            low, high = given or (-9, 9)
            return source.integers(low, high + 1, shape).astype(dtype)
        if given:
            return source.uniform(*given, shape).astype(dtype)
        return np.asarray(source.normal(0, 1, shape), dtype)


def run(model, inputs, folder):
    path, data, binary, outputs = (
        os.path.join(folder, name)
        for name in ("m.onnx", "in.npz", "m.ash", "out.npz"))
    with open(path, "wb") as stream:
        stream.write(model.SerializeToString())
    np.savez(data, **inputs)
    common.run_tool("ashlarc", path, "--verify", f"--inputs={data}",
                    "--format=bfp16")
    common.run_tool("ashlarc", path, "-o", binary, "--format=bfp16")
    common.run_tool("ashlar-run", binary, f"--inputs={data}",
                    f"--outputs={outputs}")
    with np.load(outputs) as found:
        return dict(found)


def run_case(case):
    model = case.model()
    inputs = {info.name: case.draw(info) for info in model.graph.input}
    wide = [x.astype(np.float64) if x.dtype.kind == "f" else x
            for x in inputs.values()]
    wanted = case.fn(*wide)
    if not isinstance(wanted, tuple):
        wanted = (wanted,)
    with tempfile.TemporaryDirectory() as folder:
        found = run(model, inputs, folder)
    for info, right in zip(model.graph.output, wanted):
        if right is None:
            continue
        dtype = onnx.mapping.TENSOR_TYPE_TO_NP_TYPE[
            info.type.tensor_type.elem_type]
        check(info.name, found[info.name], np.asarray(right).astype(dtype),
              case.exact)


def main():
    family = importlib.import_module(f"definitions_{sys.argv[1]}")
    pattern = sys.argv[2] if len(sys.argv) > 2 else ""
    cases = [c for c in family.CASES if re.search(pattern, c.name)]
    return common.run_cases(cases, run_case, "operators")


if __name__ == "__main__":
    sys.exit(main())
