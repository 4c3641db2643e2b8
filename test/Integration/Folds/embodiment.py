#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Both embodiments of the width folds from ONNX models.

usage: embodiment.py

The machine has the size of the source's engine: 16 columns are its slaves, 16
row groups of 16 rows its four computing units with four pixels each, and a
stationary tile of 16 rows comes in a cycle, as one weight row of every slave. A
3 x 3 convolution of 16 channels to 64 outputs and 16 results of a row takes the
source's 36 cycles: 9 taps times 4 kernels of every slave, all lanes busy. One of
48 channels to 32 outputs takes its 54: three blocks of 16 channels one after the
other, 9 taps, 2 kernels of every slave. The compiler chooses the fold by cycles;
the bits are those of the reference.
"""

import json
import os
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import folds  # noqa: E402
from folds import common  # noqa: E402

MACHINE = """name: source-size
base: a1-ideal
pe: {rows: 256, columns: 16, row_group_granularity: 16, load_rows_per_cycle: 16}
sb: {partitions: 256}
"""
SHAPE = (1, 16, 3, 18)
# Channels and outputs of the embodiments.
EMBODIMENTS = [(16, 64), (48, 32)]


def run(channels, outputs, folder):
    model, machine, binary, report = (
        os.path.join(folder, n) for n in
        ("model.onnx", "machine.yaml", "model.ash", "report.json"))
    with open(machine, "w", encoding="utf-8") as stream:
        stream.write(MACHINE)
    # The first layer writes the feature map in lanes.
    folds.save_model(model, SHAPE, [
        (channels, (1, 1), (1, 1), (0, 0, 0, 0), (1, 1)),
        (outputs, (3, 3), (1, 1), (0, 0, 0, 0), (1, 1))])
    done = folds.compare_bits(model, SHAPE, 1, folder, f"--machine={machine}",
                              "--sparse=off")
    if done.returncode:
        print(done.stdout + done.stderr)
        return 1
    common.run_tool("ashlar-run", binary, "--random-inputs=1",
                    f"--report={report}", "--quiet")
    with open(report, encoding="utf-8") as stream:
        data = json.load(stream)
    node = next(n for n in data["nodes"] if n["name"] == "conv1")
    choice = next(d for d in data["decisions"]
                  if d["node"] == "conv1" and "lane" in d["choice"])
    streams = [line for line in folds.instructions(binary)
               if line.startswith("pe.matmul") and "groups=16" in line]
    print(f"{choice['choice']}: {choice['reason']}")
    print(f"{len(streams)} streams of 16 row groups, array busy "
          f"for {node['pe_busy']} cycles, loads for "
          f"{node['busy']['peload']}, bits equal")
    print(streams[1])
    return 0


def main():
    with tempfile.TemporaryDirectory() as folder:
        return max(run(*embodiment, folder) for embodiment in EMBODIMENTS)


if __name__ == "__main__":
    sys.exit(main())
