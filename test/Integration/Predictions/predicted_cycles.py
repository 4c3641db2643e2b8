#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Predicted against measured cycles, node by node.

usage: predicted_cycles.py [--machine=a1] [--engines=vec,act] [--within=0.1]
                           [--least=100] [--nodes] MODEL...

What the assign phase expects of the engines of each node (pass
ashlar-npu-print-cycles) beside the busy cycles of the node in a run. Queues of
copies share their work: `dma` is the busiest of those that move maps. Prints
the sums over the nodes that have a prediction, and with --nodes every node.
Fails if the sum of an engine in --engines is further away than --within; sums
below --least cycles are not judged.
"""

import argparse
import json
import os
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))
import common  # noqa: E402

ENGINES = ("pe", "act", "vec", "dma")


def predicted(folder, model, machine):
    """Cycles by (node, engine)."""
    module = os.path.join(folder, "assigned.mlir")
    common.run_tool("ashlarc", common.model_path(model), "--compile-to=assign",
                    "--machine=" + machine, "-o", module)
    text = common.run_tool("ashlar-opt", "--ashlar-npu-print-cycles", module, "-o",
                           os.path.join(folder, "same.mlir")).stdout
    cycles = {}
    for line in text.splitlines():
        node, engine, count = line.split("\t")
        cycles[node, engine] = cycles.get((node, engine), 0) + int(count)
    return cycles


def measured(folder, model, machine):
    """Busy cycles by (node, engine)."""
    binary, report = os.path.join(folder, "a.ash"), os.path.join(folder, "r.json")
    common.run_tool("ashlarc", common.model_path(model), "-o", binary, "--machine=" + machine)
    common.run_tool("ashlar-run", binary, "--random-inputs=1", "--report=" + report)
    with open(report, encoding="utf-8") as file:
        nodes = json.load(file)["nodes"]
    cycles = {}
    for node in nodes:
        for engine in ("pe", "act", "vec"):
            cycles[node["name"], engine] = node["busy"].get(engine, 0)
        cycles[node["name"], "dma"] = max(
            [count for queue, count in node["busy"].items()
             if queue.startswith("dma") and queue != "dma0"], default=0)
    return cycles


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("models", nargs="+")
    parser.add_argument("--machine", default="a1")
    parser.add_argument("--engines", default="")
    parser.add_argument("--within", type=float, default=0.1)
    parser.add_argument("--least", type=int, default=100)
    parser.add_argument("--nodes", action="store_true")
    options = parser.parse_args()
    judged = [engine for engine in options.engines.split(",") if engine]
    failed = 0
    for model in options.models:
        with tempfile.TemporaryDirectory() as folder:
            expected = predicted(folder, model, options.machine)
            taken = measured(folder, model, options.machine)
        sums = {engine: [0, 0] for engine in ENGINES}
        for (node, engine), cycles in expected.items():
            if (node, engine) not in taken:
                continue
            sums[engine][0] += cycles
            sums[engine][1] += taken[node, engine]
            if options.nodes:
                print(f"  {node} {engine}: predicted {cycles:,}, taken {taken[node, engine]:,}")
        for engine, (cycles, run) in sums.items():
            if max(cycles, run) < options.least:
                continue
            ratio = cycles / max(run, 1)
            wrong = engine in judged and abs(ratio - 1) > options.within
            failed += wrong
            print(f"{model} {options.machine} {engine}: predicted {cycles:,}, taken {run:,} "
                  f"({ratio:.3f}){' WRONG' if wrong else ''}")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
