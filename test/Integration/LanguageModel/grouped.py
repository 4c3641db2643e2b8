#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Greedy tokens of a decoder of GroupQueryAttention against numpy in fp32.

usage: grouped.py FOLDER

The decoder has rotary positions and a buffer for its caches; seqlens_k and
total_sequence_length are inputs, as exporters write them. Two programs in one
file take one token and four.
"""

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


def write(weights, path):
    """The model; the rows of the caches are those of the buffer, before and after."""
    nodes = [helper.make_node("Gather", ["embedding", "input_ids"], ["x0"])]
    info = helper.make_tensor_value_info
    cache = [1, GROUPS, "past_sequence_length", SIZE]
    inputs = [info("input_ids", TensorProto.INT64, [1, "sequence_length"]),
              info("seqlens_k", TensorProto.INT32, [1]),
              info("total_sequence_length", TensorProto.INT32, [1])]
    outputs = [info("logits", TensorProto.FLOAT, [1, "sequence_length", VOCABULARY])]
    for i in range(LAYERS):
        for name in "qkv":
            nodes.append(helper.make_node("MatMul", [f"x{i}", f"{name}{i}"], [f"{name}{i}.y"]))
        past, present = ([f"{kind}.{i}.{name}" for name in ("key", "value")]
                         for kind in ("past_key_values", "present"))
        nodes += [helper.make_node("GroupQueryAttention",
                                   [f"{name}{i}.y" for name in "qkv"] + past +
                                   ["seqlens_k", "total_sequence_length", "cos", "sin"],
                                   [f"a{i}", *present], domain="com.microsoft", num_heads=HEADS,
                                   kv_num_heads=GROUPS, do_rotary=1),
                  helper.make_node("MatMul", [f"a{i}", f"o{i}"], [f"a{i}.o"]),
                  helper.make_node("Add", [f"x{i}", f"a{i}.o"], [f"x{i + 1}"])]
        inputs += [info(name, TensorProto.FLOAT, cache) for name in past]
        outputs += [info(name, TensorProto.FLOAT, cache) for name in present]
    nodes.append(helper.make_node("MatMul", [f"x{LAYERS}", "head"], ["logits"]))
    constants = [numpy_helper.from_array(array, name) for name, array in weights.items()]
    graph = helper.make_graph(nodes, "grouped", inputs, outputs, constants)
    onnx.save(helper.make_model(graph, ir_version=8, opset_imports=[
        helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]), path)


def turn(x, weights):
    """Rotates [tokens, heads, size] by the positions of the tokens."""
    cos, sin = (weights[name][:len(x), None] for name in ("cos", "sin"))
    a, b = np.split(x, 2, axis=-1)
    return np.concatenate([a * cos - b * sin, b * cos + a * sin], -1)


def logits(weights, tokens):
    """All tokens at once, without a cache; the logits after the last."""
    x, count = weights["embedding"][tokens], len(tokens)
    for i in range(LAYERS):
        q = turn((x @ weights[f"q{i}"]).reshape(count, HEADS, SIZE), weights)
        k = turn((x @ weights[f"k{i}"]).reshape(count, GROUPS, SIZE), weights)
        v = (x @ weights[f"v{i}"]).reshape(count, GROUPS, SIZE)
        k, v = (np.repeat(part, HEADS // GROUPS, axis=1) for part in (k, v))
        scores = np.einsum("qhd,khd->hqk", q, k) / SIZE ** 0.5
        scores += np.triu(np.full((count, count), -np.inf), 1)
        scores = np.exp(scores - scores.max(-1, keepdims=True))
        mixed = np.einsum("hqk,khd->qhd", scores / scores.sum(-1, keepdims=True), v)
        x = x + mixed.reshape(count, HEADS * SIZE).astype(np.float32) @ weights[f"o{i}"]
    return x[-1] @ weights["head"]


def main():
    folder = sys.argv[1]
    os.makedirs(folder, exist_ok=True)
    model, program, report = (os.path.join(folder, name)
                              for name in ("grouped.onnx", "grouped.ash", "grouped.json"))
    weights = draw()
    write(weights, model)
    tool = os.path.join(BUILD, "bin", "ashlar")
    subprocess.run([tool + "c", model, "-o", program, "--format=bfp16", "--state=auto",
                    f"--input-shape=past_sequence_length={ROOM}", "--bucket=sequence_length:1,4"],
                   check=True, stdout=subprocess.DEVNULL)
    subprocess.run([tool + "-run", program, f"--generate={COUNT}", "--quiet", f"--report={report}",
                    "--tokens=" + ",".join(map(str, PROMPT))], check=True, stdout=subprocess.DEVNULL)
    with open(report, encoding="utf-8") as stream:
        found = json.load(stream)
    tokens, margins = list(PROMPT), []
    for _ in range(COUNT):
        row = logits(weights, tokens)
        best = np.sort(row)[-2:]
        margins.append(best[1] - best[0])
        tokens.append(int(row.argmax()))
    equal = sum(a == b for a, b in zip(found["tokens"], tokens[len(PROMPT):]))
    print(f"{equal} of {COUNT} tokens equal, {found['prefill_runs']} runs for the prompt")
    print(f"least margin {min(margins):.3f}: {found['tokens']} {tokens[len(PROMPT):]}", file=sys.stderr)


if __name__ == "__main__":
    main()
