# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tensors of ONNX files as the tools read and write them.

Covers the element types that the onnx package of the test host may not know:
one code of a narrow type per byte, sign-extended for signed integers.
"""

import numpy as np
import onnx
from onnx import numpy_helper

BFLOAT16 = 16
# Number of the type: bits, and whether codes are signed integers.
NARROW = {17: (8, False), 18: (8, False), 19: (8, False), 20: (8, False),
          21: (4, False), 22: (4, True), 23: (4, False), 24: (8, False),
          25: (2, False), 26: (2, True)}


def codes(tensor, bits, signed):
    """The codes of a tensor of a narrow type; several may share a byte, the
    first one in its low bits."""
    if tensor.HasField("raw_data"):
        stored = np.frombuffer(tensor.raw_data, np.uint8)
    else:
        stored = np.array(tensor.int32_data, np.int64).astype(np.uint8)
    per_byte = 8 // bits
    shifts = bits * np.arange(per_byte, dtype=np.uint8)
    found = (stored[:, None] >> shifts & ((1 << bits) - 1)).reshape(-1)
    found = found[:int(np.prod(tensor.dims, dtype=np.int64))]
    if signed:
        found = found.astype(np.int8)
        found -= (found >= 1 << (bits - 1)) * np.int8(1 << bits)
    return found.reshape(tuple(tensor.dims))


def to_array(tensor):
    """A tensor as an array; its two bytes stand for a bfloat16."""
    if tensor.data_type in NARROW:
        return codes(tensor, *NARROW[tensor.data_type])
    if tensor.data_type == BFLOAT16:
        stored = np.frombuffer(tensor.raw_data, "<u2") \
            if tensor.HasField("raw_data") else np.array(tensor.int32_data)
        return stored.astype(np.uint16).view("V2").reshape(tuple(tensor.dims))
    return numpy_helper.to_array(tensor)


# Codes of NaN of 8-bit floats without the sign, which carries no meaning.
NANS = {17: [0x7f], 19: [0x7d, 0x7e, 0x7f]}


def one_nan(array, data_type):
    """The same with one code for every NaN."""
    if data_type not in NANS or array.dtype != np.uint8:
        return array
    return np.where(np.isin(array & 0x7f, NANS[data_type]),
                    np.uint8(NANS[data_type][-1]), array)


def is_readable(tensor):
    """Whether the tools have such values at all."""
    return tensor.data_type not in (
        onnx.TensorProto.STRING, onnx.TensorProto.COMPLEX64,
        onnx.TensorProto.COMPLEX128)
