#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Small models that ask for much: time, memory and exit code of every tool.

usage: bombs.py FOLDER [--only=REGEX]

No model here has more than 64 kB. Every tool has to end within 10 s of a processor
and 1 GiB, with a program or with a refusal that names what is too large. Two run at a
time.
"""

import argparse
import concurrent.futures
import os
import re
import subprocess
import sys
import tempfile
import threading

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

SECONDS = 10
MEGABYTES = 1024
EXITS = (0, 3, 4, 5)


def value(name, shape, kind=TensorProto.FLOAT):
    return helper.make_tensor_value_info(name, kind, shape)


def ints(name, numbers):
    return numpy_helper.from_array(np.array(numbers, np.int64), name)


def add_to_input(nodes, initializers, last, functions=()):
    """x + sum of `last`, so that the output is small."""
    nodes.append(helper.make_node("ReduceMax", [last], ["r"], keepdims=0))
    nodes.append(helper.make_node("Add", ["x", "r"], ["y"]))
    return build(nodes, [value("x", [1])], [value("y", [1])], initializers,
                 functions)


def build(nodes, inputs, outputs, initializers=(), functions=(), opset=13):
    graph = helper.make_graph(nodes, "g", inputs, outputs, list(initializers))
    opsets = [helper.make_opsetid("", opset), helper.make_opsetid("f", 1)]
    model = helper.make_model(graph, opset_imports=opsets,
                              functions=list(functions))
    model.ir_version = 8
    return model


def filled(shape, functions=(), number=1.0):
    tensor = helper.make_tensor("v", TensorProto.FLOAT, [1], [number])
    return [helper.make_node("ConstantOfShape", ["s"], ["c"], value=tensor)], [
        ints("s", shape)]


def reduced(shape, chain=0):
    nodes, weights = filled(shape)
    last = "c"
    for i in range(chain):
        nodes.append(helper.make_node("Exp", [last], [f"e{i}"]))
        last = f"e{i}"
    return add_to_input(nodes, weights, last)


def product(columns):
    nodes, weights = filled([columns, columns])
    nodes.append(helper.make_node("MatMul", ["x", "c"], ["y"]))
    return build(nodes, [value("x", [1, columns])],
                 [value("y", [1, columns])], weights)


def doubling(times, random):
    """Concatenations of a constant with itself."""
    start = (np.arange(4096) % 7 if random else np.ones(4096)).astype(np.float32)
    weights = [numpy_helper.from_array(start, "c")]
    nodes, last = [], "c"
    for i in range(times):
        nodes.append(helper.make_node("Concat", [last, last], [f"c{i}"], axis=0))
        last = f"c{i}"
    return add_to_input(nodes, weights, last)


def rooted(times):
    """Concatenations of a constant with its square root: no operand is read twice."""
    weights = [numpy_helper.from_array((np.arange(4096) % 7 + 1).astype(np.float32), "c")]
    nodes, last = [], "c"
    for i in range(times):
        nodes.append(helper.make_node("Sqrt", [last], [f"r{i}"]))
        nodes.append(helper.make_node("Concat", [last, f"r{i}"], [f"c{i}"], axis=0))
        last = f"c{i}"
    return add_to_input(nodes, weights, last)


def expanded(count):
    """Many expansions of the same small constant, all different."""
    weights = [numpy_helper.from_array(np.arange(64, dtype=np.float32), "c")]
    nodes = []
    for i in range(count):
        weights.append(ints(f"s{i}", [15000 + i, 64]))
        nodes.append(helper.make_node("Expand", ["c", f"s{i}"], [f"e{i}"]))
        nodes.append(helper.make_node("ReduceMax", [f"e{i}"], [f"m{i}"],
                                      keepdims=0))
    nodes.append(helper.make_node("Sum", [f"m{i}" for i in range(count)], ["t"]))
    return add_to_input(nodes, weights, "t")


def ranges(count, length):
    weights = [ints("zero", 0), ints("one", 1), ints("end", length)]
    nodes = [helper.make_node("Cast", ["x"], ["i"], to=TensorProto.INT64)]
    for i in range(count):
        nodes.append(helper.make_node("Range", ["zero", "end", "one"],
                                      [f"r{i}"]))
        nodes.append(helper.make_node("Gather", [f"r{i}", "i"], [f"g{i}"]))
    nodes.append(helper.make_node("Sum", [f"g{i}" for i in range(count)], ["y"]))
    return build(nodes, [value("x", [1])], [value("y", [1], TensorProto.INT64)],
                 weights)


def calls(depth):
    """Functions that call each other twice: 2 to the power of `depth` nodes."""
    functions = []
    for level in range(depth):
        if level == 0:
            body = [helper.make_node("Relu", ["a"], ["t"]),
                    helper.make_node("Neg", ["t"], ["b"])]
        else:
            body = [helper.make_node(f"F{level - 1}", ["a"], ["t"], domain="f"),
                    helper.make_node(f"F{level - 1}", ["t"], ["b"], domain="f")]
        functions.append(helper.make_function(
            "f", f"F{level}", ["a"], ["b"], body,
            [helper.make_opsetid("", 13), helper.make_opsetid("f", 1)]))
    nodes = [helper.make_node(f"F{depth - 1}", ["x"], ["y"], domain="f")]
    return build(nodes, [value("x", [1])], [value("y", [1])], (), functions)


def wide(operands):
    nodes = [helper.make_node("Sum", ["x"] * operands, ["y"])]
    return build(nodes, [value("x", [4])], [value("y", [4])])


def batch(images):
    nodes = [helper.make_node("Conv", ["x", "w"], ["y"])]
    weights = [numpy_helper.from_array(np.ones((4, 4, 1, 1), np.float32), "w")]
    return build(nodes, [value("x", [images, 4, 7, 12])],
                 [value("y", [images, 4, 7, 12])], weights)


def convolved(images):
    """A convolution of more images than DRAM holds."""
    node = helper.make_node("Conv", ["x", "w"], ["y"], pads=[1, 1, 1, 1])
    weights = [numpy_helper.from_array(
        np.full((4, 4, 3, 3), 1 / 8, np.float32), "w")]
    return build([node], [value("x", [images, 4, 8, 8])],
                 [value("y", [images, 4, 8, 8])], weights)


def transposed(images):
    """Rows between rows: copies of a map that no state buffer holds."""
    nodes = [helper.make_node("ConvTranspose", ["x", "w"], ["t"],
                              pads=[0, 2, 3, 2], strides=[2, 1]),
             helper.make_node("Conv", ["t", "v"], ["y"], dilations=[1, 3],
                              pads=[4, 13, 2, 10])]
    weights = [numpy_helper.from_array(np.ones(shape, np.float32), name)
               for name, shape in (("w", (4, 1, 4, 4)), ("v", (2, 1, 7, 7)))]
    return build(nodes, [value("x", [images, 4, 7, 12])],
                 [value("y", [images, 2, 13, 14])], weights)


def convolutions(count):
    """A chain of small convolutions that share their weights."""
    names = ["x"] + [f"t{i}" for i in range(count - 1)] + ["y"]
    nodes = [helper.make_node("Conv", [x, "w"], [y])
             for x, y in zip(names, names[1:])]
    weights = [numpy_helper.from_array(
        np.full((16, 16, 1, 1), 1 / 16, np.float32), "w")]
    return build(nodes, [value("x", [1, 16, 4, 4])],
                 [value("y", [1, 16, 4, 4])], weights)


def sinking(count):
    """Reshapes and functions by turns: every reshape may pass all functions."""
    nodes, name = [], "x"
    for i in range(count):
        for op, inputs in (("Reshape", ["flat"]), ("Exp", []),
                           ("Reshape", ["map"]), ("Tanh", [])):
            nodes.append(helper.make_node(op, [name] + inputs,
                                          [f"{op[0]}{len(nodes)}"]))
            name = nodes[-1].output[0]
    nodes.append(helper.make_node("Identity", [name], ["y"]))
    weights = [ints("flat", [1, 4, 16]), ints("map", [1, 4, 4, 4])]
    return build(nodes, [value("x", [1, 4, 4, 4])],
                 [value("y", [1, 4, 4, 4])], weights)


def deformed(images):
    """Import makes tables of places, which are no reason for a long program."""
    node = helper.make_node("DeformConv", ["x", "w", "o"], ["y"])
    return build([node], [value("x", [images, 1, 130, 130]), value("w", [1, 1, 3, 3]),
                          value("o", [images, 18, 128, 128])],
                 [value("y", [images, 1, 128, 128])], opset=19)


def tuples(count):
    nodes = [helper.make_node("GatherND", ["x", "i"], ["y"])]
    return build(nodes, [value("x", [2, 2, 2]),
                         value("i", [count, 1, 2], TensorProto.INT64)],
                 [value("y", [count, 1, 2])])


def suppressed(boxes):
    """More steps than one call of the host may take."""
    node = helper.make_node("NonMaxSuppression", ["b", "s", "m"], ["y"])
    return build([node], [value("b", [1, boxes, 4]), value("s", [1, 80, boxes])],
                 [value("y", ["k", 3], TensorProto.INT64)], [ints("m", [100])])


MODELS = {
    "fill-2e9": lambda: reduced([2000000000]),
    "fill-4e8-chain": lambda: reduced([400000000], 2),
    "fill-8e6-chain": lambda: reduced([8000000], 400),
    "product-16384": lambda: product(16384),
    "product-2500": lambda: product(2500),
    "double-20": lambda: doubling(20, False),
    "double-20-distinct": lambda: doubling(17, True),
    "rooted-16": lambda: rooted(16),
    "rooted-17": lambda: rooted(17),
    "expand-300": lambda: expanded(300),
    "range-500": lambda: ranges(300, 1 << 20),
    "calls-24": lambda: calls(24),
    "sum-15000": lambda: wide(15000),
    "batch-1M": lambda: batch(1 << 20),
    "convolved-4M": lambda: convolved(1 << 22),
    "transposed-700k": lambda: transposed(700000),
    "convolutions-1700": lambda: convolutions(1700),
    "sinking-400": lambda: sinking(400),
    "suppressed-1M": lambda: suppressed(1000000),
    "deformed-64": lambda: deformed(64),
    "deformed-16": lambda: deformed(16),
    "tuples-16M": lambda: tuples(1 << 24),
}

# Machines of models that another one than the default takes apart further.
MACHINES = {"deformed-16": "a1-tiny"}


def run(command):
    """Exit code, seconds of processors, megabytes and the last line of standard error."""
    with tempfile.TemporaryFile() as said:
        child = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=said)
        stop = threading.Timer(40 * SECONDS, child.kill)
        stop.start()
        _, status, usage = os.wait4(child.pid, 0)
        stop.cancel()
        child.returncode = os.waitstatus_to_exitcode(status)
        said.seek(0)
        lines = said.read().decode(errors="replace").strip().splitlines()
    return (child.returncode, usage.ru_utime + usage.ru_stime, usage.ru_maxrss // 1024,
            lines[-1] if lines else "")


def judge(folder, name):
    """A line for each tool, and how many of them say that it failed."""
    model = os.path.join(folder, name + ".onnx")
    onnx.save(MODELS[name](), model)
    assert os.path.getsize(model) < 65536, (name, os.path.getsize(model))
    machine = "--machine=" + MACHINES.get(name, "a1")
    lines, failures = [], 0
    for what, arguments in (("compile", ["-o", os.path.join(folder, name + ".ash")]),
                            ("check", ["--check"])):
        code, seconds, peak, text = run(["ashlarc", model, machine, *arguments])
        good = code in EXITS and seconds < SECONDS and peak <= MEGABYTES
        failures += not good
        lines.append(f"{'ok' if good else 'FAILED'} {name} {what}: exit {code}, "
                     f"{seconds:.1f} s, {peak} MB{'' if code == 0 else ': ' + text[:800]}")
    return lines, failures


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder")
    parser.add_argument("--only", default="")
    options = parser.parse_args()
    os.makedirs(options.folder, exist_ok=True)
    names = [name for name in MODELS if re.search(options.only, name)]
    failures = 0
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        for lines, failed in pool.map(lambda name: judge(options.folder, name), names):
            print("\n".join(lines), flush=True)
            failures += failed
    sys.exit(failures > 0)


if __name__ == "__main__":
    main()
