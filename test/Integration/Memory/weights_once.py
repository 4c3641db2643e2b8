#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Weights that do not fit the state buffer are read once.

usage: weights_once.py [--rows=600] [--inner=256] [--outputs=4096]
                       [--bytes=16384] [--mantissa=8] [--most=1.2]
                       [--slowest=FACTOR]

A matrix product whose result lies in DRAM and whose weights fill more than the
partitions of a machine like a1 with so many bytes each: the head of a language
model. Prints the bytes that DRAM gives over those of weights and input, and the
decision of the plan. Fails if that quotient is more than `--most`, if the run
takes more than `--slowest` times what DRAM takes to give weights and input, or if
any bit differs from the machine with plenty of memory.
"""

import argparse
import os
import sys
import tempfile

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

import memory_sweep as sweep


def write_model(path, rows, inner, outputs):
    draw = np.random.default_rng(7)
    weights = draw.standard_normal((inner, outputs), dtype=np.float32)
    graph = helper.make_graph(
        [helper.make_node("MatMul", ["x", "w"], ["y"], name="head")], "head",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [rows, inner])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [rows, outputs])],
        [numpy_helper.from_array(weights, "w")])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]), path)


def main():
    parser = argparse.ArgumentParser()
    for name, value in (("rows", 600), ("inner", 256), ("outputs", 4096), ("bytes", 16384), ("mantissa", 8)):
        parser.add_argument("--" + name, type=int, default=value)
    parser.add_argument("--most", type=float, default=1.2)
    parser.add_argument("--slowest", type=float, default=float("inf"))
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = lambda name: os.path.join(folder, name)
        write_model(path("m.onnx"), args.rows, args.inner, args.outputs)
        found = {}
        for size in (args.bytes, 1 << 20):
            machine = sweep.write_machine(path("m.yaml"), "a1", size * 128)
            said = sweep.compile_model(path("m.onnx"), machine, path("m.ash"),
                                       f"--format=bfp{args.mantissa}")
            if said:
                sys.exit(said)
            report = sweep.run_program(path("m.ash"), path("r.json"),
                                       "--outputs=" + path("y.npz"))
            with np.load(path("y.npz")) as arrays:
                found[size] = report, arrays["y"].tobytes()
    report, bits = found[args.bytes]
    # Mantissas of a byte with a cell for 16 of them, inputs in binary32.
    weight_bits = args.mantissa + 8 / 16
    least = args.inner * args.outputs * weight_bits / 8 + args.rows * args.inner * 4
    read = report["totals"]["dram_read"]
    print(f"{report['total_cycles']:,} cycles, {read:,} bytes read, "
          f"{read / least:.2f} of weights and input")
    for decision in report["decisions"]:
        if "outputs-outside-bytes" in decision.get("alternatives", {}):
            print(decision)
    if bits != found[1 << 20][1]:
        sys.exit("other bits than with plenty of memory")
    if read > args.most * least:
        sys.exit(f"expected {args.most} at most")
    dram = least / (64 * 0.9)  # bytes per cycle of a1
    if report["total_cycles"] > args.slowest * dram:
        sys.exit(f"DRAM takes {dram:,.0f} cycles, expected {args.slowest} times that at most")


if __name__ == "__main__":
    main()
