#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What is left of a network's transposes, and their share of its cycles.

usage: transpose_share.py MODEL [--most=2.0] [--format=bfp8] [--machine=a1]

Counts data movement nodes by how they are done, and adds up the cycles of the run
that belong to transposes, shuffles and reshapes; a vector pass among them (the
encode of what is moved, which any order of elements needs) is printed apart. Of the
changes of the partition dimension it prints how many the array does, and the predicted
cycles of all of them, as chosen and with each of them done by the array.
Fails if the data movement takes more than `most` percent, or if it writes DRAM where
it is not a graph output.
"""

import argparse
import json
import os
import sys
import tempfile

import numpy as np

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

import common  # noqa: E402

MOVES = ("transpose", "gather", "reshape")


def vector_cycles(trace, names):
    """Cycles of vector instructions of the nodes `names`."""
    with open(trace, encoding="utf-8") as file:
        events = json.load(file)["traceEvents"]
    queues = {e["tid"]: e["args"]["name"] for e in events
              if e.get("name") == "thread_name"}
    cycles = dict.fromkeys(names, 0)
    for event in events:
        if event.get("ph") == "X" and queues[event["tid"]] == "vec":
            node = event["args"].get("node")
            if node in cycles:
                cycles[node] += event["args"]["complete"] - event["ts"]
    return cycles


def run(options, folder):
    binary = os.path.join(folder, "model.ash")
    paths = {name: os.path.join(folder, name + ".json")
             for name in ("compiled", "report", "trace")}
    model = common.model_path(options.model)
    common.run_tool("ashlarc", model, "-o", binary,
                    f"--format={options.format}",
                    f"--machine={options.machine}",
                    f"--report={paths['compiled']}")
    inputs, _ = common.dev_inputs(options.model, 1)
    arrays = os.path.join(folder, "in.npz")
    np.savez(arrays, **{common.graph_inputs(model)[0]: inputs})
    common.run_tool("ashlar-run", binary, f"--inputs={arrays}", "--quiet",
                    f"--report={paths['report']}", f"--trace={paths['trace']}")
    return paths


def load(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model")
    parser.add_argument("--most", type=float, default=2.0)
    parser.add_argument("--format", default="bfp8")
    parser.add_argument("--machine", default="a1")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        paths = run(options, folder)
        report, compiled = load(paths["report"]), load(paths["compiled"])
        nodes = [n for n in report["nodes"] if n["op"] in MOVES]
        vector = vector_cycles(paths["trace"], [n["name"] for n in nodes])
    total = report["total_cycles"]
    moved = encoded = 0
    for node in nodes:
        inside = min(node["cycles"], vector[node["name"]])
        encoded += inside
        moved += node["cycles"] - inside
    ways = [d["choice"] for d in compiled["decisions"]
            if d["choice"] in ("none", "copy", "identity", "dma")]
    counts = ", ".join(f"{ways.count(w)} {w}" for w in sorted(set(ways)))
    changes = [d for d in compiled["decisions"]
               if d["choice"] in d.get("alternatives", {})
               and "identity" in d["alternatives"]]
    chosen, array = (sum(d["alternatives"][way or d["choice"]] for d in changes)
                     for way in (None, "identity"))
    share = 100 * moved / total
    print(f"{options.model} {options.format}: {total:,} cycles, {len(nodes)} "
          f"movement nodes ({counts}): {moved:,} cycles, {share:.2f} %; "
          f"their encodes {encoded:,}, {100 * encoded / total:.2f} %; "
          f"DRAM {sum(n['dram_read'] for n in nodes):,} B read, "
          f"{sum(n['dram_write'] for n in nodes):,} B written; "
          f"{sum(d['choice'] == 'identity' for d in changes)} of {len(changes)} changes "
          f"of the partition dimension by the array, {chosen:,} cycles predicted, "
          f"{array:,} if all were")
    return int(share > options.most)


if __name__ == "__main__":
    sys.exit(main())
