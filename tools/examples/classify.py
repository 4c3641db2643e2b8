#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""classify.py MODEL.onnx: compiles, runs, and prints where the cycles go."""

import sys

import numpy

import ashlar

program = ashlar.compile(sys.argv[1], machine="a1-tiny", format="bfp8")
inputs = {tensor.name: numpy.full(tensor.shape, 0.5, "float32")
          for tensor in program.inputs}
outputs = program.run(inputs)
for name, array in outputs.items():
    print(name, array.dtype, array.shape)
print(program.cycles, "cycles on", program.machine)
print(program.layers())

try:
    program.run({"nonsense": numpy.zeros(3)})
except ashlar.UsageError as error:
    print("exit code", error.code, "-", str(error).splitlines()[0])
