#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Functions that ACT and the vector unit apply side by side, from ONNX to
outputs, instructions and cycles.

usage: shared_functions.py random [--count=N] [--seed=S] [--machine=NAME]
       shared_functions.py table [--machine=NAME]
       shared_functions.py save MODEL.onnx INPUT.npz

`random` draws convolutions of one to three dimensions and matrix products with
a function of several cycles behind each, maybe a residual before it, and
compiles them with --function-engine=drain, shared and auto: outputs are equal
to the bit, and with shared both engines have instructions with a function.
`table` prints the cycles of layers of known networks with each engine; auto
takes no more than the fewest of drain and vector. `save` writes a network of
convolutions with a fold and of several columns of the array, and an input.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

FUNCTIONS = ("Silu", "Gelu", "Sigmoid", "Tanh", "Elu")
NAMES = "swish|gelu|sigmoid|tanh|elu"
ENGINES = ("drain", "vector", "shared", "auto")


def run(*command):
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{' '.join(command)}\n{done.stdout}{done.stderr}")
    return done.stdout


class Network:
    def __init__(self, shape, seed):
        self.numbers = np.random.default_rng(seed)
        self.shape, self.channels = shape, None
        self.nodes, self.constants, self.last = [], [], "x"

    def emit(self, kind, *inputs, **attributes):
        name = f"t{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, inputs, [name], name=name, **attributes))
        self.last = name
        return name

    def constant(self, shape, scale):
        name = f"c{len(self.constants)}"
        values = (self.numbers.standard_normal(shape) * scale).astype(np.float32)
        self.constants.append(numpy_helper.from_array(values, name))
        return name

    def function(self, kind):
        if kind == "Silu":
            self.emit("Mul", self.last, self.emit("Sigmoid", self.last))
        else:
            self.emit(kind, self.last)

    def conv(self, inputs, outputs, kernel, function, stride=1, group=1, residual=False):
        rank = len(self.shape) - 2
        before = self.last
        weights = self.constant([outputs, inputs // group] + [kernel] * rank,
                                1.5 / np.sqrt(inputs // group * kernel ** rank))
        self.emit("Conv", before, weights, self.constant([outputs], 0.2),
                  pads=[kernel // 2] * 2 * rank, strides=[stride] * rank, group=group)
        if residual and inputs == outputs and stride == 1:
            self.emit("Add", self.last, before)
        self.function(function)

    def product(self, inputs, outputs, function, residual=False):
        before = self.last
        self.emit("MatMul", before, self.constant([inputs, outputs], 1.5 / np.sqrt(inputs)))
        self.emit("Add", self.last, self.constant([outputs], 0.2))
        if residual and inputs == outputs:
            self.emit("Add", self.last, before)
        self.function(function)

    def save(self, path):
        graph = helper.make_graph(
            self.nodes, "functions",
            [helper.make_tensor_value_info("x", TensorProto.FLOAT, self.shape)],
            [helper.make_tensor_value_info(self.last, TensorProto.FLOAT, None)], self.constants)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)])
        onnx.save(onnx.shape_inference.infer_shapes(model), path)


def draw(seed):
    """A network, and a format."""
    numbers = np.random.default_rng(seed)
    pick = lambda *values: values[numbers.integers(len(values))]  # noqa: E731
    form = pick("bfp8", "bfp8", "bfp16", "w=6,block=16", "w=8,block=8")
    channels = int(pick(8, 24, 64, 64, 96, 128, 200))
    if numbers.random() < 0.35:
        shape = [int(pick(1, 1, 2)), int(pick(5, 33, 99, 700)), channels]
        net = Network(shape[1 - int(pick(0, 0, 1)):], seed)
        for _ in range(2):
            outputs = int(pick(40, channels, 130, 256))
            net.product(channels, outputs, pick(*FUNCTIONS), bool(pick(True, False)))
            channels = outputs
        return net, form
    rank = int(pick(2, 2, 2, 2, 1, 3))
    most = {1: 600, 2: 30, 3: 10}[rank]
    net = Network([int(pick(1, 1, 2)), channels]
                  + [int(numbers.integers(4, most)) for _ in range(rank)], seed)
    for _ in range(2):
        outputs = int(pick(channels, channels, 64, 72, 128, 192))
        group = int(pick(1, 1, 1, 1, 2, 4))
        net.conv(channels, outputs, int(pick(1, 1, 3)), pick(*FUNCTIONS), int(pick(1, 1, 1, 2)),
                 group if channels % group == 0 and outputs % group == 0 else 1,
                 bool(pick(True, False)))
        channels = outputs
    return net, form


def compile_with(engine, model, folder, options):
    """(cycles, drains and vector instructions with a function)."""
    program, report = os.path.join(folder, engine + ".ash"), os.path.join(folder, "report.json")
    run("ashlarc", model, "-o", program, f"--function-engine={engine}", *options)
    expected = os.path.join(folder, "drain.npz")
    run("ashlar-run", program, "--random-inputs=1", f"--report={report}",
        f"--outputs={expected}" if engine == "drain" else f"--expect={expected}")
    with open(report, encoding="utf-8") as file:
        cycles = json.load(file)["total_cycles"]
    text = run("ashlar-dis", program)
    return cycles, tuple(len(re.findall(rf"^.*{name} .*\b(?:op|function)=(?:{NAMES})\b.*$", text,
                                        re.M)) for name in ("act.drain", "vec.map"))


def check_random(count, first, machine):
    shared = on_both = 0
    for seed in range(first, first + count):
        net, form = draw(seed)
        with tempfile.TemporaryDirectory() as folder:
            model = os.path.join(folder, "model.onnx")
            net.save(model)
            options = (f"--format={form}", f"--machine={machine}")
            for engine in ("drain", "shared", "auto"):
                drains, maps = compile_with(engine, model, folder, options)[1]
                shared += engine == "shared" and maps > 0
                on_both += engine == "shared" and maps > 0 and drains > 0
    print(f"{count} networks, {shared} with shares, {on_both} with functions on both engines, "
          f"bits equal")


def layers():
    """Layers of known networks, by name."""
    def conv(channels, side, kernel, function, count=3, **rest):
        net = Network([1, channels, side, side], 1)
        for _ in range(count):
            net.conv(channels, channels, kernel, function, **rest)
        return net

    def product(tokens, width, wide, function):
        net = Network([1, tokens, width], 1)
        net.product(width, wide, function)
        net.product(wide, width, function)
        return net

    return (("YOLO: 3 x 3, 64 channels of 80 x 80, SiLU", conv(64, 80, 3, "Silu")),
            ("YOLO: 3 x 3, 128 channels of 40 x 40, SiLU", conv(128, 40, 3, "Silu")),
            ("YOLO: 1 x 1, 128 channels of 40 x 40, SiLU", conv(128, 40, 1, "Silu")),
            ("YOLO: 3 x 3, 256 channels of 20 x 20, SiLU", conv(256, 20, 3, "Silu")),
            ("ConvNeXt: 1 x 1, 96 channels of 28 x 28, GELU, residual",
             conv(96, 28, 1, "Gelu", residual=True)),
            ("keyword transformer: 99 x 64 to 256 and back, GELU", product(99, 64, 256, "Gelu")),
            ("ViT-S: 197 x 384 to 1536 and back, GELU", product(197, 384, 1536, "Gelu")))


def table(machine):
    print(f"| layers | {' | '.join(ENGINES)} |\n|{'---|' * (len(ENGINES) + 1)}")
    for name, net in layers():
        with tempfile.TemporaryDirectory() as folder:
            model = os.path.join(folder, "model.onnx")
            net.save(model)
            options = ("--sparse=off", f"--machine={machine}")
            cycles = {engine: compile_with(engine, model, folder, options)[0] for engine in ENGINES}
        print(f"| {name} | " + " | ".join(f"{cycles[engine]:,}" for engine in ENGINES) + " |",
              flush=True)
        if cycles["auto"] > 1.005 * min(cycles["drain"], cycles["vector"]):
            sys.exit(f"{name}: {cycles}")


def save(model, inputs):
    net = Network([1, 64, 26, 26], 1)
    net.conv(64, 64, 3, "Silu")
    net.conv(64, 160, 1, "Gelu")
    net.save(model)
    np.savez(inputs, x=net.numbers.standard_normal(net.shape).astype(np.float32))


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("mode", choices=["random", "table", "save"])
    parser.add_argument("files", nargs="*")
    parser.add_argument("--count", type=int, default=12)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--machine", default="a1")
    arguments = parser.parse_args()
    if arguments.mode == "table":
        table(arguments.machine)
    elif arguments.mode == "save":
        save(*arguments.files)
    else:
        check_random(arguments.count, arguments.seed, arguments.machine)
    return 0


if __name__ == "__main__":
    sys.exit(main())
