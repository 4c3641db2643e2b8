#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Values for transposes by products of floats.

usage: float_values.py make FILE.npz
       float_values.py compare FLOATS.npz WORDS.npz

`make` writes random finite values of each type, denormals among them, and one -0.
`compare` fails unless all bits are equal but the sign of that zero.
"""

import sys

import numpy as np

PLACE = (7, 3)
SIGN = {"x": (np.uint32, 1 << 31), "h": (np.uint16, 1 << 15), "b": (np.uint16, 1 << 15)}
INFINITY = {"x": 0xFF << 23, "h": 0x1F << 10, "b": 0xFF << 7}
STORED = {"x": np.float32, "h": np.float16, "b": np.uint16}


def make(path):
    source = np.random.default_rng(4)
    arrays = {"s": source.integers(-(1 << 15), 1 << 15, (100, 50)).astype(np.int16)}
    for name, (word, sign) in SIGN.items():
        words = source.integers(0, INFINITY[name], (100, 50))
        words[:20] %= 1 << 7  # denormals
        words = (words | sign * source.integers(0, 2, words.shape) * (words > 0)).astype(word)
        words[PLACE] = sign
        arrays[name] = words.view(STORED[name])
    np.savez(path, **arrays)


def compare(floats, words):
    with np.load(floats) as found, np.load(words) as expected:
        for name, result in {"x": "y", "h": "k", "b": "c"}.items():
            word, sign = SIGN[name]
            one, other = (file[result].view(word).copy() for file in (found, expected))
            assert (int(one[PLACE[::-1]]), int(other[PLACE[::-1]])) == (0, sign), name
            one[PLACE[::-1]] = sign
            assert one.tobytes() == other.tobytes(), name
        assert found["t"].tobytes() == expected["t"].tobytes()


if __name__ == "__main__":
    {"make": make, "compare": compare}[sys.argv[1]](*sys.argv[2:])
