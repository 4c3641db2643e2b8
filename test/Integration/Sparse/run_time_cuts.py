#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Cuts that the machine chooses as a network runs, against the network's maps.

usage: run_time_cuts.py MODEL.onnx INPUT.npz [--expect-counts=drain,pass]
                        [compiler options]

Compiles the model with --sparse=off and with --sparse=scatter
--partition-cuts=always (or what the options say). The outputs have to be the same
bits. For every tcc.part that ran, the non-zeros of its tiles are counted again in
the dumped map: the reported imbalance has to be theirs, so the counters, whether
a drain or a pass made them, were right; the tiles have to cover the results once, or
the feature map where they are tiles of the operand (--partition-halo=disjoint).
"""

import json
import os
import sys
import tempfile

import numpy as np

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

import common  # noqa: E402


def input_of(box, attrs, shape):
    """Operand rows and columns that a box of results reads."""
    ranges = []
    for axis in (0, 1):
        first = box[axis] * attrs["strides"][axis] - attrs["pads"][axis]
        reach = ((box[axis + 2] - 1) * attrs["strides"][axis] +
                 (attrs["kernel"][axis] - 1) * attrs["dilations"][axis] + 1)
        ranges.append((max(first, 0), min(first + reach, shape[2 + axis])))
    return ranges


def boxes_of(text):
    return [tuple(map(int, tile.split(","))) for tile in text.split()]


def imbalance_of(boxes, units, attrs, x, zeros, disjoint):
    """Largest over mean work, which is non-zeros or zeros."""
    work = []
    for box in boxes:
        (y0, y1), (x0, x1) = (
            [(box[i], box[i] + box[i + 2]) for i in (0, 1)] if disjoint
            else input_of(box, attrs, x.shape))
        data = x[:, :, y0:y1, x0:x1]
        count = int(np.count_nonzero(data))
        work.append(data.size - count if zeros else count)
    mean = sum(work) / units
    return max(work) / mean if mean else 1.0


def place_cuts(node, cuts, parts, *arguments):
    """Tiles of the cuts in the whole result, and problems: the tiles of a part of the
    result follow each other, and have the imbalance that the machine reports."""
    placed, problems, at, area = [], [], 0, 0
    for cut in cuts:
        own = boxes_of(cut["tiles"])
        full = area >= parts[at][2] * parts[at][3]
        for number in dict.fromkeys(((at + 1) % len(parts), at) if full else (at,)):
            y, x, rows, columns = parts[number]
            boxes = [(y + b[0], x + b[1], *b[2:]) for b in own]
            found = imbalance_of(boxes, cut["units"], *arguments)
            if abs(found - cut["imbalance"]) <= 1e-9 and all(
                    b[0] + b[2] <= rows and b[1] + b[3] <= columns for b in own):
                area = sum(b[2] * b[3] for b in own) + (area if number == at else 0)
                at = number
                placed.append(boxes)
                break
        else:
            problems.append(f"{node}: instruction {cut['instruction']} reports an "
                            f"imbalance of {cut['imbalance']:.4f}, the map has {found:.4f}")
    return placed, problems


def check_cover(name, cuts, shape):
    """Tiles of all cuts of a layer; a region may be cut more than once."""
    times = np.zeros(shape[2:], int)
    for boxes in cuts:
        own = np.zeros(shape[2:], int)
        for y, x, rows, cols in boxes:
            own[y:y + rows, x:x + cols] += 1
        if own.max() > 1:
            return f"{name}: tiles overlap"
        times |= own
    return None if times.all() else f"{name}: results without a tile"


def check_dump(folder, report, zeros):
    """Problems about all cuts of a run."""
    with open(os.path.join(folder, "plan.json"), encoding="utf-8") as file:
        plan = json.load(file)
    with open(os.path.join(folder, "index.json"), encoding="utf-8") as file:
        index = json.load(file)["tensors"]
    shapes = {t["name"]: t["shape"] for t in plan["tensors"]}
    ops = {op.get("name"): op for op in plan["ops"] if op["op"] == "conv"}
    plans = {d["node"]: d["cuts"] for d in report["decisions"] if "cuts" in d}
    by_node = {}
    for cut in report["cuts"]:
        by_node.setdefault(cut["node"], []).append(cut)
    for node, cuts in by_node.items():
        op = ops[node]
        entry = index.get(op["inputs"]["x"])
        shape = shapes[op["output"]]
        if entry is None or len(shape) != 4:
            continue
        attrs = dict(op["attrs"], kernel=shapes[op["inputs"]["w"]][2:])
        x = np.load(os.path.join(folder, entry["mantissas"]))
        disjoint = plans[node]["halo"] == "disjoint"
        parts = boxes_of(plans[node].get("parts", "")) or [
            (0, 0, *(max(pair) for pair in zip(x.shape[2:], shape[2:])))]
        placed, problems = place_cuts(node, cuts, parts, attrs, x, zeros, disjoint)
        yield from problems
        if disjoint:
            # What no result reads is not loaded and not cut.
            (_, y1), (_, x1) = input_of((0, 0, *shape[2:]), attrs, x.shape)
            shape = [*shape[:2], y1, x1]
        yield from filter(None, [check_cover(node, placed, shape)])


def run(model, inputs, folder, *options):
    """Outputs and report of a run, its tensors in `folder`/dump."""
    binary, outputs, report = (os.path.join(folder, name) for name in
                               ("m.ash", "out.npz", "report.json"))
    common.run_tool("ashlarc", model, "-o", binary, *options)
    common.run_tool("ashlar-run", binary, f"--inputs={inputs}", "--quiet",
                    f"--outputs={outputs}", f"--report={report}",
                    f"--dump-tensors={os.path.join(folder, 'dump')}")
    with np.load(outputs) as arrays:
        results = {name: arrays[name].tobytes() for name in arrays}
    with open(report, encoding="utf-8") as file:
        return results, json.load(file)


def main():
    model, inputs, *rest = sys.argv[1:]
    expected = [o.split("=")[1].split(",") for o in rest
                if o.startswith("--expect-counts=")]
    options = [o for o in rest if not o.startswith("--expect-counts=")]
    same = [o for o in options if o.startswith(("--machine", "--format"))]
    defaults = ["--sparse=scatter", "--partition-cuts=always"]
    with tempfile.TemporaryDirectory() as folder:
        plain, _ = run(model, inputs, folder, "--sparse=off", *same)
        cut, report = run(model, inputs, folder, *defaults, *options)
        problems = list(check_dump(
            os.path.join(folder, "dump"), report,
            "--partition-metric=zeros" in options))
    if plain != cut:
        problems.append("cuts at run time change a bit")
    counts = sorted({d["cuts"]["counts"] for d in report["decisions"]
                     if d.get("cuts", {}).get("time") == "run"})
    if expected and counts != sorted(expected[0]):
        problems.append(f"counts by {counts}, expected {expected[0]}")
    print(f"{len(report['cuts'])} cuts at run time, counts by "
          f"{' and '.join(counts) or 'nothing'}, {len(problems)} problems")
    for problem in problems:
        print(problem)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
