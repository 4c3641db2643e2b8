#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes a decoder with seeded random weights, for measurements.

    tools/demo-language/draw.py -o decoder.onnx [--layers=12] [--width=768] ...

The defaults have 100 million weights that a token reads: 75.5 in the layers and
24.6 in the head.
"""

import argparse
import pathlib

import numpy as np

import export
from layers import Decoder, Shape


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("-o", dest="path", type=pathlib.Path, required=True)
    for name, size in (("vocabulary", 32000), ("layers", 12), ("width", 768), ("heads", 12),
                       ("groups", 4), ("hidden", 2048), ("positions", 4096), ("seed", 1)):
        parser.add_argument(f"--{name}", type=int, default=size)
    a = parser.parse_args()
    shape = Shape(a.vocabulary, a.layers, a.width, a.heads, a.groups, a.hidden)
    decoder = Decoder(shape, shape.parameters(np.random.default_rng(a.seed)))
    export.write(decoder, a.path, positions=a.positions, half=False)
    read = sum(w.size for name, w in decoder.weights.items() if name != "embedding")
    print(f"{read} weights that a token reads")


if __name__ == "__main__":
    main()
