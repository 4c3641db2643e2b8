#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Trains the demo network and writes it as ONNX with test images.

usage: train.py OUT_DIR [--steps=N] [--seed=N]

Writes glyphs.onnx and glyphs.npz (key `image`: the network's input for 64
samples; `labels`; `classes`; `logits`: the outputs that numpy computed in
fp32). numpy does all the work; a few minutes on two processor cores.
"""

import argparse
import os
import time

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

import glyphs
import layers

BATCH = 64


def build(rng):
    return [
        layers.Conv3x3(1, 16, rng), layers.Relu(), layers.MaxPool2(),
        layers.Conv3x3(16, 32, rng), layers.Relu(),
        layers.Residual(layers.Conv3x3(32, 32, rng)), layers.Relu(),
        layers.MaxPool2(),
        layers.Conv3x3(32, 64, rng), layers.Relu(),
        layers.GlobalAveragePool(), layers.Linear(64, len(glyphs.CLASSES), rng),
    ]


def forward(network, pixels):
    x = glyphs.network_input(pixels).transpose(0, 2, 3, 1)
    for layer in network:
        x = layer.forward(x)
    return x


def train(network, steps, rng):
    images = glyphs.masters()
    optimiser = layers.Adam([p for l in network for p in l.parameters()])
    start = time.monotonic()
    for step in range(steps):
        pixels, labels = glyphs.batch(BATCH, rng, images)
        logits = forward(network, pixels)
        loss, gradient = layers.cross_entropy(logits, labels)
        for layer in reversed(network):
            gradient = layer.backward(gradient)
        # A cosine from 2e-3 to nothing.
        rate = 2e-3 * 0.5 * (1 + np.cos(np.pi * step / steps))
        optimiser.update([g for l in network for g in l.gradients], rate)
        if step % 50 == 0 or step + 1 == steps:
            right = (logits.argmax(1) == labels).mean()
            print(f"step {step}: loss {loss:.3f}, batch accuracy {right:.3f}, "
                  f"{time.monotonic() - start:.0f} s", flush=True)


def accuracy(network, count, rng):
    right = 0
    for _ in range(count // BATCH):
        pixels, labels = glyphs.batch(BATCH, rng)
        right += int((forward(network, pixels).argmax(1) == labels).sum())
    return right / (count // BATCH * BATCH)


def export(network, path):
    """Opset 13, names as a framework would give them."""
    conv1, conv2, conv3, conv4 = (
        network[0], network[3], network[5].body, network[8])
    linear = network[11]
    constants, nodes = [], []

    def constant(name, value):
        value = np.ascontiguousarray(value, np.float32)
        constants.append(numpy_helper.from_array(value, name))

    def conv(name, layer, x):
        constant(name + ".weight", layer.onnx_weight())
        constant(name + ".bias", layer.bias)
        add("Conv", name, [x, name + ".weight", name + ".bias"],
            kernel_shape=[3, 3], pads=[1, 1, 1, 1], strides=[1, 1])

    def add(op, name, inputs, output=None, **attributes):
        nodes.append(helper.make_node(op, inputs, [output or name], name, **attributes))

    pool = {"kernel_shape": [2, 2], "strides": [2, 2]}
    conv("conv1", conv1, "image")
    add("Relu", "relu1", ["conv1"])
    add("MaxPool", "pool1", ["relu1"], **pool)
    conv("conv2", conv2, "pool1")
    add("Relu", "relu2", ["conv2"])
    conv("conv3", conv3, "relu2")
    add("Add", "residual", ["conv3", "relu2"])
    add("Relu", "relu3", ["residual"])
    add("MaxPool", "pool2", ["relu3"], **pool)
    conv("conv4", conv4, "pool2")
    add("Relu", "relu4", ["conv4"])
    add("GlobalAveragePool", "average", ["relu4"])
    add("Flatten", "flat", ["average"], axis=1)
    constant("fc.weight", linear.weight)
    constant("fc.bias", linear.bias)
    add("Gemm", "fc", ["flat", "fc.weight", "fc.bias"], output="logits")

    def value(name, shape):
        return helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)

    graph = helper.make_graph(
        nodes, "glyphs", [value("image", [1, 1, glyphs.SIZE, glyphs.SIZE])],
        [value("logits", [1, len(glyphs.CLASSES)])], constants)
    model = helper.make_model(
        graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=7,
        producer_name="ashlar demo")
    onnx.checker.check_model(model)
    onnx.save(model, path)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out")
    parser.add_argument("--steps", type=int, default=550)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    rng = np.random.default_rng(options.seed)
    network = build(rng)
    train(network, options.steps, rng)
    # Fresh data: a seed that training never used.
    fresh = np.random.default_rng(options.seed + 1_000_003)
    print(f"accuracy on 4096 fresh samples: {accuracy(network, 4096, fresh):.4f}")
    pixels, labels = glyphs.batch(64, fresh)
    logits = forward(network, pixels)
    os.makedirs(options.out, exist_ok=True)
    export(network, os.path.join(options.out, "glyphs.onnx"))
    np.savez_compressed(
        os.path.join(options.out, "glyphs.npz"),
        image=glyphs.network_input(pixels), labels=labels,
        logits=logits.astype(np.float32),
        classes=np.array(list(glyphs.CLASSES)))


if __name__ == "__main__":
    main()
