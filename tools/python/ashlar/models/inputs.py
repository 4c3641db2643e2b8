# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Inputs of the networks in this folder: inputs(model) yields (array, None).

Seeded, with the same bits everywhere: smooth fields of variance 1 for images, nearly
normal numbers for other tensors, 0 ... 255 for networks that take bytes, tokens for
integers.
"""
import os

import numpy as np
import onnx

HERE = os.path.dirname(os.path.abspath(__file__))
SAMPLES = 4
BYTES = ("resnet8_cifar10", "mnist_cnn")
TOKENS = 256


def _words(bits, count):
    return np.asarray(bits.random_raw(count), "<u8")


def _normal(bits, shape):
    fields = _words(bits, int(np.prod(shape))).view("<u2").astype(np.int32)
    total = fields[0::4] + fields[1::4] + fields[2::4] + fields[3::4]
    return ((total - 131070) * 2.0 ** -15 * 0.866).astype(np.float32).reshape(shape)


def _image(bits, shape):
    coarse = _normal(bits, (*shape[:2], *(-(-extent // 8) for extent in shape[2:])))
    field = np.kron(coarse, np.ones((8, 8), np.float32))[:, :, :shape[2], :shape[3]]
    return (np.float32(0.9) * field + np.float32(0.4) * _normal(bits, shape)).astype(np.float32)


def inputs(model):
    """Yields (array of shape 1x..., None) for a few samples of `model` (file name without .onnx)."""
    graph = onnx.load(os.path.join(HERE, model + ".onnx"), load_external_data=False).graph
    described = graph.input[0].type.tensor_type
    shape = tuple(d.dim_value for d in described.shape.dim)
    bits = np.random.PCG64([len(model), *model.encode()])
    for _ in range(SAMPLES):
        if described.elem_type == onnx.TensorProto.INT64:
            values = (_words(bits, int(np.prod(shape))) % np.uint64(TOKENS)).astype(np.int64).reshape(shape)
        elif model in BYTES:
            values = (_words(bits, int(np.prod(shape))) % np.uint64(256)).astype(np.float32).reshape(shape)
        else:
            values = _image(bits, shape) if len(shape) == 4 else _normal(bits, shape)
        yield values, None
