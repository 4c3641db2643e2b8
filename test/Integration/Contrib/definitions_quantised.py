# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operators on quantised numbers, and attention of decoders."""

import numpy as np

from definitions import Case
from definitions_fusions import softmax

U8 = (0, 255)


def reduce_mean(x):
    mean = ((x.astype(int) - 120) * np.float32(0.05)).mean((1, 3))
    return np.clip(np.rint(mean / np.float32(0.02)) + 100, 0, 255)


def split_heads(x, heads):
    b, t, width = x.shape
    return x.reshape(b, t, heads, width // heads).transpose(0, 2, 1, 3)


def attention(q, k, v, mask=0):
    scores = q @ k.transpose(0, 1, 3, 2) / np.sqrt(q.shape[3]) + mask
    y = (softmax(scores) @ v).transpose(0, 2, 1, 3)
    return y.reshape(*y.shape[:2], -1)


def self_attention(x, w, b, past):
    q, k, v = (split_heads(part, 2) for part in np.split(x @ w + b, 3, -1))
    k = np.concatenate([past[0], k], 2)
    v = np.concatenate([past[1], v], 2)
    return attention(q, k, v), np.stack([k, v])


def decoder(source):
    """By where keys and values come from: 'query', 'key' or 'cache'."""
    def fn(q, k, w, kv, b, mask=None, k_cache=None, v_cache=None):
        rows = (k if source == "key" else q).transpose(1, 0, 2)
        queries = split_heads(q.transpose(1, 0, 2) @ w + b[:8], 2)
        keys, values = (split_heads(part, 2) for part in
                        np.split(rows @ kv + b[8:], 2, -1))
        if k_cache is not None and source == "cache":
            keys, values = k_cache, v_cache
        elif k_cache is not None:
            keys = np.concatenate([k_cache, keys], 2)
            values = np.concatenate([v_cache, values], 2)
        added = 0 if mask is None else np.where(mask, -np.inf, 0)[:, None, None]
        y = attention(queries, keys, values, added)
        return y.transpose(1, 0, 2), keys, values
    return fn


DECODER = """(float[3,2,8] q, float[5,2,8] k, float[8,8] w, float[8,16] u,
              float[24] b"""
KEPT = "float[3,2,8] y, float[2,2,{0},4] kc, float[2,2,{0},4] vc"
FLAGS = "<bool s = {{{}}}, bool p = {{{}}}, bool l = {{{}}}, bool m = {{{}}}>"
PADDING = np.array([[0, 0, 0, 1, 1], [0, 1, 0, 0, 0]], bool)

CASES = [
    Case("qlinear_reduce_mean", """
(uint8[3,4,5,6] x) => (uint8[3,5] y)
<float s = {0.05}, uint8 z = {120}, float t = {0.02}, uint8 w = {100}>
{ y = com.microsoft.QLinearReduceMean<axes = [1, -1], keepdims = 0>(
      x, s, z, t, w) }""", reduce_mean, exact=True, x=(80, 160)),
    Case("reduce_sum_integer", """
(int8[3,4,5] x) => (int32[3,1,1] y)
{ y = com.microsoft.ReduceSumInteger<axes = [1, 2], keepdims = 1>(x) }""",
         lambda x: x.astype(int).sum((1, 2), keepdims=True),
         x=(-128, 127)),
    Case("reduce_sum_integer_unsigned", """
(uint8[3,4,5] x) => (uint32[3,5] y)
{ y = com.microsoft.ReduceSumInteger<axes = [1], keepdims = 0>(x) }""",
         lambda x: x.astype(int).sum(1), x=U8),
    Case("mul_integer", """
(uint8[3,4,5] a, uint8[4,1] b) => (int32[3,4,5] y)
<uint8 p = {100}, uint8 q = {7}>
{ y = com.microsoft.MulInteger(a, p, b, q) }""",
         lambda a, b: (a.astype(int) - 100) * (b.astype(int) - 7),
         a=U8, b=U8),
    Case("mul_integer_without_zero_points", """
(int8[3,4] a, int8[3,4] b) => (int32[3,4] y)
{ y = com.microsoft.MulInteger(a, , b) }""",
         lambda a, b: a.astype(int) * b.astype(int),
         a=(-128, 127), b=(-128, 127)),
    Case("matmul_integer16_unsigned", """
(uint16[3,4] a, uint16[4,5] b) => (uint32[3,5] y)
{ y = com.microsoft.MatMulInteger16(a, b) }""",
         lambda a, b: (a.astype(np.int64) @ b.astype(np.int64)) % (1 << 32),
         a=(0, 65535), b=(0, 65535)),
    Case("torch_embedding", """
(float[7,5] w, int64[2,3] i) => (float[2,3,5] y)
{ y = com.microsoft.TorchEmbedding(w, i) }""",
         lambda w, i: w[i], exact=True, i=(0, 6)),
    Case("decoder_masked_self_attention", """
(float[2,1,6] x, float[6,24] w, float[24] b, float[2,2,2,3,4] p)
=> (float[2,1,8] y, float[2,2,2,4,4] q)
<int32[1] n = {3}>
{ y, q = com.microsoft.DecoderMaskedSelfAttention<num_heads = 2>(
      x, w, b, , p, , n) }""", self_attention),
    Case("decoder_attention", DECODER + """) => (float[3,2,8] y)
""" + FLAGS.format(0, 0, 0, 0) + """
{ y = com.microsoft.DecoderAttention<num_heads = 2>(
      q, k, w, u, b, , , , s, p, l, m) }""",
         lambda *x: decoder("query")(*x)[0]),
    Case("decoder_attention_across", DECODER + """, bool[2,5] f)
=> (""" + KEPT.format(5) + ")\n" + FLAGS.format(1, 0, 1, 1) + """
{ y, kc, vc = com.microsoft.DecoderAttention<num_heads = 2>(
      q, k, w, u, b, f, , , s, p, l, m) }""", decoder("key"), f=PADDING),
    Case("decoder_attention_with_a_cache", DECODER + """,
float[2,2,4,4] c, float[2,2,4,4] d) => (""" + KEPT.format(7) + ")\n"
         + FLAGS.format(0, 1, 1, 0) + """
{ y, kc, vc = com.microsoft.DecoderAttention<num_heads = 2>(
      q, k, w, u, b, , c, d, s, p, l, m) }""",
         lambda q, k, w, u, b, c, d: decoder("query")(
             q, k, w, u, b, None, c, d)),
    Case("decoder_attention_of_a_cache", DECODER + """,
float[2,2,4,4] c, float[2,2,4,4] d) => (""" + KEPT.format(4) + ")\n"
         + FLAGS.format(1, 1, 1, 0) + """
{ y, kc, vc = com.microsoft.DecoderAttention<num_heads = 2>(
      q, k, w, u, b, , c, d, s, p, l, m) }""",
         lambda q, k, w, u, b, c, d: decoder("cache")(
             q, k, w, u, b, None, c, d)),
]
