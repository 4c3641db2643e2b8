#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Functions behind products in drains or on the vector unit, and norms whose
squares are computed where they are summed.

usage: functions.py random [--count=N] [--seed=S]
       functions.py norms [--count=N] [--seed=S]
       functions.py cycles

`random` draws chains of convolutions and matrix products, each with a function
of several cycles per result behind it, on several machines and formats: every
planned tensor is that of the numpy reference.
`norms` does the same with layer normalisations between matrix products.
`cycles` prints what a wide layer takes on a1 and on a machine whose drains
apply every function in one cycle, where no function leaves its drain: the bits
are equal.
"""

import argparse
import os
import random
import sys
import tempfile

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "Folds"))

import slopes  # noqa: E402
from slopes import folds  # noqa: E402

FUNCTIONS = {"Sigmoid": "sigmoid", "Tanh": "tanh", "Silu": "swish"}


class Network(slopes.Network):
    """Products and norms; the value that the next one reads is `value`."""

    def function(self, kind):
        if kind == "Silu":
            self.value = self.emit("Mul", [self.value, self.emit("Sigmoid", [self.value])])
        else:
            self.value = self.emit(kind, [self.value])

    def layer(self, kind, outputs, residual=False):
        """A product with a bias, and a function."""
        channels, rank = self.current[1], len(self.current)
        if rank == 4:
            weights = self.rng.standard_normal((outputs, channels, 1, 1))
            self.value = self.emit("Conv", [self.value, self.constant(weights),
                                            self.constant(self.rng.standard_normal(outputs))])
            self.current[1] = outputs
        else:
            before = self.value
            weights = self.rng.standard_normal((self.current[-1], outputs)) / 8
            product = self.emit("MatMul", [self.value, self.constant(weights)])
            self.value = self.emit("Add", [product, self.constant(self.rng.standard_normal(outputs))])
            if residual and outputs == self.current[-1]:
                self.value = self.emit("Add", [self.value, before])
            self.current[-1] = outputs
        self.function(kind)

    def norm(self):
        """Of the last axis, as exporters write it."""
        mean = self.emit("ReduceMean", [self.value], axes=[-1], keepdims=1)
        centred = self.emit("Sub", [self.value, mean])
        square = self.emit("Mul", [centred, centred])
        variance = self.emit("ReduceMean", [square], axes=[-1], keepdims=1)
        shifted = self.emit("Add", [variance, self.constant(np.float32(1e-5))])
        quotient = self.emit("Div", [centred, self.emit("Sqrt", [shifted])])
        scaled = self.emit("Mul", [quotient, self.constant(self.rng.standard_normal(self.current[-1]))])
        self.value = self.emit("Add", [scaled, self.constant(self.rng.standard_normal(self.current[-1]))])


def draw(source, seed, norms):
    tokens = source.choice([5, 70, 130, 200])
    if not norms and source.random() < 0.4:
        side = source.choice([3, 14, 17])
        net = Network([source.choice([1, 2]), source.choice([24, 64]), side, side], seed)
    else:
        net = Network([1, tokens, source.choice([48, 130, 384])], seed)
    for _ in range(source.choice([1, 2])):
        if norms:
            net.norm()
        net.layer(source.choice(list(FUNCTIONS)), source.choice([40, 130, 384, 520]),
                  residual=source.random() < 0.4)
    return net


def functions_of_vector_unit(binary):
    names = tuple(f"op={name} " for name in FUNCTIONS.values())
    return sum(line.startswith("vec.map") and any(name in line for name in names)
               for line in folds.instructions(binary))


def check(seed, folder, norms):
    """(vector instructions with a function, whether a bit differs)."""
    source = random.Random(seed)
    net = draw(source, seed, norms)
    options = (f"--machine={source.choice(['a1', 'a1', 'a1', 'a1-edge', 'a1-ideal'])}",
               f"--format={source.choice(['bfp8', 'bfp8', 'bfp16', 'w=6,block=16'])}")
    model = os.path.join(folder, "model.onnx")
    net.save(model)
    done = folds.compare_bits(model, net.shape, seed, folder, *options)
    if done.returncode:
        print(f"seed {seed}: {net.shape} {options}\n{done.stdout}{done.stderr}")
    return functions_of_vector_unit(os.path.join(folder, "model.ash")), done.returncode != 0


def check_cycles(folder):
    net = Network([1, 197, 384], 1)
    net.layer("Silu", 1536)
    net.layer("Tanh", 384)
    cheap = os.path.join(folder, "cheap.yaml")
    with open(cheap, "w", encoding="utf-8") as stream:
        stream.write("base: a1\nact:\n  cost_expensive: 1\n  cost_very_expensive: 1\n")
    results = []
    for machine in ("a1", cheap):
        output, report, binary = slopes.run(net, folder, False, 1, f"--machine={machine}")
        results.append(output.tobytes())
        moved = functions_of_vector_unit(binary)
        print(f"{os.path.basename(machine)}: {report['total_cycles']} cycles, "
              f"{moved} vector instructions with a function")
    print("equal bits" if results[0] == results[1] else "bits differ")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("mode", choices=["random", "norms", "cycles"])
    parser.add_argument("--count", type=int, default=16)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        if arguments.mode == "cycles":
            return check_cycles(folder)
        done = [check(arguments.seed + i, folder, arguments.mode == "norms")
                for i in range(arguments.count)]
    moved, differ = (sum(column) for column in zip(*done))
    print(f"{len(done)} networks, {differ} differ; {moved} vector instructions with a function")
    return 0


if __name__ == "__main__":
    sys.exit(main())
