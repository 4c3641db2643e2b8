# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Inputs and expected outputs of rows.test: attention over all rows so far."""

import sys

import numpy as np

what, folder = sys.argv[1:]
x = np.random.default_rng(5).normal(size=(5, 1, 8)).astype("f4")
if what == "write":
    np.savez(f"{folder}/two.npz", x=x[:2])
    np.savez(f"{folder}/third.npz", x=x[2:3])
    np.savez(f"{folder}/five.npz", x=x)
else:
    rows = x[:, 0].astype("f8")
    found = np.concatenate([np.load(f"{folder}/y{i}.npz")["y"] for i in (2, 3)])
    for i in range(3):
        e = np.exp(rows[i] @ rows[:i + 1].T)
        wanted = e / e.sum() @ rows[:i + 1]
        assert np.abs(found[i, 0] - wanted).max() < 1e-3, (i, found[i], wanted)
