# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Odd but legal names: values that are called as what is inside of a loop, a
branch or a function might be. odd_models.py compiles, runs and compares them."""

import numpy as np
from onnx import TensorProto, helper

from odd_graphs import case

OPSET = [helper.make_opsetid("", 17)]


def value(name, shape=(3,), elem=TensorProto.FLOAT):
    return helper.make_tensor_value_info(name, elem, shape)


def body(*nodes, names="icvdo"):
    """A loop's body; its names are those of the round, the condition and the
    value, and of their results."""
    i, c, v, d, o = names
    return helper.make_graph(
        [*nodes, helper.make_node("Identity", [c], [d])], "body",
        [value(i, (), TensorProto.INT64), value(c, (), TensorProto.BOOL), value(v)],
        [value(d, (), TensorProto.BOOL), value(o)])


def turn():
    return body(helper.make_node("Neg", ["v"], ["t"]), helper.make_node("Sin", ["t"], ["o"]))


def add_loop(m, name, graph, result):
    count = m.constant(np.array(2))
    m.nodes.append(helper.make_node("Loop", [count, "", "x"], [result], name=name, body=graph))


@case
def value_named_as_one_of_a_loop(m):
    m.input("x", [3])
    y = m.node("Cos", ["x"], name="loop/round0/t")
    add_loop(m, "loop", turn(), "z")
    m.output(m.node("Add", ["z", y]))


@case
def loop_named_as_one_inside_of_another(m):
    m.input("x", [3])
    # ONNX Runtime wants names to differ in graphs inside of each other.
    inner = helper.make_node("Loop", ["n", "", "V"], ["O"], name="inner", body=turn())
    m.constant(np.array(2), name="n")
    outer = body(helper.make_node("Neg", ["W"], ["V"]), inner, names="ICWDO")
    add_loop(m, "loop", outer, "y")
    add_loop(m, "loop/round0/inner", turn(), "z")
    add_loop(m, "loop~", turn(), "w")
    m.output(m.node("Add", ["y", m.node("Sub", ["z", "w"])]))


@case
def value_named_as_one_of_a_function(m):
    m.functions = [helper.make_function(
        "here", "Turn", ["a"], ["b"], [helper.make_node("Neg", ["a"], ["t"]),
                                       helper.make_node("Sin", ["t"], ["b"])], OPSET)]
    m.input("x", [3])
    m.nodes.append(helper.make_node("Turn", ["x"], ["y"], name="call", domain="here"))
    m.output(m.node("Add", ["y", m.node("Cos", ["x"], name="call/t")]))


@case
def branch_names_a_value_as_what_it_reads_is_called_outside(m):
    yes = helper.make_graph([helper.make_node("Cos", ["a"], ["call/t"]),
                             helper.make_node("Add", ["call/t", "t"], ["o"])],
                            "yes", [], [value("o")])
    no = helper.make_graph([helper.make_node("Neg", ["t"], ["o"])], "no", [], [value("o")])
    m.functions = [helper.make_function(
        "here", "Choose", ["a", "k"], ["b"],
        [helper.make_node("Neg", ["a"], ["t"]),
         helper.make_node("If", ["k"], ["b"], name="if", then_branch=yes, else_branch=no)],
        OPSET)]
    m.input("x", [3])
    k = m.constant(np.array(True))
    m.nodes.append(helper.make_node("Choose", ["x", k], ["y"], name="call", domain="here"))
    m.output("y")


@case
def branches_name_a_value_alike(m):
    m.input("x", [3])
    m.node("Sin", ["x"], name="t")
    yes = helper.make_graph([helper.make_node("Neg", ["t"], ["o"])], "yes", [], [value("o")])
    no = helper.make_graph([helper.make_node("Cos", ["x"], ["p"]),
                            helper.make_node("Neg", ["p"], ["q"])], "no", [], [value("q")])
    m.output(m.node("If", [m.input("c", [], np.bool_, high=1)], then_branch=yes,
                    else_branch=no))
