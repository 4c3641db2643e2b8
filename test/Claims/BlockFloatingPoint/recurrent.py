#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Recurrent networks in block floating point, as the source names them: LSTM and GRU.

usage: recurrent.py [--seed=1] [--machine=a1] [--table]

Draws a network of each kind, one and two directions, several steps and samples, and
compiles it in several formats and with both epilogues. Fails if a tensor differs from
the numpy reference, if an output is less precise against ONNX Runtime than CASES says, or
if not all products run on the array in blocks, some for every step. --table prints a row
for each case: format, epilogue, cycles, instructions of products, noise.
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

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..",
                                "Integration"))
import common  # noqa: E402
import ort  # noqa: E402

NUMERICS = os.path.join(os.path.dirname(common.__file__), "numerics_model.py")
STEPS, SAMPLES, FEATURES, STATE = 6, 4, 32, 48
GATES = {"LSTM": 4, "GRU": 3}
# Format and epilogue, and the least signal-to-noise ratio of the last state.
CASES = [("bfp16", "float", 80), ("bfp8", "float", 34), ("w=8,block=32", "float", 33),
         ("bfp8", "block", 32), ("w=6", "float", 22)]


def write_model(path, kind, directions, draw):
    """x -> recurrence, all its states and the last ones."""
    def weights(*shape):
        return (draw.normal(0, 1, shape) / np.sqrt(shape[-1])).astype(np.float32)

    rows = GATES[kind] * STATE
    constants = {"w": weights(directions, rows, FEATURES), "r": weights(directions, rows, STATE),
                 "b": (0.1 * draw.normal(0, 1, (directions, 2 * rows))).astype(np.float32)}
    node = helper.make_node(kind, ["x", "w", "r", "b"], ["states", "last"], name="recurrence",
                            hidden_size=STATE,
                            direction="bidirectional" if directions == 2 else "forward")
    value = lambda name, shape: helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)
    graph = helper.make_graph(
        [node], "recurrent", [value("x", [STEPS, SAMPLES, FEATURES])],
        [value("states", [STEPS, directions, SAMPLES, STATE]),
         value("last", [directions, SAMPLES, STATE])],
        [numpy_helper.from_array(a, name) for name, a in constants.items()])
    onnx.save(helper.make_model(graph, ir_version=8,
                                opset_imports=[helper.make_opsetid("", 14)]), path)


def check_bits(model, inputs, options):
    """What differs between the program's tensors and the numpy reference."""
    done = subprocess.run([sys.executable, NUMERICS, model, inputs, options[0], options[1],
                           *(f"--ashlarc={o}" for o in options[2:])],
                          capture_output=True, text=True, check=False)
    return "" if done.returncode == 0 else (done.stdout + done.stderr)[-400:]


def run_case(folder, kind, directions, case, machine):
    """A row and the problems of one format."""
    fmt, epilogue, least = case
    model, inputs, program, outputs, report = (
        os.path.join(folder, n) for n in ("m.onnx", "in.npz", "m.ash", "out.npz", "run.json"))
    options = [f"--format={fmt}", f"--machine={machine}", f"--epilogue={epilogue}"]
    name = f"{kind}, {directions} directions, {fmt}, {epilogue}"
    common.run_tool("ashlarc", model, "-o", program, *options)
    common.run_tool("ashlar-run", program, f"--inputs={inputs}", f"--outputs={outputs}",
                    f"--report={report}", "--quiet")
    with open(report, encoding="utf-8") as file:
        cycles = json.load(file)["total_cycles"]
    products = [line for line in common.run_tool("ashlar-dis", program).stdout.splitlines()
                if re.search(r"\bpe\.matmul\b", line)]
    with np.load(inputs) as arrays:
        expected, _ = ort.run(model, [dict(arrays)])
    with np.load(outputs) as found:
        noise = min(common.snr_db(value, found[key]) for key, value in expected[0].items())
    problems = []
    if noise < least:
        problems.append(f"{name}: {noise:.1f} dB, expected {least}")
    # The state of a step is known when the step before has ended: products of their own.
    # Operands in blocks are the default of an instruction.
    blocks = sum(not re.search(r"\bmode=(?!bfp)", product) for product in products)
    if len(products) < directions * STEPS or blocks < len(products):
        problems.append(f"{name}: {len(products)} products, {blocks} of blocks")
    problems += filter(None, [check_bits(model, inputs, options)])
    return f"| {kind} | {directions} | {fmt} | {epilogue} | {cycles:,} | {len(products)} | " \
           f"{noise:.1f} dB |", problems


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--machine", default="a1")
    parser.add_argument("--table", action="store_true")
    options = parser.parse_args()
    cases, problems = 0, []
    for kind in GATES:
        for directions in (1, 2):
            draw = np.random.default_rng(options.seed)
            with tempfile.TemporaryDirectory() as folder:
                write_model(os.path.join(folder, "m.onnx"), kind, directions, draw)
                np.savez(os.path.join(folder, "in.npz"), x=draw.normal(
                    0, 1, (STEPS, SAMPLES, FEATURES)).astype(np.float32))
                for case in CASES:
                    row, found = run_case(folder, kind, directions, case, options.machine)
                    cases += 1
                    problems += found
                    if options.table:
                        print(row)
    print(f"{cases} recurrent networks, {len(problems)} problems")
    for problem in problems:
        print(problem)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
