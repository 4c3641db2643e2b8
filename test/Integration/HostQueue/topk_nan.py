#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""TopK of floats with NaN, infinities, both zeros and equal values, by
comparison of pairs and by the host, against a stable sort in numpy's order.

usage: topk_nan.py [--count=12]
"""

import argparse
import functools
import os
import sys
import tempfile

import numpy as np
import onnx.parser

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))
import common  # noqa: E402

SPECIAL = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 1.5, 1.5], np.float32)


def compare(a, b):
    if a != a or b != b:
        return int(a != a) - int(b != b)
    return int(a > b) - int(a < b)


def wanted(row, k, largest):
    sign = -1 if largest else 1
    order = sorted(range(len(row)), key=functools.cmp_to_key(
        lambda a, b: sign * compare(row[a], row[b])))
    return order[:k]


def run(seed, folder):
    random = np.random.default_rng(seed)
    rows, extent = int(random.integers(1, 4)), int(random.integers(2, 40))
    if seed % 3 == 0:
        extent += 300  # The host sorts.
    k, largest = int(random.integers(1, extent + 1)), seed % 2
    x = random.normal(size=(rows, extent)).astype(np.float32)
    chosen = random.random(x.shape) < 0.5
    x[chosen] = random.choice(SPECIAL, chosen.sum())
    model = onnx.parser.parse_model(
        f'<ir_version: 7, opset_import: ["" : 13]>\n'
        f"g (float[{rows},{extent}] x) => (float[{rows},{k}] v, int64[{rows},{k}] i)\n"
        f"<int64[1] k = {{{k}}}>\n{{ v, i = TopK<largest = {largest}>(x, k) }}\n")
    path, binary, data, out = (os.path.join(folder, name) for name in
                               ("m.onnx", "m.ash", "x.npy", "y.npz"))
    with open(path, "wb") as file:
        file.write(model.SerializeToString())
    np.save(data, x)
    found = {}
    for option in ((), ("--no-host",)):
        common.run_tool("ashlarc", path, "-o", binary, *option)
        common.run_tool("ashlar-run", binary, f"--input=x={data}",
                        f"--outputs={out}", "--quiet")
        with np.load(out) as arrays:
            found = dict(arrays)
        for r in range(rows):
            order = wanted(x[r], k, largest)
            if found["i"][r].tolist() != order or not np.array_equal(
                    found["v"][r], x[r][order], equal_nan=True):
                sys.exit(f"seed {seed} {option}: row {x[r].tolist()}: found "
                         f"{found['i'][r].tolist()}, expected {order}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=12)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(options.count):
            run(seed, folder)
    print(f"{options.count} rows of TopK in numpy's order")


if __name__ == "__main__":
    main()
