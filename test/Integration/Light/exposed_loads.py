#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A network on an array without shadow set, against the closed form in which
every load is exposed and nothing but the array has a price.

usage: exposed_loads.py MODEL

By node of the array, from the busy cycles in the report: loads and streams one
after the other, or the drain if that takes longer, and once the skew of the
array and ACT's latency. The run may differ by TOLERANCE.
"""

import json
import os
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

import common  # noqa: E402

TOLERANCE = 0.03


def main():
    if len(sys.argv) != 2:
        raise SystemExit(__doc__)
    with tempfile.TemporaryDirectory() as folder:
        def path(name):
            return os.path.join(folder, name)
        with open(path("one-set.yaml"), "w", encoding="utf-8") as file:
            file.write("base: a1-ideal\npe: {shadow_set: false}\n")
        common.run_tool("ashlarc", common.model_path(sys.argv[1]), "-o", path("a.ash"),
                        "--machine=" + path("one-set.yaml"))
        common.run_tool("ashlar-run", path("a.ash"), "--random-inputs=1",
                        "--report=" + path("r.json"))
        with open(path("r.json"), encoding="utf-8") as file:
            report = json.load(file)
    machine = report["machine_parameters"]
    fill = machine["pe"]["rows"] - 1 + machine["pe"]["columns"] - 1 + machine["act"]["latency"]
    closed, nodes = 0, 0
    for node in report["nodes"]:
        busy = node["busy"]
        if "pe" in busy:
            closed += max(busy["pe"] + busy["peload"], busy["act"]) + fill
            nodes += 1
    taken = report["total_cycles"]
    print(f"{nodes} nodes: {taken:,} cycles, closed form {closed:,} ({taken / closed:.3f})")
    if nodes == 0 or abs(taken / closed - 1) > TOLERANCE:
        raise SystemExit(f"more than {TOLERANCE:.0%} off")


if __name__ == "__main__":
    main()
