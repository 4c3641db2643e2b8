# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes a decoder as ONNX, with the names that exporters give to caches.

Inputs `input_ids`, `attention_mask`, `position_ids` and `past_key_values.N.key`
and `.value`; outputs `logits` and `present.N.key` and `.value`, which are the
past with the new rows after it. Operator set 17.
"""

import json

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

import corpus
from layers import EPSILON, rotary_tables

INTEGER, FLOAT, HALF = TensorProto.INT64, TensorProto.FLOAT, TensorProto.FLOAT16


class Graph:
    """Nodes and constants of a graph under construction."""

    def __init__(self):
        self.nodes, self.constants, self.known = [], [], {}

    def add(self, op, *inputs, name=None, outputs=1, **attributes):
        name = name or f"{op}_{len(self.nodes)}"
        results = [name] if outputs == 1 else [f"{name}.{i}" for i in range(outputs)]
        self.nodes.append(helper.make_node(op, list(inputs), results, name="node." + name,
                                           **attributes))
        return results[0] if outputs == 1 else results

    def constant(self, values, name=None):
        array = np.asarray(values)
        key = name or f"c{array.dtype}_{array.shape}_{array.tolist()}"
        if key not in self.known:
            self.known[key] = name or f"constant_{len(self.known)}"
            self.constants.append(numpy_helper.from_array(array, self.known[key]))
        return self.known[key]


class Exporter:
    def __init__(self, decoder, positions, half):
        self.shape, self.weights, self.half = decoder.shape, decoder.weights, half
        self.positions, self.g = positions, Graph()

    def weight(self, name):
        if not self.half:
            return self.g.constant(self.weights[name], name)
        narrow = self.g.constant(self.weights[name].astype(np.float16), name)
        return self.g.add("Cast", narrow, to=FLOAT, name=name + ".f32")

    def normalise(self, x, name):
        g = self.g
        mean = g.add("ReduceMean", g.add("Mul", x, x), axes=[-1], keepdims=1)
        root = g.add("Sqrt", g.add("Add", mean, g.constant(EPSILON)))
        return g.add("Mul", g.add("Div", x, root), self.weight(name))

    def split(self, x, heads):
        g = self.g
        apart = g.add("Reshape", x, g.constant(np.array([0, 0, heads, self.shape.size])))
        return g.add("Transpose", apart, perm=[0, 2, 1, 3])

    def rotate(self, x, cos, sin):
        g = self.g
        a, b = g.add("Split", x, axis=-1, outputs=2)
        low = g.add("Sub", g.add("Mul", a, cos), g.add("Mul", b, sin))
        high = g.add("Add", g.add("Mul", b, cos), g.add("Mul", a, sin))
        return g.add("Concat", low, high, axis=-1)

    def repeated(self, x):
        """Keys or values of groups for all heads."""
        g, s = self.g, self.shape
        repeat = s.heads // s.groups
        wide = g.add("Unsqueeze", x, g.constant(np.array([2])))
        wide = g.add("Concat", *[wide] * repeat, axis=2)
        return g.add("Reshape", wide, g.constant(np.array([0, s.heads, -1, s.size])))

    def attention(self, i, x, cos, sin, mask):
        g, s = self.g, self.shape
        q = self.rotate(self.split(g.add("MatMul", x, self.weight(f"{i}.q")), s.heads), cos, sin)
        k = self.rotate(self.split(g.add("MatMul", x, self.weight(f"{i}.k")), s.groups), cos, sin)
        v = self.split(g.add("MatMul", x, self.weight(f"{i}.v")), s.groups)
        k = g.add("Concat", f"past_key_values.{i}.key", k, axis=2, name=f"present.{i}.key")
        v = g.add("Concat", f"past_key_values.{i}.value", v, axis=2, name=f"present.{i}.value")
        scores = g.add("MatMul", q, g.add("Transpose", self.repeated(k), perm=[0, 1, 3, 2]))
        scores = g.add("Mul", scores, g.constant(np.float32(1 / np.sqrt(s.size))))
        p = g.add("Softmax", g.add("Add", scores, mask), axis=-1)
        y = g.add("Transpose", g.add("MatMul", p, self.repeated(v)), perm=[0, 2, 1, 3])
        y = g.add("Reshape", y, g.constant(np.array([0, 0, s.heads * s.size])))
        return g.add("MatMul", y, self.weight(f"{i}.o"))

    def mask(self):
        """Terms of the scores: what is padding, and what comes later."""
        g = self.g
        length = g.add("Shape", "input_ids", start=1, end=2)
        total = g.add("Shape", "attention_mask", start=1, end=2)
        ones = g.add("ConstantOfShape", g.add("Concat", length, total, axis=0),
                     value=numpy_helper.from_array(np.ones(1, np.float32)))
        before = g.add("Squeeze", g.add("Sub", total, length))
        seen = g.add("Trilu", ones, before, upper=0)
        given = g.add("Cast", g.add("Unsqueeze", "attention_mask",
                                    g.constant(np.array([1, 2]))), to=FLOAT)
        kept = g.add("Mul", given, seen)
        return g.add("Mul", g.add("Sub", kept, g.constant(np.float32(1))),
                     g.constant(np.float32(10000)))

    def build(self):
        g, s = self.g, self.shape
        tables = []
        for name, table in zip(("cos", "sin"), rotary_tables(self.positions, s.size)):
            rows = g.add("Gather", g.constant(table, name), "position_ids", axis=0)
            tables.append(g.add("Unsqueeze", rows, g.constant(np.array([1]))))
        mask = self.mask()
        x = g.add("Gather", self.weight("embedding"), "input_ids", axis=0)
        for i in range(s.layers):
            y = self.normalise(x, f"{i}.norm1")
            x = g.add("Add", x, self.attention(i, y, *tables, mask))
            y = self.normalise(x, f"{i}.norm2")
            gate = g.add("MatMul", y, self.weight(f"{i}.gate"))
            gate = g.add("Mul", gate, g.add("Sigmoid", gate))
            hidden = g.add("Mul", gate, g.add("MatMul", y, self.weight(f"{i}.up")))
            x = g.add("Add", x, g.add("MatMul", hidden, self.weight(f"{i}.down")))
        g.add("MatMul", self.normalise(x, "norm"), self.weight("head"), name="logits")
        return self.model()

    def model(self):
        s = self.shape

        def value(name, kind, *dims):
            return helper.make_tensor_value_info(name, kind, dims)

        past, new = "past_sequence_length", "sequence_length"
        total = f"{past} + {new}"
        inputs = [value("input_ids", INTEGER, 1, new), value("attention_mask", INTEGER, 1, total),
                  value("position_ids", INTEGER, 1, new)]
        outputs = [value("logits", FLOAT, 1, new, s.vocabulary)]
        for i in range(s.layers):
            for part in ("key", "value"):
                inputs.append(value(f"past_key_values.{i}.{part}", FLOAT, 1, s.groups, past, s.size))
                outputs.append(value(f"present.{i}.{part}", FLOAT, 1, s.groups, total, s.size))
        graph = helper.make_graph(self.g.nodes, "sentences", inputs, outputs, self.g.constants)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
        model.ir_version = 8
        onnx.checker.check_model(model)
        return model


def write(decoder, path, positions=1024, half=True):
    onnx.save(Exporter(decoder, positions, half).build(), str(path))


def write_vocabulary(path):
    """The vocabulary as ashlar-run reads it: tokens in the order of their numbers."""
    path.write_text(json.dumps(corpus.VOCABULARY) + "\n")
