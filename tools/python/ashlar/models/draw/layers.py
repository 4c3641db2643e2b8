# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Layers of image networks with drawn weights.

Kernels are scaled as He et al. (2015) do. Normalisations have the statistics of their
inputs for a few samples; a layer without a normalisation is scaled so that its results
have variance 1 for them (Mishkin and Matas, 2015). So deep networks neither explode nor
forget their input, as trained ones do not.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from . import sample
from .graph import Graph, Value

GAMMA = (0.8, 1.2)
BETA = 0.1
# Enough for statistics where a feature map has only a few elements left.
IMAGES, VECTORS = 8, 64


class Layers(Graph):
    """A graph with the layers of image networks."""

    def image(self, name: str, shape: Sequence[int], largest: int = 64, low: float = 0.0,
              high: float = 0.0) -> Value:
        """An input. Its samples are cut to `largest` rows and columns; they are smooth
        random fields of variance 1, or uniform numbers between `low` and `high`."""
        self.declare(name, shape)
        count = IMAGES if len(shape) == 4 else VECTORS
        size = (count, shape[1], *(min(extent, largest) for extent in shape[2:]))
        if high > low:
            return Value(name, self.draws.uniform(low, high, *size).astype(np.float64))
        fine = self.draws.normal(*size).astype(np.float64)
        if len(size) < 4:
            return Value(name, fine)
        coarse = self.draws.normal(*size[:2], *(-(-extent // 8) for extent in size[2:]))
        field = np.kron(coarse, np.ones((8, 8)))[:, :, :size[2], :size[3]]
        return Value(name, 0.9 * field + 0.4 * fine)

    def conv(self, x: Value, channels: int, kernel: int | tuple[int, int], stride: int = 1,
             pads: int | tuple = 0, group: int = 1, bias: bool = False, unit: bool = False,
             name: str = "") -> Value:
        """Convolution with He's weights; `unit`: scaled for results of variance 1."""
        shape = (kernel, kernel) if isinstance(kernel, int) else kernel
        pads = (pads,) * 4 if isinstance(pads, int) else pads
        fan = x.channels // group * shape[0] * shape[1]
        weight = self.draws.normal(channels, x.channels // group, *shape,
                                   deviation=float(np.sqrt(2 / fan)))
        y = sample.conv(x.sample, weight.astype(np.float64), (stride, stride), pads, group)
        if unit:
            weight, y = self.unit(weight, y)
        name = name or self.unique("conv")
        inputs = [x.name, self.constant(name + ".weight", weight)]
        if bias:
            values = self.draws.normal(channels, deviation=BETA)
            inputs.append(self.constant(name + ".bias", values))
            y = y + sample.per_channel(values.astype(np.float64), 4)
        attributes = {"group": group} if group > 1 else {}
        out = self.node("Conv", *inputs, name=name, kernel_shape=list(shape), strides=[stride] * 2,
                        pads=list(pads), **attributes)
        return Value(out, y)

    @staticmethod
    def unit(weight: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Weights and results scaled so that the results have variance 1."""
        scale = float(sample.rounded(1 / np.sqrt(y.var() + 1e-9)))
        return weight * np.float32(scale), y * scale

    def norm(self, x: Value, gain: float = 1.0) -> Value:
        """Batch normalisation; `gain` is the deviation of its results."""
        mean, variance = sample.statistics(x.sample)
        gamma = self.draws.uniform(GAMMA[0] * gain, GAMMA[1] * gain, x.channels)
        beta = self.draws.normal(x.channels, deviation=BETA * gain)
        name = self.unique("norm")
        out = self.node("BatchNormalization", x.name, self.constant(name + ".gamma", gamma),
                        self.constant(name + ".beta", beta), self.constant(name + ".mean", mean),
                        self.constant(name + ".variance", variance), name=name, epsilon=1e-5)
        scale = gamma / np.sqrt(variance + 1e-5)
        rank = x.sample.ndim
        return Value(out, x.sample * sample.per_channel(scale, rank)
                     + sample.per_channel(beta - mean * scale, rank))

    def relu(self, x: Value) -> Value:
        return Value(self.node("Relu", x.name), np.maximum(x.sample, 0))

    def relu6(self, x: Value) -> Value:
        """Clip to 0 ... 6."""
        if self.bounds is None:
            self.bounds = (self.constant("zero", 0.0), self.constant("six", 6.0))
        return Value(self.node("Clip", x.name, *self.bounds), np.clip(x.sample, 0, 6))

    def add(self, a: Value, b: Value) -> Value:
        return Value(self.node("Add", a.name, b.name), a.sample + b.sample)

    def concat(self, *values: Value) -> Value:
        out = self.node("Concat", *(v.name for v in values), axis=1)
        return Value(out, np.concatenate([v.sample for v in values], 1))

    def max_pool(self, x: Value, kernel: int = 3, stride: int = 2, pads: int = 1) -> Value:
        out = self.node("MaxPool", x.name, kernel_shape=[kernel] * 2, strides=[stride] * 2,
                        pads=[pads] * 4)
        return Value(out, sample.max_pool(x.sample, kernel, stride, pads))

    def average_pool(self, x: Value, kernel: int | tuple[int, int], stride: int) -> Value:
        sizes = (kernel, kernel) if isinstance(kernel, int) else kernel
        out = self.node("AveragePool", x.name, kernel_shape=list(sizes), strides=[stride] * 2)
        return Value(out, sample.average_pool(x.sample, sizes, stride))

    def flatten(self, x: Value) -> Value:
        return Value(self.node("Flatten", x.name, axis=1), x.sample.reshape(len(x.sample), -1))

    def global_pool(self, x: Value) -> Value:
        pooled = Value(self.node("GlobalAveragePool", x.name), x.sample.mean((2, 3), keepdims=True))
        return self.flatten(pooled)

    def dense(self, x: Value, width: int, name: str = "") -> Value:
        """Gemm, scaled for results of variance 1."""
        name = name or self.unique("fc")
        weight = self.draws.normal(width, x.channels, deviation=float(np.sqrt(1 / x.channels)))
        weight, y = self.unit(weight, x.sample @ weight.astype(np.float64).T)
        bias = self.draws.normal(width, deviation=BETA)
        out = self.node("Gemm", x.name, self.constant(name + ".weight", weight),
                        self.constant(name + ".bias", bias), name=name, transB=1)
        return Value(out, y + bias)

    def shaped(self, kind: str, x: Value, values: np.ndarray, *inputs: str, **attributes: Any) -> Value:
        """A node that moves data; `values`: what it makes of the samples."""
        return Value(self.node(kind, x.name, *inputs, **attributes), values)
