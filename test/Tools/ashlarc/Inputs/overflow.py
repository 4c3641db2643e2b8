#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Exponentials of which one is beyond binary32.

usage: overflow.py FOLDER
"""

import os
import sys

import numpy as np
import onnx
import onnx.parser

model = onnx.parser.parse_model("""
<ir_version: 8, opset_import: ["" : 13]>
g (float[1,3] x) => (float[1,3] y) { y = Exp(x) }
""")
onnx.save(model, os.path.join(sys.argv[1], "overflow.onnx"))
np.savez(os.path.join(sys.argv[1], "overflow.npz"),
         x=np.array([[1, 117, -2]], np.float32))
