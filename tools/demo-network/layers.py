# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The few trainable layers of the demo network, in numpy.

Feature maps are [n, h, w, c]; each layer keeps what its backward pass needs.
Parameters and gradients are lists of arrays in the same order.
"""

import numpy as np


class Conv3x3:
    """3x3 convolution, stride 1, one pixel of zero padding."""

    def __init__(self, inputs, outputs, rng):
        deviation = np.sqrt(2 / (9 * inputs))
        self.weight = rng.normal(0, deviation, (9 * inputs, outputs)).astype(np.float32)
        self.bias = np.zeros(outputs, np.float32)
        self.inputs = inputs

    def parameters(self):
        return [self.weight, self.bias]

    def forward(self, x):
        n, h, w, c = x.shape
        padded = np.pad(x, ((0, 0), (1, 1), (1, 1), (0, 0)))
        columns = np.empty((n, h, w, 9, c), np.float32)
        for tap in range(9):
            i, j = divmod(tap, 3)
            columns[:, :, :, tap] = padded[:, i:i + h, j:j + w]
        self.columns = columns.reshape(n * h * w, 9 * c)
        return (self.columns @ self.weight + self.bias).reshape(n, h, w, -1)

    def backward(self, gradient):
        n, h, w, outputs = gradient.shape
        flat = gradient.reshape(-1, outputs)
        self.gradients = [self.columns.T @ flat, flat.sum(0)]
        columns = (flat @ self.weight.T).reshape(n, h, w, 9, self.inputs)
        padded = np.zeros((n, h + 2, w + 2, self.inputs), np.float32)
        for tap in range(9):
            i, j = divmod(tap, 3)
            padded[:, i:i + h, j:j + w] += columns[:, :, :, tap]
        return padded[:, 1:-1, 1:-1]

    def onnx_weight(self):
        """[outputs, inputs, 3, 3]"""
        return self.weight.reshape(3, 3, self.inputs, -1).transpose(3, 2, 0, 1)


class Relu:
    def parameters(self):
        return []

    def forward(self, x):
        self.mask = x > 0
        return x * self.mask

    def backward(self, gradient):
        self.gradients = []
        return gradient * self.mask


class MaxPool2:
    """2x2 windows, stride 2; ties share the gradient."""

    def parameters(self):
        return []

    def forward(self, x):
        n, h, w, c = x.shape
        windows = x.reshape(n, h // 2, 2, w // 2, 2, c)
        best = windows.max((2, 4), keepdims=True)
        self.mask = windows == best
        self.share = 1 / self.mask.sum((2, 4), keepdims=True)
        return best[:, :, 0, :, 0]

    def backward(self, gradient):
        self.gradients = []
        spread = self.mask * (gradient[:, :, None, :, None] * self.share)
        n, h, _, w, _, c = spread.shape
        return spread.reshape(n, 2 * h, 2 * w, c).astype(np.float32)


class Residual:
    """x + body(x)"""

    def __init__(self, body):
        self.body = body

    def parameters(self):
        return self.body.parameters()

    def forward(self, x):
        return x + self.body.forward(x)

    def backward(self, gradient):
        result = gradient + self.body.backward(gradient)
        self.gradients = self.body.gradients
        return result


class GlobalAveragePool:
    def parameters(self):
        return []

    def forward(self, x):
        self.shape = x.shape
        return x.mean((1, 2))

    def backward(self, gradient):
        self.gradients = []
        _, h, w, _ = self.shape
        return np.broadcast_to(gradient[:, None, None] / np.float32(h * w), self.shape)


class Linear:
    def __init__(self, inputs, outputs, rng):
        deviation = np.sqrt(1 / inputs)
        self.weight = rng.normal(0, deviation, (inputs, outputs)).astype(np.float32)
        self.bias = np.zeros(outputs, np.float32)

    def parameters(self):
        return [self.weight, self.bias]

    def forward(self, x):
        self.x = x
        return x @ self.weight + self.bias

    def backward(self, gradient):
        self.gradients = [self.x.T @ gradient, gradient.sum(0)]
        return gradient @ self.weight.T


class Adam:
    def __init__(self, parameters):
        self.parameters = parameters
        self.mean = [np.zeros_like(p) for p in parameters]
        self.square = [np.zeros_like(p) for p in parameters]
        self.step = 0

    def update(self, gradients, rate, first=0.9, second=0.999):
        self.step += 1
        for p, m, s, g in zip(self.parameters, self.mean, self.square, gradients):
            m += (1 - first) * (g - m)
            s += (1 - second) * (g * g - s)
            m_hat = m / (1 - first ** self.step)
            s_hat = s / (1 - second ** self.step)
            p -= rate * m_hat / (np.sqrt(s_hat) + 1e-8)


def cross_entropy(logits, labels):
    """Mean loss and its gradient."""
    shifted = logits - logits.max(1, keepdims=True)
    exponents = np.exp(shifted)
    probabilities = exponents / exponents.sum(1, keepdims=True)
    rows = np.arange(len(labels))
    loss = -np.log(probabilities[rows, labels] + 1e-12).mean()
    gradient = probabilities
    gradient[rows, labels] -= 1
    return loss, (gradient / len(labels)).astype(np.float32)
