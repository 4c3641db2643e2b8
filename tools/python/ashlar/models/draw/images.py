# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Large image networks, from their papers."""

import onnx

from .graph import Value
from .layers import Layers

# Gain of the last normalisation of a residual branch: keeps sums of many branches small.
BRANCH = 0.4
CLASSES = 1000


def resnet50(seed: int) -> onnx.ModelProto:
    """ResNet-50 (He et al., 2015), version 1.5: the 3x3 convolution has the stride."""
    g = Layers("resnet50_v1.5", seed)

    def bottleneck(x: Value, width: int, stride: int, project: bool) -> Value:
        y = g.relu(g.norm(g.conv(x, width, 1)))
        y = g.relu(g.norm(g.conv(y, width, 3, stride, 1)))
        y = g.norm(g.conv(y, 4 * width, 1), BRANCH)
        short = g.norm(g.conv(x, 4 * width, 1, stride)) if project else x
        return g.relu(g.add(y, short))

    x = g.relu(g.norm(g.conv(g.image("image", [1, 3, 224, 224]), 64, 7, 2, 3)))
    x = g.max_pool(x)
    for stage, (blocks, width) in enumerate(((3, 64), (4, 128), (6, 256), (3, 512))):
        for block in range(blocks):
            x = bottleneck(x, width, 2 if stage and not block else 1, not block)
    x = g.dense(g.global_pool(x), CLASSES)
    return g.model([("logits", x.name, [1, CLASSES])])


def mobilenet_v2(seed: int) -> onnx.ModelProto:
    """MobileNet v2 (Sandler et al., 2018), width 1.0, 224 x 224."""
    g = Layers("mobilenet_v2_1.0_224", seed)

    def inverted(x: Value, channels: int, stride: int, factor: int) -> Value:
        y = x
        wide = factor * x.channels
        if factor > 1:
            y = g.relu6(g.norm(g.conv(y, wide, 1)))
        y = g.relu6(g.norm(g.conv(y, wide, 3, stride, 1, group=wide)))
        y = g.norm(g.conv(y, channels, 1))
        return g.add(x, y) if stride == 1 and x.channels == channels else y

    x = g.relu6(g.norm(g.conv(g.image("input", [1, 3, 224, 224]), 32, 3, 2, 1)))
    for factor, channels, count, stride in ((1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2),
                                            (6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1)):
        for index in range(count):
            x = inverted(x, channels, 1 if index else stride, factor)
    x = g.relu6(g.norm(g.conv(x, 1280, 1)))
    x = g.dense(g.global_pool(x), CLASSES)
    return g.model([("logits", x.name, [1, CLASSES])])


def densenet121(seed: int) -> onnx.ModelProto:
    """DenseNet-121 (Huang et al., 2016): growth 32, bottlenecks of 128 channels."""
    g = Layers("densenet121", seed)
    growth = 32
    x = g.relu(g.norm(g.conv(g.image("image", [1, 3, 224, 224]), 64, 7, 2, 3)))
    x = g.max_pool(x)
    for stage, layers in enumerate((6, 12, 24, 16)):
        if stage:
            x = g.conv(g.relu(g.norm(x)), x.channels // 2, 1)
            x = g.average_pool(x, 2, 2)
        for _ in range(layers):
            y = g.conv(g.relu(g.norm(x)), 4 * growth, 1)
            y = g.conv(g.relu(g.norm(y)), growth, 3, 1, 1)
            x = g.concat(x, y)
    x = g.dense(g.global_pool(g.relu(g.norm(x))), CLASSES)
    return g.model([("logits", x.name, [1, CLASSES])])


def squeezenet(seed: int) -> onnx.ModelProto:
    """SqueezeNet 1.1 (Iandola et al., 2016): no normalisation."""
    g = Layers("squeezenet1_1", seed)

    def fire(x: Value, squeeze: int, expand: int) -> Value:
        s = g.relu(g.conv(x, squeeze, 1, bias=True, unit=True))
        return g.concat(g.relu(g.conv(s, expand, 1, bias=True, unit=True)),
                        g.relu(g.conv(s, expand, 3, 1, 1, bias=True, unit=True)))

    x = g.relu(g.conv(g.image("data_0", [1, 3, 224, 224]), 64, 3, 2, bias=True, unit=True))
    x = g.max_pool(x, pads=0)
    x = g.max_pool(fire(fire(x, 16, 64), 16, 64), pads=0)
    x = g.max_pool(fire(fire(x, 32, 128), 32, 128), pads=0)
    for squeeze, expand in ((48, 192), (48, 192), (64, 256), (64, 256)):
        x = fire(x, squeeze, expand)
    x = g.relu(g.conv(x, CLASSES, 1, bias=True, unit=True))
    out = g.node("Softmax", g.global_pool(x).name, axis=1)
    out = g.node("Reshape", out, g.ints(1, CLASSES, 1, 1))
    return g.model([("probabilities", out, [1, CLASSES, 1, 1])])


def shufflenet_v2(seed: int) -> onnx.ModelProto:
    """ShuffleNet v2 (Ma et al., 2018), width 1.0."""
    g = Layers("shufflenet_v2_1.0", seed)

    def depthwise(x: Value, stride: int) -> Value:
        return g.norm(g.conv(x, x.channels, 3, stride, 1, group=x.channels))

    def right(x: Value, channels: int, stride: int) -> Value:
        y = depthwise(g.relu(g.norm(g.conv(x, channels, 1))), stride)
        return g.relu(g.norm(g.conv(y, channels, 1)))

    def shuffle(x: Value, size: int) -> Value:
        count, half = x.channels, x.channels // 2
        samples, _, rows, columns = x.sample.shape
        moved = x.sample.reshape(samples, 2, half, rows, columns).swapaxes(1, 2)
        y = g.node("Reshape", x.name, g.ints(1, 2, half, size, size))
        y = g.node("Transpose", y, perm=[0, 2, 1, 3, 4])
        y = g.node("Reshape", y, g.ints(1, count, size, size))
        return Value(y, moved.reshape(samples, count, rows, columns))

    x = g.relu(g.norm(g.conv(g.image("input", [1, 3, 224, 224]), 24, 3, 2, 1)))
    x = g.max_pool(x)
    size = 56
    for count, channels in ((4, 116), (8, 232), (4, 464)):
        half = channels // 2
        left = g.relu(g.norm(g.conv(depthwise(x, 2), half, 1)))
        size //= 2
        x = shuffle(g.concat(left, right(x, half, 2)), size)
        for _ in range(count - 1):
            a, b = g.node("Split", x.name, g.ints(half, half), outputs=2, axis=1)
            kept, worked = Value(a, x.sample[:, :half]), Value(b, x.sample[:, half:])
            x = shuffle(g.concat(kept, right(worked, half, 1)), size)
    x = g.relu(g.norm(g.conv(x, 1024, 1)))
    x = g.shaped("ReduceMean", x, x.sample.mean((2, 3)), axes=[2, 3], keepdims=0)
    x = g.dense(x, CLASSES)
    return g.model([("logits", x.name, [1, CLASSES])])
