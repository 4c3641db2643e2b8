#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Cycles, saturation, repairs and noise of a network under each policy.

usage: policy_costs.py MODEL [--samples=8] [--format=bfp8] [--policies=A;B]

MODEL is a shared model. Its first sample calibrates constants; the samples then
run one after the other with the state of the one before. Prints a table of
means over all samples but the first: cycles, saturated values, repaired blocks
and the cycles of that, and the signal-to-noise ratio of the outputs against
binary32.
"""

import argparse
import json
import os
import sys
import tempfile

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))
import common  # noqa: E402

POLICIES = ["runmax", "fixed", "fixed(at=store)", "fixed(at=store,overflow=repair)",
            "stats(k=4)", "stats(k=4,at=store,overflow=saturate)", "stats(k=4,at=store)",
            "predict(k=3,depth=4)", "predict(k=3,depth=4,at=store,overflow=saturate)",
            "predict(k=3,depth=4,at=store)", "error(t=4,overflow=saturate)", "error(t=4)"]


def measure(model, name, samples, expected, options, policy, folder):
    np.savez(os.path.join(folder, "calibrate.npz"), **{name: samples[0]})
    binary = os.path.join(folder, "m.ash")
    common.run_tool("ashlarc", model, "-o", binary, f"--scale={policy}",
                    f"--format={options.format}",
                    f"--calibrate={os.path.join(folder, 'calibrate.npz')}")
    stateful = policy.split("(")[0] in ("stats", "predict", "error")
    rows, outputs = [], []
    for index, sample in enumerate(samples):
        path = lambda ending: os.path.join(folder, ending)
        np.savez(path("x.npz"), **{name: sample})
        command = [binary, f"--inputs={path('x.npz')}", "--quiet",
                   f"--outputs={path('y.npz')}", f"--report={path('r.json')}"]
        if stateful:
            command.append(f"--state-out={path(f's{index}.npz')}")
            if index:
                command.append(f"--state-in={path(f's{index - 1}.npz')}")
        common.run_tool("ashlar-run", *command)
        with open(path("r.json"), encoding="utf-8") as file:
            report = json.load(file)
        with np.load(path("y.npz")) as arrays:
            outputs.append(next(iter(arrays.values())))
        nodes = report["nodes"]
        rows.append([report["total_cycles"], report["totals"]["sat"],
                     sum(n["repaired"] for n in nodes),
                     sum(n["repair_cycles"] for n in nodes)])
    noise = [common.snr_db(e, o) for e, o in zip(expected[1:], outputs[1:])]
    return np.mean(rows[1:], axis=0), float(np.mean(noise))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model")
    parser.add_argument("--samples", type=int, default=8)
    parser.add_argument("--format", default="bfp8")
    parser.add_argument("--policies", default=";".join(POLICIES))
    options = parser.parse_args()
    model = common.model_path(options.model)
    arrays, _ = common.dev_inputs(options.model, options.samples)
    name = common.graph_inputs(model)[0]
    samples = np.split(arrays, options.samples)
    expected = [next(iter(common.fp32_outputs(model, sample).values()))
                for sample in samples]
    print("| policy | cycles | saturated | repaired blocks | repair cycles | noise |")
    print("|---|---|---|---|---|---|")
    for policy in options.policies.split(";"):
        with tempfile.TemporaryDirectory() as folder:
            row, noise = measure(model, name, samples, expected, options, policy, folder)
        cells = " | ".join(f"{round(v):,}" for v in row)
        print(f"| `{policy}` | {cells} | {noise:.1f} dB |", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
