# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A network under construction: nodes, constants, the shapes of all values."""

import dataclasses
import math

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

TYPES = {"float32": TensorProto.FLOAT, "int64": TensorProto.INT64, "int32": TensorProto.INT32,
         "uint8": TensorProto.UINT8, "int8": TensorProto.INT8, "bool": TensorProto.BOOL}
INT64_MAX = (1 << 63) - 1


class Unfit(Exception):
    """What a production says about an operand that it cannot take."""


@dataclasses.dataclass(frozen=True)
class Value:
    """A tensor of the network."""
    name: str
    shape: tuple
    type: str = "float32"

    @property
    def rank(self):
        return len(self.shape)

    @property
    def size(self):
        return math.prod(self.shape)

    @property
    def is_float(self):
        return self.type == "float32"


def fits(condition):
    if not condition:
        raise Unfit


class Network:
    """Nodes in order; every method that adds one returns its Value."""

    def __init__(self, rng, opset, largest, work):
        """At most `largest` elements in a tensor, `work` products in all."""
        self.rng, self.opset = rng, opset
        self.largest, self.work_left = largest, work
        self.nodes, self.constants, self.inputs, self.arrays = [], [], [], {}
        self.live, self.read, self.known, self.made = [], set(), {}, 0
        self.shared = {}

    # Draws.

    def chance(self, probability):
        return self.rng.random() < probability

    def pick(self, items):
        return items[int(self.rng.integers(len(items)))]

    def between(self, low, high):
        return int(self.rng.integers(low, high + 1))

    def extent(self, most=64):
        """Often 1, a prime, a power of two, or one next to it."""
        return min(most, self.pick([1, 1, 2, 2, 3, 3, 4, 5, 6, 7, 8, 8, 9, 12, 13, 15, 16, 16, 17,
                                    24, 31, 32, 32, 33, 48, 63, 64, 65, 96, 127, 128, 129]))

    # Constants and inputs.

    def name(self, hint):
        self.made += 1
        return f"{hint}_{self.made}"

    def constant(self, array, hint="c"):
        array = np.asarray(array)
        name = self.name(hint)
        self.constants.append(numpy_helper.from_array(array, name))
        return Value(name, array.shape, array.dtype.name)

    def ints(self, values):
        return self.constant(np.array(values, np.int64), "i")

    def number(self, value):
        return self.constant(np.float32(value))

    def vector(self, shape, low=-0.5, high=0.5):
        return self.constant(self.rng.uniform(low, high, shape).astype(np.float32), "v")

    def weights(self, shape, depth):
        """Scaled by the depth of the sum; pruned, with empty slices, with magnitudes octaves
        apart, or shared with a product that has the same shape."""
        key = tuple(shape)
        if key in self.shared and self.chance(0.4):
            return self.shared[key]
        w = self.rng.normal(0, 1 / math.sqrt(max(1, depth)), shape)
        kind = self.rng.random()
        if kind < 0.15:
            w *= self.rng.random(shape) < self.pick([0.03, 0.1, 0.4])
        elif kind < 0.25:
            w *= np.exp2(self.rng.integers(-6, 3, shape))
        if self.chance(0.1) and shape[0] > 1:
            w[self.between(0, shape[0] - 1)] = 0
        self.shared[key] = self.constant(w.astype(np.float32), "w")
        return self.shared[key]

    def input(self, shape, dtype=np.float32):
        fits(math.prod(shape) <= self.largest)
        kind = self.rng.random()
        if np.dtype(dtype).kind == "f":
            array = self.rng.normal(0, 1, shape)
            if kind < 0.1:
                array *= self.rng.random(shape) < 0.3
            elif kind < 0.2:  # slices of other scale: a wrong exponent is seen
                array *= np.exp2(self.rng.integers(-4, 5, [n if k != len(shape) - 1 else 1
                                                         for k, n in enumerate(shape)]))
        else:
            info = np.iinfo(dtype)
            array = self.rng.integers(info.min, info.max + 1, shape)
        name = self.name("x")
        self.arrays[name] = np.asarray(array, dtype).reshape(shape)
        value = Value(name, tuple(shape), np.dtype(dtype).name)
        self.inputs.append(value)
        self.known[name] = value
        return value

    # Nodes.

    def nodes_of(self, op, inputs, shapes, types=None, **attributes):
        """A node with as many results as shapes."""
        for shape in shapes:
            fits(0 < math.prod(shape) <= self.largest)
        prefix = self.name(op)
        names = [f"{prefix}_{k}" if k else prefix for k in range(len(shapes))]
        self.nodes.append(helper.make_node(op, [v.name if v else "" for v in inputs], names,
                                           name=prefix, **attributes))
        self.read |= {v.name for v in inputs if v}
        types = types or ["float32"] * len(shapes)
        values = [Value(n, tuple(map(int, s)), t) for n, s, t in zip(names, shapes, types)]
        for value in values:
            self.known[value.name] = value
        return values

    def node(self, op, inputs, shape, type="float32", **attributes):
        return self.nodes_of(op, inputs, [shape], [type], **attributes)[0]

    def like(self, op, x, *others, **attributes):
        """A node whose result has the shape and type of its first operand."""
        return self.node(op, [x, *others], x.shape, x.type, **attributes)

    def work(self, products):
        fits(products <= self.work_left)
        self.work_left -= products

    def attempt(self, production, *arguments):
        """The result of a production, or None and no trace of it."""
        marks = (len(self.nodes), len(self.constants), len(self.inputs), self.work_left)
        read, shared, live = set(self.read), dict(self.shared), list(self.live)
        try:
            return production(self, *arguments)
        except Unfit:
            self.read, self.shared, self.live = read, shared, live
            del self.nodes[marks[0]:], self.constants[marks[1]:]
            for value in self.inputs[marks[2]:]:
                del self.arrays[value.name]
            del self.inputs[marks[2]:]
            self.work_left = marks[3]
            return None

    # Forms that changed with the operator set.

    def reshape(self, x, shape):
        shape = tuple(map(int, shape))
        fits(math.prod(shape) == x.size)
        return self.node("Reshape", [x, self.ints(shape)], shape, x.type)

    def transpose(self, x, perm):
        perm = list(map(int, perm))
        return self.node("Transpose", [x], [x.shape[p] for p in perm], x.type, perm=perm)

    def squeeze(self, x, axes, op="Squeeze"):
        shape = list(x.shape)
        if op == "Squeeze":
            shape = [n for k, n in enumerate(shape) if k not in axes]
        else:
            for axis in sorted(axes):
                shape.insert(axis, 1)
        if self.opset >= 13:
            return self.node(op, [x, self.ints(axes)], shape, x.type)
        return self.node(op, [x], shape, x.type, axes=list(axes))

    def unsqueeze(self, x, axes):
        return self.squeeze(x, axes, "Unsqueeze")

    def slice(self, x, axes, starts, ends, steps=None):
        shape = list(x.shape)
        for k, axis in enumerate(axes):
            step = steps[k] if steps else 1
            end = None if step < 0 and ends[k] < -shape[axis] else ends[k]
            shape[axis] = len(range(x.shape[axis])[starts[k]:end:step])
        fits(min(shape, default=1) > 0)
        if self.opset < 10:
            fits(not steps or set(steps) == {1})
            return self.node("Slice", [x], shape, x.type, axes=list(axes), starts=list(starts),
                             ends=list(ends))
        operands = [x, self.ints(starts), self.ints(ends), self.ints(axes)]
        if steps:
            operands.append(self.ints(steps))
        return self.node("Slice", operands, shape, x.type)

    def split(self, x, axis, sizes):
        shapes = [x.shape[:axis] + (n,) + x.shape[axis + 1:] for n in sizes]
        types = [x.type] * len(sizes)
        if self.opset >= 13:
            return self.nodes_of("Split", [x, self.ints(sizes)], shapes, types, axis=axis)
        return self.nodes_of("Split", [x], shapes, types, axis=axis, split=list(sizes))

    def concat(self, parts, axis):
        shape = list(parts[0].shape)
        shape[axis] = sum(p.shape[axis] for p in parts)
        return self.node("Concat", parts, shape, parts[0].type, axis=axis)

    def reduce(self, op, x, axes, keepdims=1):
        """Axes are an operand from set 18 on, of ReduceSum from 13 on."""
        shape = [1 if k in axes else n for k, n in enumerate(x.shape) if keepdims or k not in axes]
        if self.opset >= (13 if op == "ReduceSum" else 18):
            return self.node(op, [x, self.ints(axes)], shape, x.type, keepdims=keepdims)
        return self.node(op, [x], shape, x.type, axes=list(axes), keepdims=keepdims)

    def softmax(self, x, axis, op="Softmax"):
        fits(self.opset >= 13 or axis == x.rank - 1)
        return self.node(op, [x], x.shape, axis=axis)

    def clip(self, x, low, high):
        if self.opset < 11:
            return self.like("Clip", x, min=float(low), max=float(high))
        return self.like("Clip", x, self.number(low), self.number(high))

    # The whole.

    def model(self, outputs):
        info = lambda v: helper.make_tensor_value_info(v.name, TYPES[v.type], v.shape)
        graph = helper.make_graph(self.nodes, "drawn", [info(v) for v in self.inputs],
                                  [info(v) for v in outputs], self.constants)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", self.opset)])
        model.ir_version = 8 if self.opset <= 18 else 10
        return model

    def trim(self, outputs):
        """Drops nodes that no output needs, and inputs that nothing reads."""
        needed, kept = {v.name for v in outputs}, []
        for node in reversed(self.nodes):
            if needed & set(node.output):
                needed |= set(node.input)
                kept.append(node)
        self.nodes = kept[::-1]
        self.constants = [c for c in self.constants if c.name in needed]
        self.inputs = [v for v in self.inputs if v.name in needed]
        self.arrays = {v.name: self.arrays[v.name] for v in self.inputs}
