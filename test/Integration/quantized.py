#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random networks of integer operators against their definition and ONNX
Runtime.

usage: quantized.py [--seeds=0:8] [--ort] [--machine=a1]

A network is QuantizeLinear, QLinearConv (random zero points, per tensor and per
channel, padding, strides, groups), QLinearMatMul, ConvInteger,
MatMulInteger and DequantizeLinear; besides, ConvInteger and MatMulInteger with
the zero points of DynamicQuantizeLinear, and of two activations. Accumulators and results must have equal
bits to a computation with numpy integers written from docs/Numerics.md. With
--ort the number of elements that differ from ONNX Runtime is printed and must be
0; the networks then have the operand types that it knows. Every planned tensor
is compared with the numpy reference too.
"""

import argparse
import os
import random
import subprocess
import sys
import tempfile

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

import common
import numerics_model


class Network:
    """Builds nodes and their values side by side."""

    def __init__(self, seed, all_types=True):
        self.all_types = all_types
        self.random = random.Random(seed)
        self.np = np.random.default_rng(seed)
        self.nodes, self.constants, self.values = [], [], {}
        self.outputs = []

    def constant(self, array, hint):
        name = f"{hint}_{len(self.constants)}"
        array = np.asarray(array)
        self.constants.append(numpy_helper.from_array(array, name))
        self.values[name] = array
        return name

    def node(self, op, inputs, value, **attrs):
        name = f"{op}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, inputs, [name], name=name, **attrs))
        self.values[name] = value
        return name

    def zero(self, dtype):
        info = np.iinfo(dtype)
        return dtype(self.random.choice([0, info.min, info.max,
                                         self.random.randint(info.min, info.max)]))

    def zeros(self):
        """Kinds of zero points of weights."""
        return ALL_ZEROS if self.all_types else ONE_ZERO

    def type(self):
        """Of an activation."""
        return self.random.choice([np.uint8, np.int8]) if self.all_types else np.uint8

    def weight_type(self, integer=False):
        if integer and not self.all_types:
            return np.uint8
        return self.random.choice([np.uint8, np.int8])


def saturate(values, zero):
    info = np.iinfo(zero.dtype)
    return np.clip(values + zero.astype(np.float32), info.min,
                   info.max).astype(zero.dtype)


def conv(x, w, stride, pads, group):
    """Exact convolution of [N, C, H, W] and [O, C/g, k, k] in int64."""
    x = np.pad(x, ((0, 0), (0, 0), (pads[0], pads[2]), (pads[1], pads[3])))
    outs, depth, kh, kw = w.shape
    h = (x.shape[2] - kh) // stride + 1
    v = (x.shape[3] - kw) // stride + 1
    result = np.zeros((x.shape[0], outs, h, v), np.int64)
    for o in range(outs):
        first = o // (outs // group) * depth
        for i in range(kh):
            for j in range(kw):
                part = x[:, first:first + depth, i:i + (h - 1) * stride + 1:stride,
                         j:j + (v - 1) * stride + 1:stride]
                result[:, o] += np.einsum("nchw,c->nhw", part, w[o, :, i, j])
    return result


def requantise(acc, x_scale, w_scale, y_scale, zero):
    factor = np.float32(np.float32(x_scale * w_scale) / y_scale)
    return saturate(np.rint(acc.astype(np.float32) * factor), zero)


def random_weights(net, shape, dtype):
    info = np.iinfo(dtype)
    return net.np.integers(info.min, info.max + 1, shape).astype(dtype)


ALL_ZEROS = ("none", "any", "off", "off", "near", "far")
# ONNX Runtime has kernels for one zero point only.
ONE_ZERO = ALL_ZEROS[:4]


def random_filter(net, shape, dtype, kinds, axis=0):
    """Weights and their zero point, a scalar or one per output (`axis`)."""
    info = np.iinfo(dtype)
    kind = net.random.choice(kinds)
    if kind == "near":  # all differences lie within 255 of each other
        middle = int(info.min) + 128
        w = net.np.integers(middle - 50, middle + 50, shape).astype(dtype)
        return w, net.np.integers(middle - 60, middle + 60, shape[axis]).astype(dtype)
    w = random_weights(net, shape, dtype)
    if kind == "far":
        return w, net.np.integers(info.min, info.max + 1, shape[axis]).astype(dtype)
    zero = {"none": dtype(0), "any": net.zero(dtype)}.get(
        kind, dtype(info.min + net.random.choice([3, 120, 255])))
    return w, np.array(zero)


def centred(w, zero, axis=0):
    """w - zero in int64; the zero point is a scalar or one per output."""
    along = [1] * w.ndim
    along[axis] = -1
    return w.astype(np.int64) - (zero.reshape(along) if zero.ndim else zero).astype(np.int64)


def add_conv(net, x, x_scale, x_zero, integer, x_zero_name=None):
    source = net.values[x]
    channels = source.shape[1]
    group = net.random.choice([1, 1, channels])
    outs = group * net.random.randint(1, 3) if group > 1 else net.random.choice([5, 8, 20])
    kernel = net.random.choice([1, 3]) if source.shape[2] >= 3 else 1
    stride = net.random.choice([1, 2])
    pads = [net.random.randint(0, kernel // 2) for _ in range(4)]
    w_type = net.weight_type(integer)
    w, w_zero = random_filter(net, (outs, channels // group, kernel, kernel), w_type, net.zeros())
    acc = conv(source.astype(np.int64) - int(x_zero), centred(w, w_zero), stride, pads, group)
    attrs = {"strides": [stride] * 2, "pads": pads, "group": group,
             "kernel_shape": [kernel] * 2}
    names = [net.constant(w, "w"), net.constant(w_zero, "wz")]
    xz = x_zero_name or net.constant(x_zero, "xz")
    if integer:
        name = net.node("ConvInteger", [x, names[0], xz, names[1]],
                        acc.astype(np.int32), **attrs)
        net.outputs.append(name)
        return name, None, None
    per_channel = w_zero.ndim > 0 or net.random.random() < 0.5
    w_scale = (net.np.uniform(0.001, 0.02, outs if per_channel else ())).astype(np.float32)
    zeros = np.broadcast_to(w_zero, outs).copy() if per_channel else w_zero
    bias = net.np.integers(-2000, 2000, outs).astype(np.int32)
    acc = acc + bias.reshape(1, -1, 1, 1)
    spread = w_scale.reshape(1, -1, 1, 1) if per_channel else w_scale
    y_scale = np.float32(max(np.abs(acc).max() * float(x_scale) * w_scale.max() / 150, 1e-4))
    y_zero = np.array(net.zero(net.type()))
    value = requantise(acc, x_scale, spread, y_scale, y_zero)
    name = net.node("QLinearConv", [
        x, net.constant(x_scale, "xs"), xz, names[0], net.constant(w_scale, "ws"),
        net.constant(zeros, "wz"), net.constant(y_scale, "ys"),
        net.constant(y_zero, "yz"), net.constant(bias, "b")], value, **attrs)
    net.outputs.append(name)
    return name, y_scale, y_zero


def add_matmul(net, a, b, a_zero, b_zero, names):
    """MatMulInteger of the values `a` and `b`; `names` of their zero points."""
    acc = (net.values[a].astype(np.int64) - int(a_zero)) @ centred(net.values[b], b_zero, 1)
    net.outputs.append(net.node("MatMulInteger", [a, b, *names], acc.astype(np.int32)))


def add_dynamic(net, x):
    """Products of activations whose zero point is computed."""
    high, low = np.maximum(x.max(), np.float32(0)), np.minimum(x.min(), np.float32(0))
    scale = np.float32(np.float32(high - low) / np.float32(255))
    zero = np.array(np.rint(np.clip((np.float32(0) - low) / scale, 0, 255)).astype(np.uint8))
    names = [f"dynamic{i}" for i in range(3)]
    net.nodes.append(helper.make_node("DynamicQuantizeLinear", ["x"], names, name="dynamic"))
    net.values[names[0]] = saturate(np.rint(x / scale), zero)
    net.values[names[2]] = zero
    add_conv(net, names[0], scale, zero, True, names[2])
    flat = net.node("Flatten", [names[0]], net.values[names[0]].reshape(1, -1), axis=1)
    w, w_zero = random_filter(net, (x.size, 10), net.weight_type(True), net.zeros(), 1)
    add_matmul(net, flat, net.constant(w, "w"), zero, w_zero,
               [names[2], net.constant(w_zero, "wz")])


def add_factors(net, q, zero):
    """The product of an activation and itself, turned."""
    value = net.values[q]
    rows = value.reshape(value.shape[1], -1)
    shape = net.constant(np.array(rows.shape, np.int64), "shape")
    left = net.node("Reshape", [q, shape], rows)
    right = net.node("Transpose", [left], rows.T, perm=[1, 0])
    z = net.constant(zero, "z")
    add_matmul(net, left, right, zero, zero, [z, z])


def build(seed, all_types=True):
    net = Network(seed, all_types)
    shape = (1, net.random.choice([3, 8]), 12, 12)
    x = net.np.normal(0, 1, shape).astype(np.float32)
    net.values["x"] = x
    scale, zero = np.float32(0.03), np.array(net.zero(net.type()))
    quantised = net.node("QuantizeLinear", [
        "x", net.constant(scale, "s"), net.constant(zero, "z")],
        saturate(np.rint(x / scale), zero))
    add_dynamic(net, x)
    add_factors(net, quantised, zero)
    at = quantised
    for _ in range(net.random.randint(1, 3)):
        at, scale, zero = add_conv(net, at, scale, zero, False)
    add_conv(net, at, scale, zero, True)
    flat = net.values[at].reshape(1, -1)
    name = net.node("Flatten", [at], flat, axis=1)
    w_type = net.weight_type()
    w = random_weights(net, (flat.shape[1], 10), w_type)
    w_zero = np.array(net.zero(w_type))
    acc = (flat.astype(np.int64) - int(zero)) @ (w.astype(np.int64) - int(w_zero))
    wn, zn, wz = net.constant(w, "w"), net.constant(zero, "z"), net.constant(w_zero, "wz")
    net.outputs.append(net.node("MatMulInteger", [name, wn, zn, wz], acc.astype(np.int32)))
    y_scale = np.float32(max(np.abs(acc).max() * float(scale) * 0.01 / 100, 1e-4))
    y_zero = np.array(net.zero(net.type()))
    value = requantise(acc, scale, np.float32(0.01), y_scale, y_zero)
    ys, yz = net.constant(y_scale, "ys"), net.constant(y_zero, "yz")
    y = net.node("QLinearMatMul", [name, net.constant(scale, "s"), zn, wn,
                                   net.constant(np.float32(0.01), "ws"), wz, ys, yz], value)
    net.outputs.append(y)
    net.outputs.append(net.node("DequantizeLinear", [y, ys, yz], (
        value.astype(np.float32) - y_zero.astype(np.float32)) * y_scale))
    return net, x


def save(net, path, x):
    def info(name):
        array = net.values[name]
        return helper.make_tensor_value_info(
            name, onnx.mapping.NP_TYPE_TO_TENSOR_TYPE[array.dtype], array.shape)
    graph = helper.make_graph(
        net.nodes, "quantised", [helper.make_tensor_value_info("x", TensorProto.FLOAT, x.shape)],
        [info(name) for name in net.outputs], net.constants)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)],
                                ir_version=8), path)


def compare(label, net, found, results):
    """What differs between the emulator's outputs `found` and the definition,
    and, if `results` holds any, the outputs of ONNX Runtime."""
    failures = []
    for name in net.outputs:
        want = net.values[name]
        differing = int((want != found[name].reshape(want.shape)).sum())
        if differing or found[name].dtype != want.dtype:
            failures.append(f"{label}: {name}: {differing} of {want.size} "
                            "elements differ from the definition")
        if not results:
            continue
        other = int((results[name].reshape(want.shape) != found[name].reshape(want.shape)).sum())
        print(f"{label} {name}: {other} of {want.size} differ from ONNX Runtime")
        if other:
            failures.append(f"{label}: {name}: {other} of {want.size} "
                            "elements differ from ONNX Runtime")
    return failures


def execute(label, path, x, machine, folder):
    """(outputs, failures) of the model at `path`: every planned tensor of the
    emulator must be the numpy reference's. The plan stays in `folder`."""
    inputs, outputs = os.path.join(folder, "in.npz"), os.path.join(folder, "out.npz")
    np.savez(inputs, x=x)
    binary = os.path.join(folder, "model.ash")
    common.run_tool("ashlarc", path, "-o", binary, f"--machine={machine}",
                    f"--dump-plan={folder}/plan")
    run, reference = numerics_model.commands(folder, inputs, 0, 1, threads=2)
    common.run_tool("ashlar-run", *run[1:])
    done = subprocess.run(reference, capture_output=True, text=True)
    with np.load(outputs) as file:
        return dict(file), [f"{label}: {done.stdout}{done.stderr}"] if done.returncode else []


def check(seed, with_ort, machine):
    net, x = build(seed, not with_ort)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "q.onnx")
        save(net, path, x)
        found, failures = execute(f"seed {seed}", path, x, machine, folder)
        results = common.ort.run(path, [{"x": x}])[0][0] if with_ort else {}
    return failures + compare(f"seed {seed}", net, found, results)


def main(description, check_seed):
    """Command line of a script that checks one network per seed:
    `check_seed(seed, with_ort, machine)` gives what failed."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--seeds", default="0:8")
    parser.add_argument("--machine", default="a1")
    parser.add_argument("--ort", action="store_true")
    options = parser.parse_args()
    first, last = map(int, options.seeds.split(":"))
    failures = [f for seed in range(first, last)
                for f in check_seed(seed, options.ort, options.machine)]
    for failure in failures:
        print("FAIL", failure)
    print(f"{last - first} networks, {len(failures)} failures")
    return int(bool(failures))


if __name__ == "__main__":
    sys.exit(main(__doc__.splitlines()[0], check))
