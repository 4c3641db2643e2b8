# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Multiplications that scatter mode has to issue, counted from the tensors.

Per tile and channel: non-zero data of each phase plane of the tile, halo
included, times non-zero coefficients of the taps of that phase, summed over the
kernels (docs/SparseTiles.md 3). Data come from a dump, weights from a plan, both
encoded by the independent reference.
"""

import json
import os
import sys

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.dirname(
    os.path.abspath(__file__)))), "reference"))

import blocks  # noqa: E402
import products  # noqa: E402


class Comparison:
    """Sums over the layers that were compared, and problems."""

    def __init__(self):
        self.layers = self.products = self.dense = 0
        self.wrong = []


def tiles_of(text, height, width):
    """Boxes (y, x, rows, columns) of the result."""
    if "," in text and all(p.count(",") == 1 for p in text.split()):
        rows, cols = map(int, text.split(","))
        return [(y, x, min(rows, height - y), min(cols, width - x))
                for y in range(0, height, rows) for x in range(0, width, cols)]
    return [tuple(map(int, t.split(",")))
            for t in text.replace("|", " ").split()]


def run_time_tiles(report, node):
    """Tiles that the machine cut; a region that was cut again is the same."""
    own = {}
    for cut in report["cuts"]:
        if cut["node"] == node:
            own.setdefault(cut["tiles"], None)
    return " ".join(own)


def positions(first, count, stride, pad, residue, extent, halo):
    """Positions of one phase along an axis that a tile reads."""
    begin = first * stride + residue - pad
    indices = begin + stride * np.arange(count + halo)
    return indices[(indices >= 0) & (indices < extent)]


def products_of(x, w, attrs, tiles):
    """x [C, H, W] and w [O, C/g, KH, KW] say what is not zero."""
    (sh, sw), (dh, dw) = attrs["strides"], attrs["dilations"]
    top, left = attrs["pads"][:2]
    groups = attrs.get("group") or 1
    kh, kw = w.shape[2:]
    share = w.shape[0] // groups
    total = 0
    phases = {}
    for ky in range(kh):
        for kx in range(kw):
            key = (ky * dh % sh, kx * dw % sw)
            phases.setdefault(key, []).append((ky, kx))
    for (ry, rx), taps in phases.items():
        halo_y = max(ky * dh // sh for ky, _ in taps)
        halo_x = max(kx * dw // sw for _, kx in taps)
        weights = sum(w[:, :, ky, kx].astype(np.int64) for ky, kx in taps)
        per_channel = np.concatenate(
            [weights[g * share:(g + 1) * share].sum(0) for g in range(groups)])
        for y, x0, rows, cols in tiles:
            ys = positions(y, rows, sh, top, ry, x.shape[1], halo_y)
            xs = positions(x0, cols, sw, left, rx, x.shape[2], halo_x)
            data = x[:, ys][:, :, xs].sum((1, 2))
            total += int((data * per_channel).sum())
    return total


def encoded_weights(tensor, folder):
    values = np.load(os.path.join(folder, tensor["file"]))
    encoded = blocks.encode(values, blocks.Format.from_json(tensor["format"]))
    if encoded.format.block == -1:
        return encoded.mantissas != 0
    scale = products.along(products.channel_exponents(encoded, 0), 0,
                           values.ndim)
    return blocks.align(encoded, scale) != 0


def compare(plan_folder, dump_folder, report, decisions):
    """Compares every convolution in scatter mode with the report's counts."""
    with open(os.path.join(plan_folder, "plan.json"), encoding="utf-8") as file:
        plan = json.load(file)
    with open(os.path.join(dump_folder, "index.json"), encoding="utf-8") as file:
        index = json.load(file)["tensors"]
    tensors = {t["name"]: t for t in plan["tensors"]}
    nodes = {n["name"]: n for n in report["nodes"]}
    result = Comparison()
    for op in plan["ops"]:
        decision = decisions.get(op.get("name"))
        if op["op"] != "conv":
            continue
        cuts = decision and decision.get("cuts", {}).get("tiles")
        if not cuts or decision["choice"] != "sparse-scatter":
            continue
        if decision["cuts"]["time"] == "run":
            cuts = run_time_tiles(report, op["name"])
        shape = tensors[op["output"]]["shape"]
        weights = tensors[op["inputs"]["w"]]
        entry = index.get(op["inputs"]["x"])
        if len(shape) != 4 or shape[0] != 1 or not entry or "file" not in weights:
            continue
        x = np.load(os.path.join(dump_folder, entry["mantissas"]))[0] != 0
        w = encoded_weights(weights, plan_folder)
        expected = products_of(x, w, op["attrs"],
                               tiles_of(cuts, shape[2], shape[3]))
        found = nodes[op["name"]]["issued"]
        if found != expected:
            result.wrong.append(f"{op['name']} issues {found} products, "
                                f"expected {expected}")
        result.layers += 1
        result.products += found
        result.dense += nodes[op["name"]]["macs"]
    return result
