#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Rows of results side by side in the columns of the array.

usage: packed_rows.py [--count=N] [--seed=S]

Random chains of convolutions of few outputs on several machines, some with so
little memory that maps are cut into tiles: every bit is that of the reference.
The last step of a map that has fewer rows than the others is among them. Also
three layers whose steps are known: the array takes what docs/Machine.md says.
"""

import argparse
import json
import os
import random
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "Folds"))

import folds  # noqa: E402
from folds import common  # noqa: E402

SMALL = """name: small
base: a1
sb: {bytes_per_partition: 2048}
"""


def draw_layer(source, sizes):
    """A layer of few outputs on a map of `sizes`, and the sizes of its result."""
    layer, out = folds.draw_layer(source, sizes)
    return (source.choice([1, 3, 8, 12, 16, 20, 32]), *layer[1:]), out


def draw_network(source):
    rank = source.choice([2, 2, 2, 3])
    sizes = [source.randint(1, 30 if rank == 2 else 9) for _ in range(rank)]
    shape = [source.choice([1, 1, 2]), source.choice([1, 3, 8, 16, 40])] + sizes
    layers = []
    for _ in range(source.choice([1, 2, 3])):
        layer, sizes = draw_layer(source, sizes)
        layers.append(layer)
    return shape, layers


def drains(binary):
    """Drains with the columns of several results, and those whose last step has fewer."""
    packed = [folds.fields(line) for line in folds.instructions(binary)
              if line.startswith("act.drain") and "validN1=" in line]
    short = [drain for drain in packed
             if int(drain["validN1"]) % (int(drain["cols"]) // int(drain["groupLanes"]))]
    return len(packed), len(short)


def check_random(seed, folder, small):
    """(drains of several rows, those with fewer in the last step, whether a bit differs)."""
    source = random.Random(seed)
    shape, layers = draw_network(source)
    model = os.path.join(folder, "model.onnx")
    folds.save_model(model, shape, layers, front=source.random() < 0.3)
    machine = source.choice(["a1", "a1-ideal", "a1-edge", "a1-tiny", small])
    done = folds.compare_bits(model, shape, seed, folder, f"--machine={machine}",
                              "--sparse=" + source.choice(["auto", "off"]))
    if done.returncode:
        print(f"seed {seed}: {shape} {layers} on {machine}\n{done.stdout}{done.stderr}")
    return (*drains(os.path.join(folder, "model.ash")), done.returncode != 0)


def steps(folder, channels, outputs, kernel, side):
    """Rows in a step and cycles of the array of one layer on `a1-ideal`."""
    model, report = (os.path.join(folder, name) for name in ("model.onnx", "r.json"))
    pads = [size // 2 for size in kernel] * 2
    folds.save_model(model, (1, channels, side, side),
                     [(outputs, kernel, (1, 1), pads, (1, 1))])
    done = folds.compare_bits(model, (1, channels, side, side), 1, folder,
                              "--machine=a1-ideal", "--sparse=off", "--fold-w=off")
    assert done.returncode == 0, done.stdout + done.stderr
    common.run_tool("ashlar-run", os.path.join(folder, "model.ash"), "--random-inputs=1",
                    f"--report={report}", "--quiet")
    with open(report, encoding="utf-8") as stream:
        data = json.load(stream)
    choice = next((d["choice"] for d in data["decisions"]
                   if d["node"] == "conv0" and d["choice"].startswith("rows-")), "no choice")
    return choice, next(n["pe_busy"] for n in data["nodes"] if n["name"] == "conv0")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=12)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    packed = short = failed = 0
    with tempfile.TemporaryDirectory() as folder:
        small = os.path.join(folder, "small.yaml")
        with open(small, "w", encoding="utf-8") as stream:
            stream.write(SMALL)
        for seed in range(options.seed, options.seed + options.count):
            several, last, differs = check_random(seed, folder, small)
            packed, short, failed = packed + several, short + last, failed + differs
        print(f"{options.count} networks, {failed} differ; {packed} drains of "
              f"several rows, {short} with fewer in the last step")
        for layer in [(128, 32, (3, 3), 28), (128, 16, (3, 3), 32), (64, 64, (3, 3), 28)]:
            print(f"{layer[0]} channels, {layer[1]} outputs:", *steps(folder, *layer))
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
