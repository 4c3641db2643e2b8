#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A decoder in the form that exporters of PyTorch write, against ONNX Runtime.

usage: exported.py FOLDER [--window=W] [--counted] [--slopes]

Every extent comes from Shape, the causal mask compares a Range of all places
with one of the new places, heads of keys are repeated by Expand, and the caches
grow by Concat. A query reads W positions or all. With --counted the model counts
positions by the rows of its cache, instead of an input; --slopes adds distances
of positions to the scores (ALiBi). One run without state is compared value by value; then tokens
are generated with kept caches, in runs of one token and of four.
"""

import argparse
import json
import os
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import common  # noqa: E402

WORDS, WIDTH, HEADS, GROUPS, SIZE, HIDDEN, LAYERS, ROOM = 40, 32, 4, 2, 8, 48, 2, 32
LOWEST = float(np.finfo(np.float32).min)
PROMPT, COUNT = [1, 2, 3, 4, 5], 8


class Graph:
    """Nodes with names as the exporter gives them."""

    def __init__(self):
        self.nodes, self.weights = [], {}
        self.source = np.random.default_rng(5)

    def constant(self, value, dtype=np.int64):
        array = numpy_helper.from_array(np.array(value, dtype))
        name = f"/Constant_{len(self.nodes)}_output_0"
        self.nodes.append(helper.make_node("Constant", [], [name], value=array))
        return name

    def matrix(self, *shape, gain=1.0):
        name = f"onnx::MatMul_{len(self.weights)}"
        self.weights[name] = (self.source.normal(size=shape) * gain).astype(np.float32)
        return name

    def __call__(self, op, *operands, **attributes):
        name = f"/model/{op}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, list(operands), [name + "_output_0"],
                                           name=name, **attributes))
        return name + "_output_0"

    def extent(self, x, axis):
        return self("Gather", self("Shape", x), self.constant(axis), axis=0)

    def listed(self, *extents):
        """A shape of scalars and numbers."""
        parts = [self.constant([e]) if isinstance(e, int)
                 else self("Unsqueeze", e, self.constant([0])) for e in extents]
        return self("Concat", *parts, axis=0)


def mask(g, batch, count, places, total, window):
    """Terms of the scores, [batch, 1, count, total]."""
    new = g("Reshape", places, g.constant([-1, 1]))
    keys = g("Range", g.constant(0), total, g.constant(1))
    later = g("Greater", keys, new)
    if window > 0:
        later = g("Or", later, g("LessOrEqual", keys, g("Sub", new, g.constant(window))))
    low = g("Expand", g.constant(LOWEST, np.float32), g.listed(count, total))
    terms = g("Mul", low, g("Cast", later, to=TensorProto.FLOAT))
    terms = g("Expand", g("Unsqueeze", terms, g.constant([0, 1])),
              g.listed(batch, 1, count, total))
    given = g("Cast", g("Unsqueeze", "attention_mask", g.constant([1, 2])),
              to=TensorProto.FLOAT)
    padding = g("Equal", g("Add", terms, given), g.constant(0, np.float32))
    merged = g("Where", padding, g.constant(LOWEST, np.float32), terms)
    samples = g("Range", g.constant(0), g.extent(merged, 0), g.constant(1))
    return g("ScatterND", terms, g("Reshape", samples, g.constant([-1, 1])), merged)


def slopes(g, places, total):
    """A term of the scores that grows with the distance, [heads, count, total]."""
    keys = g("Range", g.constant(0), total, g.constant(1))
    distance = g("Abs", g("Sub", keys, g("Unsqueeze", places, g.constant([1]))))
    steep = -0.5 ** np.arange(1, HEADS + 1, dtype=np.float32)
    return g("Mul", g("Cast", distance, to=TensorProto.FLOAT),
             g.constant(steep.reshape(-1, 1, 1), np.float32))


def angles(g, positions):
    """Cosines and sines, [batch, 1, count, size]."""
    g.weights["inv_freq"] = (1e4 ** (-np.arange(0, SIZE, 2) / SIZE)).astype(
        np.float32).reshape(1, -1, 1)
    wide = g("Expand", "inv_freq", g.listed(g.extent(positions, 0), SIZE // 2, 1))
    places = g("Cast", g("Unsqueeze", positions, g.constant([1])),
               to=TensorProto.FLOAT)
    half = g("Transpose", g("MatMul", wide, places), perm=[0, 2, 1])
    both = g("Concat", half, half, axis=-1)
    return [g("Unsqueeze", g(op, both), g.constant([1])) for op in ("Cos", "Sin")]


def turned(g, x, cosine, sine):
    middle = g.listed(g("Div", g.extent(x, 3), g.constant(2)))
    first = g("Slice", x, g.constant([0]), middle, g.constant([3]))
    second = g("Slice", x, middle, g.constant([2 ** 63 - 1]), g.constant([3]))
    other = g("Concat", g("Neg", second), first, axis=-1)
    return g("Add", g("Mul", x, cosine), g("Mul", other, sine))


def repeated(g, x):
    """Heads of keys or values for the heads of queries."""
    length = g.extent(x, 2)
    shape = g.listed(g.extent(x, 0), GROUPS, HEADS // GROUPS, length, SIZE)
    ones = g("ConstantOfShape", g("Shape", shape),
             value=numpy_helper.from_array(np.array([1], np.int64)))
    open_ = g("Equal", shape, g("Mul", ones, g.constant(-1)))
    wide = g("Expand", g("Unsqueeze", x, g.constant([2])), g("Where", open_, ones, shape))
    return g("Reshape", wide, g.listed(g.extent(x, 0), HEADS, length, SIZE))


def scaled(g, x):
    """Root mean square normalisation."""
    square = g("ReduceMean", g("Pow", x, g.constant(2, np.float32)), g.constant([-1]))
    root = g("Sqrt", g("Add", square, g.constant(1e-5, np.float32)))
    return g("Mul", g.matrix(WIDTH), g("Mul", x, g("Div", g.constant(1, np.float32), root)))


def attention(g, layer, x, batch, count, terms, tables):
    """The result, and the names of the new keys and values."""
    normal = scaled(g, x)

    def heads(number):
        y = g("MatMul", normal, g.matrix(WIDTH, number * SIZE, gain=WIDTH ** -0.5))
        return g("Transpose", g("Reshape", y, g.listed(batch, count, -1, SIZE)),
                 perm=[0, 2, 1, 3])

    q, k, v = turned(g, heads(HEADS), *tables), turned(g, heads(GROUPS), *tables), heads(GROUPS)
    k, v = (g("Concat", f"past_key_values.{layer}.{kind}", part, axis=-2)
            for kind, part in (("key", k), ("value", v)))
    keys, values = repeated(g, k), repeated(g, v)
    scores = g("MatMul", q, g("Transpose", keys, perm=[0, 1, 3, 2]))
    scores = g("Div", scores, g.constant(SIZE ** 0.5, np.float32))
    own = g("Slice", terms, g.constant([0]), g.listed(g.extent(keys, 2)),
            g.constant([3]), g.constant([1]))
    y = g("MatMul", g("Softmax", g("Add", scores, own), axis=-1), values)
    y = g("Reshape", g("Transpose", y, perm=[0, 2, 1, 3]), g.listed(batch, count, WIDTH))
    return g("Add", x, g("MatMul", y, g.matrix(WIDTH, WIDTH, gain=WIDTH ** -0.5))), k, v


def build(path, options):
    g = Graph()
    x = g("Gather", g.matrix(WORDS, WIDTH), "input_ids")
    batch, count = g.extent("input_ids", 0), g.extent("input_ids", 1)
    past = g.extent("past_key_values.0.key", 2)
    places = g("Range", past, g("Add", past, count), g.constant(1))
    total = g.extent("attention_mask", 1)
    terms = mask(g, batch, count, places, total, options.window)
    if options.slopes:
        terms = g("Add", terms, slopes(g, places, total))
    tables = angles(g, g("Unsqueeze", places, g.constant([0])) if options.counted
                    else "position_ids")
    info = helper.make_tensor_value_info
    long = ["batch_size", "past_sequence_length + sequence_length"]
    inputs = [info(name, TensorProto.INT64, shape) for name, shape in (
        ("input_ids", ["batch_size", "sequence_length"]), ("attention_mask", long),
        ("position_ids", ["batch_size", "sequence_length"]))[:2 if options.counted else 3]]
    outputs = [info("logits", TensorProto.FLOAT, ["batch_size", "sequence_length", WORDS])]
    for layer in range(LAYERS):
        x, k, v = attention(g, layer, x, batch, count, terms, tables)
        normal = scaled(g, x)
        gate, up = (g("MatMul", normal, g.matrix(WIDTH, HIDDEN, gain=WIDTH ** -0.5))
                    for _ in range(2))
        y = g("Mul", g("Mul", gate, g("Sigmoid", gate)), up)
        x = g("Add", x, g("MatMul", y, g.matrix(HIDDEN, WIDTH, gain=HIDDEN ** -0.5)))
        for kind, value in (("key", k), ("value", v)):
            inputs.append(info(f"past_key_values.{layer}.{kind}", TensorProto.FLOAT, [
                "batch_size", GROUPS, "past_sequence_length", SIZE]))
            outputs.append(info(f"present.{layer}.{kind}", TensorProto.FLOAT, [
                "batch_size", GROUPS, long[1], SIZE]))
            g.nodes.append(helper.make_node("Identity", [value],
                                            [f"present.{layer}.{kind}"]))
    g.nodes.append(helper.make_node("MatMul", [scaled(g, x), g.matrix(WIDTH, WORDS)],
                                    ["logits"], name="/lm_head/MatMul"))
    constants = [numpy_helper.from_array(a, n) for n, a in g.weights.items()]
    onnx.save(helper.make_model(
        helper.make_graph(g.nodes, "main_graph", inputs, outputs, constants),
        ir_version=8, opset_imports=[helper.make_opsetid("", 18)]), path)


def feeds(options, tokens, past=0, batch=1):
    """Inputs of a run; the second sample begins with padding."""
    source = np.random.default_rng(past)
    seen = np.ones((batch, past + len(tokens)), np.int64)
    seen[1:, :2] = 0
    places = np.maximum(np.cumsum(seen, 1) - 1, 0)[:, past:]
    result = {"input_ids": np.tile(np.array(tokens, np.int64), (batch, 1)),
              "attention_mask": seen, "position_ids": places}
    if options.counted:
        del result["position_ids"]
    for layer in range(LAYERS):
        for kind in ("key", "value"):
            result[f"past_key_values.{layer}.{kind}"] = source.normal(
                size=(batch, GROUPS, past, SIZE)).astype(np.float32)
    return result


def one_run(server, model, folder, options):
    """Values with a past and padding, without state."""
    inputs = feeds(options, [7, 8, 9], past=4, batch=2)
    program, data, found = (os.path.join(folder, name)
                            for name in ("run.ash", "in.npz", "out.npz"))
    np.savez(data, **inputs)
    common.run_tool("ashlarc", model, "-o", program, "--format=bfp16",
                    "--input-shape=batch_size=2,sequence_length=3,past_sequence_length=4")
    common.run_tool("ashlar-run", program, f"--inputs={data}", f"--outputs={found}",
                    "--quiet")
    wanted = server.run(model, [inputs])[0]
    with np.load(found) as results:
        return max(float(np.abs(results[name] - right).max() / np.abs(right).max())
                   for name, right in wanted.items())


def generated(server, model, folder, options):
    """Tokens of the program with kept caches, and those of ONNX Runtime."""
    program, report = os.path.join(folder, "kept.ash"), os.path.join(folder, "kept.json")
    common.run_tool("ashlarc", model, "-o", program, "--format=bfp16", "--state=auto",
                    f"--input-shape=batch_size=1,past_sequence_length={ROOM}",
                    "--bucket=sequence_length:1,4")
    common.run_tool("ashlar-run", program, f"--generate={COUNT}", "--quiet",
                    f"--report={report}", "--tokens=" + ",".join(map(str, PROMPT)))
    with open(report, encoding="utf-8") as stream:
        found = json.load(stream)["tokens"]
    tokens = list(PROMPT)
    for _ in range(COUNT):
        logits = server.run(model, [feeds(options, tokens)])[0]["logits"][0, -1]
        tokens.append(int(logits.argmax()))
    return found, tokens[len(PROMPT):]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder")
    parser.add_argument("--window", type=int, default=-1)
    parser.add_argument("--counted", action="store_true")
    parser.add_argument("--slopes", action="store_true")
    options = parser.parse_args()
    folder = options.folder
    os.makedirs(folder, exist_ok=True)
    model = os.path.join(folder, "exported.onnx")
    build(model, options)
    server = common.ort.Server()
    error = one_run(server, model, folder, options)
    print(f"one run within {error:.1e}", file=sys.stderr)
    print("one run: " + ("equal" if error < 2e-3 else f"error {error:.2g}"))
    found, wanted = generated(server, model, folder, options)
    server.close()
    equal = sum(a == b for a, b in zip(found, wanted))
    print(f"{equal} of {COUNT} tokens equal")
    print(found, wanted, file=sys.stderr)


if __name__ == "__main__":
    main()
