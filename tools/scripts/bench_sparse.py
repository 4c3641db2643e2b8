#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Pruned networks on the dense array and on the sparse cluster.

usage: bench_sparse.py [MODEL|resnet50]... [--density=1,0.5,...] [--check]

Prunes each shared model (squeezenet1_1 without arguments; resnet50 is the light
ResNet-50 with seeded weights) to each density, compiles it with --sparse=off
and --sparse=auto, runs both and prints the cycles of the network, the layers
on the sparse cluster, and for the whole network on it (--sparse=tile) the
cycles relative to density 1, which is the speed-up that skipping realises.
--check fails if auto takes more cycles than off, if their outputs differ in a
bit, or if auto gains less than LIMIT at 10 %.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile

import numpy as np

import refill_light

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(
    os.path.abspath(__file__))))
BUILD = os.environ.get("ASHLAR_BUILD", os.path.join(ROOT, "build"))
MODELS = os.environ.get("ASHLAR_MODELS",
                        os.path.join(ROOT, "..", "shared", "models"))
LIMIT = 1.6


def run(tool, *arguments):
    done = subprocess.run([os.path.join(BUILD, "bin", tool), *arguments],
                          text=True, capture_output=True)
    if done.returncode:
        raise SystemExit(f"{tool} {' '.join(arguments)}\n{done.stderr}")


def measure(model, mode, machine, folder):
    """(cycles, engine of each node, outputs) of a compiled network."""
    binary, report, outputs = (os.path.join(folder, name) for name in
                               ("m.ash", "report.json", "out.npz"))
    run("ashlarc", model, "-o", binary, f"--sparse={mode}",
        f"--machine={machine}")
    run("ashlar-run", binary, "--random-inputs=1", f"--report={report}",
        f"--outputs={outputs}")
    with open(report, encoding="utf-8") as stream:
        data = json.load(stream)
    with np.load(outputs) as arrays:
        results = {name: arrays[name].tobytes() for name in arrays}
    engines = [node.get("engine") for node in data["nodes"]]
    return data["total_cycles"], engines, results


def source_of(name, folder):
    if name != "resnet50":
        return os.path.join(MODELS, name + ".onnx")
    path = os.path.join(folder, "resnet50.onnx")
    refill_light.refill(os.path.join(MODELS, "light", "light_resnet50.onnx"),
                        path)
    return path


def ladder(name, densities, machine, tile, folder):
    """Prints one line per density; yields complaints."""
    source = source_of(name, folder)
    full = None
    for density in densities:
        model = os.path.join(folder, "pruned.onnx")
        run("ashlar-prune", source, "-o", model, f"--density={density}")
        off, _, expected = measure(model, "off", machine, folder)
        auto, engines, found = measure(model, "auto", machine, folder)
        line = (f"{name} density {density:<5} off {off:>9} auto {auto:>9} "
                f"gain {off / auto:5.2f} sparse layers {engines.count('tcu')}")
        if tile:
            cycles, _, tiled = measure(model, "tile", machine, folder)
            full = full or cycles
            line += f" tile {cycles:>9} realised skip {full / cycles:5.2f}"
            if tiled != expected:
                yield f"{name} at {density}: --sparse=tile changes a bit"
        print(line, flush=True)
        if auto > off:
            yield f"{name} at {density}: auto takes {auto} cycles, off {off}"
        if found != expected:
            yield f"{name} at {density}: --sparse=auto changes a bit"
        if density == 0.1 and off < LIMIT * auto:
            yield f"{name} at 0.1: gain {off / auto:.2f}, expected {LIMIT}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("models", nargs="*", default=["squeezenet1_1"])
    parser.add_argument("--density", default="1,0.5,0.25,0.2,0.1,0.05")
    parser.add_argument("--machine", default="a1")
    parser.add_argument("--no-tile", action="store_true",
                        help="leave out the whole network on the cluster")
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    densities = [float(d) for d in options.density.split(",")]
    failures = []
    for name in options.models:
        with tempfile.TemporaryDirectory() as folder:
            failures += ladder(name, densities, options.machine,
                               not options.no_tile, folder)
    for failure in failures:
        print(failure)
    return 1 if options.check and failures else 0


if __name__ == "__main__":
    sys.exit(main())
