#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Folds and clusters are chosen together.

usage: joint_choice.py [--machine=a1] MODEL...

No network takes fewer cycles where folds or row groups are forbidden than with
the compiler's own choice (but for half a percent: the order of drains and
instructions, chosen after folds, decides about that much). Maps that stay in the cluster are chosen later still, and left out here. On
the array alone, and where nothing else has a price
(a1-ideal), convolutions in lanes take what was predicted for them: the drain of a
map that half of PSUM holds follows the stream.
"""

import argparse
import json
import os
import sys
import tempfile

import onnx

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

import common  # noqa: E402

TOLERANCE = 0.05
LATER_CHOICES = 0.005


def run(folder, model, *options):
    """The report of a run."""
    binary, report = os.path.join(folder, "a.ash"), os.path.join(folder, "r.json")
    common.run_tool("ashlarc", common.model_path(model), "-o", binary, "--sparse-keep=off",
                    *options)
    common.run_tool("ashlar-run", binary, "--random-inputs=1", "--report=" + report)
    with open(report, encoding="utf-8") as file:
        return json.load(file)


def inputs(model):
    """The map that each node reads."""
    graph = onnx.load(common.model_path(model), load_external_data=False).graph
    return {node.name or f"{node.op_type}_{number}": node.input[0]
            for number, node in enumerate(graph.node) if node.input}


def spans(folder):
    """First stream and last drain of each node of the program in `folder`."""
    trace = os.path.join(folder, "trace.json")
    common.run_tool("ashlar-run", os.path.join(folder, "a.ash"), "--random-inputs=1",
                    "--trace=" + trace)
    with open(trace, encoding="utf-8") as file:
        events = json.load(file)["traceEvents"]
    found = {}
    for event in events:
        name, _, node = event["name"].partition(" ")
        if event["ph"] != "X" or name not in ("pe.matmul", "act.drain",
                                                         "act.pool"):
            continue
        span = found.setdefault(node, [event["ts"], 0])
        span[0] = min(span[0], event["ts"])
        span[1] = max(span[1], event["args"]["complete"])
    return found


def check_lanes(report, model, folder):
    """Predictions of folded convolutions against the cycles from their first stream
    to their last result. Those of one input are predicted together: the array goes on
    with the next while the last sums of the one before drain."""
    reads, taken_by = inputs(model), spans(folder)
    groups = {}
    for decision in report["decisions"]:
        lanes = decision["choice"].rpartition("lane-fold-")[2]
        pitch = f"pci{report['machine_parameters']['pe']['rows'] // int(lanes)}" \
            if lanes.isdigit() else ""
        if pitch not in decision.get("alternatives", {}):
            continue
        node = decision["node"]
        group = groups.setdefault(
            reads[node], {"predicted": decision["details"][pitch]["all_readers_cycles"],
                          "spans": []})
        group["spans"].append(taken_by[node])
    predicted = sum(group["predicted"] for group in groups.values())
    taken = sum(max(end for _, end in group["spans"]) - min(first for first, _ in group["spans"])
                for group in groups.values())
    print(f"{model}: convolutions in lanes {taken:,} cycles, predicted {predicted:,}")
    if taken and abs(predicted / taken - 1) > TOLERANCE:
        raise SystemExit(f"more than {TOLERANCE:.0%} off")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("models", nargs="+")
    parser.add_argument("--machine", default="a1")
    options = parser.parse_args()
    own_machine = "--machine=" + options.machine
    with tempfile.TemporaryDirectory() as folder:
        machine = os.path.join(folder, "no-groups.yaml")
        with open(machine, "w", encoding="utf-8") as file:
            file.write(f"base: {options.machine}\npe: {{row_group_granularity: 128}}\n")
        for model in options.models:
            own, plain, groupless = (
                run(folder, model, *given)["total_cycles"] for given in
                ([own_machine], [own_machine, "--fold-w=off"], ["--machine=" + machine]))
            print(f"{model}: {own:,} cycles, {plain:,} without folds, "
                  f"{groupless:,} without row groups")
            if own > min(plain, groupless) * (1 + LATER_CHOICES):
                raise SystemExit("a choice that is forbidden would be faster")
            if options.machine == "a1-ideal":
                # As emitted: schedules may do a part of the next convolution early.
                check_lanes(run(folder, model, own_machine, "--sparse=off", "--schedule=off"),
                            model, folder)


if __name__ == "__main__":
    main()
