#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Sequences and optionals as inputs and outputs of models.

usage: lists.py

Every model runs through ashlarc and ashlar-run with element K of NAME as
NAME.K, and through ashlarc --verify; results are compared with numpy.
"""

import os
import sys
import tempfile

import numpy as np
import onnx
import onnx.numpy_helper
from onnx import TensorProto, helper

INTEGRATION = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, INTEGRATION)

import common  # noqa: E402

FLOAT, INT64 = TensorProto.FLOAT, TensorProto.INT64


def sequence(name, shape=None):
    return helper.make_tensor_sequence_value_info(name, FLOAT, shape)


def optional(name, kind):
    info = onnx.ValueInfoProto(name=name)
    info.type.CopyFrom(helper.make_optional_type_proto(kind))
    return info


def tensor(name, shape, kind=FLOAT):
    return helper.make_tensor_value_info(name, kind, shape)


def save(path, nodes, inputs, outputs, constants=()):
    graph = helper.make_graph(nodes, "lists", inputs, outputs, [
        onnx.numpy_helper.from_array(np.asarray(value), name)
        for name, value in constants])
    onnx.save(helper.make_model(
        graph, ir_version=8, opset_imports=[helper.make_opsetid("", 17)]), path)


def run(path, folder, arrays, wanted, *options):
    """Compiles, runs, compares, and verifies by ONNX's definitions."""
    binary, inputs = os.path.join(folder, "case.ash"), os.path.join(folder, "in.npz")
    outputs = os.path.join(folder, "out.npz")
    np.savez(inputs, **arrays)
    common.run_tool("ashlarc", path, "-o", binary, "--format=bfp16", *options)
    common.run_tool("ashlar-run", binary, f"--inputs={inputs}",
                    f"--outputs={outputs}")
    with np.load(outputs) as found:
        assert sorted(found.files) == sorted(wanted), found.files
        for name, right in wanted.items():
            assert found[name].shape == right.shape, (name, found[name].shape)
            assert np.allclose(found[name], right, 1e-3, 1e-3), name
    if arrays:
        common.run_tool("ashlarc", path, "--verify", f"--inputs={inputs}",
                        "--format=bfp16", *options)


def elements_in_and_out(path, folder, rng):
    save(path, [
        helper.make_node("SequenceAt", ["boxes", "last"], ["b"]),
        helper.make_node("Relu", ["b"], ["r"]),
        helper.make_node("SequenceInsert", ["boxes", "r"], ["more"]),
        helper.make_node("SequenceLength", ["more"], ["count"])],
        [sequence("boxes", ["n", 4])],
        [sequence("more", ["n", 4]), tensor("count", [], INT64)],
        [("last", np.int64(-1))])
    a, b = rng.normal(size=(2, 4)), rng.normal(size=(3, 4))
    arrays = {"boxes.0": a.astype("f"), "boxes.1": b.astype("f")}
    run(path, folder, arrays,
        {"more.0": a, "more.1": b, "more.2": np.maximum(b, 0),
         "count": np.asarray(3)},
        "--input-shape=boxes.0=2x4", "--input-shape=boxes.1=3x4")
    refuse(path, "'boxes' is a sequence of unknown length", "--elements=boxes=N")
    refuse(path, "at most 4096", options=[
        "--elements=boxes=5000"])
    refuse(path, "'box', which is no input that is a sequence",
           options=["--elements=box=1"])


def map_over_elements(path, folder, rng):
    body = helper.make_graph(
        [helper.make_node("Add", ["e", "x"], ["s"])], "body",
        [tensor("e", None), tensor("x", None)], [tensor("s", None)])
    save(path, [helper.make_node("SequenceMap", ["list", "x"], ["sums"], body=body)],
         [sequence("list", [3]), tensor("x", [3])], [sequence("sums", [3])])
    arrays = {f"list.{k}": rng.normal(size=3).astype("f") for k in range(2)}
    arrays["x"] = rng.normal(size=3).astype("f")
    run(path, folder, arrays, {f"sums.{k}": arrays[f"list.{k}"] + arrays["x"]
                               for k in range(2)}, "--elements=list=2")


def an_empty_sequence(path, folder, rng):
    save(path, [helper.make_node("SequenceInsert", ["list", "x"], ["y"])],
         [sequence("list", [3]), tensor("x", [3])], [sequence("y", [3])])
    x = rng.normal(size=3).astype("f")
    run(path, folder, {"x": x}, {"y.0": x}, "--elements=list=0")


def optionals(path, folder, rng):
    kind = helper.make_tensor_type_proto(FLOAT, [5])
    yes = helper.make_graph(
        [helper.make_node("OptionalGetElement", ["mask"], ["m"]),
         helper.make_node("Mul", ["x", "m"], ["a"])], "yes", [], [tensor("a", [5])])
    no = helper.make_graph([helper.make_node("Neg", ["x"], ["d"])], "no", [],
                           [tensor("d", [5])])
    save(path, [helper.make_node("OptionalHasElement", ["mask"], ["has"]),
                helper.make_node("If", ["has"], ["y"], then_branch=yes, else_branch=no)],
         [tensor("x", [5]), optional("mask", kind)], [tensor("y", [5])])
    x, m = (rng.normal(size=5).astype("f") for _ in range(2))
    run(path, folder, {"x": x, "mask": m}, {"y": x * m})
    run(path, folder, {"x": x}, {"y": -x}, "--elements=mask=0")


def a_name_that_is_taken(path, folder, rng):
    save(path, [helper.make_node("SequenceInsert", ["list", "list.0"], ["y"])],
         [sequence("list", [3]), tensor("list.0", [3])], [sequence("y", [3])])
    refuse(path, "which the model has already", options=["--elements=list=1"])


def refuse(path, *texts, options=()):
    done = common.run_tool("ashlarc", path, "-o", path + ".ash", *options, check=False)
    assert done.returncode in (2, 3), done.returncode
    for text in texts:
        assert text in done.stderr, done.stderr


def main():
    for case in (elements_in_and_out, map_over_elements, an_empty_sequence,
                 optionals, a_name_that_is_taken):
        with tempfile.TemporaryDirectory() as folder:
            case(os.path.join(folder, "case.onnx"), folder, np.random.default_rng(7))
            print("pass", case.__name__)
    return 0


if __name__ == "__main__":
    sys.exit(main())
