# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A network of bfloat16 tensors, arrays in both forms. usage: bfloat16.py DIR"""

import os
import subprocess
import sys

import numpy as np
from onnx import TensorProto, helper, save

os.chdir(sys.argv[1])
BF16 = TensorProto.BFLOAT16
save(helper.make_model(helper.make_graph(
    [helper.make_node("Relu", ["x"], ["r"]),
     helper.make_node("Reshape", ["r", "shape"], ["y"])], "g",
    [helper.make_tensor_value_info("x", BF16, [2, 4])],
    [helper.make_tensor_value_info("y", BF16, [4, 2])],
    [helper.make_tensor("shape", TensorProto.INT64, [2], [4, 2])]),
    opset_imports=[helper.make_opsetid("", 17)], ir_version=8), "m.onnx")
save(helper.make_model(helper.make_graph(
    [helper.make_node("Concat", ["x", "c"], ["y"], axis=0)], "g",
    [helper.make_tensor_value_info("x", BF16, [2, 4]),
     helper.make_tensor_value_info("c", BF16, [2, 4])],
    [helper.make_tensor_value_info("y", BF16, [4, 4])]),
    opset_imports=[helper.make_opsetid("", 17)], ir_version=8), "c.onnx")


def code(*command):
    done = subprocess.run(command, capture_output=True, text=True)
    return done.returncode


words = (np.array([[1, -2, 0.5, 3], [-4, 5, 6, -7]], np.float32)
         .view(np.uint32) >> 16).astype(np.uint16)
forms = {"u16": words, "V2": words.view("V2")}
assert code("ashlarc", "m.onnx", "-o", "m.ash", "--machine=a1-tiny") == 0
for name, array in forms.items():
    np.savez(name + ".npz", x=array)
    np.save(name + ".npy", array)
    assert code("ashlar-run", "m.ash", f"--inputs={name}.npz",
                "--outputs=y.npz") == 0
    y = np.load("y.npz")["y"]
    np.savez("V2-y.npz", y=y.view("V2"))
    np.savez("other.npz", y=y ^ np.uint16(64))
    codes = [code("ashlar-run", "m.ash", f"--inputs={name}.npz",
                  f"--expect={file}")
             for file in ("y.npz", "V2-y.npz", "other.npz")]
    print(f"{name} outputs {y.dtype}, expected {y.dtype}: {codes[0]}, "
          f"V2: {codes[1]}, other: {codes[2]}")
np.save("f32.npy", np.zeros((2, 4), np.float32))
print("constant", ", ".join(
    f"{name}: " + str(code("ashlarc", "c.onnx", "-o", "c.ash",
                           f"--constant=c={name}.npy"))
    for name in ("u16", "V2", "f32")))
print("reference", ", ".join(
    f"{name}: " + str(code("ashlar-reference", "m.onnx",
                           f"--inputs={name}.npz", "--outputs=r.npz"))
    for name in ("u16", "V2")))
