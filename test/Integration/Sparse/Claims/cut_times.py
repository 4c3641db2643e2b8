#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Cuts that the machine chooses against cuts from a profile, in whole networks.

usage: cut_times.py [MODEL|FILE.onnx]... [--inputs=FILE.npz] [--limit=1.05] [--sparse=MODE]
                    [--density=D] [--forced] [--table]

Each model is profiled on one input and run on another, in scatter mode, with the
cuts that --partition-cuts=profile and --partition-cuts=runtime choose. Fails if a
bit differs between the two, or if the network takes more than --limit times as many
cycles with cuts at run time. --density prunes the weights before; --forced cuts
wherever possible, whether that pays or not. --table prints a row for each model: layers
of the network, those with unequal tiles by profile and by the machine, both cycles.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", ".."))
import common  # noqa: E402


def samples(name, model, folder, given):
    """Paths of an input to run on and of one to profile."""
    if given:
        return given, given
    key = common.graph_inputs(model)[0]
    arrays, _ = common.dev_inputs(name, 2)
    paths = [os.path.join(folder, n) for n in ("in.npz", "profile.npz")]
    for i, path in enumerate(paths):
        np.savez(path, **{key: arrays[i % len(arrays)][None]})
    return paths


def run(*command):
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{' '.join(command)}: exit code {done.returncode}\n{done.stderr}")
    return done.stdout


def measure(model, cuts, paths, folder, mode):
    """Cycles, outputs, and layers with cuts by the machine and the compiler."""
    program = os.path.join(folder, cuts + ".ash")
    report, outputs = program + ".json", program + ".npz"
    text = run("ashlarc", model, "-o", program, f"--sparse={mode}", "--explain",
               f"--partition-cuts={cuts}", f"--calibrate={paths[1]}")
    run("ashlar-run", program, f"--inputs={paths[0]}", f"--outputs={outputs}",
        f"--report={report}", "--quiet")
    with open(report, encoding="utf-8") as file:
        cycles = json.load(file)["total_cycles"]
    kinds = [re.search(r"algorithm (\w+)", line).group(1)
             for line in text.splitlines() if line.strip().startswith("cuts:")]
    return cycles, dict(np.load(outputs)), sum(k != "uniform" for k in kinds), len(kinds)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("models", nargs="*", default=["resnet8_cifar10"])
    parser.add_argument("--inputs")
    parser.add_argument("--limit", type=float, default=1.05)
    parser.add_argument("--sparse", default="scatter")
    parser.add_argument("--density")
    parser.add_argument("--forced", action="store_true")
    parser.add_argument("--table", action="store_true")
    options = parser.parse_args()
    failed = False
    for name in options.models:
        with tempfile.TemporaryDirectory() as folder:
            model = name if name.endswith(".onnx") else common.model_path(name)
            paths = samples(name, model, folder, options.inputs)
            if options.density:
                pruned = os.path.join(folder, "pruned.onnx")
                run("ashlar-prune", model, "-o", pruned, f"--density={options.density}")
                model = pruned
            times = ["always-profile", "always"] if options.forced else \
                ["profile", "runtime"]
            (known, first, cut, layers), (found, second, own, _) = (
                measure(model, time, paths, folder, options.sparse) for time in times)
            if any(first[key].tobytes() != second[key].tobytes() for key in first):
                print(f"{name}: cuts at run time give other bits")
                failed = True
            if found > options.limit * known:
                print(f"{name}: {found} cycles with cuts at run time, {known} with a profile")
                failed = True
            if options.table:
                print(f"| {name} | {layers} | {cut} | {own} | {known:,} | {found:,} | "
                      f"{found / known:.3f} |")
    sys.exit(failed)


if __name__ == "__main__":
    main()
