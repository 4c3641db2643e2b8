#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""ResNet-50 v1.5 (drawn, batch 1, bfp8): compile, cycles, emulation speed.

usage: bench_resnet50.py [--check] [--machine=a1]

Prints compile time and peak memory, end-to-end cycles, and the wall
time of one timed emulation against ONNX Runtime fp32, both with 2 threads in
one run of this script. --check fails where a limit is missed.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time

import numpy as np

import drawn
import measured
import ort
import refill_light

ROOT = ort.ROOT
BUILD = os.environ.get("ASHLAR_BUILD", os.path.join(ROOT, "build"))
LIMITS = {"compile seconds": 10, "peak memory / model size": 6,
          "emulation / ONNX Runtime": 3}
CYCLES = {"a1-ideal": 700_000, "a1": 960_000}
REPEAT = 7


def tool(name):
    return os.path.join(BUILD, "bin", name)


def emulate(binary, folder):
    """(cycles, best wall seconds) of timed runs."""
    report = os.path.join(folder, "report.json")
    best, cycles = float("inf"), 0
    for _ in range(3):
        subprocess.run([tool("ashlar-run"), binary, "--threads=2",
                        f"--inputs={os.path.join(folder, 'in.npz')}",
                        f"--report={report}"], check=True,
                       stdout=subprocess.DEVNULL)
        with open(report, encoding="utf-8") as stream:
            data = json.load(stream)
        best, cycles = min(best, data["wall_seconds"]), data["total_cycles"]
    return cycles, best


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--machine", default="a1", choices=list(CYCLES))
    options = parser.parse_args()
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        model = drawn.model(drawn.RESNET50)
        binary = os.path.join(folder, "resnet50.ash")
        usage = measured.run([tool("ashlarc"), model, "-o", binary,
                              "--format=bfp8", f"--machine={options.machine}"])
        found["compile seconds"] = usage.seconds
        found["peak memory / model size"] = usage.peak / os.path.getsize(model)
        sample = {"image": next(refill_light.images(1, 3))}
        np.savez(os.path.join(folder, "in.npz"), **sample)
        found["total cycles"], wall = emulate(binary, folder)
        if ort.available():
            _, times = ort.run(model, [sample], threads=2, repeat=REPEAT)
            median = sorted(times)[REPEAT // 2] / 1000
            found["emulation / ONNX Runtime"] = wall / median
            print(f"emulation {wall * 1000:.1f} ms, ONNX Runtime "
                  f"{median * 1000:.1f} ms, 2 threads each")
    limits = {**LIMITS, "total cycles": CYCLES[options.machine]}
    missed = 0
    for name, value in found.items():
        text = f"{value:,}" if isinstance(value, int) else f"{value:.2f}"
        over = value > limits[name]
        missed += over
        print(f"{name}: {text} (limit {limits[name]:,})"
              + (" MISSED" if over else ""))
    return int(bool(options.check and missed))


if __name__ == "__main__":
    sys.exit(main())
