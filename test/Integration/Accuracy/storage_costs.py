#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Conversions between floats and blocks, and what residual storage costs.

usage: storage_costs.py MODEL... [--samples=8] [--format=bfp8] [--machine=a1]

Models are shared ones. Prints two tables in Markdown, those of
docs/BlockFloatingPoint.md. Conversions: encoded operands that products read,
explicit encodes and decodes of the numeric plan (inputs of the graph counted
apart). Residual storage, for networks with residual adds: cycles, bytes of
the residual operands with their encodings, and mean SNR against ONNX Runtime for each of --residual=bfp, bf16, f32.
"""

import argparse
import json
import os
import sys
import tempfile

import numpy as np

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

import common  # noqa: E402

STORAGES = ("bfp", "bf16", "f32")


def compile_model(name, options, folder, *arguments):
    """(binary, plan, decisions)."""
    binary, plan, report = (os.path.join(folder, n)
                            for n in ("model.ash", "plan", "compile.json"))
    common.run_tool("ashlarc", common.model_path(name), "-o", binary,
                    f"--format={options.format}",
                    f"--machine={options.machine}", f"--dump-plan={plan}",
                    f"--report={report}", *arguments)
    with open(report, encoding="utf-8") as stream:
        decisions = json.load(stream)["decisions"]
    with open(os.path.join(plan, "plan.json"), encoding="utf-8") as stream:
        return binary, json.load(stream), decisions


def stored_bytes(decisions, storage):
    """Bytes of all residual operands and the encodings next to them. One that
    no product reads has no encoding: its type under `bfp` is f32."""
    return sum(d.get(f"bytes_{storage}", d["bytes_f32"]) for d in decisions
               if d.get("choice", "").startswith("residual-"))


def conversions(plan):
    """(operands, encodes of inputs, other encodes, decodes)."""
    operands = sum(2 for op in plan["ops"] if op["op"] in ("conv", "matmul"))
    encodes = [op for op in plan["ops"] if op["op"] == "encode"]
    of_inputs = sum(op["inputs"]["x"] in plan["inputs"] for op in encodes)
    decodes = sum(op["op"] == "decode" for op in plan["ops"])
    return operands, of_inputs, len(encodes) - of_inputs, decodes


def measure(binary, inputs, name, expected, folder):
    """(cycles, mean SNR of the worst output)."""
    outputs, report, stacked = (os.path.join(folder, n) for n in
                                ("out.npz", "run.json", "in.npz"))
    np.savez(stacked, **{name: inputs})
    common.run_tool("ashlar-run", binary, f"--inputs={stacked}", "--quiet",
                    f"--outputs={outputs}", f"--report={report}")
    with open(report, encoding="utf-8") as stream:
        found = json.load(stream)
    with np.load(outputs) as arrays:
        ratio = min(np.mean([common.snr_db(r, f)
                             for r, f in zip(reference, arrays[key])])
                    for key, reference in expected.items())
    return found["total_cycles"], ratio


def residual_rows(name, options, folder):
    """One row of the table, or nothing without residual adds."""
    inputs, _ = common.dev_inputs(name, options.samples)
    path = common.model_path(name)
    expected = common.fp32_outputs(path, inputs)
    cells = []
    for storage in STORAGES:
        binary, _, decisions = compile_model(name, options, folder,
                                             f"--residual={storage}")
        cycles, ratio = measure(
            binary, inputs, common.graph_inputs(path)[0], expected, folder)
        stored = stored_bytes(decisions, storage)
        if stored == 0:
            return ""
        cells.append(f"{cycles:,} / {stored / 1e3:.0f} kB / {ratio:.1f} dB")
    return f"| {name} | " + " | ".join(cells) + " |"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("models", nargs="+")
    parser.add_argument("--samples", type=int, default=8)
    parser.add_argument("--format", default="bfp8")
    parser.add_argument("--machine", default="a1")
    options = parser.parse_args()
    first = ["| network | operands of products | encodes of inputs | other "
             "encodes | decodes |", "|---|---|---|---|---|"]
    second = ["| network | " + " | ".join(STORAGES) + " |", "|---|---|---|---|"]
    with tempfile.TemporaryDirectory() as folder:
        for name in options.models:
            _, plan, _ = compile_model(name, options, folder)
            first.append(f"| {name} | " +
                         " | ".join(map(str, conversions(plan))) + " |")
            row = residual_rows(name, options, folder)
            second += [row] if row else []
    print("\n".join(first + [""] + second))
    return 0


if __name__ == "__main__":
    sys.exit(main())
