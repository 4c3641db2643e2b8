#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Blocks without signs against blocks with signs: cycles, bytes and noise.

usage: unsigned_blocks.py MODEL... [--samples=4] [--mantissa=8] [--table] [--check]

Compiles each shared model with activations of W bits with signs, of W bits
without where no value can be negative (unsigned=auto), and of W + 1 bits with
signs. Prints the tensors that lose their signs, cycles, bytes that DRAM moves
and the mean signal-to-noise ratio of the outputs against binary32. Weights have
16 bits in every case, so that activations make the noise. --check fails
if unsigned blocks take more than SLACK more cycles than signed ones, if no
instruction writes them, or if they are not as good as one more bit.
"""

import argparse
import json
import os
import sys
import tempfile

import numpy as np

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

import common  # noqa: E402

SLACK = 0.02
# Tensors with signs keep W bits: of the decibels that a bit is worth, most.
WORTH = 3


def formats(width):
    return {f"w={width}": f"w={width}",
            f"w={width}, unsigned": f"w={width},unsigned=auto",
            f"w={width + 1}": f"w={width + 1}"}


def ratio(expected, found):
    """Mean decibels over samples of the worst output."""
    return min(np.mean([common.snr_db(e, f) for e, f in zip(value, found[name])])
               for name, value in expected.items())


def measure(model, text, samples, expected, folder):
    """(tensors without signs, cycles, DRAM bytes, decibels, instructions)."""
    path = {end: os.path.join(folder, "u" + end) for end in
            (".ash", ".npz", ".json", ".out.npz", ".formats.json", ".asm")}
    plan = os.path.join(folder, "plan")
    with open(path[".formats.json"], "w", encoding="utf-8") as stream:
        json.dump({"activations": text, "weights": "w=16"}, stream)
    common.run_tool("ashlarc", common.model_path(model), "-o", path[".ash"],
                    f"--formats={path['.formats.json']}", f"--dump-plan={plan}")
    np.savez(path[".npz"], **{common.graph_inputs(common.model_path(model))[0]:
                              samples})
    common.run_tool("ashlar-run", path[".ash"], f"--inputs={path['.npz']}",
                    f"--outputs={path['.out.npz']}", "--functional")
    common.run_tool("ashlar-run", path[".ash"], "--random-inputs=1", "--quiet",
                    f"--report={path['.json']}")
    common.run_tool("ashlar-dis", path[".ash"], "-o", path[".asm"])
    with open(path[".asm"], encoding="utf-8") as stream:
        writes = sum("Type=ubfp" in line for line in stream)
    with open(path[".json"], encoding="utf-8") as stream:
        report = json.load(stream)
    with open(os.path.join(plan, "plan.json"), encoding="utf-8") as stream:
        tensors = json.load(stream)["tensors"]
    signless = sum(t.get("format", {}).get("unsigned", False) for t in tensors)
    moved = sum(n["dram_read"] + n["dram_write"] for n in report["nodes"])
    with np.load(path[".out.npz"]) as found:
        return (signless, report["total_cycles"], moved,
                ratio(expected, dict(found)), writes)


def compare(model, options, folder):
    samples, _ = common.dev_inputs(model, options.samples)
    expected = common.fp32_outputs(common.model_path(model), samples)
    rows = {label: measure(model, text, samples, expected, folder)
            for label, text in formats(options.mantissa).items()}
    for label, (signless, cycles, moved, decibels, _) in rows.items():
        print(f"| {model} | {label} | {signless} | {cycles:,} | {moved:,} | "
              f"{decibels:.1f} dB |" if options.table else
              f"{model} {label}: {signless} tensors without signs, {cycles} "
              f"cycles, {moved} bytes, {decibels:.1f} dB", flush=True)
    signed, unsigned, _ = rows.values()
    return (unsigned[1] > (1 + SLACK) * signed[1] or not unsigned[4] or
            signed[4] or unsigned[3] < signed[3] + WORTH)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("models", nargs="+")
    parser.add_argument("--samples", type=int, default=4)
    parser.add_argument("--mantissa", type=int, default=8)
    parser.add_argument("--table", action="store_true")
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        failed = [m for m in options.models if compare(m, options, folder)]
    for model in failed:
        print(f"{model}: not as expected")
    return 1 if failed and options.check else 0


if __name__ == "__main__":
    sys.exit(main())
