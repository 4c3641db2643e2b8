#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Feeds wrong models to ashlar-translate and prints exit codes and messages.

usage: invalid.py FOLDER

Each case writes FOLDER/<name>/model.onnx, runs the importer, and prints
'<name>: exit <code>' and the error with FOLDER cut off.
"""

import os
import subprocess
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper

FLOAT, INT64 = TensorProto.FLOAT, TensorProto.INT64
CASES = []


def case(function):
    CASES.append(function)
    return function


def info(name, shape=(2, 3), kind=FLOAT):
    return helper.make_tensor_value_info(name, kind, shape)


def model(nodes, inputs=None, outputs=None, initializers=(), opset=13, ir=7):
    graph = helper.make_graph(nodes, "g", inputs or [info("x")],
                              outputs or [info("y")], list(initializers))
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)])
    made.ir_version = ir
    return made


def relu(source="x", target="y", name=""):
    return helper.make_node("Relu", [source], [target], name=name)


def weight(name, **fields):
    return TensorProto(name=name, data_type=FLOAT, dims=[2, 3], **fields)


@case
def empty_file(folder):
    return b""


@case
def not_a_model(folder):
    return b"\x89PNG\r\n\x1a\n" * 20


@case
def pointer(folder):
    return b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 9\n"


@case
def compressed(folder):
    return b"\x1f\x8b\x08" + bytes(20)


@case
def lite(folder):
    return b"\x1c\0\0\0TFL3" + bytes(20)


@case
def truncated(folder):
    return model([relu()]).SerializeToString()[:-5]


@case
def no_graph(folder):
    return onnx.ModelProto(ir_version=7)


@case
def no_outputs(folder):
    made = model([relu()])
    del made.graph.output[:]
    return made


@case
def cycle(folder):
    return model([helper.make_node("Add", ["x", "b"], ["a"], name="first"),
                  relu("a", "b", "second"), relu("b", "y")])


@case
def undefined_value(folder):
    return model([relu("nowhere")])


@case
def undefined_output(folder):
    return model([relu("x", "z")])


@case
def defined_twice(folder):
    return model([relu(), relu()])


@case
def input_twice(folder):
    return model([relu()], [info("x"), info("x")])


@case
def output_twice(folder):
    return model([relu()],
                 outputs=[info("y"), info("y", kind=onnx.TensorProto.INT64)])


@case
def no_operator(folder):
    return model([helper.make_node("", ["x"], ["y"])])


@case
def missing_input(folder):
    return model([helper.make_node("Add", ["x"], ["y"])])


@case
def wrong_attribute_type(folder):
    return model([helper.make_node("Softmax", ["x"], ["y"], axis="one")])


@case
def attribute_twice(folder):
    node = helper.make_node("Softmax", ["x"], ["y"], axis=1)
    node.attribute.append(node.attribute[0])
    return model([node])


@case
def axis_out_of_range(folder):
    return model([helper.make_node("Softmax", ["x"], ["y"], axis=7, name="sm")])


@case
def shapes_differ(folder):
    return model([helper.make_node("Add", ["x", "z"], ["y"])],
                 [info("x"), info("z", (4, 5))])


@case
def types_differ(folder):
    return model([helper.make_node("Add", ["x", "z"], ["y"])],
                 [info("x"), info("z", kind=INT64)])


@case
def wrong_output_type(folder):
    return model([relu()], outputs=[info("y", kind=INT64)])


@case
def negative_dimension(folder):
    return model([relu()], [info("x", (2, -3))])


@case
def huge_dimension(folder):
    return model([relu()], [info("x", (1 << 40, 1 << 40))])


@case
def huge_result(folder):
    shape = helper.make_tensor("s", INT64, [2], [1 << 30, 1 << 30])
    return model([helper.make_node("ConstantOfShape", ["s"], ["y"])],
                 initializers=[shape])


@case
def huge_expand(folder):
    shape = helper.make_tensor("s", INT64, [3], [1 << 62, 2, 3])
    return model([helper.make_node("Expand", ["x", "s"], ["y"])],
                 initializers=[shape])


@case
def short_raw_data(folder):
    return model([helper.make_node("Add", ["x", "w"], ["y"])],
                 initializers=[weight("w", raw_data=b"1234")])


@case
def short_float_data(folder):
    return model([helper.make_node("Add", ["x", "w"], ["y"])],
                 initializers=[weight("w", float_data=[1.0, 2.0])])


@case
def unknown_data_type(folder):
    tensor = weight("w", raw_data=b"")
    tensor.data_type = 77
    return model([helper.make_node("Add", ["x", "w"], ["y"])],
                 initializers=[tensor])


@case
def string_input(folder):
    return model([relu()], [info("x", kind=TensorProto.STRING)])


@case
def no_input_type(folder):
    return model([relu()], [onnx.ValueInfoProto(name="x")])


@case
def open_shapes(folder):
    return model([helper.make_node("Add", ["x", "z"], ["y"])],
                 [info("x", ("N", 3, None)), info("z", None)])


@case
def old_opset(folder):
    return model([relu()], opset=0)


@case
def future_opset(folder):
    return model([relu()], opset=99)


@case
def endless_function(folder):
    made = model([helper.make_node("f", ["x"], ["y"], domain="d")], ir=8)
    made.opset_import.append(helper.make_opsetid("d", 1))
    body = helper.make_node("f", ["a"], ["b"], domain="d")
    made.functions.append(helper.make_function(
        "d", "f", ["a"], ["b"], [body], [helper.make_opsetid("d", 1)]))
    return made


def external(location, folder, **keys):
    tensor = weight("w", data_location=TensorProto.EXTERNAL)
    keys["location"] = location
    for key, value in keys.items():
        tensor.external_data.add(key=key, value=value)
    return model([helper.make_node("Add", ["x", "w"], ["y"])],
                 initializers=[tensor])


@case
def external_outside(folder):
    return external("../../secret.bin", folder)


@case
def external_absolute(folder):
    return external("/etc/passwd", folder)


@case
def external_link(folder):
    os.symlink("/etc/passwd", os.path.join(folder, "link.bin"))
    return external("link.bin", folder)


@case
def external_missing(folder):
    return external("weights.bin", folder)


@case
def external_short(folder):
    with open(os.path.join(folder, "weights.bin"), "wb") as out:
        out.write(b"\0" * 20)
    return external("weights.bin", folder, offset="8")


@case
def external_bad_offset(folder):
    return external("weights.bin", folder, offset="-8")


@case
def more_inputs_than_defined(folder):
    return model([helper.make_node("Relu", ["x", "x"], ["y"])])


@case
def sizes_of_a_later_split(folder):
    sizes = helper.make_tensor("sizes", INT64, [1], [2])
    return model([helper.make_node("Split", ["x", "sizes"], ["y"])],
                 initializers=[sizes], opset=11)


@case
def inputs_of_a_newer_operator(folder):
    return model([helper.make_node("Mish", ["x", "x"], ["y"])], opset=22)


@case
def axes_before_they_were_inputs(folder):
    return model([helper.make_node("ReduceMax", ["x", "x"], ["y"])], opset=13)


@case
def second_output_of_an_optional(folder):
    return model([helper.make_node("Optional", ["x"], ["a", "y"])], opset=18)


@case
def sequence_of_nothing(folder):
    return model([helper.make_node("SequenceConstruct", ["x", ""], ["y"])], opset=18)


@case
def attribute_of_a_sequence(folder):
    return model([helper.make_node("SequenceConstruct", ["x"], ["y"], axis=1)], opset=18)


@case
def attribute_of_a_choice(folder):
    yes, no = (helper.make_graph([helper.make_node("Identity", ["x"], [name])], name, [],
                                 [helper.make_tensor_value_info(name, FLOAT, [2, 3])])
               for name in ("yes", "no"))
    condition = helper.make_tensor("c", TensorProto.BOOL, [], [1])
    return model([helper.make_node("If", ["c"], ["y"], then_branch=yes, else_branch=no,
                                   depth=2)], initializers=[condition], opset=18)


@case
def inputs_left_out_at_the_end(folder):
    return model([helper.make_node("Relu", ["x", ""], ["y"])])


@case
def unknown_extent(folder):
    return model([relu()], [info("x", (-1, 3))])


@case
def branch_that_does_not_fit(folder):
    yes = helper.make_graph([helper.make_node("Identity", ["x"], ["yes"])], "yes", [],
                            [info("yes")])
    no = helper.make_graph([helper.make_node("LSTM", ["x", "x", "x"], ["no"], hidden_size=3)],
                           "no", [], [info("no")])
    return model([helper.make_node("If", ["c"], ["y"], then_branch=yes, else_branch=no)],
                 [info("x"), info("c", (), TensorProto.BOOL)])


def run(function, root):
    name = function.__name__
    folder = os.path.join(root, name)
    os.makedirs(folder)
    data = function(folder)
    if not isinstance(data, bytes):
        data = data.SerializeToString()
    with open(os.path.join(folder, "model.onnx"), "wb") as out:
        out.write(data)
    done = subprocess.run(
        ["ashlar-translate", "--import-onnx", os.path.join(folder, "model.onnx")],
        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, timeout=60)
    print(f"{name}: exit {done.returncode}")
    print(done.stderr.decode(errors="replace").replace(root + os.sep, ""), end="")


def main():
    root = sys.argv[1]
    subprocess.run(["rm", "-rf", root], check=True)
    for function in CASES:
        run(function, root)


if __name__ == "__main__":
    main()
