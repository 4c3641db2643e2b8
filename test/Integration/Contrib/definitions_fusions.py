# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Normalisations, biases, gates and products with what follows them."""

import math

import numpy as np

from definitions import Case

erf = np.vectorize(math.erf)


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def silu(x):
    return x * sigmoid(x)


def gelu(x):
    return x / 2 * (1 + erf(x / math.sqrt(2)))


def tanh_gelu(x):
    return x / 2 * (1 + np.tanh(0.7978845608 * (x + 0.044715 * x ** 3)))


def softmax(x, axis=-1):
    e = np.exp(x - x.max(axis, keepdims=True))
    return e / e.sum(axis, keepdims=True)


def group_norm(x, scale, shift, groups, epsilon=1e-5, active=False, last=True):
    moved = np.moveaxis(x, -1, 1) if last else x
    parts = moved.reshape(len(x), groups, -1)
    parts = parts - parts.mean(2, keepdims=True)
    parts = parts / np.sqrt((parts ** 2).mean(2, keepdims=True) + epsilon)
    each = [1, -1] + [1] * (x.ndim - 2)
    y = parts.reshape(moved.shape) * scale.reshape(each) + shift.reshape(each)
    y = silu(y) if active else y
    return np.moveaxis(y, 1, -1) if last else y


def skip_group_norm(x, scale, shift, skip, bias=0):
    if skip.ndim == 2:
        skip = skip[:, None, None, :]
    total = x + skip + bias
    return group_norm(total, scale, shift, 4, 1e-3), total


def bias_split_gelu(x, bias):
    left, right = np.split(x + bias, 2, -1)
    return left * gelu(right)


def gated_rms_norm(x, scale, gate):
    rows = x.reshape(-1, len(scale))
    rows = rows / np.sqrt((rows ** 2).mean(1, keepdims=True) + 1e-6) * scale
    return rows.reshape(x.shape) * silu(gate)


def complex_product(a, b, conjugate):
    p = a[..., 0] + 1j * a[..., 1]
    q = b[..., 0] + 1j * b[..., 1]
    y = p * (q.conj() if conjugate else q)
    return np.stack([y.real, y.imag], -1)


def gate(a, bias, scale, b):
    return scale * np.log1p(np.exp(a + bias)), sigmoid(b)


def gemma(angle, q, q_turned, k, k_turned):
    cosine, sine = np.cos(angle)[:, None], np.sin(angle)[:, None]
    return q * cosine + q_turned * sine, k * cosine + k_turned * sine


def nhwc_conv(x, w, bias=0, pads=(0, 0, 0, 0), stride=1, group=1):
    x = np.pad(x, [(0, 0), (pads[0], pads[2]), (pads[1], pads[3]), (0, 0)])
    taps = np.lib.stride_tricks.sliding_window_view(
        x, w.shape[2:], (1, 2))[:, ::stride, ::stride]
    parts = [np.einsum("nhwckl,mckl->nhwm", a, b) for a, b in
             zip(np.split(taps, group, 3), np.split(w, group, 0))]
    return np.concatenate(parts, 3) + bias


def all_finite(*parts):
    return all(np.isfinite(x).all() for x in parts)

CASES = [
    Case("group_norm", """
(float[2,3,4,8] x, float[8] s, float[8] b) => (float[2,3,4,8] y)
{ y = com.microsoft.GroupNorm<groups = 2, activation = 1>(x, s, b) }""",
         lambda x, s, b: group_norm(x, s, b, 2, active=True)),
    Case("group_norm_of_channels_first", """
(float[2,6,3,5] x, float[6] s, float[6] b) => (float[2,6,3,5] y)
{ y = com.microsoft.GroupNorm<groups = 3, activation = 0, channels_last = 0,
                              epsilon = 0.01>(x, s, b) }""",
         lambda x, s, b: group_norm(x, s, b, 3, 0.01, last=False)),
    Case("group_norm_of_halves", """
(float16[1,4,4,8] x, float[8] s, float[8] b) => (float16[1,4,4,8] y)
{ y = com.microsoft.GroupNorm<groups = 4, activation = 1>(x, s, b) }""",
         lambda x, s, b: group_norm(x, s, b, 4, active=True)),
    Case("skip_group_norm", """
(float[2,3,4,8] x, float[8] s, float[8] b, float[2,3,4,8] k, float[8] c)
=> (float[2,3,4,8] y, float[2,3,4,8] t)
{ y, t = com.microsoft.SkipGroupNorm<groups = 4, activation = 0,
                                     epsilon = 0.001>(x, s, b, k, c) }""",
         skip_group_norm),
    Case("skip_group_norm_per_channel", """
(float[2,3,4,8] x, float[8] s, float[8] b, float[2,8] k)
=> (float[2,3,4,8] y, float[2,3,4,8] t)
{ y, t = com.microsoft.SkipGroupNorm<groups = 4, activation = 0,
                                     epsilon = 0.001>(x, s, b, k) }""",
         skip_group_norm),
    Case("bias_add", """
(float[2,12,8] x, float[8] b, float[2,12,8] k) => (float[2,12,8] y)
{ y = com.microsoft.BiasAdd(x, b, k) }""", lambda x, b, k: x + b + k),
    Case("bias_split_gelu", """
(float[2,5,12] x, float[12] b) => (float[2,5,6] y)
{ y = com.microsoft.BiasSplitGelu(x, b) }""", bias_split_gelu),
    Case("gated_add", """
(float[2,5,6] x, float[2,5,6] z, float[2,5,1] g) => (float[2,5,6] y)
{ y = com.microsoft.GatedAdd(x, z, g) }""", lambda x, z, g: x + z * g),
    Case("gated_rms_norm", """
(float[2,3,12] x, float[4] s, float[2,3,12] g) => (float[2,3,12] y)
{ y = com.microsoft.GatedRMSNorm<epsilon = 0.000001>(x, s, g) }""",
         gated_rms_norm),
    Case("bias_softmax_inner", """
(float[3,4,5,6] x, float[3,1,1,6] b) => (float[3,4,5,6] y)
{ y = com.microsoft.BiasSoftmax<axis = 3, is_inner_broadcast = 1>(x, b) }""",
         lambda x, b: softmax(x + b)),
    Case("bias_softmax_outer", """
(float[3,4,5,6] x, float[1,4,5,6] b) => (float[3,4,5,6] y)
{ y = com.microsoft.BiasSoftmax<axis = 2, is_inner_broadcast = 0>(x, b) }""",
         lambda x, b: softmax((x + b).reshape(3, 4, 30)).reshape(x.shape)),
    Case("bias_dropout", """
(float[2,3,8] x, float[8] b, float[2,3,8] r)
=> (float[2,3,8] y, bool[2,3,8] m)
<float p = {0.4}, bool t = {0}>
{ y, m = com.microsoft.BiasDropout<seed = 7>(x, b, r, p, t) }""",
         lambda x, b, r: (x + b + r, np.ones(x.shape, bool))),
    Case("linear_attention_gate", """
(float[2,3,4] a, float[4] d, float[4] s, float[2,3,4] b)
=> (float[2,3,4] y, float[2,3,4] z)
{ y, z = com.microsoft.LinearAttentionGate(a, d, s, b) }""", gate),
    Case("gemma_rotary_embedding", """
(float[2,5,8] e, float16[2,3,5,8] q, float16[2,3,5,8] r, float16[2,3,5,8] k,
 float16[2,3,5,8] l) => (float16[2,3,5,8] y, float16[2,3,5,8] z)
{ y, z = com.microsoft.GemmaRotaryEmbedding(e, q, r, k, l) }""", gemma),
    Case("complex_mul", """
(float[2,3,2] a, float[3,2] b) => (float[2,3,2] y)
{ y = com.microsoft.ComplexMul(a, b) }""",
         lambda a, b: complex_product(a, b, False)),
    Case("complex_mul_conj", """
(float[2,3,2] a, float[2,3,2] b) => (float[2,3,2] y)
{ y = com.microsoft.ComplexMulConj(a, b) }""",
         lambda a, b: complex_product(a, b, True)),
    Case("is_all_finite", """
(float[4] a, float[2,3] b) => (bool y)
{ y = com.microsoft.IsAllFinite(a, b) }""", all_finite),
    Case("fused_matmul_activation", """
(float[2,4,5] a, float[2,6,5] b) => (float[2,4,6] y)
{ y = com.microsoft.FusedMatMulActivation<transB = 1, alpha = 0.5,
      activation = "LeakyRelu", activation_alpha = 0.2>(a, b) }""",
         lambda a, b: (lambda y: np.where(y < 0, 0.2 * y, y))(
             0.5 * a @ b.transpose(0, 2, 1))),
    Case("fused_matmul_softmax", """
(float[2,4,5] a, float[2,5,6] b) => (float[2,4,6] y)
{ y = com.microsoft.FusedMatMulActivation<activation = "Softmax",
                                          activation_axis = 1>(a, b) }""",
         lambda a, b: softmax(a @ b, 1)),
    Case("nhwc_conv", """
(float[2,7,6,4] x, float[6,2,3,2] w) => (float[2,4,3,6] y)
{ y = com.microsoft.NhwcConv<pads = [1,0,1,1], strides = [2,2],
                             group = 2>(x, w) }""",
         lambda x, w: nhwc_conv(x, w, 0, (1, 0, 1, 1), 2, 2)),
    Case("nhwc_fused_conv", """
(float[1,6,7,4] x, float[8,4,3,3] w, float[8] b, float[1,6,7,8] z)
=> (float[1,6,7,8] y)
{ y = com.microsoft.NhwcFusedConv<pads = [1,1,1,1], activation = "Clip",
          activation_params = [-1.0, 2.0]>(x, w, b, z) }""",
         lambda x, w, b, z: np.clip(
             nhwc_conv(x, w, b, (1, 1, 1, 1)) + z, -1, 2)),
    Case("gemm_fast_gelu", """
(float[2,4,5] a, float[5,6] b, float[6] c) => (float[2,4,6] y)
{ y = com.microsoft.GemmFastGelu(a, b, c) }""",
         lambda a, b, c: tanh_gelu(a @ b + c)),
]
