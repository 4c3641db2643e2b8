#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Inputs between the sizes of --bucket run in the next larger program.

usage: masked.py FOLDER

An encoder layer with an attention mask, for 8 and 16 tokens, runs on 3 to 16 of
them; results against numpy in fp32. Then the lengths that no program takes.
"""

import os
import subprocess
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

BUILD = os.environ["ASHLAR_BUILD"]
VOCABULARY, WIDTH = 30, 16


def write(weights, path, mask):
    node, info = helper.make_node, helper.make_tensor_value_info
    nodes = [node("Gather", ["embedding", "input_ids"], ["x"])]
    nodes += [node("MatMul", ["x", name], [f"{name}.y"]) for name in ("q", "k", "v")]
    nodes += [node("Transpose", ["k.y"], ["k.t"], perm=[0, 2, 1]),
              node("MatMul", ["q.y", "k.t"], ["scores"])]
    scores = "scores"
    if mask:
        nodes += [node("Cast", ["attention_mask"], ["kept"], to=TensorProto.FLOAT),
                  node("Sub", ["kept", "one"], ["absent"]), node("Mul", ["absent", "large"], ["terms"]),
                  node("Unsqueeze", ["terms", "axis"], ["row"]), node("Add", [scores, "row"], ["masked"])]
        scores = "masked"
    nodes += [node("Softmax", [scores], ["p"], axis=-1), node("MatMul", ["p", "v.y"], ["hidden"]),
              node("Identity", ["input_ids"], ["ids"])]
    constants = [numpy_helper.from_array(array, name) for name, array in weights.items()]
    inputs = [info("input_ids", TensorProto.INT64, [1, "seq"])]
    if mask:
        inputs.append(info("attention_mask", TensorProto.INT64, [1, "seq"]))
    outputs = [info("hidden", TensorProto.FLOAT, [1, "seq", WIDTH])]
    graph = helper.make_graph(nodes, "encoder", inputs, outputs, constants)
    onnx.save(helper.make_model(graph, ir_version=8, opset_imports=[helper.make_opsetid("", 17)]), path)


def hidden(weights, tokens):
    x = weights["embedding"][tokens]
    scores = (x @ weights["q"]) @ (x @ weights["k"]).T
    scores = np.exp(scores - scores.max(-1, keepdims=True))
    return (scores / scores.sum(-1, keepdims=True)) @ (x @ weights["v"])


def run(program, folder, tokens, mask=True):
    """The outputs, or what the tool says."""
    given, result = os.path.join(folder, "in.npz"), os.path.join(folder, "out.npz")
    arrays = {"input_ids": np.array([tokens], np.int64)}
    if mask:
        arrays["attention_mask"] = np.ones((1, len(tokens)), np.int64)
    np.savez(given, **arrays)
    done = subprocess.run([os.path.join(BUILD, "bin", "ashlar-run"), program, f"--inputs={given}",
                           f"--outputs={result}"], text=True, capture_output=True)
    if done.returncode:
        return None, f"exit code {done.returncode}: {done.stderr.strip()}"
    return np.load(result)["hidden"], done.stdout + done.stderr


def main():
    folder = sys.argv[1]
    os.makedirs(folder, exist_ok=True)
    draws = np.random.default_rng(5)
    weights = {name: (draws.standard_normal(shape) / WIDTH ** 0.25).astype(np.float32)
               for name, shape in (("embedding", (VOCABULARY, WIDTH)), ("q", (WIDTH, WIDTH)),
                                   ("k", (WIDTH, WIDTH)), ("v", (WIDTH, WIDTH)))}
    weights |= {"one": np.float32(1), "large": np.float32(1e4), "axis": np.array([1], np.int64)}
    for mask in (True, False):
        name = os.path.join(folder, "masked" if mask else "bare")
        write(weights, name + ".onnx", mask)
        subprocess.run([os.path.join(BUILD, "bin", "ashlarc"), name + ".onnx", "-o", name + ".ash",
                        "--format=bfp16", "--bucket=seq:8,16"], check=True, stdout=subprocess.DEVNULL)
    program, worst = os.path.join(folder, "masked.ash"), 0.0
    for count in range(3, 17):
        tokens = draws.integers(0, VOCABULARY, count)
        found, said = run(program, folder, tokens)
        assert found is not None and found.shape == (1, count, WIDTH), said
        worst = max(worst, float(np.abs(found[0] - hidden(weights, tokens)).max()))
        size = 8 if count <= 8 else 16
        note = f"the program for {size} runs on {count} elements and {size - count} zeros"
        assert (note in said) == (count != size), said
    print("14 lengths agree" if worst < 0.02 else f"largest difference {worst}")
    print(run(program, folder, [1] * 17)[1])
    print(run(os.path.join(folder, "bare.ash"), folder, [1] * 5, mask=False)[1])


if __name__ == "__main__":
    main()
