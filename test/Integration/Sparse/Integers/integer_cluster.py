#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Integer networks in QDQ form on the sparse cluster, from ONNX to cycles.

Random networks compiled with --sparse=off, tile, tile with --zero-skip=off and with
--sparse-bias=sums: outputs equal to the bit. Then a network with a tenth of its weights: the cluster
is chosen by itself, and its cycles and bytes are printed with those of the array."""

import argparse
import os
import re
import subprocess
import sys
import tempfile

import numpy as np
import onnx
from onnx import numpy_helper

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "Channels"))
import pruned_channels  # noqa: E402


def run(*command):
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{' '.join(command)}: exit code {done.returncode}\n{done.stderr}")
    return done.stdout


def execute(model, inputs, *options, expect=None):
    """Cycles of a program whose outputs are those of `expect`, and its coefficients runs."""
    program = model[:-5] + ".ash"
    run("ashlarc", model, "-o", program, *options)
    outputs = [f"--expect={expect}"] if expect else [f"--outputs={model[:-5]}.npz"]
    text = run("ashlar-run", program, f"--inputs={inputs}", *outputs)
    runs = re.findall(r"^.*tcc\.run.*$", run("ashlar-dis", program), re.M)
    return int(re.search(r"([\d,]+) cycles", text).group(1).replace(",", "")), runs


def sample(model, seed, folder):
    shape = [d.dim_value for d in onnx.load(model).graph.input[0].type.tensor_type.shape.dim]
    path = os.path.join(folder, "x.npz")
    np.savez(path, x=np.random.default_rng(seed).normal(size=shape).astype(np.float32))
    return path


def with_zero_points(model, seed):
    """Weights as unsigned bytes with a zero point, as some quantisers write them."""
    network = onnx.load(model)
    zero = np.random.default_rng(seed).integers(100, 156)
    for constant in network.graph.initializer:
        array = numpy_helper.to_array(constant)
        if array.dtype == np.int8:
            array = (array.astype(np.int16) + zero).clip(0, 255).astype(np.uint8)
            constant.CopyFrom(numpy_helper.from_array(array, constant.name))
    onnx.save(network, model)


def random_networks(first, end, folder):
    on_units = 0
    for seed in range(first, end):
        model = os.path.join(folder, f"n{seed}.onnx")
        pruned_channels.Network(seed, integers=True).build(model)
        if seed % 2:
            with_zero_points(model, seed)
        inputs = sample(model, seed + 1, folder)
        execute(model, inputs, "--sparse=off")
        for more in ([], ["--zero-skip=off"], ["--machine=a1-tiny"], ["--sparse-bias=sums"],
                     ["--sparse-bias=sums", "--machine=a1-tiny"]):
            _, runs = execute(model, inputs, "--sparse=tile", *more, expect=model[:-5] + ".npz")
            on_units += len(runs)
            if any("mode=int" not in text for text in runs):
                sys.exit(f"seed {seed}: a run that is not of integers")
    print(f"{end - first} networks on array and cluster: equal bits, {on_units} runs of integers")


class Chain(pruned_channels.Network):
    """Convolutions of 64 channels with few weights, none of the channels dead."""

    def pruned(self, outputs, inputs, kernel):
        weights = self.rng.integers(1, 101, (outputs, inputs, *kernel)).astype(np.int8)
        weights[self.rng.random(weights.shape) >= 0.1] = 0
        return weights

    def build(self, path):
        x = self.qdq("x", 2.0 ** -6, 128)
        for _ in range(3):
            x = self.qconv(x, 64, 64)
        pruned_channels.save(self, path, x, [1, 64, 30, 30])


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", default="0:6", help="FIRST:END")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        random_networks(*map(int, arguments.seeds.split(":")), folder)
        model = os.path.join(folder, "chain.onnx")
        Chain(5, integers=True).build(model)
        inputs = sample(model, 1, folder)
        array, none = execute(model, inputs, "--sparse=off")
        issued, _ = execute(model, inputs, "--sparse=tile", "--zero-skip=off",
                            expect=model[:-5] + ".npz")
        cluster, runs = execute(model, inputs, expect=model[:-5] + ".npz")
        print(f"a tenth of the weights: array {array} cycles, cluster {cluster}, "
              f"with zeros issued {issued}, {len(runs)} runs")
        print(runs[0].strip() if runs else "no runs")
        if none or not runs or cluster * 1.5 > array or cluster * 2 > issued:
            sys.exit("nothing gained")


if __name__ == "__main__":
    main()
