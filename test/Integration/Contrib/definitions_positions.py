# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Positions, linear attention and causal convolution."""

import math

import numpy as np

from definitions import Case
from definitions_fusions import sigmoid, silu, softmax


def bucket(offset, count, farthest, both_ways):
    first = 0
    if both_ways:
        count //= 2
        first = count if offset > 0 else 0
    distance, exact = abs(offset), count // 2
    if distance < exact:
        return first + distance
    share = np.float32(math.log(distance / exact)) / np.float32(
        math.log(farthest / exact)) * np.float32(count - exact)
    return first + min(exact + int(share), count - 1)


def position_bias(both_ways):
    def fn(table):
        count, heads = table.shape
        flat = table.reshape(heads, count)
        return np.array([[[[flat[h, bucket(k - q, count, 20, both_ways)]
                            for k in range(40)] for q in range(40)]
                          for h in range(heads)]])
    return fn


def gated_bias(x, bias, terms, w, shift, factor):
    x = (x + bias).reshape(2, 5, 3, 4).transpose(0, 2, 1, 3)
    parts = (x @ w + shift).reshape(2, 3, 5, 2, 4).sum(-1)
    u, r = np.split(sigmoid(parts), 2, -1)
    return (u * (r * factor - 1) + 2) * terms


def rotated(streams, interleaved):
    """[batch, heads, length, size] by positions [3, batch, length]."""
    def fn(x, positions, cosines, sines):
        rows = np.arange(len(streams))
        chosen = positions[streams].transpose(1, 2, 0)
        c, s = cosines[chosen, rows][:, None], sines[chosen, rows][:, None]
        half = len(streams)
        a, b = ((x[..., :2 * half:2], x[..., 1:2 * half:2]) if interleaved
                else (x[..., :half], x[..., half:2 * half]))
        y = x.copy()
        if interleaved:
            y[..., :2 * half:2], y[..., 1:2 * half:2] = a * c - b * s, a * s + b * c
        else:
            y[..., :half], y[..., half:2 * half] = a * c - b * s, a * s + b * c
        return y
    return fn


def recurrence(q, k, v, state, decay=None, rate=None):
    """[batch, heads, length, size] each; states [batch, heads, key, value]
    after every token."""
    rows, states = [], []
    for t in range(q.shape[2]):
        if decay is not None:
            state = state * np.exp(decay[:, :, t, :, None])
        written = v[:, :, t]
        if rate is not None:
            read = np.einsum("bhkv,bhk->bhv", state, k[:, :, t])
            written = rate[:, :, t] * (written - read)
        state = state + k[:, :, t, :, None] * written[:, :, None]
        rows.append(np.einsum("bhkv,bhk->bhv", state, q[:, :, t]))
        states.append(state)
    return np.stack(rows, 2), states


def heads_of(x, heads):
    return x.reshape(*x.shape[:2], heads, -1).transpose(0, 2, 1, 3)


def joined(y):
    return y.transpose(0, 2, 1, 3).reshape(y.shape[0], y.shape[2], -1)


def window_of(states, count):
    missing = max(count - len(states), 0)
    return np.stack([np.zeros_like(states[0])] * missing + states[-count:])


def inverse_groups(q, k, v, past, decay, beta):
    queries = np.repeat(heads_of(q, 2), 2, 1) / 2
    y, states = recurrence(queries, heads_of(k, 4), heads_of(v, 4), past[-1],
                           heads_of(decay, 4), heads_of(beta, 4))
    return joined(y), window_of(states, 3)


def plain(q, k, v):
    keys = np.repeat(heads_of(k, 1), 2, 1), np.repeat(heads_of(v, 1), 2, 1)
    y, states = recurrence(heads_of(q, 2) * 0.5, *keys,
                           np.zeros((2, 2, 4, 3)))
    return joined(y), states[-1][:, :1]


def causal(x, w, bias, past, dilation=1):
    """Channels first; the result and the states after every position."""
    k, length = w.shape[2], x.shape[2]
    reach = (k - 1) * dilation
    longer = np.concatenate([past, x], 2)
    y = sum(longer[:, :, j * dilation:j * dilation + length] * w[:, 0, j, None]
            for j in range(k)) + bias[:, None]
    return y, [longer[:, :, t + 1:t + 1 + reach] for t in range(length)]


def causal_last(x, w, bias, past):
    y, states = causal(x.reshape(2, 5, 6).transpose(0, 2, 1), w, bias,
                       past[-1].reshape(2, 4, 6).transpose(0, 2, 1), 2)
    states = [s.transpose(0, 2, 1).reshape(2, 4, 2, 3) for s in states]
    return (silu(y).transpose(0, 2, 1).reshape(2, 5, 2, 3),
            window_of(states, 2))


def causal_first(x, w, bias):
    y, states = causal(x, w, bias, np.zeros((2, 4, 2)))
    return y, states[-1]


def unit(x):
    return x / np.sqrt((x ** 2).sum(-1, keepdims=True))


def delta_net(q, k, v, decay, beta, state, a_log, bias):
    def by_heads(x):
        return x.transpose(0, 2, 1, 3)
    log = -np.exp(a_log) * np.log1p(np.exp(decay + bias))
    y, states = recurrence(
        np.repeat(by_heads(unit(q)), 2, 1) / 2,
        np.repeat(by_heads(unit(k)), 2, 1), by_heads(v),
        state.transpose(0, 1, 3, 2), log.transpose(0, 2, 1)[..., None],
        sigmoid(beta).transpose(0, 2, 1)[..., None])
    return by_heads(y), states[-1].transpose(0, 1, 3, 2)


def packed_net(q, k, v, decay, state):
    """Six tokens of two sequences."""
    def by_heads(x):
        return x.reshape(2, 3, 2, -1).transpose(0, 2, 1, 3)
    y, states = recurrence(by_heads(q) * 0.7, by_heads(k), by_heads(v),
                           state.transpose(0, 1, 3, 2), by_heads(decay))
    return (y.transpose(0, 2, 1, 3).reshape(6, 2, 3),
            states[-1].transpose(0, 1, 3, 2))


def sparse(layouts, block, start, tables=False):
    """Attention to the keys of a buffer in the blocks of each head's layout."""
    def fn(q, k, v, past_k, past_v, cosines=None, sines=None):
        heads, groups = q.shape[2] // 8, k.shape[2] // 8
        q, k, v = heads_of(q, heads), heads_of(k, groups), heads_of(v, groups)
        length = q.shape[2]
        rows = np.arange(start, start + length)
        if tables:
            turn = rotated([0] * 4, False)
            at = np.broadcast_to(rows, (3, 1, length))
            q, k = (turn(x, at, cosines, sines) for x in (q, k))
        keys, values = past_k.copy(), past_v.copy()
        keys[:, :, rows], values[:, :, rows] = k, v
        read = np.array([[[j <= i and j // block in layouts[h % len(layouts)][
            i // block] for j in range(keys.shape[2])] for i in rows]
                         for h in range(heads)])
        scores = q @ np.repeat(keys, heads // groups, 1).transpose(0, 1, 3, 2)
        weights = softmax(np.where(read, scores / np.sqrt(8), -np.inf))
        y = weights @ np.repeat(values, heads // groups, 1)
        return joined(y), keys, values
    return fn


FIRST = [[0], [0, 1], [1, 2], [1, 2, 3]]
SECOND = [[0], [0, 1], [0, 1, 2], [0, 2, 3]]

ROTARY = """(float[2,2,3,14] x, int64[3,2,3] p, float[9,6] c, float[9,6] s)
=> (float[2,2,3,14] y)
{ y = com.microsoft.MRotaryEmbedding<mrope_section = [2, 3, 1], %s>(
      x, p, c, s) }"""

CASES = [
    Case("relative_position_bias", """
(float[16,3] t) => (float[1,3,40,40] y)
<int64[1] n = {40}>
{ y = com.microsoft.RelativePositionBias<max_distance = 20,
                                         is_bidirectional = 1>(t, n, n) }""",
         position_bias(True), exact=True),
    Case("relative_position_bias_one_way", """
(float[16,3] t) => (float[1,3,40,40] y)
<int64[1] n = {40}>
{ y = com.microsoft.RelativePositionBias<max_distance = 20>(t, n, n) }""",
         position_bias(False), exact=True),
    Case("gated_relative_position_bias", """
(float[2,5,12] x, float[12] b, float[1,3,5,5] t, float[4,8] w, float[8] c,
 float[1,3,1,1] a) => (float[2,3,5,5] y)
{ y = com.microsoft.GatedRelativePositionBias<num_heads = 3>(
      x, b, t, w, c, a) }""", gated_bias),
    Case("mrotary_in_sections", ROTARY % "rotary_embedding_dim = 12",
         rotated([0, 0, 1, 1, 1, 2], False), p=(0, 8)),
    Case("mrotary_in_turn", ROTARY % "mrope_layout = 1, interleaved = 1",
         rotated([0, 1, 2, 0, 1, 0], True), p=(0, 8)),
    Case("linear_attention", """
(float[2,5,8] q, float[2,5,4] k, float[2,5,3] v)
=> (float[2,5,6] y, float[2,1,4,3] s)
{ y, s = com.microsoft.LinearAttention<q_num_heads = 2, kv_num_heads = 1,
             update_rule = "linear">(q, k, v) }""", plain),
    Case("linear_attention_of_inverse_groups", """
(float[2,2,8] q, float[2,2,16] k, float[2,2,12] v, float[3,2,4,4,3] p,
 float[2,2,4] d, float[2,2,4] b) => (float[2,2,12] y, float[3,2,4,4,3] s)
{ y, s = com.microsoft.LinearAttention<q_num_heads = 2, kv_num_heads = 4,
             state_window = 3>(q, k, v, p, d, b) }""", inverse_groups,
         k=(-0.5, 0.5), d=(-2, 0), b=(0, 1)),
    Case("causal_conv", """
(float[2,4,7] x, float[4,1,3] w, float[4] b)
=> (float[2,4,7] y, float[2,4,2] s)
{ y, s = com.microsoft.CausalConvWithState(x, w, b) }""", causal_first),
    Case("causal_conv_of_channels_last", """
(float[2,5,2,3] x, float[6,1,3] w, float[6] b, float[2,2,4,2,3] p)
=> (float[2,5,2,3] y, float[2,2,4,2,3] s)
{ y, s = com.microsoft.CausalConvWithState<channels_last = 1, dilation = 2,
             state_window = 2, activation = "silu">(x, w, b, p) }""",
         causal_last),
    Case("gated_delta_net", """
(float[2,3,2,4] q, float[2,3,2,4] k, float[2,3,4,5] v, float[2,3,4] d,
 float[2,3,4] b, float[2,4,5,4] s, float[4] a, float[4] c)
=> (float[2,3,4,5] y, float[2,4,5,4] t)
{ y, t = com.microsoft.GatedDeltaNet<qk_l2_norm = 1, gate_activation = "qwen",
             beta_activation = "sigmoid">(q, k, v, , d, b, s, a, c) }""",
         delta_net),
    Case("gated_delta_net_of_packed_tokens", """
(float[6,2,4] q, float[6,2,4] k, float[6,2,3] v, float[6,2,4] d,
 float[2,2,3,4] s) => (float[6,2,3] y, float[2,2,3,4] t)
<int32[3] o = {0, 3, 6}>
{ y, t = com.microsoft.GatedDeltaNet<update_rule = "gated", scale = 0.7>(
      q, k, v, o, d, , s) }""", packed_net, d=(-2, 0)),
    Case("sparse_attention_of_a_prompt", """
(float[1,40,16] q, float[1,40,8] k, float[1,40,8] v, float[1,1,64,8] p,
 float[1,1,64,8] u) => (float[1,40,16] y, float[1,1,64,8] kc,
                        float[1,1,64,8] vc)
<int32[1,5] r = {0,1,3,5,8}, int32[1,9] c = {0,0,1,1,2,1,2,3,-1},
 int32 t = {40}, int32[1] n = {40}>
{ y, kc, vc = com.microsoft.SparseAttention<num_heads = 2, kv_num_heads = 1,
      sparse_block_size = 16>(q, k, v, p, u, r, c, t, n) }""",
         sparse([FIRST], 16, 0)),
    Case("sparse_attention_of_a_token", """
(float[1,1,32] q, float[1,1,16] k, float[1,1,16] v, float[1,2,64,8] p,
 float[1,2,64,8] u, float[64,4] cos, float[64,4] sin)
=> (float[1,1,32] y, float[1,2,64,8] kc, float[1,2,64,8] vc)
<int32[2,5] r = {0,1,3,5,8,0,1,3,6,9},
 int32[2,9] c = {0,0,1,1,2,1,2,3,-1,0,0,1,0,1,2,0,2,3}, int32 t = {50},
 int32[1] n = {50}>
{ y, kc, vc = com.microsoft.SparseAttention<num_heads = 4, kv_num_heads = 2,
      sparse_block_size = 16, do_rotary = 1>(q, k, v, p, u, r, c, t, n, cos,
                                             sin) }""",
         sparse([FIRST, SECOND], 16, 49, True)),
]
