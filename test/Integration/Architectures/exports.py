#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Parts of published networks (export_models.py) against ONNX Runtime.

usage: exports.py [NAME...]

Each is compiled at bfp16 and run; an output below 45 dB fails. It then goes
through --verify, as it is and with all floats in float16.
"""

import os
import sys
import tempfile

import numpy as np
import onnx
from onnx import TensorProto, numpy_helper

INTEGRATION = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, INTEGRATION)

import common  # noqa: E402
import ort  # noqa: E402

import export_models  # noqa: E402

LEAST_SNR = 45.0
NUMPY = {TensorProto.FLOAT: np.float32, TensorProto.FLOAT16: np.float16,
         TensorProto.INT64: np.int64, TensorProto.BOOL: np.bool_}


def narrowed(tensor):
    most = float(np.finfo(np.float16).max)
    array = np.clip(numpy_helper.to_array(tensor), -most, most).astype(np.float16)
    return numpy_helper.from_array(array, tensor.name)


def to_half(model):
    """All floats become float16."""
    for tensor in model.graph.initializer:
        if tensor.data_type == TensorProto.FLOAT:
            tensor.CopyFrom(narrowed(tensor))
    for value in (*model.graph.input, *model.graph.output):
        if value.type.tensor_type.elem_type == TensorProto.FLOAT:
            value.type.tensor_type.elem_type = TensorProto.FLOAT16
    for node in model.graph.node:
        for attribute in node.attribute:
            if attribute.name == "to" and attribute.i == TensorProto.FLOAT:
                attribute.i = TensorProto.FLOAT16
            if attribute.name == "value" and attribute.t.data_type == TensorProto.FLOAT:
                attribute.t.CopyFrom(narrowed(attribute.t))


def write(model, values, folder):
    """Paths of the model and of its inputs, and these."""
    kinds = {i.name: NUMPY[i.type.tensor_type.elem_type] for i in model.graph.input}
    arrays = {name: np.asarray(value).astype(kinds[name])
              for name, value in values.items()}
    path, inputs = os.path.join(folder, "m.onnx"), os.path.join(folder, "in.npz")
    onnx.save(model, path)
    np.savez(inputs, **arrays)
    return path, inputs, arrays


def check(name, folder):
    """Least SNR in dB."""
    model, values = export_models.ALL[name]()
    path, inputs, arrays = write(model, values, folder)
    binary, out = os.path.join(folder, "m.ash"), os.path.join(folder, "out.npz")
    common.run_tool("ashlarc", path, "-o", binary, "--format=bfp16")
    common.run_tool("ashlar-run", binary, f"--inputs={inputs}", f"--outputs={out}",
                    "--quiet")
    (expected,), _ = ort.run(path, [arrays])
    with np.load(out) as outputs:
        least = min(common.snr_db(expected[key], outputs[key]) for key in expected)
    common.run_tool("ashlarc", path, "--verify", f"--inputs={inputs}",
                    "--format=bfp16")
    to_half(model)
    path, inputs, _ = write(model, values, folder)
    common.run_tool("ashlarc", path, "--verify", f"--inputs={inputs}",
                    "--format=bfp16")
    return least


def main():
    failures = 0
    for name in sys.argv[1:] or export_models.ALL:
        with tempfile.TemporaryDirectory() as folder:
            try:
                least = check(name, folder)
            except SystemExit as error:
                print(f"FAIL {name}: {error}")
                failures += 1
                continue
        bad = least < LEAST_SNR
        failures += bad
        print(f"{'FAIL ' if bad else ''}{name}: {least:.1f} dB")
    return int(failures > 0)


if __name__ == "__main__":
    sys.exit(main())
