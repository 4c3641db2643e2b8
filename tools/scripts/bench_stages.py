#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Where the time of a compilation goes, stage by stage, for the line of progress.

usage: bench_stages.py [--ashlarc=PATH] [--repeat=3] MODEL.onnx... [-- OPTION...]

Compiles every model up to each phase and from there to the next one, and takes the
least processor time of a few runs; what a whole compilation takes beyond these is in
the stage "choices", the compilations that are compared before the last one. The last
line is the mean share of the time that has passed when each stage begins
(lib/Pipelines/Compile.cpp, stageBegin).
"""

import argparse
import os
import resource
import subprocess
import sys
import tempfile

PHASES = ["import", "simplify", "fold", "quantise", "assign", "plan", "emit"]
STAGES = [*PHASES[:4], "choices", *PHASES[4:]]


def seconds(repeat, *command):
    """Least processor time of a command; an error if it fails."""
    least = float("inf")
    for _ in range(repeat):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        if done.returncode:
            sys.exit(f"{' '.join(command)}: {done.stderr.strip()}")
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        least = min(least, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return least


def measure(options, more, model, folder):
    """Seconds of each stage."""
    path = lambda phase: os.path.join(folder, phase + ".mlir")
    out = os.path.join(folder, "out.ash")
    base = [options.ashlarc, "--threads=1", *more]
    found, at = {}, 0.0
    for phase in PHASES[:4]:
        total = seconds(options.repeat, *base, model, f"--compile-to={phase}", "-o", path(phase))
        found[phase], at = max(total - at, 0), max(total, at)
    whole = seconds(options.repeat, *base, model, "-o", out)
    # A module of the assign phase is made with the choices; what it then takes is theirs.
    subprocess.run([*base, model, "--compile-to=assign", "-o", path("assign")], check=True,
                   stdout=subprocess.DEVNULL)
    subprocess.run([*base, model, "--compile-to=plan", "-o", path("plan")], check=True, stdout=subprocess.DEVNULL)
    idle = seconds(options.repeat, *base, path("plan"), "--compile-from=plan", "--compile-to=plan",
                   "-o", os.path.join(folder, "same.mlir")) if options.idle else 0
    found["emit"] = max(seconds(options.repeat, *base, path("plan"), "--compile-from=plan", "-o", out) - idle, 0)
    late = seconds(options.repeat, *base, path("assign"), "--compile-from=assign", "-o", out)
    found["plan"] = max(late - found["emit"], 0)
    found["assign"] = found["plan"] / 2  # of the same order; too short to tell from reading the file
    found["choices"] = max(whole - at - sum(found[p] for p in ("assign", "plan", "emit")), 0)
    return found, whole


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("models", nargs="+")
    parser.add_argument("--ashlarc", default="build/bin/ashlarc")
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--idle", action="store_true")
    own, more = sys.argv[1:], []
    if "--" in own:
        own, more = own[:own.index("--")], own[own.index("--") + 1:]
    options = parser.parse_args(own)
    sums = dict.fromkeys(STAGES, 0.0)
    print(f"{'':<28}{'s':>7}  " + " ".join(f"{stage:>8}" for stage in STAGES))
    for model in options.models:
        with tempfile.TemporaryDirectory() as folder:
            found, whole = measure(options, more, model, folder)
        total = sum(found.values())
        for stage in STAGES:
            sums[stage] += found[stage] / total / len(options.models)
        print(f"{os.path.basename(model)[:27]:<28}{whole:>7.2f}  "
              + " ".join(f"{100 * found[stage] / total:>7.1f}%" for stage in STAGES))
    at, begins = 0.0, []
    for stage in STAGES:
        begins.append(f"{at:.2f}")
        at += sums[stage]
    print(f"{'begins at':<35}  " + " ".join(f"{begin:>8}" for begin in begins))


if __name__ == "__main__":
    main()
