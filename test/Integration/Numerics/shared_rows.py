#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Weights whose output channels share exponents (rows= of a format), from ONNX to the bits.

usage: shared_rows.py [--seed=1] [--machine=a1] [--kinds=KIND,...]
       shared_rows.py --computed=FILE.onnx

Products, convolutions, grouped and depthwise ones under tiles of several numbers of rows,
each with --weight-compression=off, auto and exponents. Fails if a tensor differs from the
numpy reference, which makes the tiles from the ONNX weights; if a form changes a bit of
the output; if DRAM holds more exponents than tiles, where channels fill the columns
evenly; if the instructions are not those that repeat exponents; or if sharing takes more
bytes or cycles; or if layers of integers change.

--computed writes a product of two inputs.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))

from common import run_tool  # noqa: E402

# Of cycles: an instruction for channels that begin between columns. Programs of
# a1-tiny are so short that a list schedule may be some 50 cycles off.
SLACK = {"a1-tiny": 0.025}
SLACK_ELSEWHERE = 0.005
FORMS = ["off", "auto", "exponents"]
NUMERICS = os.path.join(os.path.dirname(__file__), "..", "numerics_model.py")
# kind, shape of the weights, channels of the operand, groups
KINDS = [("product", (192, 80), 192, 1), ("conv", (48, 64, 3, 3), 64, 1),
         ("odd", (23, 20, 3, 1), 20, 1), ("grouped", (40, 12, 3, 3), 48, 4),
         ("depthwise", (32, 1, 3, 3), 32, 32)]
# rows, format, and whether the channels of the first two kinds fill the columns evenly
FORMATS = [(2, "w=8,block=16,range=7", True), (3, "w=6,block=8,range=7", False),
           (4, "w=8,block=16,range=7", True), (16, "w=12,block=8,range=15", True),
           (16, "w=8,block=axis,range=3", True), (5, "w=8,block=32,range=1", False),
           (4096, "w=4,block=64,range=7", True), ("quadrant", "w=8,range=7", False)]


class Result:
    """What one way of storing the weights takes."""

    def __init__(self, model, folder, machine, options, run_options=()):
        program, compiled, report, outputs = (
            os.path.join(folder, n) for n in ("s.ash", "compile.json", "run.json", "out.npz"))
        run_tool("ashlarc", model, "-o", program, f"--machine={machine}",
                 f"--report={compiled}", *options)
        run_tool("ashlar-run", program, "--random-inputs=1", f"--outputs={outputs}",
                 f"--report={report}", "--quiet", *run_options)
        with open(report, encoding="utf-8") as file:
            data = json.load(file)
        with open(compiled, encoding="utf-8") as file:
            self.storage = json.load(file)["storage"]
        self.exponents = sum(node["exponents"] for node in self.storage)
        self.cycles, self.read = data["total_cycles"], data["totals"]["dram_read"]
        self.outputs = dict(np.load(outputs))
        self.text = run_tool("ashlar-dis", program).stdout

    def equals(self, other):
        return all(self.outputs[name].tobytes() == value.tobytes()
                   for name, value in other.outputs.items())

    def repeats(self):
        """Columns that the instructions fill from one exponent: of copies, of streams."""
        fields = [dict(re.findall(r"(\w+)=(-?\w+)", line)) for line in self.text.splitlines()
                  if re.search(r"\bdma\.(copy|unpack)\b", line)]
        streams = [int(f.get("n4", 1)) for f in fields
                   if f.get("form") == "exponents" and f.get("unit") == "2"]
        copies = [int(f[f"n{i}"]) for f in fields
                  if f.get("dstMem") == "xm" and f.get("srcMem", "dram") == "dram"
                  for i in range(5) if int(f.get(f"n{i}", 1)) > 1
                  and f.get(f"srcStride{i}", "0") == "0"
                  and f.get(f"dstStride{i}") in ("1", "2")]
        return copies, streams


def model_of(path, shape, channels, groups, draw):
    """Weights of output channels and blocks of different sizes."""
    if len(shape) == 2:
        node = helper.make_node("MatMul", ["x", "w"], ["y"], name="fc")
        ins, outs = [1, channels], [1, shape[1]]
        scale = np.exp2(-draw.integers(0, 5, (1, shape[1])) - draw.integers(0, 3, shape))
    else:
        node = helper.make_node("Conv", ["x", "w"], ["y"], name="conv", group=groups,
                                pads=[shape[2] // 2, shape[3] // 2] * 2)
        ins, outs = [1, channels, 6, 6], [1, shape[0], 6, 6]
        scale = np.exp2(-draw.integers(0, 5, (shape[0], 1, 1, 1)) - draw.integers(0, 3, shape))
    weights = draw.normal(0, 1, shape) * scale
    weights[draw.random(shape[0]) < 0.1] = 0
    value = lambda name, shape: helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)
    graph = helper.make_graph([node], "rows", [value("x", ins)], [value("y", outs)],
                              [numpy_helper.from_array(weights.astype(np.float32), "w")])
    onnx.save(helper.make_model(graph, ir_version=8,
                                opset_imports=[helper.make_opsetid("", 17)]), path)
    return ins


def tiles_of(shape, rows, fmt, machine):
    """Tiles of the weights [O, C, taps] or [K, N], of which the array holds parts; none of
    an array whose few columns have so few exponents that they save no burst of DRAM."""
    text = run_tool("ashlarc", f"--dump-machine={machine}").stdout
    array = re.search(r"\npe:\n(?:  .*\n)*?  rows: (\d+).*\n(?:  .*\n)*?  columns: (\d+)", text)
    outputs, length = (shape[0], shape[1]) if len(shape) > 2 else (shape[1], shape[0])
    block = fmt.split("block=")[1].split(",")[0]
    block = min(length if block == "axis" else int(block), int(array[1]))
    rows = min(rows, int(array[2]))
    if int(array[2]) < 8:
        return None
    return -(-outputs // rows) * -(-length // block) * int(np.prod(shape[2:] or (1,)))


def against_numpy(model, folder, ins, machine, fmt, draw, options=()):
    inputs = os.path.join(folder, "in.npz")
    np.savez(inputs, x=draw.normal(0, 1, ins).astype(np.float32))
    run = subprocess.run([sys.executable, NUMERICS, model, inputs, f"--format={fmt}",
                          f"--machine={machine}",
                          *(f"--ashlarc={option}" for option in options)],
                         capture_output=True, text=True, check=False)
    return "" if run.returncode == 0 else (run.stdout + run.stderr)[-400:]


def check_case(model, folder, case, options, draw):
    (kind, shape, _, _), (rows, fmt, even), ins = case
    text = f"{fmt},rows={rows}"
    name = f"{kind} {shape}, {text}"
    one = Result(model, folder, options.machine,
                 ["--sparse=off", f"--format={fmt}", "--weight-compression=off"])
    off, auto, asked = (Result(model, folder, options.machine,
                               ["--sparse=off", f"--format={text}",
                                f"--weight-compression={form}"]) for form in FORMS)
    print(f"{name}: exponents {one.exponents} {off.exponents} {auto.exponents} "
          f"{asked.exponents}, bytes {one.read} {off.read} {auto.read} {asked.read}, cycles "
          f"{one.cycles} {off.cycles} {auto.cycles} {asked.cycles}, repeats {off.repeats()} "
          f"{asked.repeats()}", flush=True)
    if problem := against_numpy(model, folder, ins, options.machine, text, draw):
        yield f"{name}: {problem}"
    if not (auto.equals(off) and asked.equals(off)):
        yield f"{name}: a form of the weights changes bits"
    sparse = Result(model, folder, options.machine, [f"--format={text}"])
    if not sparse.equals(off):
        yield f"{name}: engines differ"
    # Quadrants have blocks of their own.
    slack = 1 + SLACK.get(options.machine, SLACK_ELSEWHERE)
    if rows != "quadrant" and (max(off.cycles, auto.cycles) > one.cycles * slack or
                               max(off.read, auto.read, asked.read) > one.read):
        yield f"{name}: more bytes or cycles"
    if even and kind in ("product", "conv"):
        cells = tiles_of(shape, rows, fmt, options.machine)
        width = 2 if fmt.startswith("w=12") else 1
        if cells and off.exponents > cells * width:
            yield f"{name}: {off.exponents} bytes of exponents for {cells} tiles"
        if off.exponents < one.exponents and not off.repeats()[0]:
            yield f"{name}: no copy repeats exponents over columns"
        if asked.exponents < off.exponents and not asked.repeats()[1]:
            yield f"{name}: no stream repeats exponents over columns"


def check(folder, draw, options):
    model = os.path.join(folder, "m.onnx")
    for kind in (k for k in KINDS if k[0] in options.kinds.split(",")):
        ins = model_of(model, *kind[1:], draw)
        for form in FORMATS:
            yield from check_case(model, folder, (kind, form, ins), options, draw)
    yield from check_integers(folder, draw, options)


def product_of_inputs(path):
    """A product whose second factor is computed at run time."""
    value = lambda name: helper.make_tensor_value_info(name, TensorProto.FLOAT, [32, 32])
    graph = helper.make_graph([helper.make_node("MatMul", ["a", "b"], ["y"], name="scores")],
                              "computed", [value("a"), value("b")], [value("y")])
    onnx.save(helper.make_model(graph, ir_version=8,
                                opset_imports=[helper.make_opsetid("", 17)]), path)


def check_integers(folder, draw, options):
    """Layers of integers have no exponents: the same instructions with any rows."""
    model, scale, zero = os.path.join(folder, "q.onnx"), np.float32(0.02), np.int8(0)
    constants = {"xs": scale, "xz": zero, "ws": scale, "wz": zero, "ys": scale, "yz": zero,
                 "w": draw.integers(-127, 128, (16, 8, 3, 3)).astype(np.int8)}
    node = helper.make_node("QLinearConv", ["x", "xs", "xz", "w", "ws", "wz", "ys", "yz"], ["y"],
                            name="conv")
    value = lambda name, shape: helper.make_tensor_value_info(name, TensorProto.INT8, shape)
    graph = helper.make_graph(
        [node], "integers", [value("x", [1, 8, 8, 8])], [value("y", [1, 16, 6, 6])],
        [numpy_helper.from_array(np.asarray(array), name) for name, array in constants.items()])
    onnx.save(helper.make_model(graph, ir_version=8,
                                opset_imports=[helper.make_opsetid("", 17)]), model)
    plain, rows = (Result(model, folder, options.machine, [f"--format={fmt}"])
                   for fmt in ("bfp8", "bfp8,rows=4"))
    code = [[line for line in result.text.splitlines() if not line.startswith(".plan")]
            for result in (plain, rows)]
    if code[0] != code[1] or not plain.equals(rows):
        yield "rows change a layer of integers"


def main():
    parser = argparse.ArgumentParser(usage=__doc__.split("usage: ")[1].split("\n\n")[0])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--machine", default="a1")
    parser.add_argument("--kinds", default=",".join(kind[0] for kind in KINDS))
    parser.add_argument("--computed")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        if options.computed:
            return product_of_inputs(options.computed)
        problems = list(check(folder, np.random.default_rng(options.seed), options))
    for problem in problems:
        print(problem, file=sys.stderr)
    return bool(problems)


if __name__ == "__main__":
    sys.exit(main())
