#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Claims 10 and 11 of the width folds, as behaviour of a compiled stem.

usage: chip_and_board.py MODEL.onnx FOLDER

Claim 10, a chip with the device: everything between the input and the result
happens on the chip. DRAM gives the input and the constants once and takes the
result once, the folded map never leaves; on a board with slower DRAM the array
works as many cycles, and later.

Claim 11, a board with the chip: input, kernels and result lie in memory beside
the chip. The result is that of a convolution in numpy, and other kernels in
that memory give another result of the same program.
"""

import json
import os
import re
import sys

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "..", "Integration"))
import common  # noqa: E402

SHAPE = (1, 3, 12, 32)
OUTPUTS = 16


def convolution(x):
    """3x3, stride 2, padding 1, all weights a quarter."""
    padded = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)))
    rows = sum(padded[0, :, i:i + 12:2].sum(axis=0) for i in range(3))
    one = sum(rows[:, j:j + 32:2] for j in range(3)) / 4
    return np.broadcast_to(one, (1, OUTPUTS, 6, 16))


class Board:
    def __init__(self, model, folder):
        self.folder = folder
        # Kernels that are stored whole can be exchanged in place; folds are of the array.
        common.run_tool("ashlarc", model, "--sparse=off", "-o", self.path("stem.ash"),
                        "--weight-compression=off")
        self.text = common.run_tool("ashlar-dis", self.path("stem.ash")).stdout

    def path(self, name):
        return os.path.join(self.folder, name)

    def run(self, x, binary="stem.ash", *options):
        """(result, report)"""
        np.savez(self.path("x.npz"), x=x)
        common.run_tool("ashlar-run", self.path(binary), f"--inputs={self.path('x.npz')}",
                        f"--outputs={self.path('y.npz')}", f"--report={self.path('r.json')}",
                        "--quiet", *options)
        with open(self.path("r.json"), encoding="utf-8") as file:
            report = json.load(file)
        with np.load(self.path("y.npz")) as outputs:
            return outputs["y"], report

    def constant_bytes(self):
        """Bytes of the program's constants in DRAM."""
        return sum(len(data) // 2 for data in re.findall(
            r'^\.(?:data at=\d+|more) hex="([0-9a-f]*)"', self.text, re.MULTILINE))

    def slower(self, factor):
        """A description of the machine whose DRAM is slower."""
        text = common.run_tool("ashlarc", "--dump-machine=a1").stdout
        section, lines = "", []
        for line in text.splitlines():
            if line and not line.startswith(" "):
                section = line
            name, _, value = line.strip().partition(": ")
            if section == "dram:" and name == "bytes_per_cycle":
                line = f"  {name}: {int(value.split()[0]) // factor}"
            lines.append(line)
        with open(self.path("slow.yaml"), "w", encoding="utf-8") as file:
            file.write("\n".join(lines) + "\n")
        return self.path("slow.yaml")

    def with_kernels(self, old, new):
        """The program with other bytes where its kernels lie in DRAM."""
        text = re.sub(r'hex="[0-9a-f]*"', lambda m: m.group(0).replace(old, new), self.text)
        with open(self.path("other.asm"), "w", encoding="utf-8") as file:
            file.write(text)
        common.run_tool("ashlar-as", self.path("other.asm"), "-o", self.path("other.ash"))


def chip(board, x):
    """Whether claim 10 holds."""
    result, report = board.run(x)
    slow_result, slow = board.run(x, "stem.ash", f"--machine={board.slower(8)}")
    read = report["totals"]["dram_useful"] - result.nbytes
    nodes = sum(node["pe_busy"] for node in report["nodes"])
    slow_nodes = sum(node["pe_busy"] for node in slow["nodes"])
    print(f"off the chip {read + result.nbytes} bytes, input {x.nbytes}, constants "
          f"{board.constant_bytes()}, result {result.nbytes}; array {nodes} and {slow_nodes} "
          f"cycles of {report['total_cycles']} and {slow['total_cycles']}")
    return read <= x.nbytes + board.constant_bytes() and nodes == slow_nodes > 0 and \
        slow["total_cycles"] > report["total_cycles"] and np.array_equal(result, slow_result)


def whole_board(board, x):
    """Whether claim 11 holds."""
    result, _ = board.run(x)
    board.with_kernels("40", "20")  # the mantissas of a quarter
    halved, _ = board.run(x, "other.ash")
    return np.array_equal(result, convolution(x)) and np.array_equal(halved, result / 2)


def main():
    board = Board(sys.argv[1], sys.argv[2])
    x = np.random.default_rng(10).integers(-100, 101, SHAPE).astype(np.float32)
    holds = {10: chip(board, x), 11: whole_board(board, x)}
    for claim, result in holds.items():
        print(f"claim {claim}: {'yes' if result else 'NO'}")
    return int(not all(holds.values()))


if __name__ == "__main__":
    sys.exit(main())
