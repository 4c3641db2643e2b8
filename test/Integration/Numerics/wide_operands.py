#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operands wider than binary32: values that a second rounding moves.

usage: wide_operands.py

A value lies a little above the middle of two mantissas; binary32 rounds it to the
middle, which goes to the even one (docs/Numerics.md 2 and 10). Operands in binary64,
weights in binary64 and integers that a Cast makes floats give the expected bits, and
those of the numeric plan in numpy. Functions between a Cast to binary64 and one back are
computed in it (8.6).
"""

import os
import subprocess
import sys
import tempfile

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

import common  # noqa: E402

# 1000.5 steps of 2^-14 and a little more, next to a value that sets the exponent.
ABOVE = np.array([[1, 2001 * 2.0**-15 + 2.0**-36]])
# The same of integers, whose step is 2^16.
WIDE = np.array([[(1 << 30), 2001 * (1 << 15) + 1]])


def models():
    """(what it is, model, input, expected result, format)"""
    for what, wide, array, expected in encoded():
        yield what, wide, array, expected, "bfp16"
        if "operand" in what:
            yield f"{what}, one block", wide, array, expected, "w=16,block=tensor,range=7"
    for what, wide, array, expected in computed():
        yield what, wide, array, expected, "bfp16"


def encoded():
    yield "operand in binary64", model("double", np.eye(2)), ABOVE, [[1, 1000 * 2.0**-14]]
    yield "weights in binary64", model("double", ABOVE.T.copy()), np.array([[0.0, 1]]), \
        [[1000 * 2.0**-14]]
    for kind in ("int32", "int64"):
        yield f"operand in {kind}", model(kind, np.eye(2, dtype=np.float32)), \
            WIDE.astype(kind), [[1 << 30, 1000 * (1 << 16)]]


def computed():
    rng = np.random.default_rng(1)
    x, c = rng.normal(0, 1, (4, 48)).astype(np.float32), rng.normal(0, 1, (2, 48))
    products = x * c[0] + c[1]
    yield "sums in binary64", between(c, []), x, products.astype(np.float32)
    yield "roots in binary64", between(c, ["Abs", "Sqrt"]), x, \
        np.sqrt(np.abs(products)).astype(np.float32)
    yield "halves of binary64", between(c, [], TensorProto.FLOAT16), x, \
        products.astype(np.float32).astype(np.float16)


def model(kind, weights):
    code = {"double": TensorProto.DOUBLE, "int32": TensorProto.INT32, "int64": TensorProto.INT64}[kind]
    result = TensorProto.DOUBLE if kind == "double" else TensorProto.FLOAT
    source = [] if kind == "double" else [helper.make_node("Cast", ["x"], ["f"], to=result)]
    product = helper.make_node("MatMul", ["f" if source else "x", "w"], ["y"])
    graph = helper.make_graph(
        source + [product], "wide", [helper.make_tensor_value_info("x", code, (1, 2))],
        [helper.make_tensor_value_info("y", result, (1, weights.shape[1]))],
        [numpy_helper.from_array(weights, "w")])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)


def between(c, functions, last=TensorProto.FLOAT):
    """x * c[0] + c[1] and functions of it in binary64."""
    names = ["wide", "product", "sum", *functions]
    nodes = [helper.make_node("Cast", ["x"], ["wide"], to=TensorProto.DOUBLE),
             helper.make_node("Mul", ["wide", "c0"], ["product"]),
             helper.make_node("Add", ["product", "c1"], ["sum"])]
    nodes += [helper.make_node(op, [names[k + 2]], [op]) for k, op in enumerate(functions)]
    nodes.append(helper.make_node("Cast", [names[-1]], ["y"], to=last))
    graph = helper.make_graph(
        nodes, "between", [helper.make_tensor_value_info("x", TensorProto.FLOAT, (4, 48))],
        [helper.make_tensor_value_info("y", last, (4, 48))],
        [numpy_helper.from_array(c[k], f"c{k}") for k in range(2)])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)


def main():
    reference = os.path.join(common.ROOT, "test", "reference", "reference.py")
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        path = lambda name: os.path.join(folder, name)
        for what, wide, array, expected, form in models():
            onnx.save(wide, path("m.onnx"))
            np.savez(path("i.npz"), x=array)
            common.run_tool("ashlarc", path("m.onnx"), "-o", path("m.ash"), f"--format={form}",
                            "--quiet", f"--dump-plan={path('plan')}")
            common.run_tool("ashlar-run", path("m.ash"), f"--inputs={path('i.npz')}", "--quiet",
                            f"--outputs={path('o.npz')}", f"--dump-tensors={path('dump')}")
            with np.load(path("o.npz")) as stored:
                right = np.array_equal(stored["y"], np.array(expected))
            done = subprocess.run([sys.executable, reference, path("plan"), path("i.npz"),
                                   path("dump")], capture_output=True, text=True, check=False)
            failed += not right or done.returncode != 0
            print(f"{what}: {'expected values' if right else 'FAILED'}; {done.stdout.strip()}")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
