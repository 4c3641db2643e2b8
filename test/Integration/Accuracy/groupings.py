#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What other ways to share exponents would do to the feature maps of networks.

usage: groupings.py MODEL... [--mantissa=8] [--weights]

Runs the first sample of each shared model at W = 16 and encodes every feature
map of 3 or 4 dimensions, as stored there, under each grouping. Prints a table:
bits per element, and the mean over the tensors of the signal-to-noise ratio. With
--weights it encodes the weights of convolutions and fully connected layers instead, as
matrices of output and input channels for each tap, without weight scaling.
"""

import argparse
import os
import sys
import tempfile

import numpy as np
import onnx
from onnx import numpy_helper

sys.path[:0] = [os.path.join(os.path.dirname(__file__), ".."),
                os.path.join(os.path.dirname(__file__), "..", "..", "reference")]
import common  # noqa: E402
import plan as plans  # noqa: E402


def cut(x, sizes):
    """x [C, H, W] as groups of `sizes`, padded with zeros: [groups, elements]."""
    x = np.pad(x, [(0, -n % s) for n, s in zip(x.shape, sizes)])
    shape = [k for n, s in zip(x.shape, sizes) for k in (n // s, s)]
    return x.reshape(shape).transpose(0, 2, 4, 1, 3, 5).reshape(-1, np.prod(sizes))


def quadrants(x):
    return cut(x, (1, -(-x.shape[1] // 2), -(-x.shape[2] // 2)))


def diagonals(x):
    """Runs of 16 along the diagonals of the matrix of channels and pixels."""
    matrix = x.reshape(len(x), -1)
    turned = np.stack([np.roll(row, -i) for i, row in enumerate(matrix)])
    return cut(turned[:, None], (16, 1, 1))


GROUPINGS = {
    "16 channels (`block=16`)": lambda x: cut(x, (16, 1, 1)),
    "8 channels (`block=8`)": lambda x: cut(x, (8, 1, 1)),
    "tile of 4 x 4 pixels": lambda x: cut(x, (1, 4, 4)),
    "tile of 8 channels x 2 pixels": lambda x: cut(x, (8, 1, 2)),
    "tile of 16 channels x 4 pixels": lambda x: cut(x, (16, 1, 4)),
    "diagonals, 16": diagonals,
    "quadrants of each map": quadrants,
    "all channels (`block=axis`)": lambda x: cut(x, (len(x), 1, 1)),
    "whole tensor (`block=tensor`)": lambda x: x.reshape(1, -1),
}


def weight_tiles(x, rows, block):
    """x [taps, O, C] as tiles of `rows` outputs by `block` inputs."""
    return np.concatenate([cut(tap[:, :, None], (min(rows, tap.shape[0]), block, 1))
                           for tap in x])


def weight_diagonals(x, block):
    """Blocks of inputs along the diagonals of outputs and blocks, none of them cut."""
    groups = []
    for tap in x:
        rows = np.pad(tap, [(0, 0), (0, -tap.shape[1] % block)])
        blocks = rows.reshape(len(rows), -1, block)
        for at in range(1 - blocks.shape[1], len(rows)):
            pairs = range(max(0, -at), min(blocks.shape[1], len(rows) - at))
            own = np.zeros((blocks.shape[1], block))
            for i, k in enumerate(pairs):
                own[i] = blocks[at + k, k]
            groups.append(own.reshape(-1))
    return np.stack(groups)


def weight_quadrants(x):
    return np.concatenate([cut(tap[:, :, None], (-(-tap.shape[0] // 2), -(-tap.shape[1] // 2), 1))
                           for tap in x])


WEIGHT_GROUPINGS = {
    "16 inputs (`block=16`)": lambda x: weight_tiles(x, 1, 16),
    "64 inputs (`block=64`)": lambda x: weight_tiles(x, 1, 64),
    "4 outputs x 16 inputs (`rows=4`)": lambda x: weight_tiles(x, 4, 16),
    "16 outputs x 16 inputs (`rows=16`)": lambda x: weight_tiles(x, 16, 16),
    "diagonals of blocks of 16 inputs": lambda x: weight_diagonals(x, 16),
    "diagonals of blocks of 8 inputs": lambda x: weight_diagonals(x, 8),
    "quadrants": weight_quadrants,
}


def encoded(groups, width, unsigned=False, exponents=None):
    """Values after encoding; `exponents` counts octaves below the largest."""
    top = np.abs(groups).max(1, keepdims=True)
    lead = np.where(top > 0, np.frexp(top)[1] - 1, -200)
    if exponents:
        lead = np.maximum(lead, lead.max() - exponents)
    bits = width - (1 if unsigned and (groups >= 0).all() else 2)
    limit = 2 ** (bits + 1) - 1
    step = np.ldexp(1.0, lead - bits)
    return np.clip(np.rint(groups / step), -limit, limit) * step


def feature_maps(model):
    """Decoded feature maps [C, H, W] of one run at W = 16."""
    inputs, _ = common.dev_inputs(model, 1)
    with tempfile.TemporaryDirectory() as folder:
        path = lambda name: os.path.join(folder, name)
        np.savez(path("x.npz"), **{common.graph_inputs(common.model_path(model))[0]: inputs})
        common.run_tool("ashlarc", common.model_path(model), "-o", path("m.ash"), "--format=bfp16",
                        f"--dump-plan={path('plan')}")
        common.run_tool("ashlar-run", path("m.ash"), f"--inputs={path('x.npz')}", "--quiet",
                        f"--dump-tensors={path('dump')}")
        plan, dump = plans.Plan(path("plan")), plans.Dump(path("dump"))
        for name, tensor in plan.tensors.items():
            if tensor["type"] != "bfp" or tensor["kind"] == "constant" or \
                    len(tensor["shape"]) not in (3, 4) or not dump.has(name):
                continue
            mantissas, exponents, _ = dump.encoded(name)
            value = plans.blocks.Encoded(mantissas, exponents, plans.format_of(tensor))
            x = value.decode().astype(np.float64)
            x = np.moveaxis(x, tensor["format"]["axis"], 1) if x.ndim == 4 else x[..., None]
            yield x.reshape(-1, *x.shape[-2:]) if x.shape[0] == 1 else x[0]


def weights(model):
    """Weights [taps, outputs, inputs] of the products of a network."""
    graph = onnx.load(common.model_path(model)).graph
    constants = {w.name: numpy_helper.to_array(w) for w in graph.initializer}
    for node in graph.node:
        w = constants.get(node.input[1]) if len(node.input) > 1 else None
        if w is None or node.op_type not in ("Conv", "Gemm", "MatMul") or w.ndim < 2:
            continue
        w = w.astype(np.float64)
        if node.op_type == "Conv":
            yield np.moveaxis(w.reshape(*w.shape[:2], -1), 2, 0)
        elif w.ndim == 2:
            turned = any(a.name == "transB" and a.i for a in node.attribute)
            yield (w if turned else w.T)[None]


def print_table(rows, bits, models):
    print("| grouping | bits per element |" + "".join(f" {m} |" for m in models))
    print("|---|---|" + "---|" * len(models))
    for name, values in rows.items():
        print(f"| {name} | {np.mean(bits[name]):.2f} |" +
              "".join(f" {v:.1f} dB |" for v in values))


def of_weights(options):
    rows, bits = {}, {}
    for model in options.models:
        # Of depthwise layers a block is one weight.
        tensors = [x for x in weights(model) if x.shape[2] >= 16]
        for name, groups in WEIGHT_GROUPINGS.items():
            found = [(g, encoded(g, options.mantissa)) for g in map(groups, tensors)]
            rows.setdefault(name, []).append(np.mean([common.snr_db(*pair) for pair in found]))
            bits.setdefault(name, []).append(
                options.mantissa + 8 * sum(len(g) for g, _ in found) / sum(x.size for x in tensors))
    print_table(rows, bits, options.models)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("models", nargs="+")
    parser.add_argument("--mantissa", type=int, default=8)
    parser.add_argument("--weights", action="store_true")
    options = parser.parse_args()
    if options.weights:
        of_weights(options)
        return
    width, rows, bits = options.mantissa, {}, {}
    for model in options.models:
        maps = [x for x in feature_maps(model) if np.any(x)]
        def add(name, values, size, extra=0.0):
            rows.setdefault(name, []).append(values)
            bits.setdefault(name, []).append(width + size + extra)
        for name, groups in GROUPINGS.items():
            found = [(g, encoded(g, width)) for g in map(groups, maps)]
            add(name, np.mean([common.snr_db(*pair) for pair in found]),
                8 * sum(len(g) for g, _ in found) / sum(x.size for x in maps))
        first = [cut(x, (16, 1, 1)) for x in maps]
        share = sum(len(g) for g in first) / sum(x.size for x in maps)
        add("16 channels, unsigned where nothing is below 0", np.mean(
            [common.snr_db(g, encoded(g, width, True)) for g in first]), 8 * share)
        add("16 channels, exponents of 5 bits below the tensor's largest", np.mean(
            [common.snr_db(g, encoded(g, width, exponents=31)) for g in first]), 5 * share)
    print_table(rows, bits, options.models)


if __name__ == "__main__":
    main()
