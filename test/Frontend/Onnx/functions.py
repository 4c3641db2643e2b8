#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes a model with nested functions; usage: functions.py MODEL.onnx."""

import sys

import onnx
from onnx import AttributeProto, TensorProto, helper


def varint(value):
    out = b""
    while value > 127:
        out += bytes([value & 127 | 128])
        value >>= 7
    return out + bytes([value])


def leaky():
    """Its attribute alpha has the default 0.5, which the protobuf classes of
    onnx 1.12 do not know: field 11 is written by hand."""
    node = helper.make_node("LeakyRelu", ["a"], ["b"], name="act")
    node.attribute.append(AttributeProto(
        name="alpha", ref_attr_name="slope", type=AttributeProto.FLOAT))
    made = helper.make_function("d", "leaky", ["a"], ["b"], [node],
                                [helper.make_opsetid("", 13)])
    default = helper.make_attribute("slope", 0.5).SerializeToString()
    field = bytes([11 << 3 | 2]) + varint(len(default)) + default
    return onnx.FunctionProto.FromString(made.SerializeToString() + field)


def outer():
    """Calls leaky with its own attribute and hands its input through."""
    call = helper.make_node("leaky", ["p"], ["q"], domain="d", name="inner_0")
    call.attribute.append(AttributeProto(
        name="slope", ref_attr_name="s", type=AttributeProto.FLOAT))
    return helper.make_function("d", "outer", ["p"], ["q", "p"], [call],
                                [helper.make_opsetid("d", 1)], ["s"])


def main():
    info = helper.make_tensor_value_info
    nodes = [
        helper.make_node("outer", ["x"], ["t", "same"], domain="d",
                         name="outer", s=0.25),
        helper.make_node("leaky", ["t"], ["y"], domain="d"),
    ]
    graph = helper.make_graph(
        nodes, "functions", [info("x", TensorProto.FLOAT, [2])],
        [info("y", TensorProto.FLOAT, [2]), info("same", TensorProto.FLOAT, [2])])
    made = helper.make_model(graph, opset_imports=[
        helper.make_opsetid("", 13), helper.make_opsetid("d", 1),
        helper.make_opsetid("unused.vendor", 4)])
    made.ir_version = 8
    made.functions.extend([leaky(), outer()])
    with open(sys.argv[1], "wb") as out:
        out.write(made.SerializeToString())


if __name__ == "__main__":
    main()
