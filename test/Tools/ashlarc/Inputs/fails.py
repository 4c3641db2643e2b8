#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs ashlarc in every wrong way and prints exit codes and messages.

usage: fails.py MODEL SCRATCH
"""

import os
import subprocess
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper


def model_of(path, nodes, shape, initialisers=()):
    value = helper.make_tensor_value_info
    graph = helper.make_graph(
        nodes, "g", [value("x", TensorProto.FLOAT, shape)],
        [value("y", TensorProto.FLOAT, shape)], list(initialisers))
    onnx.save(helper.make_model(
        graph, opset_imports=[helper.make_opsetid("", 13)]), path)


def write_models(model):
    with open(model, "rb") as stream:
        head = stream.read(300)
    with open("truncated.onnx", "wb") as stream:
        stream.write(head)
    with open("terabyte.yaml", "w", encoding="utf-8") as stream:
        stream.write("name: big\nsb:\n  bytes_per_partition: 1099511627776\n")
    with open("unknown.yaml", "w", encoding="utf-8") as stream:
        stream.write("name: odd\ncolour: 3\n")
    with open("small.yaml", "w", encoding="utf-8") as stream:
        stream.write("name: small\nxm_group: 4\nsb: {partitions: 8, "
                     "bytes_per_partition: 256}\npe: {rows: 8, columns: 4}\n"
                     "act: {lanes: 4}\n")
    node = helper.make_node
    model_of("unsupported.onnx",
             [node("ImageDecoder", ["x"], ["a"], name="first"),
              node("Relu", ["a"], ["b"], name="good"),
              node("NonsenseOp", ["b"], ["y"], name="second")], [1, 4])
    model_of("open.onnx", [node("Relu", ["x"], ["y"])], ["N", 4])
    np.save("w.npy", np.zeros((1, 4), np.float64))


CASES = [
    ("nothing", []),
    ("no output", ["MODEL"]),
    ("two models", ["MODEL", "other.onnx", "-o", "o.ash"]),
    ("unknown option", ["MODEL", "--fast"]),
    ("lacking value", ["MODEL", "-o"]),
    ("unknown machine", ["MODEL", "-o", "o.ash", "--machine=b2"]),
    ("unknown field", ["MODEL", "-o", "o.ash", "--machine=unknown.yaml"]),
    ("terabyte machine", ["MODEL", "-o", "o.ash", "--machine=terabyte.yaml"]),
    ("unknown format", ["MODEL", "-o", "o.ash", "--format=fp8"]),
    ("bad block", ["MODEL", "-o", "o.ash", "--format=w=8,block=7"]),
    ("bad threads", ["MODEL", "-o", "o.ash", "--threads=0"]),
    ("unknown phase", ["MODEL", "--compile-to=link"]),
    ("malformed shape", ["MODEL", "-o", "o.ash", "--input-shape=image"]),
    ("shape of no input", ["MODEL", "-o", "o.ash", "--input-shape=z=1x2"]),
    ("constant without file",
     ["MODEL", "-o", "o.ash", "--constant=image=absent.npy"]),
    ("constant of another type",
     ["open.onnx", "-o", "o.ash", "--constant=x=w.npy"]),
    ("missing model", ["absent.onnx", "-o", "o.ash"]),
    ("truncated model", ["truncated.onnx", "-o", "o.ash"]),
    ("open dimension", ["open.onnx", "-o", "o.ash"]),
    ("unsupported", ["unsupported.onnx", "-o", "o.ash"]),
    ("unsupported check", ["unsupported.onnx", "--check"]),
    ("too small", ["MODEL", "-o", "o.ash", "--machine=small.yaml"]),
    ("missing folder", ["MODEL", "-o", "absent/o.ash"]),
]


def main():
    model = os.path.abspath(sys.argv[1])
    os.chdir(sys.argv[2])
    write_models(model)
    for name, arguments in CASES:
        done = subprocess.run(
            ["ashlarc", *(model if a == "MODEL" else a for a in arguments)],
            capture_output=True, text=True)
        print(f"{name}\nexit {done.returncode}\n{done.stdout}{done.stderr}",
              end="")
        if os.path.exists("o.ash"):
            print("left a file behind")
            os.remove("o.ash")


main()
