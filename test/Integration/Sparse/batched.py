#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes a model for several samples at a time.

usage: batched.py MODEL.onnx OUT.onnx N

Sets axis 0 of all inputs and outputs to N. The model must not name its batch
anywhere else (a Reshape to a constant shape, say).
"""

import sys

import onnx


def main():
    source, target, count = sys.argv[1:]
    model = onnx.load(source)
    constants = {tensor.name for tensor in model.graph.initializer}
    for value in [*model.graph.input, *model.graph.output]:
        if value.name not in constants:
            value.type.tensor_type.shape.dim[0].dim_value = int(count)
    del model.graph.value_info[:]
    onnx.save(onnx.shape_inference.infer_shapes(model, strict_mode=True),
              target)


if __name__ == "__main__":
    main()
