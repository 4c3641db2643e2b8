#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Cuts of layers whose result is computed in several tiles of the state buffer.

usage: cut_parts.py [--seeds=FIRST:END] [--table]

Random convolutions in scatter mode on machines whose state buffer does not hold
their results, with zeros in one corner of the map. Each tile of the state buffer is
cut by its own non-zeros: by the compiler from a profile, or by the machine. Outputs
are those of the array to the bit; the compiler's tiles cover the result once and are
in the program, the machine cuts every tile of the state buffer, and its tiles have all
results. At least one layer in three has to be cut. --table prints a row for each layer
and way: results, tiles of the state buffer, whether they are cut, cycles.
"""

import argparse
import json
import os
import re
import sys
import tempfile

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
import common  # noqa: E402

WAYS = {"equal": ["--partition=uniform"],
        "profile": ["--partition-cuts=always-profile"],
        "run": ["--partition-cuts=always"]}


def draw_layer(draw):
    """Attributes of a convolution, and the bytes of a partition."""
    channels = int(draw.choice([16, 32, 48]))
    return {
        "channels": channels, "outputs": int(draw.choice([16, 24, 32])),
        "size": [int(draw.integers(30, 60)), int(draw.integers(30, 60))],
        "kernel": [int(draw.choice([1, 3, 5])), int(draw.choice([1, 3, 5]))],
        "stride": int(draw.choice([1, 1, 2])), "dilation": int(draw.choice([1, 1, 2])),
        "samples": int(draw.choice([1, 1, 2])), "bytes": int(draw.choice([4096, 8192])),
        "density": float(draw.choice([0.1, 0.3]))}


def write_model(path, layer, draw):
    """One convolution and a relu."""
    kernel = layer["kernel"]
    weights = draw.standard_normal(
        (layer["outputs"], layer["channels"], *kernel)).astype(np.float32)
    weights[draw.random(weights.shape) >= layer["density"]] = 0
    pads = [(k - 1) * layer["dilation"] // 2 for k in kernel]
    nodes = [helper.make_node("Conv", ["x", "w"], ["sum"], name="conv", pads=pads * 2,
                              strides=[layer["stride"]] * 2,
                              dilations=[layer["dilation"]] * 2),
             helper.make_node("Relu", ["sum"], ["y"], name="relu")]
    shape = [layer["samples"], layer["channels"], *layer["size"]]
    graph = helper.make_graph(
        nodes, "cut", [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
        [numpy_helper.from_array(weights, "w")])
    onnx.save(onnx.shape_inference.infer_shapes(
        helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)])), path)
    return shape


def draw_map(shape, draw):
    """Non-zeros mostly in one corner."""
    rows, columns = np.mgrid[0:shape[2], 0:shape[3]]
    near = np.exp(-((rows / shape[2]) ** 2 + (columns / shape[3]) ** 2) * 4)
    values = draw.standard_normal(shape).astype(np.float32)
    return np.where(draw.random(shape) < near, values, 0).astype(np.float32)


def boxes_of(text):
    return [tuple(map(int, box.split(",")))
            for fold in text.split("|") for box in fold.split()]


def check_cover(boxes, shape, what):
    times = np.zeros(shape, int)
    for y, x, rows, columns in boxes:
        times[y:y + rows, x:x + columns] += 1
    return [] if (times == 1).all() else [f"{what}: tiles do not cover the result once"]


def compile_and_run(folder, mode, *options):
    """Report of a run that has the bits of the array."""
    program, report, array = (os.path.join(folder, name) for name in
                              ("p.ash", "report.json", "array.npz"))
    common.run_tool("ashlarc", os.path.join(folder, "m.onnx"), "-o", program,
                    f"--machine={os.path.join(folder, 'small.yaml')}", *options)
    compare = f"--outputs={array}" if mode == "array" else f"--expect={array}"
    common.run_tool("ashlar-run", program, f"--inputs={os.path.join(folder, 'in.npz')}",
                    "--quiet", compare, f"--report={report}")
    with open(report, encoding="utf-8") as file:
        return json.load(file)


def check_binary(folder, boxes, what):
    """The tables of the program have the tiles of the decision."""
    text = common.run_tool("ashlar-dis", os.path.join(folder, "p.ash"), "-o", "-").stdout
    written = {tuple(int((re.search(rf"\b{field}=(\d+)", line) or [0, 1])[1])
                     for field in ("tileH", "tileW"))
               for line in re.findall(r"tcc\.tile .*", text)}
    return [] if written == {box[2:] for box in boxes} else \
        [f"{what}: the program has tiles of other sizes"]


def check_machine_cuts(cuts, shape, parts, what):
    """The machine cut each tile of the state buffer; its tiles have all results."""
    if len(cuts) < parts:
        return [f"{what}: {len(cuts)} cuts of {parts} tiles of the state buffer"]
    area = sum(rows * columns for cut in cuts
               for _, _, rows, columns in boxes_of(cut["tiles"]))
    return [] if area >= shape[0] * shape[1] else [f"{what}: {area} results in tiles"]


def run_layer(seed, folder):
    """A row for each way to cut, and problems."""
    draw = np.random.default_rng(seed)
    layer = draw_layer(draw)
    shape = write_model(os.path.join(folder, "m.onnx"), layer, draw)
    np.savez(os.path.join(folder, "in.npz"), x=draw_map(shape, draw))
    np.savez(os.path.join(folder, "calibration.npz"), x=draw_map(shape, draw))
    with open(os.path.join(folder, "small.yaml"), "w", encoding="utf-8") as file:
        file.write(f"name: small\nbase: a1\nsb: {{bytes_per_partition: {layer['bytes']}}}\n")
    compile_and_run(folder, "array", "--sparse=off")
    rows, problems = [], []
    for way, options in WAYS.items():
        report = compile_and_run(
            folder, way, "--sparse=scatter", *options,
            f"--calibrate={os.path.join(folder, 'calibration.npz')}")
        decision = next(d for d in report["decisions"] if "cuts" in d)
        parts = int(next((word.split()[0] for word in decision["plan"].split(", ")
                          if "tiles of the state buffer" in word), 1))
        result = result_shape(layer)
        cut = decision["cuts"]["algorithm"] != "uniform"
        rows.append((seed, result, parts, way, cut, report["total_cycles"]))
        if cut and way == "profile":
            boxes = boxes_of(decision["cuts"]["tiles"])
            problems += check_cover(boxes, result, f"seed {seed}")
            problems += check_binary(folder, boxes, f"seed {seed}")
        if cut and way == "run":
            problems += check_machine_cuts(report["cuts"], result, parts, f"seed {seed}")
    return rows, problems


def result_shape(layer):
    """Rows and columns of the result."""
    return [(size + 2 * ((k - 1) * layer["dilation"] // 2) - (k - 1) * layer["dilation"] - 1)
            // layer["stride"] + 1
            for size, k in zip(layer["size"], layer["kernel"])]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", default="0:12")
    parser.add_argument("--table", action="store_true")
    args = parser.parse_args()
    first, end = map(int, args.seeds.split(":"))
    cut, several, problems = 0, 0, []
    for seed in range(first, end):
        with tempfile.TemporaryDirectory() as folder:
            rows, found = run_layer(seed, folder)
        problems += found
        for row in rows:
            several += row[2] > 1 and row[3] != "equal"
            cut += row[2] > 1 and row[4]
            if args.table:
                print("| " + " | ".join(map(str, row)) + " |")
    if cut * 3 < several or several == 0:
        problems.append(f"only {cut} of {several} layers are cut")
    print(f"{several} layers of several tiles of the state buffer, {cut} of them cut, "
          f"{len(problems)} problems")
    for problem in problems:
        print(problem)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
