# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Small networks of benchmarks, with the graphs of the trained ones."""

import numpy as np
import onnx

from .graph import Value
from .layers import Layers

BRANCH = 0.5


def resnet8(seed: int) -> onnx.ModelProto:
    """ResNet-8 for CIFAR-10 of MLPerf Tiny. Its input is 0 ... 255, not scaled."""
    g = Layers("resnet8_cifar10", seed)
    x = g.image("input", [1, 3, 32, 32], low=0, high=255)
    x = g.relu(g.norm(g.conv(x, 16, 3, 1, 1, bias=True)))
    for width, stride in ((16, 1), (32, 2), (64, 2)):
        pads = (0, 0, 1, 1) if stride == 2 else 1
        y = g.relu(g.norm(g.conv(x, width, 3, stride, pads, bias=True)))
        y = g.norm(g.conv(y, width, 3, 1, 1, bias=True), BRANCH)
        short = g.conv(x, width, 1, stride, bias=True, unit=True) if stride == 2 else x
        x = g.relu(g.add(short, y))
    x = g.dense(g.flatten(g.average_pool(x, 8, 8)), 10)
    return g.model([("output", g.node("Softmax", x.name, axis=1), [1, 10])])


def resnet20(seed: int) -> onnx.ModelProto:
    """ResNet-20 for CIFAR-10 (He et al., 2015); shortcuts take every second element and
    pad channels with zeros."""
    g = Layers("resnet20_cifar10", seed)

    def shortcut(x: Value, width: int) -> Value:
        more = (width - x.channels) // 2
        y = g.node("Slice", x.name, g.ints(0, 0), g.ints(2**31 - 1, 2**31 - 1), g.ints(2, 3),
                   g.ints(2, 2))
        y = g.node("Pad", y, g.ints(0, more, 0, 0, 0, more, 0, 0), g.constant("zero", 0.0))
        fill = ((0, 0), (more, more), (0, 0), (0, 0))
        return Value(y, np.pad(x.sample[:, :, ::2, ::2], fill))

    x = g.relu(g.norm(g.conv(g.image("input", [1, 3, 32, 32]), 16, 3, 1, 1)))
    for width in (16, 32, 64):
        for block in range(3):
            stride = 2 if width > 16 and not block else 1
            y = g.relu(g.norm(g.conv(x, width, 3, stride, 1)))
            y = g.norm(g.conv(y, width, 3, 1, 1), BRANCH)
            x = g.relu(g.add(y, shortcut(x, width) if stride == 2 else x))
    x = g.dense(g.flatten(g.average_pool(x, 8, 8)), 10)
    return g.model([("logits", x.name, [1, 10])])


def mobilenet_v1(seed: int) -> onnx.ModelProto:
    """MobileNet v1 (Howard et al., 2017), width 0.25, 128 x 128."""
    g = Layers("mobilenet_v1_0.25_128", seed)
    x = g.relu6(g.norm(g.conv(g.image("input", [1, 3, 128, 128]), 8, 3, 2, (0, 0, 1, 1))))
    for channels, stride in ((16, 1), (32, 2), (32, 1), (64, 2), (64, 1), (128, 2), *[(128, 1)] * 5,
                             (256, 2), (256, 1)):
        pads = (0, 0, 1, 1) if stride == 2 else 1
        x = g.relu6(g.norm(g.conv(x, x.channels, 3, stride, pads, group=x.channels)))
        x = g.relu6(g.norm(g.conv(x, channels, 1)))
    x = g.dense(g.global_pool(x), 1000)
    return g.model([("logits", x.name, [1, 1000])])


def ds_cnn(seed: int) -> onnx.ModelProto:
    """DS-CNN for keyword spotting of MLPerf Tiny."""
    g = Layers("kws_dscnn", seed)
    x = g.image("input", [1, 1, 49, 10])
    x = g.relu(g.norm(g.conv(x, 64, (10, 4), 2, (4, 1, 5, 1), bias=True)))
    for _ in range(4):
        x = g.relu(g.norm(g.conv(x, 64, 3, 1, 1, group=64, bias=True)))
        x = g.relu(g.norm(g.conv(x, 64, 1, bias=True)))
    x = g.dense(g.flatten(g.average_pool(x, (24, 5), 2)), 12)
    return g.model([("output", g.node("Softmax", x.name, axis=1), [1, 12])])


def mnist(seed: int) -> onnx.ModelProto:
    """The digit classifier of CNTK's tutorial. Its input is 0 ... 255, not scaled."""
    g = Layers("mnist_cnn", seed, opset=8)
    x = g.image("Input3", [1, 1, 28, 28], low=0, high=255)

    def layer(x: Value, channels: int) -> Value:
        y = g.conv(x, channels, 5, 1, 2, unit=True)
        bias = g.draws.normal(channels, 1, 1, deviation=0.1)
        return g.relu(g.shaped("Add", y, y.sample + bias, g.constant("bias", bias)))

    x = g.max_pool(layer(x, 8), 2, 2, 0)
    x = g.max_pool(layer(x, 16), 3, 3, 0)
    y = g.node("Reshape", x.name, g.ints(1, 256))
    weight, _ = g.unit(*matrix(g, x.sample.reshape(len(x.sample), 256), 10))
    y = g.node("MatMul", y, g.constant("fc.weight", weight))
    y = g.node("Add", y, g.constant("fc.bias", g.draws.normal(1, 10, deviation=0.1)))
    return g.model([("Plus214_Output_0", y, [1, 10])])


def matrix(g: Layers, x: np.ndarray, width: int) -> tuple[np.ndarray, np.ndarray]:
    """A drawn matrix and its products with the samples."""
    weight = g.draws.normal(x.shape[1], width, deviation=float(np.sqrt(1 / x.shape[1])))
    return weight, x @ weight.astype(np.float64)


def autoencoder(seed: int) -> onnx.ModelProto:
    """The autoencoder for anomaly detection of MLPerf Tiny."""
    g = Layers("ad_autoencoder", seed)
    x = g.image("input", [1, 640])
    for width in (128, 128, 128, 128, 8, 128, 128, 128, 128):
        x = g.relu(g.norm(g.dense(x, width)))
    return g.model([("output", g.dense(x, 640).name, [1, 640])])


def super_resolution(seed: int) -> onnx.ModelProto:
    """Sub-pixel convolution (Shi et al., 2016), three times larger."""
    g = Layers("super_resolution_x3_96", seed)
    x = g.image("input", [1, 1, 96, 96], largest=32)
    for channels, kernel in ((64, 5), (64, 3), (32, 3)):
        x = g.relu(g.conv(x, channels, kernel, 1, kernel // 2, bias=True, unit=True))
    y = g.conv(x, 9, 3, 1, 1, bias=True, unit=True).name
    y = g.node("Reshape", y, g.ints(1, 1, 3, 3, 96, 96))
    y = g.node("Transpose", y, perm=[0, 1, 4, 2, 5, 3])
    y = g.node("Reshape", y, g.ints(1, 1, 288, 288))
    return g.model([("output", y, [1, 1, 288, 288])])
