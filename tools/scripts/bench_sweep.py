#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Time of a sweep against the sum of the runs of its tools.

usage: bench_sweep.py SWEEP.yaml [--jobs=N] [--rounds=N] [--check=PERCENT]

Runs the sweep, then the same commands of ashlarc and ashlar-run one after the
other, in turn; prints wall and processor seconds of the best round of each, and
the processor seconds of the same sweep once more when all its points are there:
what it costs besides its tools. (Two tools at a time on cores that share
execution units take more processor time than one after the other.) With --check
a sweep whose wall time is more than PERCENT above the sum fails.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time

from figure_tools import BUILD


def tool(name):
    return os.path.join(BUILD, "bin", name)


def timed(work):
    """(wall, processor) seconds of the children of a piece of work."""
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    work()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return time.monotonic() - start, used


def run(*command):
    done = subprocess.run(command, text=True, capture_output=True)
    if done.returncode:
        sys.exit(f"{' '.join(command)}\n{done.stderr}")


def alone(plan, base, folder, threads):
    """The commands of a plan's points, one after the other."""
    for point in plan["points"]:
        machine, program = os.path.join(folder, "m.yaml"), os.path.join(folder, "p.ash")
        with open(machine, "w", encoding="utf-8") as out:
            out.write(plan["machines"][point["machine"]]["text"])
        options = [f"--{name}={value}" for name, value in point["options"].items()]
        run(tool("ashlarc"), os.path.join(base, point["model"]), "-o", program, f"--machine={machine}",
            f"--report={folder}/c.json", f"--threads={threads}", *options)
        run(tool("ashlar-run"), program, f"--random-inputs={point['seed']}", f"--report={folder}/r.json",
            "--quiet", f"--threads={threads}")


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("sweep")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--check", type=float)
    options = parser.parse_args()
    whole, again, parts = [], [], []
    for _ in range(options.rounds):
        with tempfile.TemporaryDirectory() as folder:
            out = os.path.join(folder, "out")
            for kept in (whole, again):
                kept.append(timed(lambda: run(tool("ashlar-sweep"), options.sweep, "-o", out,
                                              f"--jobs={options.jobs}")))
            with open(os.path.join(out, "plan.json"), encoding="utf-8") as stream:
                plan = json.load(stream)
            threads = max(1, os.cpu_count() // options.jobs)
            parts.append(timed(lambda: alone(plan, out, folder, threads)))
    sweep, rest, runs = ([min(entry[k] for entry in rounds) for k in range(2)] for rounds in (whole, again, parts))
    print(f"{len(plan['points'])} points, {options.jobs} jobs: sweep {sweep[0]:.2f} s, runs alone {runs[0]:.2f} s, "
          f"wall {100 * (sweep[0] / runs[0] - 1):+.1f} %, processor {sweep[1]:.2f} s and {runs[1]:.2f} s, "
          f"{rest[1]:.2f} s without its tools ({100 * rest[1] / runs[1]:.1f} %)")
    if options.check is not None and sweep[0] > runs[0] * (1 + options.check / 100):
        sys.exit(f"more than {options.check} % above the sum of its runs")


if __name__ == "__main__":
    main()
