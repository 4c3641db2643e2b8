# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Inputs with and without NaN and infinities. usage: odd_values.py FOLDER"""

import os
import sys

import numpy as np

folder = sys.argv[1]
np.savez(os.path.join(folder, "nan.npz"),
         x=np.array([[1, np.nan, -np.inf, 2]], np.float32))
np.savez(os.path.join(folder, "good.npz"),
         x=np.array([[1, -3, 0.5, 2]], np.float32))
image = np.zeros((1, 1, 28, 28), np.float32)
image[0, 0, 0, 3] = np.inf
np.savez(os.path.join(folder, "image.npz"), image=image)
