#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Models beyond the fields of an instruction: extents of 2^20 and more, windows,
strides and dilations of 4096 and more.

usage: large_extents.py

Each is compiled for a large and a small machine, run and compared with numpy,
or refused with exit code 5 and a message that names node, operator, shape, limit
and remedy.
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

FLOAT = TensorProto.FLOAT
EXTENT = 1 << 20
CAPACITY = 5


def pooled(x, reduce, kernel, stride=1, dilation=1, pads=(0, 0), fill=-np.inf):
    """Windows along the last axis, one value each."""
    x = np.pad(x, [(0, 0)] * (x.ndim - 1) + [pads], constant_values=fill)
    count = (x.shape[-1] - (kernel - 1) * dilation - 1) // stride + 1
    taps = [x[..., q * dilation:q * dilation + (count - 1) * stride + 1:stride]
            for q in range(kernel)]
    return reduce(taps)


def largest(taps):
    return np.maximum.reduce(taps)


def mean(taps):
    return (np.sum(np.stack(taps).astype(np.float64), 0) / len(taps)).astype(np.float32)


def cases():
    """(name, node, input shape, constants, expected, refused)."""
    def node(op, inputs=("x",), outputs=("y",), **attributes):
        return helper.make_node(op, inputs, outputs, name=op + "_0", **attributes)

    def integers(name, values):
        return numpy_helper.from_array(np.array(values, np.int64), name)

    wide = (2, EXTENT + 7)
    yield "concat", node("Concat", ("x", "x"), axis=1), wide, [], \
        lambda x: np.concatenate([x, x], 1), False
    yield "slice", node("Slice", ("x", "a", "b", "c", "d")), wide, \
        [integers("a", [3]), integers("b", [EXTENT + 5]), integers("c", [1]),
         integers("d", [1])], lambda x: x[:, 3:EXTENT + 5], False
    yield "every third", node("Slice", ("x", "a", "b", "c", "d")), (1, 3 * EXTENT + 8), \
        [integers("a", [1]), integers("b", [1 << 62]), integers("c", [1]),
         integers("d", [3])], lambda x: x[:, 1::3], False
    yield "transpose", node("Transpose", perm=[1, 2, 0]), (2, 3, EXTENT + 1), [], \
        lambda x: x.transpose(1, 2, 0), False
    yield "pad", node("Pad", ("x", "a")), wide, [integers("a", [0, 5, 0, 9])], \
        lambda x: np.pad(x, [(0, 0), (5, 9)]), False
    yield "relu", node("Relu"), wide, [], lambda x: np.maximum(x, 0), False
    yield "long vector", node("Relu"), (2 * EXTENT + 3,), [], \
        lambda x: np.maximum(x, 0), False
    narrow = (1, 2, 3, 9500)
    yield "kernel", node("MaxPool", kernel_shape=[1, 5000]), narrow, [], \
        lambda x: pooled(x, largest, 5000), False
    yield "kernel and pads", node("MaxPool", kernel_shape=[1, 4097], pads=[0, 7, 0, 4000],
                                  strides=[1, 3]), narrow, [], \
        lambda x: pooled(x, largest, 4097, 3, 1, (7, 4000)), False
    yield "dilation", node("MaxPool", kernel_shape=[1, 3], dilations=[1, 4700]), narrow, [], \
        lambda x: pooled(x, largest, 3, 1, 4700), False
    yield "stride", node("MaxPool", kernel_shape=[1, 9], strides=[1, 4096], pads=[0, 4, 0, 0]), \
        narrow, [], lambda x: pooled(x, largest, 9, 4096, 1, (4, 0)), False
    yield "one window", node("AveragePool", kernel_shape=[1, 9500], strides=[1, 99999]), \
        narrow, [], lambda x: pooled(x, mean, 9500), False
    yield "mean", node("AveragePool", kernel_shape=[1, 5000]), narrow, [], \
        lambda x: pooled(x, mean, 5000), False
    yield "padded mean", node("AveragePool", kernel_shape=[1, 5000], count_include_pad=1,
                              pads=[0, 50, 0, 9]), narrow, [], \
        lambda x: pooled(x, mean, 5000, 1, 1, (50, 9), 0), False
    yield "mean and stride", node("AveragePool", kernel_shape=[1, 5], strides=[1, 4100]), \
        narrow, [], lambda x: pooled(x, mean, 5, 4100), False
    yield "many windows", node("MaxPool", kernel_shape=[2], strides=[4096]), \
        (1, 1, 300 * 4096), [], None, True


def run(folder, case, machine):
    """What is wrong, or nothing."""
    name, node, shape, constants, expected, refused = case
    result = [None] * (len(shape) if node.op_type != "Squeeze" else 0)
    graph = helper.make_graph([node], "g", [helper.make_tensor_value_info("x", FLOAT, shape)],
                              [helper.make_tensor_value_info("y", FLOAT, result)], constants)
    model = os.path.join(folder, "model.onnx")
    onnx.save(helper.make_model(graph, ir_version=7,
                                opset_imports=[helper.make_opsetid("", 13)]), model)
    program = os.path.join(folder, "model.ash")
    done = subprocess.run([common.tool("ashlarc"), model, "-o", program, "--machine=" + machine],
                          capture_output=True, text=True, timeout=60)
    if refused:
        missing = [word for word in (node.name, "must be in", "cut the")
                   if word not in done.stderr]
        missing += [f"no {word}" for word in ("npu.", "tensor<") if word in done.stderr]
        return "" if done.returncode == CAPACITY and not missing else \
            f"exit code {done.returncode}, lacks {missing}: {done.stderr[:300]}"
    if done.returncode:
        return f"exit code {done.returncode}: {done.stderr[:300]}"
    x = np.random.default_rng(1).normal(size=shape).astype(np.float32)
    inputs, outputs = (os.path.join(folder, f) for f in ("in.npz", "out.npz"))
    np.savez(inputs, x=x)
    done = subprocess.run([common.tool("ashlar-run"), program, "--inputs=" + inputs,
                           "--outputs=" + outputs], capture_output=True, text=True, timeout=120)
    if done.returncode:
        return f"ashlar-run: exit code {done.returncode}: {done.stderr[:300]}"
    found, wanted = np.load(outputs)["y"], expected(x)
    if found.shape != wanted.shape:
        return f"shape {found.shape}, expected {wanted.shape}"
    tolerance = 1e-5 if node.op_type == "AveragePool" else 0
    difference = np.abs(found - wanted).max()
    return "" if difference <= tolerance else f"differs by {difference}"


def main():
    failures = count = 0
    with tempfile.TemporaryDirectory() as folder:
        for case in cases():
            for machine in ("a1", "a1-tiny"):
                wrong = run(folder, case, machine)
                count += 1
                if wrong:
                    failures += 1
                    print(f"{case[0]} on {machine}: {wrong}")
    print(f"{count} cases, {failures} wrong")
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
