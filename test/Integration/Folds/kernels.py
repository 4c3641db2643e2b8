#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Width folds of kernels that are known at run time.

usage: kernels.py random [--count=N] [--seed=S]
       kernels.py layers [--alternatives]

`random` draws networks as folds.py does, with kernels that are graph inputs or
computed from them, and compares every planned tensor with the numpy reference.
`layers` compiles each of LAYERS with a constant kernel and with one that is an
input, and counts the instructions that load kernels from results and the lanes
of streams in the disassembly. The folded kernel takes the constant's cycles of
the array where both are folded alike and no rows of results are packed. With
--alternatives every fold is also taken by name and run: the chosen one takes at
most SLACK more cycles than the best.
"""

import argparse
import json
import os
import random
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import folds  # noqa: E402
from folds import common  # noqa: E402

SLACK = 0.1
# Input and layer: outputs, kernel, strides, pads, dilations.
LAYERS = {
    "7x7, stride 2": (
        (1, 3, 96, 96), (64, (7, 7), (2, 2), (3, 3, 3, 3), (1, 1))),
    "3x3, stride 2": (
        (1, 3, 96, 96), (32, (3, 3), (2, 2), (1, 1, 1, 1), (1, 1))),
    "11x11, stride 4": (
        (1, 3, 99, 99), (64, (11, 11), (4, 4), (0, 0, 0, 0), (1, 1))),
    "3x3": (
        (1, 4, 48, 48), (64, (3, 3), (1, 1), (1, 1, 1, 1), (1, 1))),
    "1x10, stride 5": (
        (1, 1, 4000), (64, (10,), (5,), (0, 0), (1,))),
    "12 channels, stride 2": (
        (1, 12, 32, 32), (32, (3, 3), (2, 2), (1, 1, 1, 1), (1, 1))),
    "64 channels": (
        (1, 64, 14, 14), (64, (3, 3), (1, 1), (1, 1, 1, 1), (1, 1))),
}
CHOICES = ("plain", "stride-fold", "phase-fold", "strided-slice", "lane-fold",
           "rows-and-stride-fold", "pack-taps")


def check_random(seed, folder):
    source = random.Random(seed)
    shape, layers = folds.draw_network(source)
    kind = source.choice(["inputs", "inputs", "computed"])
    model = os.path.join(folder, "model.onnx")
    folds.save_model(model, shape, layers, front=source.random() < 0.3,
                     kernels=kind)
    kernels, channels = {}, shape[1]
    for i, (outputs, kernel, *_, last) in enumerate(layers):
        groups = last if isinstance(last, int) else 1
        kernels[f"w{i}"] = (outputs, channels // groups, *kernel)
        channels = outputs
    options = [f"--fold-w={source.choice(folds.MODES)}",
               f"--machine={source.choice(['a1', 'a1', 'a1-tiny'])}",
               f"--format={source.choice(['bfp8', 'bfp8', 'bfp16', 'bfp4'])}"]
    done = folds.compare_bits(model, shape, seed, folder, *options,
                              kernels=kernels)
    if done.returncode:
        print(f"seed {seed}: {shape} {layers} {kind} {' '.join(options)}\n"
              f"{done.stdout}{done.stderr}")
    return done.returncode != 0


def run(program, folder, *options):
    """(choice, cycles, cycles of the array, lanes, loads from results)."""
    binary, report = (os.path.join(folder, n) for n in ("k.ash", "k.json"))
    common.run_tool("ashlarc", program, "-o", binary, "--sparse=off", *options)
    common.run_tool("ashlar-run", binary, "--random-inputs=1", "--quiet",
                    f"--report={report}")
    with open(report, encoding="utf-8") as stream:
        found = json.load(stream)
    choice = next((d["choice"] for d in found["decisions"]
                   if d["node"] == "conv0" and d["choice"] in CHOICES), "plain")
    lines = folds.instructions(binary)
    lanes = max(int(folds.fields(line).get("groups", 1)) for line in lines
                if line.startswith("pe.matmul"))
    # A kernel in the state buffer has a scale exponent of its own, streamed
    # weights have one per column.
    loads = sum(int(folds.fields(line).get("xr", 0)) > 0 for line in lines
                if line.startswith("pe.load"))
    node = next(n for n in found["nodes"] if n["name"] == "conv0")
    return choice, found["total_cycles"], node["pe_busy"], lanes, loads


def alternatives(model, folder):
    """Cycles of every fold of a layer, taken by name in the fold phase."""
    simplified, folded, report = (os.path.join(folder, n) for n in
                                  ("s.mlir", "f.mlir", "c.json"))
    common.run_tool("ashlarc", model, "-o", os.path.join(folder, "k.ash"),
                    f"--report={report}")
    with open(report, encoding="utf-8") as stream:
        names = next((d["alternatives"] for d in json.load(stream)["decisions"]
                      if d["node"] == "conv0" and d["choice"] in CHOICES), {})
    common.run_tool("ashlarc", model, "--compile-to=simplify", "-o", simplified)
    cycles = {}
    for name in names:
        folds.fold_only(simplified, name, folded)
        cycles[name] = run(folded, folder, "--compile-from=fold")[1]
    return cycles


def check_layer(name, folder, every):
    shape, layer = LAYERS[name]
    model = os.path.join(folder, "model.onnx")
    folds.save_model(model, shape, [layer])
    constant = run(model, folder)
    folds.save_model(model, shape, [layer], kernels="inputs")
    computed = run(model, folder)
    choice, cycles, array, lanes, loads = computed
    kernels = {"w0": (layer[0], shape[1], *layer[1])}
    done = folds.compare_bits(model, shape, 5, folder, kernels=kernels)
    failed = done.returncode != 0 or loads == 0 or constant[4] > 0
    print(f"{name}: {choice}, {lanes} lanes, {cycles} cycles, {array} of the "
          f"array; constant kernel: {constant[0]}, {constant[1]} cycles, "
          f"{constant[2]} of the array")
    if not every:
        return failed
    others = alternatives(model, folder)
    print("  " + ", ".join(f"{n} {c}" for n, c in others.items()))
    if others and cycles > (1 + SLACK) * min(others.values()):
        print(f"  {choice} takes {cycles} cycles")
        failed = True
    return failed


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=["random", "layers"])
    parser.add_argument("--count", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--alternatives", action="store_true")
    options = parser.parse_args()
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        if options.what == "layers":
            for name in LAYERS:
                failed += check_layer(name, folder, options.alternatives)
        else:
            for seed in range(options.seed, options.seed + options.count):
                failed += check_random(seed, folder)
            print(f"{options.count} networks, {failed} differ")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
