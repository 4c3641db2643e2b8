#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Weights of the array without their zeros in DRAM, from ONNX to the bits.

usage: weights_without_zeros.py [--size=512] [--seed=1] [--table] [--machine=a1]
       weights_without_zeros.py --write=FILE.onnx

Products with pruned weights: single weights, two of four, input channels, in block
floating point and as 8-bit integers with a zero point. Each is compiled with every
--weight-compression. Fails if a bit of the output differs from that without
compression; if the instructions have other forms than asked for, or store other
numbers of codes than the weights have non-zeros; if `auto` reads more from DRAM than
`off` or a given form, takes more cycles than `off`, or 10 % more than a given form; or
if it does not save what the zeros of the pattern are worth. --table prints lines for the decision page.
"""

import argparse
import json
import math
import os
import re
import sys
import tempfile

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../.."))

from common import run_tool  # noqa: E402

FORMS = ["off", "auto", "bitmap", "runs"]


def prune(weights, pattern, draw):
    """Weights (inputs, outputs) with the zeros of a pattern."""
    kind, _, number = pattern.partition(" ")
    if kind == "density":
        weights[draw.random(weights.shape) >= float(number)] = 0
    elif kind == "2:4":
        fours = weights.reshape(-1, 4, weights.shape[1])
        smallest = np.argsort(np.abs(fours), axis=1)[:, :2]
        np.put_along_axis(fours, smallest, 0, axis=1)
    elif kind == "channels":
        weights[draw.permutation(len(weights))[:int(len(weights) * float(number))]] = 0
    return weights


def write(path, nodes, size, constants):
    value = lambda name: helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, size])
    graph = helper.make_graph(nodes, "pruned", [value("x")], [value("y")],
                              [numpy_helper.from_array(a, n) for n, a in constants.items()])
    onnx.save(helper.make_model(graph, ir_version=8,
                                opset_imports=[helper.make_opsetid("", 17)]), path)


def float_model(path, weights):
    write(path, [helper.make_node("MatMul", ["x", "w"], ["y"], name="fc")],
          len(weights), {"w": weights})


def integer_model(path, weights, zero):
    """The same in QDQ form, with unsigned weights around `zero`."""
    scale = np.float32(np.abs(weights).max() / 100)
    codes = np.clip(np.rint(weights / scale) + zero, 0, 255).astype(np.uint8)
    constants = {"w": codes, "sw": scale, "zw": np.uint8(zero),
                 "sx": np.float32(0.02), "zx": np.uint8(128),
                 "sy": np.float32(0.05), "zy": np.uint8(120)}
    node = helper.make_node
    write(path, [
        node("QuantizeLinear", ["x", "sx", "zx"], ["xq"]),
        node("DequantizeLinear", ["xq", "sx", "zx"], ["xd"]),
        node("DequantizeLinear", ["w", "sw", "zw"], ["wd"]),
        node("MatMul", ["xd", "wd"], ["yf"], name="fc"),
        node("QuantizeLinear", ["yf", "sy", "zy"], ["yq"]),
        node("DequantizeLinear", ["yq", "sy", "zy"], ["y"])],
        len(weights), {k: np.asarray(v) for k, v in constants.items()})
    return int((codes != zero).sum())


class Result:
    """What one way of storing the weights takes."""

    def __init__(self, model, form, machine, folder):
        program, report = (os.path.join(folder, n) for n in ("p.ash", "report.json"))
        run_tool("ashlarc", model, "-o", program, "--sparse=off",
                 f"--weight-compression={form}", f"--machine={machine}")
        outputs = os.path.join(folder, form + ".npz")
        run_tool("ashlar-run", program, "--random-inputs=1", f"--outputs={outputs}",
                 f"--report={report}", "--quiet")
        with open(report, encoding="utf-8") as file:
            data = json.load(file)
        self.cycles, self.read = data["total_cycles"], data["totals"]["dram_read"]
        self.output = dict(np.load(outputs))
        self.forms, self.stored = {}, 0
        for line in run_tool("ashlar-dis", program).stdout.splitlines():
            if "dma.unpack" not in line:
                continue
            fields = dict(re.findall(r"(\w+)=(-?\w+)", line))
            kept = fields.get("form", "dense")
            self.forms[kept] = self.forms.get(kept, 0) + 1
            self.stored += int(fields.get("stored", 0))


def check(name, model, options, folder, nonzeros, worth):
    results = {form: Result(model, form, options.machine, folder) for form in FORMS}
    off, auto = results["off"], results["auto"]
    problems = []
    for form, result in results.items():
        if any(result.output[key].tobytes() != value.tobytes()
               for key, value in off.output.items()):
            problems.append(f"{form}: the output has other bits")
        wrong = set(result.forms) - ({"dense", "bitmap", "runs", "exponents"}
                                     if form == "auto" else {"dense", form})
        if wrong:
            problems.append(f"{form}: instructions of form {wrong}")
        # Between two short forms the order of other transfers decides.
        slack = 1.001 if form == "off" else 1.1
        if auto.read > result.read or auto.cycles > result.cycles * slack:
            problems.append(f"auto reads {auto.read} bytes in {auto.cycles} cycles, "
                            f"{form} {result.read} in {result.cycles}")
    if nonzeros is not None and results["bitmap"].stored != nonzeros:
        problems.append(f"bitmaps store {results['bitmap'].stored} codes of {nonzeros}")
    if auto.read > off.read * worth:
        problems.append(f"auto reads {auto.read} of {off.read} bytes")
    if options.table:
        print(f"| {name} | {off.read:,} | {auto.read:,} | {off.cycles:,} | {auto.cycles:,} | "
              f"{', '.join(sorted(auto.forms))} |")
    return [f"{name}: {problem}" for problem in problems]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--size", type=int, default=512)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--machine", default="a1")
    parser.add_argument("--table", action="store_true")
    parser.add_argument("--write", help="write one pruned model and end")
    options = parser.parse_args()
    draw = np.random.default_rng(options.seed)
    if options.write:
        float_model(options.write, prune(draw.standard_normal((256, 256))
                                         .astype(np.float32), "density 0.1", draw))
        return
    problems = []
    with tempfile.TemporaryDirectory() as folder:
        model = os.path.join(folder, "model.onnx")
        size = options.size
        for pattern, worth in [("density 1", 1), ("density 0.5", 0.75), ("2:4", 0.75),
                               ("channels 0.5", 0.7), ("density 0.1", 0.45),
                               ("density 0.05", 0.35)]:
            weights = prune(draw.standard_normal((size, size)).astype(np.float32) /
                            np.float32(math.sqrt(size)), pattern, draw)
            float_model(model, weights)
            problems += check(pattern, model, options, folder, None, worth)
            left = integer_model(model, weights, 131)
            # A bitmap of every chunk only where it is shorter than the bytes.
            sparse = pattern.startswith(("density 0", "2:4"))
            problems += check(f"{pattern}, integers", model, options, folder,
                              left if sparse else None, worth)
    for problem in problems:
        print(problem)
    sys.exit(bool(problems))


if __name__ == "__main__":
    main()
