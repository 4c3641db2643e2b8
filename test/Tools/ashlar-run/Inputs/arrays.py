# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes the arrays of the ashlar-run tests.

usage: arrays.py FOLDER
"""

import os
import sys

import numpy as np

folder = sys.argv[1]
x = np.array([[-1, 2, 0.5, 0]], np.float32)
y = np.maximum(x, 0)
batch = np.concatenate([x, x, np.array([[0.25, 0, -4, 1]], np.float32)])


def path(name):
    return os.path.join(folder, name)


np.save(path("x.npy"), x)
np.savez_compressed(path("deflated.npz"), x=x)
# Another byte and memory order.
np.savez(path("batch.npz"), x=np.asfortranarray(batch.astype(">f4")))
np.savez(path("batch-out.npz"), y=np.maximum(batch, 0))
np.savez(path("name.npz"), x=x, z=x)
np.savez(path("type.npz"), x=x.astype(np.float64))
np.savez(path("shape.npz"), x=np.zeros((1, 5), np.float32))
np.savez(path("off.npz"), y=y + np.array([[0, 0.25, 0, 0]], np.float32))
np.savez(path("extra.npz"), y=y, q=y)
np.savez(path("missing.npz"))
np.savez(path("flat.npz"), y=y.ravel())
with open(path("bad.npz"), "wb") as stream:
    stream.write(b"PK\x05\x06 no archive")
