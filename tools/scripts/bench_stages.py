#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Where the time of a compilation goes, stage by stage, for the line of progress.

usage: bench_stages.py [--ashlarc=PATH] MODEL.onnx... [-- OPTION...]

Takes the seconds of the phases from the compile report; what the whole takes beyond
them is the stage "choices", the compilations that are compared before the last one.
The last line is the mean share of the time that has passed when each stage begins
(lib/Pipelines/Compile.cpp, stageBegin).
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time

PHASES = ["import", "simplify", "fold", "quantise", "assign", "plan", "tile", "emit"]
STAGES = [*PHASES[:4], "choices", *PHASES[4:]]


def measure(ashlarc, more, model):
    """Seconds of each stage, and of all."""
    with tempfile.TemporaryDirectory() as folder:
        report = os.path.join(folder, "report.json")
        begin = time.monotonic()
        done = subprocess.run([ashlarc, model, "-o", os.path.join(folder, "out.ash"), f"--report={report}", *more],
                              capture_output=True, text=True)
        whole = time.monotonic() - begin
        if done.returncode:
            sys.exit(done.stderr.strip())
        with open(report, encoding="utf-8") as file:
            found = json.load(file)["phase_seconds"]
    found["choices"] = max(whole - sum(found.values()), 0)
    return found, whole


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("models", nargs="+")
    parser.add_argument("--ashlarc", default="build/bin/ashlarc")
    own, more = sys.argv[1:], []
    if "--" in own:
        own, more = own[:own.index("--")], own[own.index("--") + 1:]
    options = parser.parse_args(own)
    sums = dict.fromkeys(STAGES, 0.0)
    print(f"{'':<28}{'s':>7}  " + " ".join(f"{stage:>8}" for stage in STAGES))
    for model in options.models:
        found, whole = measure(options.ashlarc, more, model)
        for stage in STAGES:
            sums[stage] += found.get(stage, 0) / whole / len(options.models)
        print(f"{os.path.basename(model)[:27]:<28}{whole:>7.2f}  "
              + " ".join(f"{100 * found.get(stage, 0) / whole:>7.1f}%" for stage in STAGES))
    at, begins = 0.0, []
    for stage in STAGES:
        begins.append(f"{at:.2f}")
        at += sums[stage]
    print(f"{'begins at':<35}  " + " ".join(f"{begin:>8}" for begin in begins))


if __name__ == "__main__":
    main()
