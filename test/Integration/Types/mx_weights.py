#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Weights of MX and NVFP4 models are stored in the bits that hold them.

usage: mx_weights.py

A matrix product with weights of each format, in blocks of DequantizeLinear as
exporters write them: the plan stores them in the stated bits, each planned
tensor has the bits of the numpy reference, and the numbers are those of the
format.
"""

import json
import os
import subprocess
import sys
import tempfile

import numpy as np
import onnx
from onnx import helper

import narrow_types
import common

HERE = os.path.dirname(os.path.abspath(__file__))
DEPTH, COLUMNS = 256, 128
# Element type, scale type, block, storage requested, bits that hold it.
FORMATS = {"mxfp4": ("float4e2m1", 24, 32, "w=8,block=32", 5),
           "mxfp4 at 16 bits": ("float4e2m1", 24, 32, "w=16,block=32", 5),
           "nvfp4": ("float4e2m1", 17, 16, "w=12,block=16", 9)}


def tensor(name, kind, shape, codes):
    """A constant of codes; those of 4 bits are two in a byte."""
    if kind == 23:
        codes = codes.reshape(-1, 2)
        codes = codes[:, 0] | codes[:, 1] << 4
    made = onnx.TensorProto(name=name, data_type=kind, dims=shape)
    made.raw_data = codes.astype(np.uint8).tobytes()
    return made


def draw(element, scale_type, block):
    """Codes of the elements and of their scales, and the numbers."""
    source = np.random.default_rng(block)
    codes = source.integers(0, 16, (DEPTH, COLUMNS))
    if scale_type == 24:
        scales = source.integers(122, 126, (DEPTH // block, COLUMNS))
        factors = 2.0 ** (scales - 127)
    else:
        scales = source.integers(0x30, 0x40, (DEPTH // block, COLUMNS))
        factors = narrow_types.table("float8e4m3fn")[scales]
    numbers = narrow_types.table(element)[codes] * np.repeat(factors, block, 0)
    return codes, scales, numbers


def check(name):
    element, scale_type, block, asked, bits = FORMATS[name]
    codes, scales, numbers = draw(element, scale_type, block)
    nodes = [narrow_types.cast("s", "f", 1),
             helper.make_node("DequantizeLinear", ["q", "f"], ["w"], axis=0,
                              block_size=block),
             helper.make_node("MatMul", ["x", "w"], ["y"])]
    made = narrow_types.model(
        nodes, [("x", 1, [4, DEPTH])], [("y", 1, [4, COLUMNS])],
        [tensor("q", narrow_types.FLOATS[element][0], codes.shape, codes),
         tensor("s", scale_type, scales.shape, scales)])
    with tempfile.TemporaryDirectory() as folder:
        path, data = os.path.join(folder, "m.onnx"), os.path.join(folder, "x.npz")
        with open(path, "wb") as stream:
            stream.write(made.SerializeToString())
        x = np.random.default_rng(1).normal(0, 1, (4, DEPTH)).astype(np.float32)
        np.savez(data, x=x)
        plan, binary = os.path.join(folder, "plan"), os.path.join(folder, "m.ash")
        common.run_tool("ashlarc", path, "-o", binary, f"--format={asked}",
                        f"--dump-plan={plan}")
        with open(os.path.join(plan, "plan.json"), encoding="utf-8") as stream:
            tensors = json.load(stream)["tensors"]
        found = [t for t in tensors if t["shape"] == [DEPTH, COLUMNS]]
        if [t["format"]["mantissa"] for t in found] != [bits]:
            raise SystemExit(f"{name}: stored as {found}, expected {bits} bits")
        weights = np.load(os.path.join(plan, found[0]["file"])) \
            if found[0]["file"].endswith(".npy") else None
        if weights is not None:
            narrow_types.expect(f"numbers of {name}", weights, numbers)
        done = subprocess.run(
            [sys.executable, os.path.join(HERE, "..", "numerics_model.py"), path,
             data, f"--format={asked}"], capture_output=True, text=True)
        if done.returncode:
            raise SystemExit(f"{name}: {done.stdout}{done.stderr}")
        print(f"{name}: {bits} bits")


def main():
    for name in FORMATS:
        check(name)


if __name__ == "__main__":
    main()
