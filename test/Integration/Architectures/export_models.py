# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Parts of published networks as exporters write them, in small.

`speech_decoder`: a causal mask made of the extents of its tokens by Range, Less
and Where, cross attention, a head that shares the embedding. `mask_decoder`:
points and labels as frequencies, learnt tokens before those of the prompt,
attention both ways, upscaling by transposed convolutions, masks by a product,
the best one by ArgMax and GatherND. `set_detector`: positions by CumSum of a
mask of pixels, queries, and a tail of TopK and GatherElements.
"""

import numpy as np
from onnx import TensorProto, helper

from transformer_graphs import Builder

FLOAT, INT, BOOL = TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL
LOWEST = float(np.finfo(np.float32).min)
END = 2 ** 62


def info(name, kind, *shape):
    return helper.make_tensor_value_info(name, kind, shape)


def attention(b, query, key, value, width, heads, mask=None):
    """Projections, heads, scores, the mask and the projection of the result."""
    depth = width // heads
    split = lambda x, perm: b.heads(b.linear(x, width, width), heads, depth, perm)
    y = b.attend(split(query, [0, 2, 1, 3]), split(key, [0, 2, 3, 1]),
                 split(value, [0, 2, 1, 3]), depth, mask)
    return b.linear(b.join(y, width), width, width)


def feed_forward(b, x, width, wide, function):
    return b.linear(function(b.linear(x, width, wide)), wide, width)


def relu(b):
    return lambda x: b.op("Relu", x)


def causal_mask(b, length):
    """[1, 1, n, n] of an extent n that is computed."""
    vector = b.op("Unsqueeze", length, b.integers(0))
    places = b.op("Range", b.constant(0, np.int64), length, b.constant(1, np.int64))
    rows = b.op("Reshape", b.op("Add", places, b.constant(1, np.int64)),
                b.op("Concat", vector, b.integers(1), axis=0))
    full = b.op("ConstantOfShape", b.op("Concat", vector, vector, axis=0),
                value=helper.make_tensor("lowest", FLOAT, [1], [LOWEST]))
    mask = b.op("Where", b.op("Less", places, rows), b.constant(0.0), full)
    return b.op("Unsqueeze", mask, b.integers(0, 1))


def speech_decoder():
    b = Builder(11, 14)
    width, heads, words, length, frames = 48, 4, 80, 7, 30
    table = b.weight(words, width, scale=0.5)
    extent = b.op("Gather", b.op("Shape", "ids"), b.constant(1, np.int64))
    places = b.op("Slice", b.weight(40, width, scale=0.1), b.integers(0),
                  b.op("Unsqueeze", extent, b.integers(0)), b.integers(0))
    x = b.op("Add", b.op("Gather", table, "ids"), places)
    mask = causal_mask(b, extent)
    norm = lambda y: b.layer_norm(y, width, False)
    for _ in range(2):
        y = norm(x)
        x = b.op("Add", x, attention(b, y, y, y, width, heads, mask))
        x = b.op("Add", x, attention(b, norm(x), "frames", "frames", width, heads))
        x = b.op("Add", x, feed_forward(b, norm(x), width, 2 * width, b.gelu_erf))
    head = b.op("Transpose", table, perm=[1, 0])
    b.nodes.append(helper.make_node("MatMul", [norm(x), head], ["logits"], name="head"))
    model = b.model("speech_decoder",
                    [info("ids", INT, 1, length), info("frames", FLOAT, 1, frames, width)],
                    [info("logits", FLOAT, 1, length, words)])
    random = np.random.default_rng(1)
    return model, {"ids": random.integers(0, words, (1, length)),
                   "frames": random.standard_normal((1, frames, width))}


def prompt_tokens(b, width):
    """Points in pixels with labels -1, 0 and 1: sines of random projections."""
    unit = b.op("Sub", b.op("Mul", b.op("Div", "points", b.constant(40.0)),
                            b.constant(2.0)), b.constant(1.0))
    phase = b.op("Mul", b.op("MatMul", unit, b.weight(2, width // 2, scale=1)),
                 b.constant(2 * np.pi))
    x = b.op("Concat", b.op("Sin", phase), b.op("Cos", phase), axis=-1)
    labels = b.op("Expand", b.op("Unsqueeze", "labels", b.integers(-1)),
                  b.op("Shape", x))
    for label in (-1.0, 0.0, 1.0):
        here = b.op("Cast", b.op("Equal", labels, b.constant(label)), to=FLOAT)
        if label < 0:
            x = b.op("Mul", x, b.op("Sub", b.constant(1.0), here))
        x = b.op("Add", x, b.op("Mul", b.weight(width, scale=0.3), here))
    return x


def both_ways(b, tokens, pixels, first, places, width):
    """One layer: tokens to themselves, to pixels, a network, pixels to tokens."""
    norm = lambda y: b.layer_norm(y, width, True)
    own = b.op("Add", tokens, first)
    tokens = norm(b.op("Add", tokens, attention(b, own, own, tokens, width, 2)))
    keys = b.op("Add", pixels, places)
    tokens = norm(b.op("Add", tokens, attention(
        b, b.op("Add", tokens, first), keys, pixels, width, 2)))
    tokens = norm(b.op("Add", tokens, feed_forward(b, tokens, width, 32, relu(b))))
    pixels = norm(b.op("Add", pixels, attention(
        b, keys, b.op("Add", tokens, first), tokens, width, 2)))
    return tokens, pixels


def mask_decoder():
    b = Builder(12, 17)
    width, side = 16, 10
    learnt = b.constant(b.random.normal(0, 0.5, (1, 5, width)))
    first = tokens = b.op("Concat", learnt, prompt_tokens(b, width), axis=1)
    pixels = b.op("Transpose", b.op("Reshape", "image", b.integers(1, width, -1)),
                  perm=[0, 2, 1])
    places = b.weight(side * side, width, scale=0.3)
    for _ in range(2):
        tokens, pixels = both_ways(b, tokens, pixels, first, places, width)
    x = b.op("Reshape", b.op("Transpose", pixels, perm=[0, 2, 1]),
             b.integers(1, width, side, side))
    for inputs, outputs in ((width, 8), (8, 4)):
        weights = b.weight(inputs, outputs, 2, 2, scale=0.3)
        x = b.gelu_erf(b.op("ConvTranspose", x, weights, kernel_shape=[2, 2],
                            strides=[2, 2]))
    rows = [b.op("Unsqueeze", feed_forward(
        b, b.op("Gather", tokens, b.constant(i, np.int64), axis=1), width, width,
        relu(b)), b.integers(1)) for i in range(1, 5)]
    factors = b.op("MatMul", b.op("Concat", *rows, axis=1), b.weight(width, 4))
    masks = b.op("Reshape", b.op("MatMul", factors,
                                 b.op("Reshape", x, b.integers(1, 4, -1))),
                 b.integers(1, 4, 40, 40))
    b.nodes.append(helper.make_node(
        "Resize", [masks, "", "", b.integers(1, 4, 64, 64)], ["masks"], name="resize",
        mode="linear", coordinate_transformation_mode="half_pixel"))
    scores = b.linear(b.op("Gather", tokens, b.constant(0, np.int64), axis=1), width, 4)
    best = b.op("ArgMax", scores, axis=1, keepdims=1)
    b.nodes.append(helper.make_node(
        "GatherND", [b.op("Squeeze", "masks", b.integers(0)), best], ["mask"],
        name="best"))
    model = b.model(
        "mask_decoder",
        [info("image", FLOAT, 1, width, side, side), info("points", FLOAT, 1, 3, 2),
         info("labels", FLOAT, 1, 3)],
        [info("masks", FLOAT, 1, 4, 64, 64), info("mask", FLOAT, 1, 64, 64)])
    random = np.random.default_rng(2)
    return model, {"image": random.standard_normal((1, width, side, side)),
                   "points": 40 * random.random((1, 3, 2)),
                   "labels": np.array([[1.0, 0.0, -1.0]])}


def pixel_places(b, side, width):
    """Sines and cosines of how many valid pixels come before, by rows and columns."""
    valid = b.op("Cast", "valid", to=FLOAT)
    period = b.constant(10000.0 ** (2 * (np.arange(width // 2) // 2) / (width // 2)))
    parts = []
    for axis in (1, 2):
        count = b.op("CumSum", valid, b.constant(axis, np.int64))
        last = b.op("Slice", count, b.integers(-1), b.integers(END), b.integers(axis))
        share = b.op("Div", count, b.op("Add", last, b.constant(1e-6)))
        angle = b.op("Div", b.op("Unsqueeze", b.op("Mul", share, b.constant(2 * np.pi)),
                                 b.integers(-1)), period)
        every = lambda start: b.op("Slice", angle, b.integers(start), b.integers(END),
                                   b.integers(3), b.integers(2))
        pair = [b.op("Unsqueeze", b.op(kind, every(start)), b.integers(4))
                for kind, start in (("Sin", 0), ("Cos", 1))]
        parts.append(b.op("Reshape", b.op("Concat", *pair, axis=4),
                          b.integers(1, side, side, width // 2)))
    return b.op("Reshape", b.op("Concat", *parts, axis=3),
                b.integers(1, side * side, width))


def set_detector():
    b = Builder(13, 17)
    width, side, queries = 32, 8, 10
    x = "image"
    for inputs, outputs in ((3, 16), (16, width)):
        weights = b.weight(outputs, inputs, 3, 3, scale=1 / np.sqrt(9 * inputs))
        x = b.op("Relu", b.op("Conv", x, weights, kernel_shape=[3, 3], strides=[2, 2],
                              pads=[1, 1, 1, 1]))
    places = pixel_places(b, side, width)
    pixels = b.op("Transpose", b.op("Reshape", x, b.integers(1, width, side * side)),
                  perm=[0, 2, 1])
    mask = b.op("Where", "valid", b.constant(0.0), b.constant(LOWEST))
    mask = b.op("Reshape", mask, b.integers(1, 1, 1, side * side))
    norm = lambda y: b.layer_norm(y, width, True)
    keys = b.op("Add", pixels, places)
    pixels = norm(b.op("Add", pixels, attention(b, keys, keys, pixels, width, 4, mask)))
    objects = b.constant(b.random.normal(0, 1, (1, queries, width)))
    y = norm(b.op("Add", objects, attention(
        b, objects, b.op("Add", pixels, places), pixels, width, 4, mask)))
    y = norm(b.op("Add", y, feed_forward(b, y, width, 64, relu(b))))
    boxes = b.op("Sigmoid", b.linear(y, width, 4))
    classes = b.op("Slice", b.op("Softmax", b.linear(y, width, 7), axis=-1),
                   b.integers(0), b.integers(-1), b.integers(-1))
    score = b.op("ReduceMax", classes, axes=[-1], keepdims=0)
    b.nodes.append(helper.make_node("TopK", [score, b.integers(4)], ["scores", "best"],
                                    name="top", axis=1))
    index = b.op("Expand", b.op("Unsqueeze", "best", b.integers(-1)),
                 b.integers(1, 4, 4))
    b.nodes.append(helper.make_node("GatherElements", [boxes, index], ["boxes"],
                                    name="boxes", axis=1))
    model = b.model("set_detector",
                    [info("image", FLOAT, 1, 3, 32, 32), info("valid", BOOL, 1, side, side)],
                    [info("scores", FLOAT, 1, 4), info("boxes", FLOAT, 1, 4, 4)])
    random = np.random.default_rng(3)
    return model, {"image": random.standard_normal((1, 3, 32, 32)),
                   "valid": np.tile(np.arange(side) < 6, (1, side, 1))}


ALL = {build.__name__: build for build in (speech_decoder, mask_decoder, set_detector)}
