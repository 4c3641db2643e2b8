#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Prints a model in lines: inputs, constants, nodes, outputs."""

import sys

import onnx


def shape(value):
    return [d.dim_value for d in value.type.tensor_type.shape.dim]


model = onnx.load(sys.argv[1])
for value in model.graph.input:
    print("input", value.name, shape(value))
for tensor in model.graph.initializer:
    print("constant", tensor.name, list(tensor.dims))
for node in model.graph.node:
    print("node", node.op_type, list(node.input), list(node.output),
          sorted(a.name for a in node.attribute))
for value in model.graph.output:
    print("output", value.name, shape(value))
