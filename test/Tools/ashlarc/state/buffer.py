# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Inputs and expected outputs of buffer.test: one token after the other."""

import sys

import numpy as np

what, folder = sys.argv[1:]
rng = np.random.default_rng(6)
q, k, v = (rng.normal(size=(3, 1, n)).astype("f4") for n in (32, 16, 16))
if what == "write":
    np.savez(f"{folder}/tokens.npz", q=q, k=k, v=v, seq=np.arange(3, dtype="i4"))
else:
    found = np.load(f"{folder}/y.npz")["y"]
    heads = q.reshape(3, 4, 8).astype("f8")
    keys, values = (a.reshape(3, 2, 8).repeat(2, 1).astype("f8") for a in (k, v))
    for i in range(3):
        e = np.exp(np.einsum("hd,jhd->hj", heads[i], keys[:i + 1]) / np.sqrt(8))
        p = e / e.sum(1, keepdims=True)
        wanted = np.einsum("hj,jhd->hd", p, values[:i + 1]).reshape(-1)
        assert np.abs(found[i, 0] - wanted).max() < 1e-3, (i, found[i], wanted)
