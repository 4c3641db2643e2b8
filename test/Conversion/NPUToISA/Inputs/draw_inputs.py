# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Inputs from a seeded generator next to every model of a folder.

usage: draw_inputs.py FOLDER

NAME.onnx gets NAME.npz with a sample of the normal distribution for each graph
input.
"""

import glob
import os
import sys

import numpy as np
import onnx

for path in sorted(glob.glob(os.path.join(sys.argv[1], "*.onnx"))):
    draw = np.random.default_rng(7)
    arrays = {}
    for info in onnx.load(path).graph.input:
        shape = [d.dim_value for d in info.type.tensor_type.shape.dim]
        arrays[info.name] = draw.normal(0, 1, shape).astype(np.float32)
    np.savez(path[:-len(".onnx")] + ".npz", **arrays)
