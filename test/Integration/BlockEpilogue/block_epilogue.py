#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Networks compiled with --epilogue=block: bits of the numpy reference, the
instructions that stay in integers, cycles.

usage: block_epilogue.py NETWORK [ASHLARC_OPTION]... [--expect=TEXT]...

NETWORK is one of NETWORKS. Prints the cycles, how many drains are of mode block
and of mode f32, the element-wise functions of blocks, and the signal-to-noise
ratio against ONNX Runtime; exits with 1 if a tensor differs from the reference in a
bit, or if no instruction has a field of --expect.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))
import common  # noqa: E402

REFERENCE = os.path.join(common.ROOT, "test", "reference", "reference.py")


class Network:
    """Nodes with their constants; the last one's result is the output."""

    def __init__(self, shape, seed=0):
        self.draw = np.random.default_rng(seed)
        self.shape, self.nodes, self.constants = shape, [], []

    def constant(self, name, values):
        self.constants.append(numpy_helper.from_array(
            np.asarray(values, np.float32), name))
        return name

    def node(self, kind, name, *inputs, **attributes):
        self.nodes.append(helper.make_node(kind, list(inputs), [name], name=name,
                                           **attributes))
        return name

    def conv(self, name, x, inputs, outputs, kernel=3, bias=True, **attributes):
        shape = (outputs, inputs // attributes.get("group", 1), kernel, kernel)
        w = self.draw.normal(0, 1 / np.sqrt(np.prod(shape[1:])), shape)
        operands = [x, self.constant(name + ".w", w)]
        if bias:
            operands.append(self.constant(name + ".b", self.draw.normal(0, 1, outputs)))
        return self.node("Conv", name, *operands, pads=[kernel // 2] * 4, **attributes)

    def model(self, output):
        value = helper.make_tensor_value_info
        graph = helper.make_graph(
            self.nodes, "blocks", [value("x", TensorProto.FLOAT, list(self.shape))],
            [value(output, TensorProto.FLOAT, None)], self.constants)
        return helper.make_model(graph, ir_version=8,
                                 opset_imports=[helper.make_opsetid("", 17)])


def residual():
    """Residual, relu, clip, gate, difference and quotient between products."""
    net = Network((1, 8, 10, 10))
    low, high = net.constant("low", 0.0), net.constant("high", 1.5)
    a = net.node("Relu", "a", net.conv("c1", "x", 8, 16))
    b = net.node("Add", "b", net.conv("c2", a, 16, 16), a)
    c = net.node("Clip", "c", b, low, high)
    d = net.conv("c3", c, 16, 16, bias=False)
    mean = net.node("GlobalAveragePool", "mean", d)
    gate = net.node("Relu", "gate", net.conv("c4", mean, 16, 16, 1))
    e = net.node("Mul", "e", d, gate)
    f = net.conv("c5", e, 16, 16, group=16)
    g = net.node("Sub", "g", f, c)
    h = net.node("Div", "h", net.conv("c6", g, 16, 16), net.conv("c7", g, 16, 16, 1))
    # Quotients by numbers near zero have no accuracy to measure.
    net.constants[-1] = numpy_helper.from_array(np.full(16, 12, np.float32), "c7.b")
    i = net.node("Add", "i", net.conv("c8", h, 16, 16), gate)
    return net.model(net.conv("y", i, 16, 4, 1))


def layers():
    """Fully connected layers of one position: weights stream."""
    net = Network((1, 128))
    x = "x"
    for i in range(3):
        w = net.constant(f"w{i}", net.draw.normal(0, 0.1, (128, 128)))
        bias = net.constant(f"b{i}", net.draw.normal(0, 1, 128))
        x = net.node("Relu", f"r{i}", net.node("Gemm", f"g{i}", x, w, bias))
    return net.model(net.node("Gemm", "y", x, "w0", "b0"))


def dead():
    """Channels whose weights are zero: the bias is all that there is. An input
    of zeros makes whole tensors of biases."""
    net = Network((1, 16, 6, 6))
    a = net.conv("c1", "x", 16, 16)
    w = numpy_helper.to_array(net.constants[0]).copy()
    w[::3] = 0
    net.constants[0] = numpy_helper.from_array(w, "c1.w")
    b = net.node("Relu", "b", a)
    return net.model(net.conv("y", net.conv("c2", b, 16, 16), 16, 4, 1))


def zeros():
    """A tensor of zeros between: relu of what is below 0."""
    net = Network((1, 16, 6, 6))
    a = net.conv("c1", "x", 16, 16)
    net.constants[1] = numpy_helper.from_array(np.full(16, -1e3, np.float32), "c1.b")
    b = net.node("Relu", "b", a)
    c = net.node("Add", "c", net.conv("c2", b, 16, 16), net.conv("c3", "x", 16, 16))
    return net.model(net.conv("y", c, 16, 4, 1))


def attention():
    """Products of two operands that are known at run time."""
    net = Network((1, 24, 32))
    q, k, v = (net.node("MatMul", n, "x", net.constant(n + ".w", net.draw.normal(
        0, 0.2, (32, 32)))) for n in "qkv")
    s = net.node("MatMul", "s", q, net.node("Transpose", "kt", k, perm=[0, 2, 1]))
    return net.model(net.node("MatMul", "y", net.node("MatMul", "z", s, v),
                              net.constant("w", net.draw.normal(0, 0.2, (32, 16)))))


def sparse():
    """Weights of which nine of ten are zero."""
    net = Network((1, 16, 16, 16))
    a = net.node("Relu", "a", net.conv("c1", "x", 16, 32))
    b = net.node("Add", "b", net.conv("c2", a, 32, 32), a)
    model = net.conv("y", b, 32, 8, 1)
    for i, constant in enumerate(net.constants):
        if constant.name.endswith(".w"):
            w = numpy_helper.to_array(constant).copy()
            w[net.draw.random(w.shape) < 0.9] = 0
            net.constants[i] = numpy_helper.from_array(w, constant.name)
    return net.model(model)


NETWORKS = {f.__name__: f for f in (residual, layers, dead, zeros, attention, sparse)}


def run(model, options, folder):
    path = lambda name: os.path.join(folder, name)
    onnx.save(model, path("m.onnx"))
    shape = [d.dim_value for d in model.graph.input[0].type.tensor_type.shape.dim]
    x = np.random.default_rng(1).normal(0, 1, shape).astype(np.float32)
    np.savez(path("x.npz"), x=x)
    if any(option.startswith("--scale") for option in options):
        options = options + [f"--calibrate={path('x.npz')}"]
    common.run_tool("ashlarc", path("m.onnx"), "-o", path("m.ash"), "--epilogue=block",
                    f"--dump-plan={path('plan')}", *options)
    common.run_tool("ashlar-run", path("m.ash"), f"--inputs={path('x.npz')}", "--quiet",
                    f"--dump-tensors={path('dump')}", f"--report={path('report.json')}",
                    f"--outputs={path('y.npz')}")
    wrong = subprocess.run([sys.executable, REFERENCE, path("plan"), path("x.npz"),
                            path("dump")]).returncode
    with open(path("report.json"), encoding="utf-8") as file:
        report = json.load(file)
    with np.load(path("y.npz")) as outputs:
        y = outputs[outputs.files[0]]
    text = common.run_tool("ashlar-dis", path("m.ash")).stdout
    expected = common.ort.run(path("m.onnx"), [{"x": x}])[0][0]["y"]
    return wrong, report, common.snr_db(expected, y), text


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("network", choices=NETWORKS)
    parser.add_argument("--expect", action="append", default=[])
    options, passed = parser.parse_known_args()
    with tempfile.TemporaryDirectory() as folder:
        wrong, report, snr, text = run(NETWORKS[options.network](), passed, folder)
    lines = [line.split() for line in text.splitlines() if line.strip()]
    drains = [line for line in lines if line[0] == "act.drain"]
    blocks = [line for line in drains if "mode=block" in line]
    functions = sorted({w[3:] for line in lines if line[0] == "vec.map"
                        for w in line if w.startswith("op=block")})
    print(f"{options.network}: {report['total_cycles']} cycles, {snr:.1f} dB, "
          f"{len(blocks)} of {len(drains)} drains in blocks, "
          f"functions {' '.join(functions) or 'none'}")
    for text in options.expect:
        if not any(set(text.split()) <= set(line) for line in lines):
            print(f"no instruction with {text}")
            wrong = 1
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
