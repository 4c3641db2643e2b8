# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the small networks share: the loop that trains them, and their export to ONNX."""

import os
import time

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

import layers

RATE = 4e-3


def fit(network, steps, step):
    """Trains: `step(number)` gives the loss and its gradient for one batch. The rate is a
    cosine from RATE to nothing."""
    optimiser = layers.Adam([p for layer in network for p in layer.parameters()])
    start = time.monotonic()
    for number in range(steps):
        loss, gradient = step()
        for layer in reversed(network):
            gradient = layer.backward(gradient)
        rate = RATE * 0.5 * (1 + np.cos(np.pi * number / steps))
        optimiser.update([g for layer in network for g in layer.gradients], rate)
        if number % 50 == 0 or number + 1 == steps:
            print(f"step {number}: loss {loss:.3f}, {time.monotonic() - start:.1f} s", flush=True)


def run(network, maps):
    """Feature maps [n, h, w, c] through all layers."""
    for layer in network:
        maps = layer.forward(maps)
    return maps


class Flatten:
    """[n, h, w, c] to rows, in the order of ONNX: channels first."""

    def parameters(self):
        return []

    def forward(self, x):
        self.shape = x.shape
        return x.transpose(0, 3, 1, 2).reshape(len(x), -1)

    def backward(self, gradient):
        self.gradients = []
        n, h, w, c = self.shape
        return gradient.reshape(n, c, h, w).transpose(0, 2, 3, 1)


class Exporter:
    """Collects nodes and constants of a model of opset 13."""

    def __init__(self, name):
        self.name, self.nodes, self.constants = name, [], []

    def constant(self, name, value, kind=np.float32):
        self.constants.append(numpy_helper.from_array(np.ascontiguousarray(value, kind), name))
        return name

    def node(self, op, name, inputs, **attributes):
        self.nodes.append(helper.make_node(op, inputs, [name], name, **attributes))
        return name

    def features(self, network, x):
        """Convolutions, ReLUs and pools of a network; the name of the last value."""
        for number, layer in enumerate(network):
            if isinstance(layer, layers.Conv3x3):
                name = f"conv{number}"
                x = self.node("Conv", name, [x, self.constant(name + ".weight", layer.onnx_weight()),
                                             self.constant(name + ".bias", layer.bias)],
                              kernel_shape=[3, 3], pads=[1] * 4)
            elif isinstance(layer, layers.Relu):
                x = self.node("Relu", f"relu{number}", [x])
            elif isinstance(layer, layers.MaxPool2):
                x = self.node("MaxPool", f"pool{number}", [x], kernel_shape=[2, 2], strides=[2, 2])
            elif isinstance(layer, Flatten):
                x = self.node("Flatten", f"flat{number}", [x], axis=1)
            else:
                x = self.node("Gemm", "logits",
                              [x, self.constant("fc.weight", layer.weight), self.constant("fc.bias", layer.bias)])
        return x

    def save(self, folder, inputs, outputs):
        """Writes folder/NAME.onnx; values as (name, element type, shape)."""
        def values(described):
            return [helper.make_tensor_value_info(name, kind, shape) for name, kind, shape in described]

        graph = helper.make_graph(self.nodes, self.name, values(inputs), values(outputs), self.constants)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=7,
                                  producer_name="ashlar demo")
        onnx.checker.check_model(model)
        os.makedirs(folder, exist_ok=True)
        onnx.save(model, os.path.join(folder, self.name + ".onnx"))


FLOAT, INT64 = TensorProto.FLOAT, TensorProto.INT64
