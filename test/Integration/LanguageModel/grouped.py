#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Greedy tokens of a decoder of GroupQueryAttention against numpy in fp32.

usage: grouped.py FOLDER [--window=W] [--mask | --joined | --scatter | --attention]

The decoder has rotary positions and a buffer for its caches; seqlens_k and
total_sequence_length are inputs, as exporters write them, or with --mask made
of attention_mask in the graph. A query reads W positions or all. With --joined
new rows follow the past, whose length is that of the mask less theirs. With
--scatter the same decoder is one of ONNX's own operators: RotaryEmbedding,
TensorScatter and Attention of operator set 24; with --attention Attention of
operator set 25 joins past and rows and has the window. Two programs in one file
take one token and four; one of two tokens if the mask has a fixed length.
"""

import argparse
import json
import os
import subprocess
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

BUILD = os.environ["ASHLAR_BUILD"]
VOCABULARY, WIDTH, HEADS, GROUPS, SIZE, LAYERS, ROOM = 48, 32, 4, 2, 8, 2, 32
PROMPT, COUNT = [3, 14, 15, 9, 2, 6], 16


def draw():
    draws = np.random.default_rng(11)

    def matrix(rows, columns, gain=1.0):
        return (draws.standard_normal((rows, columns)) * gain / rows ** 0.5).astype(np.float32)

    weights = {"embedding": draws.standard_normal((VOCABULARY, WIDTH)).astype(np.float32),
               "head": matrix(WIDTH, VOCABULARY, 4)}
    for i in range(LAYERS):
        weights |= {f"q{i}": matrix(WIDTH, HEADS * SIZE, 2), f"k{i}": matrix(WIDTH, GROUPS * SIZE, 2),
                    f"v{i}": matrix(WIDTH, GROUPS * SIZE), f"o{i}": matrix(HEADS * SIZE, WIDTH)}
    angles = np.arange(ROOM)[:, None] * 100.0 ** (-np.arange(SIZE // 2) / (SIZE // 2))
    weights |= {"cos": np.cos(angles).astype(np.float32), "sin": np.sin(angles).astype(np.float32)}
    return weights


def lengths_of_mask(constants):
    """seqlens_k and total_sequence_length as the builder of exporters makes them."""
    make = helper.make_node
    constants |= {"one": np.array([1], np.int64), "axis": np.array(1, np.int64)}
    return [make("ReduceSum", ["attention_mask", "one"], ["sums"]),
            make("Sub", ["sums", "one"], ["last"]),
            make("Cast", ["last"], ["seqlens_k"], to=TensorProto.INT32),
            make("Shape", ["attention_mask"], ["shape"]),
            make("Gather", ["shape", "axis"], ["total"], axis=0),
            make("Cast", ["total"], ["total_sequence_length"], to=TensorProto.INT32)]


def grouped(i, past, present, window):
    """Attention of a layer by GroupQueryAttention."""
    return [helper.make_node("GroupQueryAttention",
                             [f"{name}{i}.y" for name in "qkv"] + past +
                             ["seqlens_k", "total_sequence_length", "cos", "sin"],
                             [f"a{i}", *present], domain="com.microsoft", num_heads=HEADS,
                             kv_num_heads=GROUPS, do_rotary=1, local_window_size=window)]


def scattered(i, past, present):
    """The same by operators of ONNX; heads of the cache come second."""
    make, nodes = helper.make_node, []
    for name, heads in (("q", HEADS), ("k", GROUPS)):
        nodes.append(make("RotaryEmbedding", [f"{name}{i}.y", "cos", "sin", "position_ids"],
                          [f"{name}{i}.r"], num_heads=heads))
    for name, old, new, source in (("k", past[0], present[0], f"k{i}.r"),
                                   ("v", past[1], present[1], f"v{i}.y")):
        nodes += [make("Reshape", [source, "apart"], [f"{name}{i}.a"]),
                  make("Transpose", [f"{name}{i}.a"], [f"{name}{i}.t"], perm=[0, 2, 1, 3]),
                  make("TensorScatter", [old, f"{name}{i}.t", "write_indices"], [new], axis=2)]
    nodes += [make("Reshape", [f"q{i}.r", "apart_q"], [f"q{i}.a"]),
              make("Transpose", [f"q{i}.a"], [f"q{i}.t"], perm=[0, 2, 1, 3]),
              make("Attention", [f"q{i}.t", *present, "", "", "", "nonpad_kv_seqlen"], [f"a{i}.t"],
                   is_causal=1),
              make("Transpose", [f"a{i}.t"], [f"a{i}.b"], perm=[0, 2, 1, 3]),
              make("Reshape", [f"a{i}.b", "together"], [f"a{i}"])]
    return nodes


def windowed(i, past, present, window):
    """The same by Attention, which joins the past with the new rows."""
    make = helper.make_node
    side = {"left_window_size": window - 1} if window > 0 else {}
    return [make("RotaryEmbedding", [f"{name}{i}.y", "cos", "sin", "position_ids"],
                 [f"{name}{i}.r"], num_heads=heads) for name, heads in (("q", HEADS), ("k", GROUPS))] + [
        make("Attention", [f"q{i}.r", f"k{i}.r", f"v{i}.y", "", *past], [f"a{i}", *present],
             q_num_heads=HEADS, kv_num_heads=GROUPS, is_causal=1, **side)]


def write(weights, path, options):
    """The model; the rows of the caches are those of the buffer, before and after."""
    nodes = [helper.make_node("Gather", ["embedding", "input_ids"], ["x0"])]
    info = helper.make_tensor_value_info
    cache = [1, GROUPS, "past_sequence_length", SIZE]
    grows = options.joined or options.attention
    longer = [*cache[:2], "rows" if grows else cache[2], SIZE]
    inputs = [info("input_ids", TensorProto.INT64, [1, "sequence_length"])]
    weights = dict(weights)
    if options.scatter:
        inputs += [info("position_ids", TensorProto.INT64, [1, "sequence_length"]),
                   info("write_indices", TensorProto.INT64, [1]),
                   info("nonpad_kv_seqlen", TensorProto.INT64, [1])]
        weights |= {"apart": np.array([1, -1, GROUPS, SIZE]), "apart_q": np.array([1, -1, HEADS, SIZE]),
                    "together": np.array([1, -1, HEADS * SIZE])}
    elif options.attention:
        inputs.append(info("position_ids", TensorProto.INT64, [1, "sequence_length"]))
    elif options.mask or options.joined:
        nodes += lengths_of_mask(weights)
        inputs.append(info("attention_mask", TensorProto.INT64, [1, "total_sequence_length"]))
    else:
        inputs += [info("seqlens_k", TensorProto.INT32, [1]),
                   info("total_sequence_length", TensorProto.INT32, [1])]
    outputs = [info("logits", TensorProto.FLOAT, [1, "sequence_length", VOCABULARY])]
    for i in range(LAYERS):
        for name in "qkv":
            nodes.append(helper.make_node("MatMul", [f"x{i}", f"{name}{i}"], [f"{name}{i}.y"]))
        past, present = ([f"{kind}.{i}.{name}" for name in ("key", "value")]
                         for kind in ("past_key_values", "present"))
        nodes += scattered(i, past, present) if options.scatter else \
            windowed(i, past, present, options.window) if options.attention else \
            grouped(i, past, present, options.window)
        nodes += [helper.make_node("MatMul", [f"a{i}", f"o{i}"], [f"a{i}.o"]),
                  helper.make_node("Add", [f"x{i}", f"a{i}.o"], [f"x{i + 1}"])]
        inputs += [info(name, TensorProto.FLOAT, cache) for name in past]
        outputs += [info(name, TensorProto.FLOAT, longer) for name in present]
    nodes.append(helper.make_node("MatMul", [f"x{LAYERS}", "head"], ["logits"]))
    constants = [numpy_helper.from_array(array, name) for name, array in weights.items()]
    graph = helper.make_graph(nodes, "grouped", inputs, outputs, constants)
    onnx.save(helper.make_model(graph, ir_version=8, opset_imports=[
        helper.make_opsetid("", 24 if options.scatter else 25 if options.attention else 17),
        helper.make_opsetid("com.microsoft", 1)]), path)


def turn(x, weights):
    """Rotates [tokens, heads, size] by the positions of the tokens."""
    cos, sin = (weights[name][:len(x), None] for name in ("cos", "sin"))
    a, b = np.split(x, 2, axis=-1)
    return np.concatenate([a * cos - b * sin, b * cos + a * sin], -1)


def logits(weights, tokens, window):
    """All tokens at once, without a cache; the logits after the last."""
    x, count = weights["embedding"][tokens], len(tokens)
    for i in range(LAYERS):
        q = turn((x @ weights[f"q{i}"]).reshape(count, HEADS, SIZE), weights)
        k = turn((x @ weights[f"k{i}"]).reshape(count, GROUPS, SIZE), weights)
        v = (x @ weights[f"v{i}"]).reshape(count, GROUPS, SIZE)
        k, v = (np.repeat(part, HEADS // GROUPS, axis=1) for part in (k, v))
        scores = np.einsum("qhd,khd->hqk", q, k) / SIZE ** 0.5
        scores += np.triu(np.full((count, count), -np.inf), 1)
        if window > 0:
            scores += np.tril(np.full((count, count), -np.inf), -window)
        scores = np.exp(scores - scores.max(-1, keepdims=True))
        mixed = np.einsum("hqk,khd->qhd", scores / scores.sum(-1, keepdims=True), v)
        x = x + mixed.reshape(count, HEADS * SIZE).astype(np.float32) @ weights[f"o{i}"]
    return x[-1] @ weights["head"]


def sizes(options):
    if options.joined:
        return [f"--input-shape=sequence_length=2,total_sequence_length={ROOM + 2}"]
    return ["--bucket=sequence_length:1,4",
            *([f"--input-shape=total_sequence_length={ROOM}"] if options.mask else [])]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder")
    parser.add_argument("--window", type=int, default=-1)
    parser.add_argument("--mask", action="store_true")
    for name in ("--joined", "--scatter", "--attention"):
        parser.add_argument(name, action="store_true")
    options = parser.parse_args()
    folder = options.folder
    os.makedirs(folder, exist_ok=True)
    model, program, report = (os.path.join(folder, name)
                              for name in ("grouped.onnx", "grouped.ash", "grouped.json"))
    weights = draw()
    write(weights, model, options)
    tool = os.path.join(BUILD, "bin", "ashlar")
    subprocess.run([tool + "c", model, "-o", program, "--format=bfp16", "--state=auto",
                    f"--input-shape=past_sequence_length={ROOM}", *sizes(options)],
                   check=True, stdout=subprocess.DEVNULL)
    subprocess.run([tool + "-run", program, f"--generate={COUNT}", "--quiet", f"--report={report}",
                    "--tokens=" + ",".join(map(str, PROMPT))], check=True, stdout=subprocess.DEVNULL)
    with open(report, encoding="utf-8") as stream:
        found = json.load(stream)
    tokens, margins = list(PROMPT), []
    for _ in range(COUNT):
        row = logits(weights, tokens, options.window)
        best = np.sort(row)[-2:]
        margins.append(best[1] - best[0])
        tokens.append(int(row.argmax()))
    equal = sum(a == b for a, b in zip(found["tokens"], tokens[len(PROMPT):]))
    print(f"{equal} of {COUNT} tokens equal, {found['prefill_runs']} runs for the prompt")
    print(f"least margin {min(margins):.3f}: {found['tokens']} {tokens[len(PROMPT):]}", file=sys.stderr)


if __name__ == "__main__":
    main()
