#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random networks in QDQ form against their integer definition and ONNX Runtime.

usage: qdq.py [--seeds=0:8] [--ort] [--machine=a1]

Conv (per tensor and per channel, groups, padding, strides), Gemm and MatMul
between DequantizeLinear and QuantizeLinear, with integer bias, with relu, with
any zero points, under operator sets 10 to 21. Every quantised tensor must have
equal bits to integer products computed with numpy and rounded once
(docs/Numerics.md 12); sums, products, concats, pools and clips of dequantised
tensors to the formulas in binary32, and all planned tensors to the reference's.
With --ort the number of elements that differ from ONNX Runtime is printed and
must be 0. The program must hold no product of floats and no step of a formula
that is not part of one pass.
"""

import json
import os
import sys
import tempfile

import numpy as np
import onnx
from onnx import TensorProto, helper

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

import common  # noqa: E402
from quantized import Network, centred, compare, conv, execute, main, random_filter, saturate  # noqa: E402

OPSETS = [10, 11, 13, 17, 19, 21]


class Builder(Network):
    """A tensor is (quantised name, scale, zero point)."""

    def __init__(self, seed, all_types):
        super().__init__(seed, all_types)
        self.opset = OPSETS[seed % len(OPSETS)]

    def scalar(self, value, hint):
        return self.constant(np.array(value), hint)

    def dequantise(self, name, scale, zero, axis=None):
        value = self.values[name].astype(np.float32)
        shape = [1] * value.ndim
        if np.ndim(scale):
            shape[axis] = -1
            scale_along, zero_along = scale.reshape(shape), zero.reshape(shape)
        else:
            scale_along, zero_along = scale, zero
        value = (value - zero_along.astype(np.float32)) * scale_along
        attrs = {"axis": axis} if np.ndim(scale) else {}
        return self.node("DequantizeLinear", [
            name, self.scalar(scale, "s"), self.scalar(zero, "z")], value, **attrs)

    def quantise(self, name, scale, zero, value):
        node = self.node("QuantizeLinear", [
            name, self.scalar(scale, "s"), self.scalar(zero, "z")], value)
        self.outputs.append(node)
        return node

    def weights(self, shape, axis):
        """Name of the dequantised weights, integers, scale."""
        dtype = np.int8 if not self.all_types else self.weight_type()
        outs = shape[axis]
        per_channel = self.opset >= 13 and self.random.random() < 0.6
        # ONNX Runtime has no kernel for signed weights that are not symmetric.
        kinds = ("none",)
        if self.all_types:
            kinds = ("none", "near", "far") if per_channel else ("none", "any", "off")
        w, zero = random_filter(self, shape, dtype, kinds, axis)
        scale = np.array(self.np.uniform(0.001, 0.02), np.float32)
        if per_channel:
            scale = self.np.uniform(0.001, 0.02, outs).astype(np.float32)
            zero = np.broadcast_to(zero, outs).copy()
        name = self.dequantise(self.constant(w, "w"), scale, zero, axis)
        return name, centred(w, zero, axis), scale

    def bias(self, outs, x_scale, w_scale):
        if self.random.random() < 0.3:
            return None, 0
        b = self.np.integers(-3000, 3000, outs).astype(np.int32)
        scale = np.asarray(np.float32(x_scale) * w_scale, np.float32)
        zero = np.zeros(scale.shape, np.int32)
        return self.dequantise(self.constant(b, "b"), scale, zero, 0), b.astype(np.int64)

    def finish(self, name, acc, x_scale, w_scale, channel_axis):
        """[Relu,] QuantizeLinear of a product."""
        relu = self.random.random() < 0.5
        if relu:
            name = self.node("Relu", [name], None)
        zero = np.array(self.zero(self.type()))
        if relu and not self.all_types:
            # What ONNX Runtime folds into its integer product.
            zero = np.array(np.iinfo(zero.dtype).min, zero.dtype)
        top = max(float(np.abs(acc).max()), 1) * float(x_scale) * float(np.max(w_scale))
        scale = np.float32(max(top / 140, 1e-4))
        along = [1] * acc.ndim
        along[channel_axis] = -1
        spread = w_scale.reshape(along) if np.ndim(w_scale) else w_scale
        factor = (np.float32(x_scale) * spread).astype(np.float32) / scale
        v = acc.astype(np.float32) * factor.astype(np.float32)
        v = np.maximum(v, np.float32(0)) if relu else v
        value = saturate(np.rint(v), zero)
        return self.quantise(name, scale, zero, value), scale, zero

    def add_conv(self, x, scale, zero):
        source = self.values[x].astype(np.int64) - int(zero)
        channels = source.shape[1]
        group = self.random.choice([1, 1, channels])
        outs = group * self.random.randint(1, 2) if group > 1 else self.random.choice([5, 8, 16])
        kernel = self.random.choice([1, 3])
        stride = self.random.choice([1, 2]) if source.shape[2] > 4 else 1
        pads = [self.random.randint(0, kernel // 2) for _ in range(4)]
        if min(source.shape[2] + pads[0] + pads[2], source.shape[3] + pads[1] + pads[3]) < kernel:
            kernel, pads = 1, [0] * 4
        w, whole, w_scale = self.weights((outs, channels // group, kernel, kernel), 0)
        bias, b = self.bias(outs, scale, w_scale)
        acc = conv(source, whole, stride, pads, group)
        acc += np.asarray(b).reshape(1, -1, 1, 1)
        inputs = [self.dequantise(x, scale, zero), w] + ([bias] if bias else [])
        y = self.node("Conv", inputs, None, strides=[stride] * 2, pads=pads, group=group,
                      kernel_shape=[kernel] * 2)
        return self.finish(y, acc, scale, w_scale, 1)

    def add_dense(self, x, scale, zero, large=False):
        """`large`: transposed weights of more elements than the importer folds."""
        source = self.values[x].astype(np.int64) - int(zero)
        outs = self.random.choice([7, 10, 16])
        gemm = self.random.random() < 0.6
        turned = gemm and self.random.random() < 0.5
        if large:
            outs, gemm, turned = 65536 // source.shape[1] + 1, True, True
        shape = (outs, source.shape[1]) if turned else (source.shape[1], outs)
        w, whole, w_scale = self.weights(shape, 0 if turned else 1)
        acc = source @ (whole.T if turned else whole)
        a = self.dequantise(x, scale, zero)
        if gemm:
            bias, b = self.bias(outs, scale, w_scale)
            acc = acc + b
            y = self.node("Gemm", [a, w] + ([bias] if bias else []), None, transB=int(turned))
        else:
            y = self.node("MatMul", [a, w], None)
        return self.finish(y, acc, scale, w_scale, 1)

    def requantise(self, y, value):
        """QuantizeLinear of floats between products: its formula."""
        zero = np.array(self.zero(self.type()))
        scale = np.float32(max(np.abs(value).max() / 120, 1e-4))
        return self.quantise(y, scale, zero, saturate(np.rint(value / scale), zero)), scale, zero

    def add_binary(self, left, right):
        """A sum or product, of which relu may cut the negative part."""
        a, b = self.dequantise(*left), self.dequantise(*right)
        op, function = self.random.choice([("Add", np.add), ("Add", np.add),
                                           ("Mul", np.multiply), ("Sub", np.subtract)])
        value = function(self.values[a], self.values[b])
        y = self.node(op, [a, b], value)
        if self.random.random() < 0.5:
            value = np.maximum(value, np.float32(0))
            y = self.node("Relu", [y], value)
        return self.requantise(y, value)

    def add_concat(self, left, right):
        a, b = self.dequantise(*left), self.dequantise(*right)
        value = np.concatenate([self.values[a], self.values[b]], axis=1)
        return self.requantise(self.node("Concat", [a, b], value, axis=1), value)

    def add_clip(self, at):
        a = self.dequantise(*at)
        value = np.clip(self.values[a], np.float32(0), np.float32(1.5))
        if self.opset < 11:
            return self.requantise(self.node("Clip", [a], value, min=0.0, max=1.5), value)
        bounds = [self.scalar(np.float32(bound), "bound") for bound in (0, 1.5)]
        return self.requantise(self.node("Clip", [a, *bounds], value), value)

    def add_pool(self, at, op):
        """2 x 2, sums in index order."""
        a = self.dequantise(*at)
        x = self.values[a]
        h, w = x.shape[2] // 2 * 2, x.shape[3] // 2 * 2
        taps = [x[:, :, i:h:2, j:w:2] for i in range(2) for j in range(2)]
        if op == "MaxPool":
            value = np.maximum.reduce(taps)
        else:
            value = (((taps[0] + taps[1]) + taps[2]) + taps[3]) / np.float32(4)
        return self.requantise(
            self.node(op, [a], value, kernel_shape=[2, 2], strides=[2, 2]), value)

    def add_between(self, at):
        """Something between products that is not a product."""
        kind = self.random.choice(["binary", "binary", "concat", "clip", "MaxPool", "AveragePool"])
        if kind in ("binary", "concat"):
            # The same values with another scale, zero point and type.
            other = self.add_clip(at) if self.random.random() < 0.7 else at
            pair = (at, other) if self.random.random() < 0.5 else (other, at)
            return (self.add_binary if kind == "binary" else self.add_concat)(*pair)
        if kind == "clip" or min(self.values[at[0]].shape[2:]) < 2:
            return self.add_clip(at)
        return self.add_pool(at, kind)


def build(seed, all_types=True):
    net = Builder(seed, all_types)
    shape = (1, net.random.choice([3, 8]), 10, 10)
    x = net.np.normal(0, 1, shape).astype(np.float32)
    net.values["x"] = x
    scale, zero = np.float32(0.03), np.array(net.zero(net.type()))
    at = net.quantise("x", scale, zero, saturate(np.rint(x / scale), zero)), scale, zero
    for _ in range(net.random.randint(1, 3)):
        at = net.add_conv(*at)
        # ONNX Runtime adds and pools in fixed point, which is not the definition.
        if all_types and net.random.random() < 0.5:
            at = net.add_between(at)
    flat = net.values[at[0]].reshape(1, -1)
    at = net.node("Flatten", [at[0]], flat, axis=1), at[1], at[2]
    at = net.add_dense(*at, large=seed % 12 == 11)
    net.outputs.append(net.dequantise(*at))
    return net, x


def save(net, path, x):
    infos = [helper.make_tensor_value_info(
        name, onnx.mapping.NP_TYPE_TO_TENSOR_TYPE[net.values[name].dtype],
        net.values[name].shape) for name in net.outputs]
    graph = helper.make_graph(
        net.nodes, "qdq", [helper.make_tensor_value_info("x", TensorProto.FLOAT, x.shape)],
        infos, net.constants)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", net.opset)],
                                ir_version=min(10, 5 + (net.opset > 13) * 3)), path)


def left_over(plan):
    """Products of the plan whose operands are no integers, and steps of the
    formulas between products."""
    with open(plan, encoding="utf-8") as stream:
        plan = json.load(stream)
    types = {tensor["name"]: tensor["type"] for tensor in plan["tensors"]}
    integers = ("i8", "u8", "i16")

    def is_left(op):
        if op["op"] in ("conv", "matmul"):
            return types[op["inputs"]["x"]] not in integers
        # Sums of 32 bits that may overflow keep their own cast and factor.
        bytes_ = [t for t in (types[op["output"]], *(types[i] for i in op["inputs"].values()))
                  if t in integers]
        return op["op"] in ("sub", "div", "unary") or (op["op"] == "cast" and bytes_)

    return [op["name"] for op in plan["ops"] if is_left(op)]


def check(seed, with_ort, machine):
    net, x = build(seed, not with_ort)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "q.onnx")
        save(net, path, x)
        found, failures = execute(f"seed {seed}", path, x, machine, folder)
        for name in left_over(os.path.join(folder, "plan", "plan.json")):
            failures.append(f"seed {seed}: {name} is not an integer product and no part of one "
                            "pass between them")
        results = common.ort.run(path, [{"x": x}])[0][0] if with_ort else {}
    return failures + compare(f"seed {seed} opset {net.opset}", net, found, results)


if __name__ == "__main__":
    sys.exit(main(__doc__.splitlines()[0], check))
