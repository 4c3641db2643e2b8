#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Gives a weightless ("light") ONNX model weights from a seeded generator.

usage: refill_light.py LIGHT.onnx OUT.onnx [--seed=N]

The light models carry ConstantOfShape nodes or single-valued tensors where
weights were. Each one becomes an ordinary initialiser, drawn after what
consumes it: He-scaled kernels, normalisation parameters near (1, 0), small
biases. Branches that end in a residual sum are scaled down, so that deep
networks neither explode nor die.
"""

import argparse
import os
import sys

import numpy as np
import onnx
from onnx import numpy_helper

NEAR_ONE = (0.8, 1.2)
VARIANCE = (0.5, 1.5)
RESIDUAL_GAIN = 0.4
BIAS_DEVIATION = 0.1
# After many normalisations, in front of a softmax: keeps the best class from
# being certain, which would hide errors.
CLASSIFIER_GAIN = 0.1


class Refill:
    def __init__(self, model, seed):
        self.graph = model.graph
        self.rng = np.random.default_rng(seed)
        self.initial = {t.name: numpy_helper.to_array(t)
                        for t in self.graph.initializer}
        self.consumers = {}
        for node in self.graph.node:
            for k, name in enumerate(node.input):
                self.consumers.setdefault(name, []).append((node, k))

    def consumer(self, name):
        """The op that uses a weight, looking through views of it."""
        for node, k in self.consumers.get(name, []):
            if node.op_type in ("Unsqueeze", "Reshape", "Squeeze") and k == 0:
                return self.consumer(node.output[0])
            return node, k
        return None, 0

    def joins_residual(self, node):
        users = self.consumers.get(node.output[0], [])
        return any(n.op_type == "Sum" for n, _ in users)

    def classifier_gain(self, node):
        users = self.consumers.get(node.output[0], [])
        normalised = any(n.op_type == "BatchNormalization" for n in self.graph.node)
        feeds = any(n.op_type == "Softmax" for n, _ in users)
        return CLASSIFIER_GAIN if feeds and normalised else 1

    def normal(self, shape, deviation):
        return self.rng.standard_normal(shape, np.float32) * np.float32(deviation)

    def uniform(self, shape, bounds):
        return self.rng.uniform(*bounds, shape).astype(np.float32)

    def draw(self, name, shape):
        node, k = self.consumer(name)
        kind = node.op_type if node else ""
        if kind == "Conv" and k == 1:
            return self.normal(shape, np.sqrt(2 / np.prod(shape[1:])))
        if kind == "Gemm" and k == 1:
            gain = self.classifier_gain(node)
            return self.normal(shape, gain * np.sqrt(2 / shape[-1]))
        if kind == "BatchNormalization" and k == 1:
            gain = RESIDUAL_GAIN if self.joins_residual(node) else 1
            return self.uniform(shape, NEAR_ONE) * np.float32(gain)
        if kind == "BatchNormalization" and k == 4:
            return self.uniform(shape, VARIANCE)
        if kind == "Mul":
            return self.uniform(shape, NEAR_ONE)
        return self.normal(shape, BIAS_DEVIATION)

    def run(self):
        shapes, kept, filled = set(), [], {}
        for node in self.graph.node:
            if node.op_type != "ConstantOfShape":
                kept.append(node)
                continue
            shapes.add(node.input[0])
            shape = [int(d) for d in self.initial[node.input[0]]]
            filled[node.output[0]] = self.draw(node.output[0], shape)
        for name, array in self.initial.items():
            if name in shapes:
                continue
            filled[name] = (self.draw(name, array.shape)
                            if array.dtype == np.float32 else array)
        used = {i for n in kept for i in n.input}
        del self.graph.node[:], self.graph.initializer[:]
        self.graph.node.extend(kept)
        self.graph.initializer.extend(
            numpy_helper.from_array(a, n) for n, a in filled.items() if n in used)
        inputs = [i for i in self.graph.input
                  if i.name not in filled and i.name not in shapes]
        del self.graph.input[:]
        self.graph.input.extend(inputs)


def images(count, seed, shape=(1, 3, 224, 224)):
    """Inputs for a light model: smooth random images, N(0, 1) per pixel."""
    rng = np.random.default_rng(seed)
    for _ in range(count):
        coarse = rng.standard_normal((*shape[:2], 7, 7), np.float32)
        fine = rng.standard_normal(shape, np.float32)
        repeat = [s // 7 for s in shape[2:]]
        yield (np.float32(0.9) * np.kron(coarse, np.ones(repeat, np.float32))
               + np.float32(0.4) * fine)


def refill(light, out, seed=1):
    model = onnx.load(light)
    Refill(model, seed).run()
    # From IR 4 on, initialisers need not be graph inputs.
    model.ir_version = max(model.ir_version, 4)
    partial = out + ".part"
    onnx.save(model, partial)
    os.replace(partial, out)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("light")
    parser.add_argument("out")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    refill(options.light, options.out, options.seed)
    return 0


if __name__ == "__main__":
    sys.exit(main())
