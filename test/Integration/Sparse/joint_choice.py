#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Folds and clusters are chosen together.

usage: joint_choice.py [--machine=a1] MODEL...

No network takes fewer cycles where folds or row groups are forbidden than with
the compiler's own choice (but for half a percent: the order of drains and
instructions, chosen after folds, decides about that much). On the array alone, and where nothing else has a price
(a1-ideal), convolutions in lanes take what was predicted for them: the drain of a
map that half of PSUM holds follows the stream.
"""

import argparse
import json
import os
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

import common  # noqa: E402

TOLERANCE = 0.05
LATER_CHOICES = 0.005


def run(folder, model, *options):
    """The report of a run."""
    binary, report = os.path.join(folder, "a.ash"), os.path.join(folder, "r.json")
    common.run_tool("ashlarc", common.model_path(model), "-o", binary, *options)
    common.run_tool("ashlar-run", binary, "--random-inputs=1", "--report=" + report)
    with open(report, encoding="utf-8") as file:
        return json.load(file)


def check_lanes(report, model):
    """Predictions of folded convolutions against their cycles."""
    cycles = {node["name"]: node["cycles"] for node in report["nodes"]}
    predicted, taken = 0, 0
    first = report["nodes"][0]["name"]
    for decision in report["decisions"]:
        lanes = decision["choice"].rpartition("lane-fold-")[2]
        pitch = f"pci{report['machine_parameters']['pe']['rows'] // int(lanes)}" \
            if lanes.isdigit() else ""
        # The first layer waits for its input, of which this knows nothing.
        if pitch not in decision.get("alternatives", {}) or decision["node"] == first:
            continue
        predicted += decision["alternatives"][pitch]
        taken += cycles[decision["node"]]
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
                check_lanes(run(folder, model, own_machine, "--sparse=off"), model)


if __name__ == "__main__":
    main()
