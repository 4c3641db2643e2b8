#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Transformer encoders with random weights against ONNX Runtime.

usage: transformer.py [--format=bfp16] [--machine=a1] [--only=NAME,...]

Compiles and runs the graphs of transformer_graphs.py and prints, for each, the
signal-to-noise ratio of every output, the cycles, the data movement that is left and
the bytes of DRAM between the projections and the product with the values.
Fails below 45 dB at bfp16, if data movement (without the look-up of embeddings, and
without encodes, see transpose_share.py) takes more than 3 % of the cycles, or if
attention writes DRAM or reads activations from it.
"""

import argparse
import json
import os
import sys
import tempfile

import numpy as np
import onnx

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

import common  # noqa: E402
import ort  # noqa: E402
from transformer_graphs import bert, vit  # noqa: E402
from transpose_share import MOVES, vector_cycles  # noqa: E402

LEAST_SNR = {"bfp16": 45.0, "bfp8": 15.0}
# Of encoders of 37 to 197 tokens; the shared networks keep 2 %.
MOST_MOVEMENT = 0.03
# A scale of the scores and the like; the smallest scores take 16 kB.
CONSTANT_BYTES = 512

GRAPHS = {
    "bert-norm-op": lambda: bert(48, 96, 4, 2, True),
    "bert-decomposed": lambda: bert(48, 96, 4, 2, False, seed=3),
    "bert-uneven": lambda: bert(37, 60, 3, 1, False, seed=4),
    "bert-wide": lambda: bert(128, 256, 8, 1, True, seed=5),
    "vit-norm-op": lambda: vit(32, 4, 96, 3, 2, True),
    "vit-decomposed": lambda: vit(32, 4, 96, 3, 2, False, seed=6),
    # 8 heads of 257 x 257 scores: 2.1 MB of floats in 8 MB of state buffer.
    "vit-large": lambda: vit(256, 16, 256, 8, 1, True, seed=8),
    "vit-wide": lambda: vit(224, 16, 192, 3, 1, False, seed=7),
}


def load(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def attention_traffic(report):
    """Bytes of DRAM (read, written) by scores, softmax and what is between."""
    nodes = [n for n in report["nodes"]
             if n["op"] in ("softmax", "transpose", "div")
             or n["name"].startswith("Softmax")]
    return (sum(n["dram_read"] for n in nodes),
            sum(n["dram_write"] for n in nodes))


def check(name, options, folder):
    model, inputs = GRAPHS[name]()
    path = os.path.join(folder, "model.onnx")
    onnx.save(model, path)
    expected = ort.run(path, [inputs])[0][0]
    np.savez(os.path.join(folder, "in.npz"), **inputs)
    files = {n: os.path.join(folder, n) for n in (
        "model.ash", "in.npz", "out.npz", "report.json", "trace.json")}
    common.run_tool("ashlarc", path, "-o", files["model.ash"],
                    f"--format={options.format}",
                    f"--machine={options.machine}")
    common.run_tool("ashlar-run", files["model.ash"], "--quiet",
                    f"--inputs={files['in.npz']}",
                    f"--outputs={files['out.npz']}",
                    f"--report={files['report.json']}",
                    f"--trace={files['trace.json']}")
    report = load(files["report.json"])
    with np.load(files["out.npz"]) as found:
        ratios = {k: common.snr_db(v, found[k]) for k, v in expected.items()}
    # Movement that reads DRAM and writes none is the load of a graph input.
    nodes = [n for n in report["nodes"] if n["op"] in MOVES
             and not n["name"].startswith("Gather")
             and (n["dram_write"] > 0 or n["dram_read"] == 0)]
    vector = vector_cycles(files["trace.json"], [n["name"] for n in nodes])
    moved = sum(max(n["cycles"] - vector[n["name"]], 0) for n in nodes)
    share = moved / report["total_cycles"]
    encodes = sum(vector.values()) / report["total_cycles"]
    read, written = attention_traffic(report)
    print(f"{name} {options.format} {options.machine}: "
          + ", ".join(f"{k} {r:.1f} dB" for k, r in ratios.items())
          + f"; {report['total_cycles']:,} cycles, movement {share:.2%}, "
          f"its encodes {encodes:.2%}; attention reads {read:,} B and writes "
          f"{written:,} B of DRAM")
    failed = min(ratios.values()) < LEAST_SNR[options.format]
    if options.machine in ("a1", "a1-ideal"):
        failed |= written > 0 or read > CONSTANT_BYTES
    if options.machine == "a1-ideal":
        failed |= share > MOST_MOVEMENT
    return int(failed)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--format", default="bfp16", choices=list(LEAST_SNR))
    parser.add_argument("--machine", default="a1")
    parser.add_argument("--only", default=",".join(GRAPHS))
    options = parser.parse_args()
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        for name in options.only.split(","):
            failed += check(name, options, folder)
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
