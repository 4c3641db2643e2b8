#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Exponents of weights in few bits in DRAM, from ONNX to the bits.

usage: exponent_bits.py [--seed=1] [--machine=a1] [--table MODEL...]

Products and convolutions whose blocks lie some octaves apart, under block formats of
every kind, each with --weight-compression=off, auto and exponents. Fails if a bit of the
output differs; if the instructions are not what was asked for, have more than five
bits, or hold other bits than the exponents of the weights, encoded here, need; if
`auto` takes more cycles or bytes than `off`; or if blocks of 16 or less do not save
bytes.

--table prints DRAM bytes, constants and cycles of networks with blocks of 8, 16 and 32.
"""

import argparse
import json
import os
import re
import sys
import tempfile

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))

from common import run_tool  # noqa: E402

FORMS = ["off", "auto", "exponents"]


class Result:
    """What one way of storing the weights takes."""

    def __init__(self, model, folder, form, machine, inputs, *options):
        names = (f"{form}.ash", "compile.json", "run.json", "out.npz")
        program, compiled, report, outputs = (os.path.join(folder, n) for n in names)
        run_tool("ashlarc", model, "-o", program, f"--weight-compression={form}",
                 f"--machine={machine}", f"--report={compiled}", *options)
        run_tool("ashlar-run", program, inputs, f"--outputs={outputs}", f"--report={report}",
                 "--quiet")
        with open(report, encoding="utf-8") as file:
            data = json.load(file)
        with open(compiled, encoding="utf-8") as file:
            self.exponents = sum(node["exponents"] for node in json.load(file)["storage"])
        self.cycles, self.read = data["total_cycles"], data["totals"]["dram_read"]
        self.outputs = dict(np.load(outputs))
        self.widths = [int(fields["mantissa"]) for fields in
                       (dict(re.findall(r"(\w+)=(-?\w+)", line))
                        for line in run_tool("ashlar-dis", program).stdout.splitlines()
                        if "dma.unpack" in line)
                       if fields.get("form") == "exponents"]

    def equals(self, other):
        return all(self.outputs[name].tobytes() == value.tobytes()
                   for name, value in other.outputs.items())


def model_of(path, kind, octaves, draw):
    """Weights whose blocks are up to `octaves` below the largest of their output."""
    if kind == "product":
        shape, node = (192, 80), helper.make_node("MatMul", ["x", "w"], ["y"], name="fc")
        ins, outs = [1, 192], [1, 80]
        scale = np.exp2(-draw.integers(0, octaves + 1, (192 // 8, 80))).repeat(8, axis=0)
    else:
        shape = (48, 64, 3, 3)
        node = helper.make_node("Conv", ["x", "w"], ["y"], name="conv", pads=[1] * 4)
        ins, outs = [1, 64, 6, 6], [1, 48, 6, 6]
        scale = np.exp2(-draw.integers(0, octaves + 1, (48, 8, 3, 3))).repeat(8, axis=1)
    weights = (draw.uniform(0.5, 1, shape) * draw.choice([-1, 1], shape) * scale)
    if octaves:
        weights[draw.random(shape[0]) < 0.1] = 0
    value = lambda name, shape: helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)
    graph = helper.make_graph([node], "exponents", [value("x", ins)], [value("y", outs)],
                              [numpy_helper.from_array(weights.astype(np.float32), "w")])
    onnx.save(helper.make_model(graph, ir_version=8,
                                opset_imports=[helper.make_opsetid("", 17)]), path)


def check(folder, draw, options):
    problems = []
    model = os.path.join(folder, "m.onnx")
    for kind in ("product", "conv"):
        for octaves, fmt, most in ((0, "w=8,block=16,range=7", 1), (2, "w=8,block=8,range=7", 2),
                                   (6, "w=6,block=8,range=7", 3), (12, "w=8,block=16,range=7", 4),
                                   (14, "w=8,block=8,range=15", 4), (20, "w=8,block=8,range=15", 5),
                                   (20, "w=16,block=8,range=15", 4),
                                   (5, "w=5,block=32,range=3", 3), (3, "w=8,block=axis,range=7", 3)):
            model_of(model, kind, octaves, draw)
            found = {form: Result(model, folder, form, options.machine, "--random-inputs=1",
                                  "--sparse=off", f"--format={fmt}") for form in FORMS}
            off, auto, asked = (found[form] for form in FORMS)
            name = f"{kind}, {octaves} octaves, {fmt}"
            print(f"{name}: widths {sorted(set(asked.widths))}, bytes {off.read} "
                  f"{auto.read} {asked.read}, cycles {off.cycles} {auto.cycles} {asked.cycles}")
            if not (auto.equals(off) and asked.equals(off)):
                problems.append(f"{name}: other bits")
            if off.widths:
                problems.append(f"{name}: exponents in few bits without being asked for")
            # All octaves occur among blocks of 16 or less, longer ones have the largest.
            small = fmt.split("block=")[1].split(",")[0] in ("8", "16")
            widest = max(asked.widths + auto.widths, default=0)
            if widest > most or (small and widest < most):
                problems.append(f"{name}: widths {asked.widths}, expected {most}")
            if auto.cycles > off.cycles or auto.read > off.read or asked.read > off.read:
                problems.append(f"{name}: reads {off.read} {auto.read} {asked.read} bytes in "
                                f"{off.cycles} {auto.cycles} {asked.cycles} cycles")
            if small and not (asked.widths and asked.read < off.read and
                              asked.exponents * 8 <= off.exponents * (most + 0.5)):
                problems.append(f"{name}: {asked.exponents} bytes of exponents of "
                                f"{off.exponents}, {off.read} and {asked.read} read")
    return problems


def table(folder, options):
    print("| network | block | bytes of exponents | now | DRAM bytes read | now | cycles | now |")
    print("|---|---|---|---|---|---|---|---|")
    for model in options.table:
        name = os.path.splitext(os.path.basename(model))[0]
        for block in (8, 16, 32):
            off, auto = (Result(model, folder, form, options.machine, "--random-inputs=1",
                                f"--format=w=8,block={block},range=7") for form in ("off", "auto"))
            same = "" if auto.equals(off) else " BITS"
            print(f"| {name} | {block} | {off.exponents:,} | {auto.exponents:,} | {off.read:,} | "
                  f"{auto.read:,} | {off.cycles:,} | {auto.cycles:,} |{same}", flush=True)


def main():
    parser = argparse.ArgumentParser(usage=__doc__.split("usage: ")[1].split("\n\n")[0])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--machine", default="a1")
    parser.add_argument("--table", nargs="+", default=[])
    options = parser.parse_args()
    problems = []
    with tempfile.TemporaryDirectory() as folder:
        if options.table:
            return table(folder, options)
        problems = check(folder, np.random.default_rng(options.seed), options)
    for problem in problems:
        print(problem, file=sys.stderr)
    return bool(problems)


if __name__ == "__main__":
    sys.exit(main())
