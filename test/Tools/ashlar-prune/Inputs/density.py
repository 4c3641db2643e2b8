#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Prints what pruning left of every weight, against its source.

usage: density.py BEFORE.onnx AFTER.onnx
"""

import sys

import numpy as np
import onnx
from onnx import numpy_helper


def weights_of(path):
    graph = onnx.load(path).graph
    return {t.name: numpy_helper.to_array(t) for t in graph.initializer}


def main():
    before, after = map(weights_of, sys.argv[1:3])
    for name, old in before.items():
        new = after[name]
        kept = new != 0
        assert np.array_equal(old[kept], new[kept]), name
        if old.ndim < 2 or np.array_equal(old, new):
            continue
        smallest = np.abs(old[kept]).min() if kept.any() else 0
        largest = np.abs(old[~kept]).max()
        flat = kept.reshape(kept.shape[0], -1)
        print(f"{name} density {kept.mean():.3f} magnitude "
              f"{'ok' if smallest >= largest else 'mixed'} empty outputs "
              f"{int((~flat.any(axis=1)).sum())}")
    for entry in onnx.load(sys.argv[2]).metadata_props:
        print(entry.key, entry.value)


if __name__ == "__main__":
    main()
