#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operators that left ONNX with 1.5, in numpy.

usage: experimental.py IN.npz            draws the input
       experimental.py IN.npz OUT.npz    compares outputs with the definitions
"""

import sys

import numpy as np


def definitions(x):
    return {
        "affine": 0.5 * x - 2,
        "plain": x,
        "scaled": 3 * x,
        "cropped": x[:, :, 1:3, 2:5],
        "window": x[:, :, 3:5, 1:6],
        "pixels": 2 * x + np.array([1, 0, -3]).reshape(3, 1, 1),
        "soft": 2 * np.log1p(np.exp(0.5 * x)),
        "tanh": 1.5 * np.tanh(0.25 * x),
    }


def main():
    if len(sys.argv) == 2:
        rng = np.random.default_rng(5)
        np.savez(sys.argv[1], x=rng.uniform(-4, 4, (1, 3, 6, 8)).astype(np.float32))
        return
    with np.load(sys.argv[1]) as inputs, np.load(sys.argv[2]) as outputs:
        wanted = definitions(inputs["x"].astype(np.float64))
        for name, value in wanted.items():
            np.testing.assert_allclose(outputs[name], value, rtol=1e-6, atol=1e-6, err_msg=name)
    print(f"{len(wanted)} outputs as defined")


if __name__ == "__main__":
    main()
