#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operators that ONNX Runtime of the test host lacks, against numpy.

usage: newer_operators.py [NAME...]

Each model is one node. What it means is written here a second time, from
ONNX's text; ashlarc --verify judges it by the reference evaluators as well.
"""

import os
import sys
import tempfile

import numpy as np
import onnx
from onnx import helper, numpy_helper
from onnx.mapping import NP_TYPE_TO_TENSOR_TYPE

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import common  # noqa: E402

RANDOM = np.random.default_rng(20261123)
RELATIVE, OF_LARGEST = 1e-3, 2.0 ** -12


def normal(*shape, dtype=np.float32):
    return RANDOM.normal(size=shape).astype(dtype)


def info(name, array):
    return helper.make_tensor_value_info(
        name, NP_TYPE_TO_TENSOR_TYPE[array.dtype], array.shape)


def run(op, operands, outputs, constants=(), opset=28, verify=True, domain="",
        **attributes):
    """Results of one node; operands that are None are left out."""
    names = [f"x{i}" if x is not None else "" for i, x in enumerate(operands)]
    results = [f"y{i}" for i in range(len(outputs))]
    node = helper.make_node(op, names, results, name="node",
                            domain=domain, **attributes)
    given = {n: x for n, x in zip(names, operands) if n}
    fixed = [n for n in given if int(n[1:]) in constants]
    graph = helper.make_graph(
        [node], "g", [info(n, x) for n, x in given.items() if n not in fixed],
        [info(n, np.asarray(y)) for n, y in zip(results, outputs)],
        [numpy_helper.from_array(given[n], n) for n in fixed])
    made = helper.make_model(graph, opset_imports=[
        helper.make_opsetid("", opset),
        *([helper.make_opsetid(domain, 1)] if domain else [])])
    made.ir_version = 12
    with tempfile.TemporaryDirectory() as folder:
        path, data, found, binary = (os.path.join(folder, name) for name in
                                     ("m.onnx", "in.npz", "out.npz", "m.ash"))
        with open(path, "wb") as stream:
            stream.write(made.SerializeToString())
        np.savez(data, **{n: x for n, x in given.items() if n not in fixed})
        common.run_tool("ashlarc", path, "-o", binary, "--format=bfp16")
        if verify:
            common.run_tool("ashlarc", path, "--verify", f"--inputs={data}",
                            "--format=bfp16")
        common.run_tool("ashlar-run", binary, f"--inputs={data}",
                        f"--outputs={found}", "--threads=1")
        with np.load(found) as results_:
            return [results_[n] for n in results]


def expect(what, found, wanted, exact=False):
    for i, (a, b) in enumerate(zip(found, wanted)):
        b = np.asarray(b)
        if a.shape != b.shape or a.dtype != b.dtype:
            raise SystemExit(f"{what}: result {i} is {a.dtype}{list(a.shape)}, "
                             f"expected {b.dtype}{list(b.shape)}")
        if exact or b.dtype.kind != "f":
            good = np.array_equal(a, b, equal_nan=b.dtype.kind == "f")
        else:
            wide, want = a.astype(float), b.astype(float)
            largest = np.abs(want).max(initial=0)
            good = (np.abs(wide - want) <= RELATIVE * np.abs(want)
                    + OF_LARGEST * largest).all()
        if not good:
            raise SystemExit(f"{what}: result {i} is {a.reshape(-1)[:8]}, "
                             f"expected {b.reshape(-1)[:8]}")


def check(what, op, operands, outputs, exact=False, **options):
    expect(what, run(op, operands, outputs, **options), outputs, exact)


def recurrence(q, k, v, state, decay, beta, heads, groups):
    """Linear attention by its sums, [batch, token, head * size]."""
    batch, length = q.shape[:2]
    q, k, v = (x.reshape(batch, length, n, -1).astype(float)
               for x, n in ((q, heads), (k, groups), (v, groups)))
    size = k.shape[3]
    s = np.zeros((batch, groups, size, v.shape[3])) if state is None \
        else state.astype(float)
    y = np.zeros((batch, length, heads, v.shape[3]))
    for t in range(length):
        if decay is not None:
            g = decay[:, t].reshape(batch, groups, -1, 1).astype(float)
            s = s * np.exp(g)
        new = v[:, t]
        if beta is not None:
            rate = beta[:, t].reshape(batch, -1, 1)
            new = rate * (new - np.einsum("bhdm,bhd->bhm", s, k[:, t]))
        s = s + k[:, t][..., None] * new[..., None, :]
        for h in range(heads):
            y[:, t, h] = np.einsum("bd,bdm->bm", q[:, t, h],
                                   s[:, h // (heads // groups)])
    return (y / np.sqrt(size)).reshape(batch, length, -1), s


def linear_attention():
    for rule in ("linear", "gated", "delta", "gated_delta"):
        for length, heads, past, per_key in ((5, 2, True, False), (1, 4, True, True),
                                             (4, 2, False, True)):
            q, k, v = normal(2, length, heads * 6), normal(2, length, 12), \
                normal(2, length, 10)
            k /= np.linalg.norm(k, axis=2, keepdims=True)
            state = normal(2, 2, 6, 5) if past else None
            decay = -np.abs(normal(2, length, 12 if per_key else 2)) \
                if "gated" in rule else None
            beta = RANDOM.uniform(size=(2, length, 2)).astype(np.float32) \
                if "delta" in rule else None
            y, s = recurrence(q, k, v, state, decay, beta, heads, 2)
            check(f"LinearAttention {rule}, {length} tokens", "LinearAttention",
                  [q, k, v, state, decay, beta],
                  [y.astype(np.float32), s.astype(np.float32)],
                  q_num_heads=heads, kv_num_heads=2, update_rule=rule)


def causal_conv():
    for taps, past, activation in ((4, True, "silu"), (3, False, "none"),
                                   (1, False, "swish")):
        x, w, b = normal(2, 6, 5), normal(6, 1, taps), normal(6)
        state = normal(2, 6, taps - 1)
        whole = np.concatenate(
            [state if past else np.zeros_like(state), x], 2).astype(float)
        y = sum(whole[:, :, i:i + 5] * w[None, :, 0, i:i + 1]
                for i in range(taps)) + b[None, :, None]
        if activation != "none":
            y = y / (1 + np.exp(-y))
        check(f"CausalConvWithState of {taps}", "CausalConvWithState",
              [x, w, b, state if past else None],
              [y.astype(np.float32), whole[:, :, 5:].astype(np.float32)],
              activation=activation)


def swiglu():
    a, b = normal(3, 7), normal(3, 7)
    check("SwiGLU", "SwiGLU", [a, b],
          [(a / (1 + np.exp(-1.5 * a.astype(float))) * b).astype(np.float32)],
          alpha=1.5)


def bitcast():
    with np.errstate(over="ignore"):
        wide = RANDOM.normal(size=64) * 10.0 ** RANDOM.uniform(-330, 330, 64)
    edges = [0.0, -0.0, np.inf, -np.inf, 1.0, -2.0, 5e-324, 2.0 ** -1022]
    for dtype, integer in ((np.float32, np.int32), (np.float64, np.int64),
                           (np.float16, np.int16), (np.float16, np.uint16)):
        numbers = np.concatenate([wide, RANDOM.normal(size=64), edges])
        limits = np.finfo(dtype)
        with np.errstate(over="ignore"):
            x = np.concatenate([
                numbers.astype(dtype),
                np.array([limits.max, limits.tiny, limits.smallest_subnormal,
                          limits.tiny / 2], dtype)])
        bits = x.view(integer)
        check(f"bits of {x.dtype}", "BitCast", [x], [bits], verify=False,
              to=NP_TYPE_TO_TENSOR_TYPE[bits.dtype])
        # Not-a-number keeps no payload: only codes of numbers.
        codes = RANDOM.integers(np.iinfo(integer).min, np.iinfo(integer).max,
                                200, dtype=integer)
        codes = np.concatenate([codes[~np.isnan(codes.view(dtype))], bits])
        check(f"{x.dtype} of bits", "BitCast", [codes], [codes.view(dtype)],
              exact=True, to=NP_TYPE_TO_TENSOR_TYPE[x.dtype])
    x = np.array([0, 1, 127, 128, 255], np.uint8)
    check("bytes", "BitCast", [x], [x.view(np.int8)],
          to=NP_TYPE_TO_TENSOR_TYPE[np.dtype(np.int8)])


def sampled(plane, y, x):
    """Between the points of a plane, 0 outside."""
    total = 0.0
    for dy in (0, 1):
        for dx in (0, 1):
            py, px = int(np.floor(y)) + dy, int(np.floor(x)) + dx
            if 0 <= py < plane.shape[0] and 0 <= px < plane.shape[1]:
                total += plane[py, px] * (1 - abs(y - py)) * (1 - abs(x - px))
    return total


def deform_conv():
    x, w, b = normal(2, 4, 6, 5), normal(6, 2, 3, 2), normal(6)
    rows, columns = (6 + 2 - 5) // 2 + 1, (5 - 2) // 1 + 1
    offset, mask = normal(2, 2 * 6 * 2, rows, columns), \
        normal(2, 2 * 6, rows, columns)
    y = np.zeros((2, 6, rows, columns))
    for n, m, r, c in np.ndindex(y.shape):
        total = float(b[m])
        for k in range(2):
            channel = m // 3 * 2 + k
            for i, j in np.ndindex(3, 2):
                at = (channel // 2) * 6 + i * 2 + j
                total += w[m, k, i, j] * mask[n, at, r, c] * sampled(
                    x[n, channel],
                    r * 2 - 1 + i * 2 + offset[n, 2 * at, r, c],
                    c + j + offset[n, 2 * at + 1, r, c])
        y[n, m, r, c] = total
    check("DeformConv", "DeformConv", [x, w, offset, b, mask],
          [y.astype(np.float32)], opset=22, group=2, offset_group=2,
          strides=[2, 1], dilations=[2, 1], pads=[1, 0, 1, 0])


def inverse_real_dft():
    for length in (7, 8):
        signal = normal(2, length, 3)
        half = np.fft.rfft(signal, axis=1)
        x = np.stack([half.real, half.imag], -1).astype(np.float32)
        check(f"inverse of a real signal of {length}", "DFT",
              [x, np.array(length), np.array(1)], [signal[..., None]],
              constants=(1, 2), opset=20, inverse=1, onesided=1)


def draws():
    x = normal(5, 7)
    even = np.random.RandomState(7).uniform(size=(5, 7))
    check("RandomUniformLike", "RandomUniformLike", [x],
          [(2 * even - 1).astype(np.float32)], low=-1.0, high=1.0, seed=7.0)
    check("RandomNormal", "RandomNormal", [],
          [(np.random.RandomState(7).normal(size=(3, 5)) * 2 + 1)
           .astype(np.float32)], shape=[3, 5], mean=1.0, scale=2.0, seed=7.0)
    chance = RANDOM.uniform(size=(5, 7)).astype(np.float32)
    check("Bernoulli", "Bernoulli", [chance],
          [(even < chance).astype(np.float32)], seed=7.0)
    kept = np.random.RandomState(3).uniform(size=(5, 7)) >= 0.25
    check("Dropout in training", "Dropout",
          [x, np.float32(0.25), np.array(True)],
          [(x * kept / 0.75).astype(np.float32), kept], constants=(1, 2),
          opset=22, seed=3)
    rows = normal(4, 6)
    sums = np.cumsum(np.exp(rows), 1)
    goals = np.random.RandomState(9).uniform(size=(4, 11)) * sums[:, -1:]
    check("Multinomial", "Multinomial", [rows],
          [(goals[..., None] >= sums[:, None, :-1]).sum(2).astype(np.int32)],
          sample_size=11, seed=9.0)


def nothing_to_reduce():
    x = np.zeros((2, 0, 3), np.float32)
    for op, value in (("ReduceSum", 0), ("ReduceProd", 1), ("ReduceMax", -np.inf),
                      ("ReduceMin", np.inf), ("ReduceLogSumExp", -np.inf)):
        check(op, op, [x, np.array([1])], [np.full((2, 1, 3), value, np.float32)],
              exact=True,
              constants=(1,), opset=20, verify=False)


def packed_experts():
    """QMoE: every expert's weights as bytes of two numbers, gate and value in
    turn, the best two of four experts."""
    x, router = normal(5, 8), normal(5, 4)
    codes = [RANDOM.integers(0, 16, s) for s in ((4, 12, 8), (4, 8, 6))]
    packed = [(c[..., ::2] | c[..., 1::2] << 4).astype(np.uint8) for c in codes]
    scales = [RANDOM.uniform(.02, .1, s).astype(np.float32)
              for s in ((4, 12, 2), (4, 8, 2))]
    zero = RANDOM.integers(0, 256, (4, 12, 1), dtype=np.uint8)
    zeros = [np.stack([zero[..., 0] & 15, zero[..., 0] >> 4], -1), 8]
    # Blocks of four columns: the last of the second layer is short.
    w1, w2 = ((c - np.repeat(np.broadcast_to(z, s.shape), 4, -1)[..., :c.shape[-1]])
              * np.repeat(s, 4, -1)[..., :c.shape[-1]].astype(float)
              for c, s, z in zip(codes, scales, zeros))
    bias = normal(4, 8)
    chance = np.exp(router.astype(float))
    y = np.zeros((5, 8))
    for t in range(5):
        best = np.argsort(-chance[t])[:2]
        for e in best:
            h = w1[e] @ x[t]
            gate, value = np.minimum(h[::2], 3), np.clip(h[1::2], -3, 3)
            h = gate / (1 + np.exp(-1.7 * gate)) * (value + 1)
            y[t] += chance[t, e] / chance[t, best].sum() * (w2[e] @ h + bias[e])
    check("QMoE", "QMoE",
          [x, router, packed[0], scales[0], None, packed[1], scales[1], bias,
           None, None, None, zero], [y.astype(np.float32)],
          constants=(2, 3, 5, 6, 11), opset=20, domain="com.microsoft", k=2,
          normalize_routing_weights=1, activation_type="swiglu",
          swiglu_fusion=1, activation_alpha=1.7, activation_beta=1.0,
          swiglu_limit=3.0, expert_weight_bits=4, block_size=4)


def experts_with_zero_points_of_rows():
    """QMoE without blocks: zero points packed along the rows of an expert."""
    x, router = normal(5, 8), normal(5, 3)
    codes = [RANDOM.integers(0, 16, s) for s in ((3, 6, 8), (3, 8, 6))]
    packed = [(c[..., ::2] | c[..., 1::2] << 4).astype(np.uint8) for c in codes]
    scales = [RANDOM.uniform(.02, .1, s).astype(np.float32)
              for s in ((3, 6), (3, 8))]
    zeros = [RANDOM.integers(0, 256, s, dtype=np.uint8) for s in ((3, 3), (3, 4))]
    w1, w2 = ((c - np.stack([z & 15, z >> 4], -1).reshape(s.shape)[..., None])
              * s[..., None].astype(float)
              for c, z, s in zip(codes, zeros, scales))
    y = np.zeros((5, 8))
    for t, best in enumerate(np.argmax(router, 1)):
        y[t] = w2[best] @ np.maximum(w1[best] @ x[t], 0)
    check("QMoE of rows", "QMoE",
          [x, router, packed[0], scales[0], None, packed[1], scales[1], None,
           None, None, None, *zeros], [y.astype(np.float32)],
          constants=(2, 3, 5, 6, 11, 12), opset=20, domain="com.microsoft", k=1,
          normalize_routing_weights=1, activation_type="relu",
          expert_weight_bits=4)


def attended(q, k, v, end=None, heads=2):
    """Softmax attention of [batch, length, width] with the first keys."""
    def apart(x):
        return x.reshape(*x.shape[:2], heads, -1).transpose(0, 2, 1, 3).astype(float)
    q, k, v = map(apart, (q, k, v))
    scores = q @ k[:, :, :end].swapaxes(2, 3) / np.sqrt(q.shape[3])
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    y = weights / weights.sum(-1, keepdims=True) @ v[:, :, :end]
    return y.transpose(0, 2, 1, 3).reshape(y.shape[0], y.shape[2], -1) \
        .astype(np.float32)


def packed_heads():
    """MultiHeadAttention with keys and values, or all three, in one operand."""
    q, k, v = (normal(2, 3, 8) for _ in range(3))
    bias = normal(24)
    y = attended(*(x + b for x, b in zip((q, k, v), bias.reshape(3, 8))))

    def together(*parts):
        return np.stack([x.reshape(2, 3, 2, 4) for x in parts], 3)
    for operands in ([q, together(k, v), None, bias],
                     [together(q, k, v), None, None, bias]):
        check("packed heads", "MultiHeadAttention", operands, [y], opset=20,
              domain="com.microsoft", num_heads=2)


def heads_in_a_buffer():
    """MultiHeadAttention whose new rows go into a cache with room."""
    q, k, v = (normal(2, 1, 8) for _ in range(3))
    past = [normal(2, 2, 6, 4) for _ in range(2)]
    present = [x.copy() for x in past]
    for cache, rows in zip(present, (k, v)):
        cache[:, :, 3] = rows.reshape(2, 2, 4)
    y = attended(q, *(x.transpose(0, 2, 1, 3).reshape(2, 6, 8) for x in present),
                 end=4)
    check("heads in a buffer", "MultiHeadAttention",
          [q, k, v, None, None, None, *past, np.array([3], np.int32)],
          [y, *present], opset=20, domain="com.microsoft", num_heads=2)


def mask_of_keys():
    """Attention with a mask of one dimension, the keys."""
    q, k, v = (normal(1, 2, n, 4) for n in (3, 5, 5))
    kept = np.array([True, False, True, True, False])

    def flat(x):
        return x.transpose(0, 2, 1, 3).reshape(1, x.shape[2], 8)
    y = attended(flat(q), flat(k[:, :, kept]), flat(v[:, :, kept]))
    y = y.reshape(1, 3, 2, 4).transpose(0, 2, 1, 3)
    check("mask of keys", "Attention", [q, k, v, kept], [y], opset=25)


def range_of_halves():
    """Range 27: numbers of 16 bits come from wider ones."""
    numbers = [np.array(v, np.float16) for v in (0.5, 3.25, 0.1)]
    step = np.float32(numbers[2])
    y = (np.float32(0.5) + step * np.arange(28, dtype=np.float32))
    check("Range", "Range", numbers, [y.astype(np.float16)],
          constants=(0, 1, 2), stash_type=11)


CHECKS = {f.__name__: f for f in (
    linear_attention, causal_conv, swiglu, bitcast, deform_conv,
    inverse_real_dft, draws, nothing_to_reduce, packed_experts,
    experts_with_zero_points_of_rows, packed_heads, heads_in_a_buffer,
    mask_of_keys, range_of_halves)}


def main():
    for name in sys.argv[1:] or CHECKS:
        CHECKS[name]()
    print("all models as defined")


if __name__ == "__main__":
    main()
