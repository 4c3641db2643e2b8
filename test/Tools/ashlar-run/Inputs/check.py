# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checks the files that run.test made.

usage: check.py FOLDER
"""

import json
import os
import sys

import numpy as np

folder = sys.argv[1]


def load(*parts):
    path = os.path.join(folder, *parts)
    if path.endswith(".json"):
        with open(path, encoding="utf-8") as stream:
            return json.load(stream)
    return np.load(path)


expected = np.array([[0, 2, 0.5, 0]], np.float32)
assert (load("out.npz")["y"] == expected).all()

report = load("r.json")
assert report["schema_version"] == 1
assert report["machine"] == "a1-tiny"
total = report["total_cycles"]
for engine in report["engines"].values():
    assert engine["busy"] + sum(engine["stall"].values()) == total
assert sum(n["cycles"] for n in report["nodes"]) == total - report["idle_cycles"]
assert [n["name"] for n in report["nodes"]] == ["enc", "act"]
for name, engine in report["engines"].items():
    nodes = report["nodes"] + [report["unassigned"]]
    assert sum(n["busy"].get(name, 0) for n in nodes) == engine["busy"]
    assert engine["work"] <= engine["busy"] * engine["peak_per_cycle"]
assert all(n["cycles"] <= n["span"] == n["end"] - n["start"] for n in report["nodes"])
assert report["machine_parameters"]["pe"]["rows"] == 8
assert report["nodes"][1]["absorbed"] == ["drop"]
assert report["decisions"] == [{"node": "act", "choice": "vec"}]

events = load("t.json")["traceEvents"]
slices = [e for e in events if e["ph"] == "X"]
assert max(e["ts"] + e["dur"] for e in slices) <= total
assert "vec.map act" in [e["name"] for e in slices]
assert "wait-vec" in [e["name"] for e in slices]

index = load("dump", "index.json")["tensors"]
assert load("dump", "plan.json")["schema"] == "ashlar-plan"
assert (load("dump", index["y"]["file"]) == expected).all()
entry = index["h.bfp"]
mantissas = load("dump", entry["mantissas"])
exponents = load("dump", entry["exponents"])
assert mantissas.dtype == np.int8 and exponents.dtype == np.int8
# The largest magnitude is 2 = 2^1: x = 1, a step is 2^(1 - 6).
assert exponents.tolist() == [[1]]
assert mantissas.tolist() == [[-32, 64, 16, 0]]
assert entry["scaleExponent"] == 1 - 6
