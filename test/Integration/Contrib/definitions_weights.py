# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Products with packed weights and with scaled narrow floats."""

import numpy as np
from onnx import TensorProto

from definitions import Case
from definitions_fusions import silu

SOURCE = np.random.default_rng(11)
E2M1 = np.array([0, .5, 1, 1.5, 2, 3, 4, 6])
F16 = np.float16
FLOAT8E4M3FN = 17  # Of newer ONNX than the Python module may be.


def e4m3(code):
    """The value of a code that is no NaN."""
    exponent, digits = code >> 3 & 15, code & 7
    value = (digits + 8 * (exponent > 0)) * 2.0 ** (max(exponent, 1) - 10)
    return -value if code & 128 else value


E4M3 = np.array([e4m3(code) for code in range(256)])


def to_e4m3(x):
    numbers = np.unique(np.delete(E4M3, [127, 255]))
    return numbers[np.abs(numbers[:, None] - x.reshape(-1)).argmin(0)].reshape(
        x.shape)


class Weighted(Case):
    """A case whose constants are tensors by their names."""

    def __init__(self, name, graph, fn, constants):
        super().__init__(name, graph, fn)
        self.constants = constants

    def model(self):
        made = super().model()
        for name, (kind, value) in self.constants.items():
            made.graph.initializer.append(TensorProto(
                name=name, data_type=kind, dims=value.shape,
                raw_data=value.tobytes()))
        return made


def packed(columns, depth, block):
    """Bytes, scales and the numbers [depth, columns] of MatMulNBits."""
    q = SOURCE.integers(0, 16, (columns, depth // block, block))
    scales = SOURCE.uniform(0.02, 0.1, (columns, depth // block)).astype("f4")
    numbers = (q - 8) * scales[:, :, None]
    data = (q[:, :, ::2] + 16 * q[:, :, 1::2]).astype(np.uint8)
    return ((TensorProto.UINT8, data), (TensorProto.FLOAT, scales),
            numbers.reshape(columns, depth).T)


GATE, UP, QUERY, OTHER, LAST = (packed(c, 32, 16) for c in (6, 6, 8, 4, 4))


def normed(x, scale):
    return x / np.sqrt((x ** 2).mean(-1, keepdims=True) + 1e-5) * scale


def mlp(x, skip, scale, bias):
    total = x + skip
    y = normed(total, scale)
    return silu(y @ GATE[2] + bias) * (y @ UP[2]), total


def qkv(x, scale, bias):
    y = normed(x, scale)
    return y @ QUERY[2] + bias, y @ OTHER[2], y @ LAST[2]


FP8 = SOURCE.integers(0, 120, (5, 24)).astype(np.uint8) \
    + 128 * SOURCE.integers(0, 2, (5, 24)).astype(np.uint8)
FP8_SCALES = SOURCE.uniform(0.01, 0.05, (5, 3)).astype(np.float32)
FP8_NUMBERS = E4M3[FP8] * np.repeat(FP8_SCALES, 8, 1)
FP4 = SOURCE.integers(0, 256, (5, 16)).astype(np.uint8)
FP4_SCALES = SOURCE.integers(40, 70, (5, 2)).astype(np.uint8)
CODES = np.stack([FP4 & 15, FP4 >> 4], 2).reshape(5, 32)
FP4_NUMBERS = np.where(CODES & 8, -1, 1) * E2M1[CODES & 7] * np.repeat(
    E4M3[FP4_SCALES], 16, 1) * np.float32(0.25)
BLOBS = SOURCE.integers(0, 256, (3, 2, 36)).astype(np.uint8)
BLOB_SCALES = SOURCE.uniform(0.01, 0.1, (3, 2, 1)).astype("<f4")
BLOBS[:, :, :4] = BLOB_SCALES.view(np.uint8)
HALVES = BLOBS[:, :, 4:].reshape(3, 2, 2, 16)
BLOB_NUMBERS = ((np.concatenate([HALVES & 15, HALVES >> 4], 3).astype(int) - 8)
                .reshape(3, 2, 64) * BLOB_SCALES).reshape(3, 128)
FP8_CONSTANTS = {"w": (FLOAT8E4M3FN, FP8),
                 "s": (TensorProto.FLOAT, FP8_SCALES)}

CASES = [
    Weighted("matmul_nbits_mlp", """
(float[3,32] x, float[3,32] k, float[32] s, float[6] b)
=> (float[3,6] y, float[3,32] t)
{ y, t = com.microsoft.MatMulNBitsMlp<K = 32, N = 6, block_size = 16,
             activation = "silu">(x, k, s, g, gs, b, u, us) }""", mlp,
             {"g": GATE[0], "gs": GATE[1], "u": UP[0], "us": UP[1]}),
    Weighted("matmul_nbits_qkv", """
(float[2,3,32] x, float[32] s, float[8] b)
=> (float[2,3,8] q, float[2,3,4] k, float[2,3,4] v)
{ q, k, v = com.microsoft.MatMulNBitsQkv<K = 32, Nq = 8, Nkv = 4,
      block_size = 16, epsilon = 0.00001>(x, , s, w, ws, b, o, os, , l, ls) }
""", qkv, {"w": QUERY[0], "ws": QUERY[1], "o": OTHER[0], "os": OTHER[1],
           "l": LAST[0], "ls": LAST[1]}),
    Weighted("matmul_float8", """
(float16[2,3,24] x, float16[5] b) => (float16[2,3,5] y)
{ y = com.microsoft.MatMulBlockQuantizedFp8Weight<block_size = 8>(
      x, w, s, , b) }""",
             lambda x, b: x @ FP8_NUMBERS.astype(F16).T.astype(float) + b,
             FP8_CONSTANTS),
    Weighted("matmul_float8_of_float8", """
(float16[3,24] x) => (float16[3,5] y)
<float a = {0.03125}>
{ y = com.microsoft.MatMulBlockQuantizedFp8Weight<block_size = 8>(
      x, w, s, a) }""",
             lambda x: to_e4m3(x / 0.03125) * 0.03125
             @ FP8_NUMBERS.astype(F16).T.astype(float), FP8_CONSTANTS),
    Weighted("matmul_float4", """
(float16[3,32] x) => (float16[3,5] y)
<float t = {0.25}>
{ y = com.microsoft.MatMulBlockQuantizedFp4Weight(x, w, s, t) }""",
             lambda x: x @ FP4_NUMBERS.astype(F16).T.astype(float),
             {"w": (TensorProto.UINT8, FP4),
              "s": (TensorProto.UINT8, FP4_SCALES)}),
    Weighted("matmul_of_blobs_of_64", """
(float[4,128] x) => (float[4,3] y)
<int64[2] s = {128, 3}>
{ y = com.microsoft.MatMulFpQ4<blk_quant_type = 2>(x, w, s) }""",
             lambda x: x @ BLOB_NUMBERS.T,
             {"w": (TensorProto.UINT8, BLOBS.reshape(-1))}),
]
