#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Weights in the model, beside it and in memory give the same program.

usage: external.py FOLDER

Draws products with a large matrix each, once with the weights in the file and
once beside it, and compiles both; prints whether the programs have the same
bytes, and whether the peak of memory above that of a small model stays below the
bytes of the model.
"""

import hashlib
import multiprocessing
import os
import subprocess
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

BUILD = os.environ["ASHLAR_BUILD"]
WIDTH = 2048


def draw(layers, width):
    """Products, a transposed one and one with a factor for every column among them."""
    draws = np.random.default_rng(7)
    nodes, constants, x = [], [], "x"
    for i in range(layers):
        weights = draws.standard_normal((width, width), np.float32) / np.float32(width ** 0.5)
        constants.append(numpy_helper.from_array(weights, f"w{i}"))
        if i % 2:
            nodes.append(helper.make_node("Gemm", [x, f"w{i}"], [f"y{i}"], transB=1))
        else:
            nodes.append(helper.make_node("MatMul", [x, f"w{i}"], [f"y{i}"]))
        factors = draws.uniform(0.5, 2, width).astype(np.float32)
        constants.append(numpy_helper.from_array(factors, f"f{i}"))
        nodes.append(helper.make_node("Mul", [f"y{i}", f"f{i}"], [f"z{i}"]))
        x = f"z{i}"
    info = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, width]) for name in ("x", x)]
    graph = helper.make_graph(nodes, "products", info[:1], info[1:], constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])


def compile_model(path, program):
    """A checksum of the program, and the peak of memory in bytes."""
    with subprocess.Popen([os.path.join(BUILD, "bin", "ashlarc"), path, "-o", program],
                          stdout=subprocess.DEVNULL) as child:
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        sys.exit(f"ashlarc: exit code {child.returncode}")
    with open(program, "rb") as stream:
        return hashlib.sha256(stream.read()).digest(), 1024 * usage.ru_maxrss


def save(path, layers, width, outside):
    """Draws and writes a model."""
    model = draw(layers, width)
    if outside:
        onnx.save_model(model, path, save_as_external_data=True, location="products.data",
                        size_threshold=1024)
    else:
        onnx.save(model, path)


def save_apart(*arguments):
    """The same in a process of its own: the peak of a child begins with the memory
    of the process that starts it."""
    child = multiprocessing.get_context("spawn").Process(target=save, args=arguments)
    child.start()
    child.join()
    if child.exitcode:
        sys.exit("drawing failed")


def main():
    folder = sys.argv[1]
    os.makedirs(folder, exist_ok=True)
    path = os.path.join(folder, "products.onnx")
    program = os.path.join(folder, "products.ash")
    save_apart(path, 1, 64, False)
    _, small = compile_model(path, program)
    save_apart(path, 6, WIDTH, False)
    size = os.path.getsize(path)
    inside, peak = compile_model(path, program)
    save_apart(path, 6, WIDTH, True)
    beside, more = compile_model(path, program)
    print(f"programs are {'equal' if inside == beside else 'different'}")
    for name, value in (("inside", peak), ("beside", more)):
        share = (value - small) / size
        print(f"weights {name}: {'less' if share < 1 else 'more'} than once the model ({share:.2f})")


if __name__ == "__main__":
    main()
