#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes calibration files, good and bad, for the demo network.

usage: calibrations.py GLYPHS.npz FOLDER
"""

import os
import sys

import numpy as np


def main():
    with np.load(sys.argv[1]) as arrays:
        images = arrays["image"][:8]
    os.chdir(sys.argv[2])
    np.savez("good.npz", image=images)
    np.savez("name.npz", picture=images)
    np.savez("shape.npz", image=images[:, :, :20])
    np.savez("type.npz", image=images.astype(np.float64))
    spoilt = images.copy()
    spoilt[3, 0, 5, 6] = np.nan
    np.savez("nan.npz", image=spoilt)
    np.savez("none.npz")
    for name, text in {
            "text.json": "w=8",
            "key.json": '{"activation": "bfp8"}',
            "value.json": '{"nodes": {"conv2": {"weights": "bfp40"}}}',
            "node.json": '{"nodes": {"conv99": {"weights": "bfp6"}}}'}.items():
        with open(name, "w", encoding="utf-8") as stream:
            stream.write(text)


if __name__ == "__main__":
    main()
