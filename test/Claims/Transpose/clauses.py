#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Clauses of the transposing design on a program compiled from an ONNX model.

usage: clauses.py [--rows=300] [--columns=200] [--machine=a1]

The model loads a matrix, transposes it and takes maxima of neighbours, which
need the other axis across partitions. The program is read as text
(ashlar-dis), and what its instructions name is compared with what the extents
of matrix and machine demand. Prints one line for each clause; exits with 1 if
one does not hold.
"""

import argparse
import os
import re
import sys
import tempfile

import numpy as np
import onnx
from onnx import TensorProto, helper

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "..",
                                "Integration"))
import common  # noqa: E402

DEFAULTS = {"part": 0, "dstPart": 0, "psum": 0, "offset": 0, "dstOffset": 0,
            "cols": 1, "rows": 1, "n0": 1, "n1": 1, "n2": 1, "n3": 1, "n4": 1}


def save_model(path, rows, columns):
    nodes = [helper.make_node("Transpose", ["x"], ["t"], name="transpose",
                              perm=[0, 2, 1]),
             helper.make_node("MaxPool", ["t"], ["y"], name="pool",
                              kernel_shape=[2])]
    tensor = helper.make_tensor_value_info
    graph = helper.make_graph(
        nodes, "clauses",
        [tensor("x", TensorProto.INT8, [1, rows, columns])],
        [tensor("y", TensorProto.INT8, [1, columns, rows - 1])])
    onnx.save(helper.make_model(
        graph, ir_version=8, opset_imports=[helper.make_opsetid("", 17)]),
        path)


def instructions(text):
    """(mnemonic, fields) of each line; numbers as integers."""
    for line in text.splitlines():
        words = line.split()
        if not words or not re.fullmatch(r"[a-z]+\.[a-z.]+", words[0]):
            continue
        fields = dict(DEFAULTS)
        for word in words[1:]:
            key, _, value = word.partition("=")
            fields[key] = int(value) if re.fullmatch(r"-?\d+",
                                                     value) else value
        yield words[0], fields


def parameters(machine):
    text = common.run_tool("ashlarc", f"--dump-machine={machine}").stdout
    sections, section = {}, ""
    for line in text.splitlines():
        found = re.match(r"( *)([a-z_]+): *([^ #]*)", line)
        if found and not found[1] and not found[3]:
            section = found[2]
        elif found:
            sections[section, found[2]] = found[3]
    return (int(sections["sb", "partitions"]),
            int(sections["sb", "bytes_per_partition"]),
            int(sections["pe", "rows"]), int(sections["pe", "columns"]))


class Program:
    """The instructions that matter, in program order."""

    def __init__(self, text):
        self.all = list(instructions(text))
        self.loads = self.some("pe.load")
        self.streams = [(i, f) for i, f in self.some("pe.matmul")
                        if f.get("window") == "identity"]
        self.drains = self.some("act.drain")
        self.copies = [(i, f) for i, f in self.some("dma.copy")
                       if f.get("dstMem") == "sb"]

    def some(self, mnemonic):
        return [(i, f) for i, (name, f) in enumerate(self.all)
                if name == mnemonic]


def steps(fields):
    return fields["n0"] * fields["n1"] * fields["n2"]


def clauses(program, options, equal):
    partitions, room, array_rows, array_columns = parameters(options.machine)
    rows, columns = options.rows, options.columns
    loads, streams, drains = program.loads, program.streams, program.drains
    copied = sum(f["n0"] * f["n1"] * f["n2"] * f["n3"] * f["n4"]
                 for _, f in program.copies if f.get("elemBytes", 1) == 1)
    tiles = [(f["rows"], f["cols"]) for _, f in loads]
    row_tiles = -(-rows // min(array_rows, partitions))
    yield 2, "blocks fit the state buffer", (
        all(f["part"] + f["rows"] <= partitions and
            f["offset"] + f["cols"] <= room for _, f in loads))
    yield 5, "one load, identity product and drain for each tile", (
        len(loads) == len(streams) == len(drains) > 0 and
        all(f.get("mode") == "select" for _, f in loads + streams) and
        all(f.get("mode") == "raw64" for _, f in drains))
    yield 6, "the first instruction loads, the second streams the identity", (
        all(load < stream < drain for (load, _), (stream, _), (drain, _)
            in zip(sorted(loads, key=lambda x: x[0]), streams, drains)) and
        all(s["part"] == l["part"] and s["rows"] == l["rows"] == steps(s) and
            s["cols"] == l["cols"]
            for (_, l), (_, s) in zip(loads, streams)))
    # Constants of the identity are filled, not copied.
    yield 13, "every element is stored in the state buffer before", (
        copied >= rows * columns and
        min(i for i, _ in program.copies) < min(i for i, _ in loads))
    yield 14, "sub-blocks fit the array", (
        all(r <= array_rows and c <= array_columns for r, c in tiles))
    yield 17, "the file runs and gives the transposed matrix", equal
    yield 18, "each column of PSUM goes to a partition that the drain names", (
        all(d["cols"] == s["cols"] and d["psum"] == s["psum"] and
            d["dstPart"] + d["cols"] <= partitions and steps(d) == steps(s)
            for (_, s), (_, d) in zip(streams, drains)))
    yield 19, "blocks cover the tensor", (
        sum(r * c for r, c in tiles) == rows * columns and
        len(tiles) >= row_tiles * -(-columns // array_columns))
    yield 20, "sub-blocks cover the blocks, none twice", (
        len({(f["part"], f["offset"]) for _, f in loads}) +
        repeated_places(program) == len(loads))


def repeated_places(program):
    """Loads from a place that was filled again since it was last read."""
    count, seen = 0, {}
    for i, load in program.loads:
        place = (load["part"], load["offset"])
        if place in seen:
            count += any(seen[place] < at < i for at, _ in program.copies)
        seen[place] = i
    return count


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=300)
    parser.add_argument("--columns", type=int, default=200)
    parser.add_argument("--machine", default="a1")
    options = parser.parse_args()
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        at = lambda name: os.path.join(folder, name)  # noqa: E731
        save_model(at("m.onnx"), options.rows, options.columns)
        common.run_tool("ashlarc", at("m.onnx"), "-o", at("m.ash"),
                        "--transpose=pe", f"--machine={options.machine}")
        x = np.random.default_rng(1).integers(
            -128, 128, (1, options.rows, options.columns)).astype(np.int8)
        np.savez(at("in.npz"), x=x)
        common.run_tool("ashlar-run", at("m.ash"), "--quiet",
                        f"--inputs={at('in.npz')}",
                        f"--outputs={at('out.npz')}")
        t = x.transpose(0, 2, 1)
        with np.load(at("out.npz")) as outputs:
            equal = np.array_equal(outputs["y"],
                                   np.maximum(t[..., :-1], t[..., 1:]))
        text = common.run_tool("ashlar-dis", at("m.ash")).stdout
        for number, what, holds in clauses(Program(text), options, equal):
            failed += not holds
            print(f"clause {number:02}: {what}: {'yes' if holds else 'NO'}")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
