#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Every part of an exported network that appendix.txt lists.

usage: appendix.py [--only=REGEX] [--built]

Models in text form run as operators.py runs them, against ONNX Runtime. Those
marked `built` have weights of narrow types, which the text form lacks: they are
built here and judged by numbers decoded from their definition. --built runs
only these, and checks that all others exist.
"""

import argparse
import os
import re
import subprocess
import sys
import types

import numpy as np
import onnx
from onnx import helper, numpy_helper

HERE = os.path.dirname(os.path.abspath(__file__))
INTEGRATION = os.path.dirname(HERE)
for folder in ("", "Operators", "Types"):
    sys.path.insert(0, os.path.join(INTEGRATION, folder))

import narrow_types  # noqa: E402
import operators  # noqa: E402
from debian_cases import Outcome, check  # noqa: E402

DEPTH, COLUMNS = 64, 24


def tensor(name, kind, bits, codes):
    """A constant of codes, several in a byte, the first in the low bits."""
    flat = codes.reshape(-1).astype(np.uint8) & ((1 << bits) - 1)
    if bits == 4:
        flat = flat[0::2] | flat[1::2] << 4
    made = onnx.TensorProto(name=name, data_type=kind, dims=codes.shape)
    made.raw_data = flat.tobytes()
    return made


def drawn(element, source):
    """Codes of a weight matrix, and the numbers that they mean."""
    if element in narrow_types.INTEGERS:
        kind, bits, signed = narrow_types.INTEGERS[element]
        low = -(1 << (bits - 1)) if signed else 0
        codes = source.integers(low, low + (1 << bits), (DEPTH, COLUMNS))
        return kind, bits, codes, codes.astype(float)
    kind = narrow_types.FLOATS[element][0]
    bits = 1 + sum(narrow_types.FLOATS[element][1:3])
    table = narrow_types.table(element)
    finite = np.flatnonzero(np.isfinite(table) & (np.abs(table) < 64))
    codes = source.choice(finite, (DEPTH, COLUMNS))
    return kind, bits, codes, table[codes]


def weights(element, block=None, channels=False, zeros=False):
    """A product whose weights DequantizeLinear makes of narrow numbers."""
    source = np.random.default_rng(len(element) + (block or 0))
    kind, bits, codes, numbers = drawn(element, source)
    shape = (DEPTH // block, COLUMNS) if block else (COLUMNS,) if channels else ()
    scale = source.uniform(0.01, 0.1, shape).astype(np.float32)
    constants = [tensor("q", kind, bits, codes), numpy_helper.from_array(scale, "s")]
    if zeros:
        zero = source.integers(0, 1 << bits, shape)
        constants.append(tensor("z", kind, bits, zero))
        numbers = numbers - (np.repeat(zero, block, 0) if block else zero)
    numbers = numbers * (np.repeat(scale, block, 0) if block else scale)
    attributes = {"axis": 0 if block else 1} | ({"block_size": block} if block else {})
    nodes = [helper.make_node("DequantizeLinear", [c.name for c in constants],
                              ["w"], **attributes),
             helper.make_node("MatMul", ["x", "w"], ["y"])]
    model = narrow_types.model(nodes, [("x", 1, [5, DEPTH])],
                               [("y", 1, [5, COLUMNS])], constants)
    x = source.normal(0, 1, (5, DEPTH)).astype(np.float32)
    found = narrow_types.run(model, {"x": x})["y"]
    check("y", found, (x @ numbers).astype(np.float32), False)


BUILT = {
    "int4_blocked": lambda: weights("int4", block=32),
    "uint4_blocked": lambda: weights("uint4", block=16, zeros=True),
    "int4_channels": lambda: weights("int4", channels=True),
    "float8e4m3fn": lambda: weights("float8e4m3fn"),
    "float8e5m2": lambda: weights("float8e5m2", channels=True),
    "float4_blocked": lambda: weights("float4e2m1", block=16),
}


class Parts:
    """The list, with the text files that it names."""

    def __init__(self):
        with open(os.path.join(HERE, "appendix.txt"), encoding="utf-8") as stream:
            self.rows = [[word.strip() for word in line.split("|")]
                         for line in stream if not line.startswith("#")]
        self.files = {}

    def cases(self, file):
        if file not in self.files:
            path = os.path.join(INTEGRATION, file)
            self.files[file] = {c.name: c for c in operators.read_cases(path)}
        return self.files[file]

    def run(self, file, name):
        if file == "built":
            return BUILT[name]()
        path = os.path.join(INTEGRATION, file)
        if file.endswith(".py"):
            subprocess.run([sys.executable, path, name], check=True)
            return None
        cases = self.cases(file)
        options = types.SimpleNamespace(no_ort=False, reference=False,
                                        definition=False, machine="a1",
                                        format="bfp16")
        return operators.run_case(cases[name], options, cases)

    def exists(self, file, name):
        if file == "built":
            return name in BUILT
        if file.endswith(".py"):
            with open(os.path.join(INTEGRATION, file), encoding="utf-8") as stream:
                return f"def {name}(" in stream.read()
        return name in self.cases(file)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="")
    parser.add_argument("--built", action="store_true")
    options = parser.parse_args()
    parts, failed, count = Parts(), 0, 0
    for what, file, name in parts.rows:
        if not parts.exists(file, name):
            failed += 1
            print(f"FAIL {what}: {file} has no {name}")
        elif re.search(options.only, what) and (
                file == "built" or not options.built):
            count += 1
            try:
                parts.run(file, name)
                print(f"pass {what}")
            except (Outcome, SystemExit, subprocess.CalledProcessError) as error:
                failed += 1
                print(f"FAIL {what}: {error}")
    print(f"{count} of {len(parts.rows)} parts, {failed} failures")
    return int(bool(failed) or not count)


if __name__ == "__main__":
    sys.exit(main())
