#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Same network, same bits, however it is compiled and run.

usage: determinism.py MODEL [--format=bfp8] [--machine=a1]

Compiles with 1 and 2 threads and compares the binaries' bytes; runs with 1
and more threads, functionally and timed, with every kernel set, and compares
the outputs bit for bit, and cycles and counters where they are counted.
"""

import argparse
import json
import os
import sys
import tempfile

import numpy as np

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

import common  # noqa: E402

# (name, options of ashlar-run); the first is what the others must equal.
RUNS = [
    ("1 thread", ["--threads=1"]),
    ("2 threads", ["--threads=2"]),
    ("lists of 2 threads", ["--threads=2", "--sharing=lists"]),
    ("lists of 3 threads", ["--threads=3", "--sharing=lists"]),
    ("lists, functional", ["--threads=4", "--sharing=lists", "--functional"]),
    ("loops of 2 threads", ["--threads=2", "--sharing=loops"]),
    ("functional", ["--threads=2", "--functional"]),
    ("scalar kernels", ["--threads=2", "--kernels=scalar"]),
    ("scalar kernels, 1 thread", ["--threads=1", "--kernels=scalar"]),
]

# Of each layer in the report: what depends on values.
COUNTED = ["cycles", "sat", "unf", "repaired"]


def read(path):
    with open(path, "rb") as stream:
        return stream.read()


def compiled(options, folder):
    """The binary's path, or None after printing how compilations differ."""
    paths = []
    for threads in (1, 2):
        path = os.path.join(folder, f"model{threads}.ash")
        common.run_tool("ashlarc", common.model_path(options.model), "-o", path,
                        f"--format={options.format}",
                        f"--machine={options.machine}", f"--threads={threads}")
        paths.append(path)
    if read(paths[0]) == read(paths[1]):
        return paths[0]
    print("FAIL 1 and 2 threads compile to different bytes")
    return None


def emulated(binary, inputs, arguments, folder):
    """(outputs by name, what the report counts or None)"""
    out = os.path.join(folder, "out.npz")
    report = os.path.join(folder, "report.json")
    timed = "--functional" not in arguments
    common.run_tool("ashlar-run", binary, f"--inputs={inputs}",
                    f"--outputs={out}", *arguments,
                    *([f"--report={report}"] if timed else []))
    with np.load(out) as stored:
        outputs = {name: stored[name].tobytes() for name in stored}
    if not timed:
        return outputs, None
    with open(report, encoding="utf-8") as stream:
        report = json.load(stream)
    nodes = [[node[name] for name in COUNTED] for node in report["nodes"]]
    return outputs, (report["total_cycles"], nodes)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model")
    parser.add_argument("--format", default="bfp8")
    parser.add_argument("--machine", default="a1")
    options = parser.parse_args()
    model = common.model_path(options.model)
    failed = False
    with tempfile.TemporaryDirectory() as folder:
        binary = compiled(options, folder)
        if not binary:
            return 1
        inputs = os.path.join(folder, "in.npz")
        array, _ = common.dev_inputs(options.model, 1)
        np.savez(inputs, **{common.graph_inputs(model)[0]: array})
        expected, counted = emulated(binary, inputs, RUNS[0][1], folder)
        for name, arguments in RUNS[1:]:
            outputs, found = emulated(binary, inputs, arguments, folder)
            if outputs != expected:
                print(f"FAIL {name}: outputs differ from {RUNS[0][0]}")
                failed = True
            if found not in (None, counted):
                print(f"FAIL {name}: cycles or counters differ from "
                      f"{RUNS[0][0]}")
                failed = True
    print(f"{options.model}: {len(RUNS)} ways to run it, "
          f"{counted[0]} cycles")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
