#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Lane folds of strided layers and of feature maps in several blocks of channels.

usage: lanes.py

Each network is compiled from ONNX for the array alone, with and without lanes.
All planned tensors are those of the numpy reference, bit for bit. The cycles of
the array are those of docs/Machine.md, section 4, computed here from the shapes.
"""

import json
import math
import os
import sys
import tempfile

import onnx

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import folds  # noqa: E402
from folds import common  # noqa: E402

ROWS, COLUMNS, WRITE_PORTS = 128, 64, 4

# Input and layers: outputs, kernel, strides, pads, dilations, groups.
NETWORKS = {
    "depthwise, stride 2": (
        (1, 3, 32, 32),
        [(16, (3, 3), (1, 1), (1, 1, 1, 1), (1, 1)),
         (16, (3, 3), (2, 2), (1, 1, 1, 1), (1, 1), 16)]),
    "stride 3, two images": (
        (2, 3, 31, 47),
        [(12, (3, 3), (1, 1), (1, 1, 1, 1), (1, 1)),
         (40, (5, 5), (2, 3), (2, 0, 2, 3), (1, 1))]),
    "stride 2 with dilation, groups of 4": (
        (1, 4, 24, 50),
        [(32, (1, 1), (1, 1), (0, 0, 0, 0), (1, 1)),
         (64, (3, 3), (1, 2), (2, 3, 2, 3), (2, 3), 8)]),
    "shortcut of stride 2": (
        (1, 3, 40, 40),
        [(64, (3, 3), (1, 1), (1, 1, 1, 1), (1, 1)),
         (72, (1, 1), (2, 2), (0, 0, 0, 0), (1, 1))]),
    "depthwise in blocks": (
        (1, 8, 20, 24),
        [(144, (1, 1), (1, 1), (0, 0, 0, 0), (1, 1)),
         (144, (3, 3), (1, 1), (1, 1, 1, 1), (1, 1), 144)]),
    "depthwise in blocks, stride 3": (
        (1, 8, 20, 48),
        [(100, (1, 1), (1, 1), (0, 0, 0, 0), (1, 1)),
         (100, (3, 3), (1, 3), (1, 1, 1, 1), (1, 1), 100)]),
    "blocks of channels": (
        (1, 24, 30, 30),
        [(160, (1, 1), (1, 1), (0, 0, 0, 0), (1, 1)),
         (96, (3, 3), (1, 1), (1, 1, 1, 1), (1, 1))]),
    "blocks of channels, one dimension": (
        (1, 16, 60),
        [(192, (1,), (1,), (0, 0), (1,)),
         (40, (5,), (1,), (2, 2), (1,))]),
}


def tiles(channels, outputs, groups, block):
    """Stationary tiles of a tap, where none crosses a block of channels."""
    count = 0
    for first in range(0, outputs, COLUMNS):
        last = min(first + COLUMNS, outputs)
        begin = first * groups // outputs * (channels // groups)
        end = (-(-last * groups // outputs)) * (channels // groups)
        count += -(-end // block) - begin // block
    return count


def expected(layer, channels, out, lanes):
    """Array cycles of a layer: no loads are waited for."""
    outputs, kernel, strides, _, _, *rest = layer
    count = tiles(channels, outputs, rest[0] if rest else 1, ROWS // lanes)
    step = max(-(-lanes // WRITE_PORTS),
               math.gcd(lanes, strides[-1])) if lanes > 1 else 1
    return count * math.prod(kernel) * math.prod(out[:-1]) * -(-out[-1] // lanes) * step


def run(name, folder):
    shape, layers = NETWORKS[name]
    model, binary, report = (
        os.path.join(folder, n) for n in ("model.onnx", "model.ash", "r.json"))
    folds.save_model(model, shape, layers)
    busy, failed = {}, False
    for fold in ("off", "lane"):
        done = folds.compare_bits(model, shape, 3, folder, "--sparse=off",
                                  f"--fold-w={fold}")
        failed |= done.returncode != 0
        if done.returncode:
            print(done.stdout + done.stderr)
        common.run_tool("ashlar-run", binary, "--random-inputs=1",
                        f"--report={report}", "--quiet")
        with open(report, encoding="utf-8") as stream:
            run_report = json.load(stream)
        busy[fold] = next(n["pe_busy"] for n in run_report["nodes"]
                          if n["name"] == "conv1")
    choice = next(d["choice"] for d in run_report["decisions"]
                  if d["node"] == "conv1" and "lane-fold" in d["choice"])
    lanes = 1 if choice == "no-lane-fold" else int(choice.rsplit("-", 1)[1])
    streams = [folds.fields(line) for line in folds.instructions(binary)
               if line.startswith("pe.matmul")]
    skips = {int(f.get("skip", 0)) for f in streams
             if int(f.get("groups", 1)) == lanes > 1}
    channels = layers[0][0]
    layer = layers[1]
    results = onnx.load(model).graph.output[0].type.tensor_type.shape.dim
    out = [results[0].dim_value] + [d.dim_value for d in results[2:]]
    wanted = {"lane": expected(layer, channels, out, lanes),
              "off": expected(layer, channels, out, 1)}
    failed |= busy != wanted or (lanes > 1 and skips != {layer[2][-1] - 1})
    blocks = -(-channels // (ROWS // lanes))
    print(f"{name}: {busy['lane']} cycles of the array in {lanes} lanes, blocks: {blocks}, "
          f"{busy['off']} in one lane{'' if busy == wanted else f', expected {wanted}'}")
    return failed


def main():
    failed = False
    with tempfile.TemporaryDirectory() as folder:
        for name in NETWORKS:
            failed |= run(name, folder)
    return failed


if __name__ == "__main__":
    sys.exit(main())
