# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""More ONNX graphs of published architectures: attention in windows, with relative
positions and learned queries, and chains of parts of a map (architecture_models.py)."""

import math

import numpy as np
from onnx import TensorProto


def image(channels, size):
    return [("image", TensorProto.FLOAT, [1, channels, size, size])]


def heads(g, x, tokens, count, width):
    """[1, tokens, count * width] to [1, count, tokens, width]."""
    x = g.op("Reshape", x, g.ints(1, tokens, count, width))
    return g.op("Transpose", x, perm=[0, 2, 1, 3])


def joined(g, x, tokens, width):
    x = g.op("Transpose", x, perm=[0, 2, 1, 3])
    return g.op("Reshape", x, g.ints(1, tokens, width))


def residual_mlp(g, x, width, activation):
    y = activation(g.linear(g.layer_norm(x, width), width, 4 * width))
    return g.op("Add", x, g.linear(y, 4 * width, width))


def rolled(g, x, by, extent):
    """Rows and columns moved round, as torch.roll is exported."""
    for axis in (1, 2):
        tail = g.op("Slice", x, g.ints(by), g.ints(extent), g.ints(axis))
        head = g.op("Slice", x, g.ints(0), g.ints(by), g.ints(axis))
        x = g.op("Concat", tail, head, axis=axis)
    return x


def window_attention(g, x, width, shift):
    """Attention within windows of 4 x 4 of a map of 8 x 8 x width."""
    h = g.layer_norm(x, width)
    if shift:
        h = rolled(g, h, 2, 8)
    h = g.op("Transpose", g.op("Reshape", h, g.ints(1, 2, 4, 2, 4, width)),
             perm=[0, 1, 3, 2, 4, 5])
    h = g.linear(g.op("Reshape", h, g.ints(4, 16, width)), width, 3 * width)
    h = g.op("Transpose", g.op("Reshape", h, g.ints(4, 16, 3, 3, width // 3)),
             perm=[2, 0, 3, 1, 4])
    q, k, v = (g.op("Squeeze", part, g.ints(0)) for part in g.op("Split", h, outputs=3, axis=0))
    q = g.op("Mul", q, g.constant(1 / math.sqrt(width // 3)))
    scores = g.op("MatMul", q, g.op("Transpose", k, perm=[0, 1, 3, 2]))
    scores = g.op("Add", scores, g.normal(3, 16, 16))
    if shift:
        mask = np.zeros((4, 1, 16, 16))
        mask[1:, :, :8, 8:] = mask[1:, :, 8:, :8] = -100
        scores = g.op("Add", scores, g.constant(mask))
    y = g.op("MatMul", g.op("Softmax", scores, axis=-1), v)
    y = g.op("Reshape", g.op("Transpose", y, perm=[0, 2, 1, 3]), g.ints(4, 16, width))
    y = g.op("Reshape", g.linear(y, width, width), g.ints(1, 2, 2, 4, 4, width))
    y = g.op("Reshape", g.op("Transpose", y, perm=[0, 1, 3, 2, 4, 5]), g.ints(1, 8, 8, width))
    return g.op("Add", x, rolled(g, y, 6, 8) if shift else y)


def swin(graph):
    g, width = graph("swin", image(3, 32)), 24
    x = g.conv("image", 3, width, 4, stride=4, pads=[0] * 4)
    x = g.op("Transpose", x, perm=[0, 2, 3, 1])
    for shift in (False, True):
        x = residual_mlp(g, window_attention(g, x, width, shift), width, g.gelu)
    parts = [g.op("Slice", x, g.ints(i, j), g.ints(8, 8), g.ints(1, 2), g.ints(2, 2))
             for j in (0, 1) for i in (0, 1)]
    x = g.op("Concat", *parts, axis=-1)
    x = g.linear(g.layer_norm(x, 4 * width), 4 * width, 2 * width)
    x = g.op("ReduceMean", x, axes=[1, 2], keepdims=0)
    return g.model(logits=(g.linear(x, 2 * width, 10), 2))


def detr(graph):
    g, width = graph("detr", image(3, 32)), 32

    def attention(q, k, v, queries, keys):
        q, k, v = (heads(g, g.linear(x, width, width), tokens, 4, width // 4)
                   for x, tokens in ((q, queries), (k, keys), (v, keys)))
        scores = g.op("Div", g.op("MatMul", q, g.op("Transpose", k, perm=[0, 1, 3, 2])),
                      g.constant(math.sqrt(width // 4)))
        y = g.op("MatMul", g.op("Softmax", scores, axis=3), v)
        return g.linear(joined(g, y, queries, width), width, width)

    def normed(x, y):
        return g.layer_norm(g.op("Add", x, y), width)

    x = g.relu(g.conv("image", 3, width, 8, stride=8, pads=[0] * 4))
    x = g.op("Transpose", g.op("Reshape", x, g.ints(1, width, 16)), perm=[0, 2, 1])
    places = g.normal(1, 16, width)
    placed = g.op("Add", x, places)
    x = normed(x, attention(placed, placed, x, 16, 16))
    x = normed(x, g.linear(g.relu(g.linear(x, width, 64)), 64, width))
    queries = g.normal(1, 7, width)
    targets = normed(g.constant(np.zeros((1, 7, width))),
                     attention(queries, queries, g.constant(np.ones((1, 7, width))), 7, 7))
    targets = normed(targets, attention(g.op("Add", targets, queries), g.op("Add", x, places), x,
                                        7, 16))
    boxes = g.linear(g.relu(g.linear(targets, width, width)), width, 4)
    return g.model(classes=(g.linear(targets, width, 9), 3), boxes=(g.op("Sigmoid", boxes), 3))


def relative_attention(g, x, tokens, width):
    """With a score for each distance, moved into place by pad, reshape and slice."""
    each = width // 4
    h = g.layer_norm(x, width)
    q, k, v = (heads(g, g.linear(h, width, width), tokens, 4, each) for _ in range(3))
    content = g.op("MatMul", g.op("Add", q, g.normal(4, 1, each)),
                   g.op("Transpose", k, perm=[0, 1, 3, 2]))
    far = g.op("MatMul", g.op("Add", q, g.normal(4, 1, each)), g.normal(4, each, 2 * tokens - 1))
    far = g.op("Pad", far, g.ints(0, 0, 0, 1, 0, 0, 0, 0))
    far = g.op("Reshape", far, g.ints(1, 4, 2 * tokens, tokens))
    far = g.op("Slice", far, g.ints(1), g.ints(2 * tokens), g.ints(2))
    far = g.op("Reshape", far, g.ints(1, 4, tokens, 2 * tokens - 1))
    far = g.op("Slice", far, g.ints(0), g.ints(tokens), g.ints(3))
    scores = g.op("Mul", g.op("Add", content, far), g.constant(1 / math.sqrt(each)))
    y = g.op("MatMul", g.op("Softmax", scores, axis=-1), v)
    return g.op("Add", x, g.linear(joined(g, y, tokens, width), width, width))


def conformer(graph):
    tokens, width = 50, 48
    g = graph("conformer", [("frames", TensorProto.FLOAT, [1, tokens, width])])
    x = relative_attention(g, residual_mlp(g, "frames", width, g.silu), tokens, width)
    h = g.op("Transpose", g.layer_norm(x, width), perm=[0, 2, 1])
    a, b = g.op("Split", g.conv(h, width, 2 * width, 1, rank=1), outputs=2, axis=1)
    h = g.conv(g.op("Mul", a, g.op("Sigmoid", b)), width, width, 31, group=width, rank=1)
    h = g.conv(g.silu(g.norm(h, width)), width, width, 1, rank=1)
    x = g.op("Add", x, g.op("Transpose", h, perm=[0, 2, 1]))
    return g.model(states=(g.layer_norm(residual_mlp(g, x, width, g.silu), width), 3))


def res2net(graph):
    """A block whose parts of the map go through one another."""
    g = graph("res2net", image(16, 24))
    parts = g.op("Split", g.relu(g.conv("image", 16, 64, 1)), outputs=4, axis=1)
    made = [parts[0]]
    for part in parts[1:]:
        x = part if len(made) == 1 else g.op("Add", part, made[-1])
        made.append(g.relu(g.norm(g.conv(x, 16, 16, 3), 16)))
    y = g.conv(g.op("Concat", *made, axis=1), 64, 16, 1)
    return g.model(map=(g.relu(g.op("Add", y, "image")), 4))


def edsr(graph):
    """Super resolution with two pixel shuffles, the second written as reshapes."""
    g = graph("edsr", image(3, 20))
    x = g.conv("image", 3, 32, 3)
    skip = x
    for _ in range(2):
        y = g.conv(g.relu(g.conv(x, 32, 32, 3)), 32, 32, 3)
        x = g.op("Add", x, g.op("Mul", y, g.constant(0.1)))
    x = g.conv(g.op("Add", x, skip), 32, 128, 3)
    x = g.conv(g.op("DepthToSpace", x, blocksize=2, mode="CRD"), 32, 32, 3)
    x = g.op("Transpose", g.op("Reshape", x, g.ints(1, 8, 2, 2, 40, 40)), perm=[0, 1, 4, 2, 5, 3])
    return g.model(picture=(g.conv(g.op("Reshape", x, g.ints(1, 8, 80, 80)), 8, 3, 3), 4))


BUILDERS = [swin, detr, conformer, res2net, edsr]
