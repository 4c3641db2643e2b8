#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Cycles, energy and noise of epilogues in binary32 and in integers.

usage: epilogue_costs.py MODEL... [--samples=4] [--formats=bfp8,bfp16] [--machine=a1]

Compiles shared models with --epilogue=float, with and without per-channel weight
scaling, and with --epilogue=block, and prints a row of a table for each: cycles,
energy in microjoules, the mean signal-to-noise ratio against ONNX Runtime, and how many
drains stay in integers.
"""

import argparse
import json
import os
import sys
import tempfile

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))
import common  # noqa: E402

MODES = {"float": [], "float, weights not scaled": ["--weight-scaling=off"],
         "block": ["--epilogue=block"]}


def measure(model, arguments, samples, folder):
    path = lambda name: os.path.join(folder, name)
    name = common.graph_inputs(model)[0]
    common.run_tool("ashlarc", model, "-o", path("m.ash"), *arguments)
    noise = []
    for sample in samples:
        np.savez(path("x.npz"), **{name: sample})
        common.run_tool("ashlar-run", path("m.ash"), f"--inputs={path('x.npz')}", "--quiet",
                        f"--report={path('r.json')}", f"--outputs={path('y.npz')}")
        expected = common.fp32_outputs(model, sample)
        with np.load(path("y.npz")) as outputs:
            noise.append(np.mean([common.snr_db(expected[k], outputs[k]) for k in outputs]))
    with open(path("r.json"), encoding="utf-8") as file:
        report = json.load(file)
    drains = [line for line in common.run_tool("ashlar-dis", path("m.ash")).stdout.splitlines()
              if line.startswith("act.drain")]
    inside = sum("mode=block" in line for line in drains)
    return report, float(np.mean(noise)), inside, len(drains)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("models", nargs="+")
    parser.add_argument("--samples", type=int, default=4)
    parser.add_argument("--formats", default="bfp8,bfp16")
    parser.add_argument("--machine", default="a1")
    options = parser.parse_args()
    print("| network | format | epilogue | cycles | energy | noise | drains in integers |")
    print("|---|---|---|---|---|---|---|")
    for model in options.models:
        arrays, _ = common.dev_inputs(model, options.samples)
        samples = np.split(arrays, len(arrays))
        for form in options.formats.split(","):
            for mode, arguments in MODES.items():
                with tempfile.TemporaryDirectory() as folder:
                    report, noise, inside, drains = measure(
                        common.model_path(model), [f"--format={form}", *arguments,
                                                   f"--machine={options.machine}"],
                        samples, folder)
                energy = f"{float(report['energy']['dynamic_pj']) / 1e6:,.3f} uJ"
                print(f"| {model} | {form} | {mode} | {report['total_cycles']:,} | {energy} | "
                      f"{noise:.1f} dB | {inside} of {drains} |", flush=True)


if __name__ == "__main__":
    main()
