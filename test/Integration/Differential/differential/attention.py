# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Multi-head attention as five exporters would write it."""

import numpy as np

from .network import fits


def tokens(net, x):
    """[batch, tokens, channels]; maps of channels are turned."""
    fits(x.is_float and x.rank >= 2 and x.size <= 1 << 13)
    if x.rank == 2:
        x = net.unsqueeze(x, [net.between(0, 1)])
    if x.rank >= 4:
        x = net.reshape(x, x.shape[:2] + (x.size // (x.shape[0] * x.shape[1]),))
        x = net.transpose(x, [0, 2, 1])
    fits(x.shape[1] <= 128 and x.shape[2] <= 256)
    return x


def project(net, x, width):
    net.work(x.size * width)
    y = net.node("MatMul", [x, net.weights((x.shape[-1], width), x.shape[-1])],
                 x.shape[:-1] + (width,))
    return net.node("Add", [y, net.vector((width,))], y.shape) if net.chance(0.5) else y


def weigh(net, scores, depth):
    """Scale, mask, softmax."""
    t = scores.shape[-1]
    if net.chance(0.5):
        scores = net.like("Mul", scores, net.number(depth ** -0.5))
    else:
        scores = net.like("Div", scores, net.number(depth ** 0.5))
    if net.chance(0.4):
        mask = np.triu(np.full((scores.shape[-2], t), -1e4, np.float32), 1)
        scores = net.like("Add", scores, net.constant(mask, "mask"))
    return net.softmax(scores, scores.rank - 1)


def product(net, a, b):
    net.work(a.size * b.shape[-1])
    return net.node("MatMul", [a, b], a.shape[:-1] + b.shape[-1:])


def split_heads(net, x, heads, d):
    """Heads by reshape and transpose: four axes."""
    n, t, _ = x.shape
    q, k, v = (net.reshape(project(net, x, heads * d), (n, t, heads, d)) for _ in range(3))
    q, v = (net.transpose(y, [0, 2, 1, 3]) for y in (q, v))
    y = product(net, weigh(net, product(net, q, net.transpose(k, [0, 2, 3, 1])), d), v)
    return net.reshape(net.transpose(y, [0, 2, 1, 3]), (n, t, heads * d))


def by_einsum(net, x, heads, d):
    fits(net.opset >= 12)
    n, t, _ = x.shape
    q, k, v = (net.reshape(project(net, x, heads * d), (n, t, heads, d)) for _ in range(3))
    net.work(2 * n * heads * t * t * d)
    scores = net.node("Einsum", [q, k], (n, heads, t, t), equation="bqhd,bkhd->bhqk")
    y = net.node("Einsum", [weigh(net, scores, d), v], (n, t, heads, d),
                 equation="bhqk,bkhd->bqhd")
    return net.reshape(y, (n, t, heads * d))


def by_slices(net, x, heads, d):
    """Each head is a slice of the channels."""
    q, k, v = (project(net, x, heads * d) for _ in range(3))
    results = []
    for h in range(heads):
        a, b, c = (net.slice(y, [2], [h * d], [h * d + d]) for y in (q, k, v))
        scores = weigh(net, product(net, a, net.transpose(b, [0, 2, 1])), d)
        results.append(product(net, scores, c))
    return net.concat(results, 2) if heads > 1 else results[0]


def by_stack(net, x, heads, d):
    """Heads join the batch: three axes, tokens first in between."""
    n, t, _ = x.shape
    x = net.transpose(x, [1, 0, 2])
    q, k, v = (net.transpose(net.reshape(project(net, x, heads * d), (t, n * heads, d)), [1, 0, 2])
               for _ in range(3))
    y = product(net, weigh(net, product(net, q, net.transpose(k, [0, 2, 1])), d), v)
    y = net.reshape(net.transpose(y, [1, 0, 2]), (t, n, heads * d))
    return net.transpose(y, [1, 0, 2])


def fused(net, x, heads, d):
    """One product for queries, keys and values, then a split."""
    n, t, _ = x.shape
    y = project(net, x, 3 * heads * d)
    if net.chance(0.5):
        parts = net.split(y, 2, [heads * d] * 3)
        q, k, v = (net.transpose(net.reshape(p, (n, t, heads, d)), [0, 2, 1, 3]) for p in parts)
    else:
        y = net.transpose(net.reshape(y, (n, t, 3, heads, d)), [2, 0, 3, 1, 4])
        q, k, v = (net.node("Gather", [y, net.constant(np.int64(i), "i")], y.shape[1:], axis=0)
                   for i in range(3))
    scores = product(net, q, net.transpose(k, [0, 1, 3, 2]))
    y = product(net, weigh(net, scores, d), v)
    return net.reshape(net.transpose(y, [0, 2, 1, 3]), (n, t, heads * d))


def attend(net, x, heads, d):
    style = net.pick([split_heads, by_einsum, by_slices, by_stack, fused])
    y = style(net, x, heads, d)
    y = project(net, y, x.shape[-1])
    return net.like("Add", x, y) if net.chance(0.6) else y


def attention(net, x):
    return attend(net, tokens(net, x), net.pick([1, 2, 2, 3, 4]), net.pick([3, 4, 8, 8, 16, 20]))


def whole_blocks(net, x):
    """Heads of whole blocks, which products can read where a projection left them."""
    heads, d = net.pick([1, 2, 3, 4, 6, 8]), net.pick([8, 16, 16, 32, 32, 48, 64, 80, 96, 128])
    fits(heads * d <= 512)
    return attend(net, tokens(net, x), heads, d)


ALL = [attention]
