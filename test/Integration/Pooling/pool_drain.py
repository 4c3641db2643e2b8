#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Pools that drain PSUM (vec.drain), from ONNX to outputs and cycles.

usage: pool_drain.py [MODEL.onnx]... [--table] [--random=FIRST:END] [--machine=NAME]
                     [--sparse=MODE] [--pack-rows=MODE]
       pool_drain.py --save=MODEL.onnx

Convolutions with a pool behind them, or the networks named, compiled with
--pool-drain=off, on and auto for a machine whose vector unit reads PSUM
(vec.psum_lanes). Outputs are equal to the bit; with off no instruction drains
to the vector unit, with on at least one does, auto takes no more cycles than off.
--random does the same with random layers, formats, paddings, strides and batches.
--table prints a row of cycles for each and for some more, --save writes the layer whose map fills the
state buffer.
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

MODES = ("off", "on", "auto")


def run(*command):
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{' '.join(command)}\n{done.stdout}{done.stderr}")
    return done.stdout


class Layer:
    """A convolution, a function, a pool, and maybe a convolution that reads it."""

    def __init__(self, name, shape, outputs, kernel=3, pads=(1, 1, 1, 1), strides=(1, 1), group=1,
                 function="Relu", pool="MaxPool", window=(2, 2), steps=(2, 2),
                 pool_pads=(0, 0, 0, 0), include=0, ceil=0, dilations=(1, 1), reader=True,
                 integers=False, form="bfp8"):
        self.__dict__.update(locals())
        del self.__dict__["self"]

    def save(self, path, seed=1):
        numbers = np.random.default_rng(seed)
        nodes, weights = [], []

        def constant(name, values):
            weights.append(numpy_helper.from_array(values, name))
            return name

        def conv(name, x, inputs, outputs, kernel, **attributes):
            values = numbers.standard_normal((outputs, inputs, kernel, kernel)) / kernel
            bias = numbers.standard_normal(outputs)
            weight = constant(name + "_w", values.astype(np.float32))
            if self.integers:
                scale = constant(name + "_ws", np.float32(0.02))
                weights[-2] = numpy_helper.from_array(
                    np.clip(np.rint(values / 0.02), -127, 127).astype(np.int8), weight)
                zero = constant(name + "_wz", np.int8(0))
                nodes.append(helper.make_node("DequantizeLinear", [weight, scale, zero],
                                              [name + "_wd"]))
                sums = constant(name + "_bs", np.float32(0.05) * np.float32(0.02))
                none = constant(name + "_bz", np.int32(0))
                whole = constant(name + "_bi", np.rint(bias / 0.001).astype(np.int32))
                nodes.append(helper.make_node("DequantizeLinear", [whole, sums, none],
                                              [name + "_bd"]))
                nodes.append(helper.make_node("Conv", [x, name + "_wd", name + "_bd"], [name],
                                              name=name, **attributes))
                return name
            nodes.append(helper.make_node(
                "Conv", [x, weight, constant(name + "_b", bias.astype(np.float32))], [name],
                name=name, **attributes))
            return name

        def quantised(x):
            """x through bytes, as exporters of integer networks write it."""
            if not self.integers:
                return x
            scale = constant(x + "_scale", np.float32(0.05))
            zero = constant(x + "_zero", np.int8(3))
            nodes.append(helper.make_node("QuantizeLinear", [x, scale, zero], [x + "_q"]))
            nodes.append(helper.make_node("DequantizeLinear", [x + "_q", scale, zero],
                                          [x + "_d"]))
            return x + "_d"

        last = conv("product", quantised("x"), self.shape[1] // self.group, self.outputs, self.kernel,
                    pads=self.pads, strides=self.strides, group=self.group)
        if self.function:
            nodes.append(helper.make_node(self.function, [last], ["made"], name="made"))
            last = "made"
        last = quantised(last)
        attributes = {"kernel_shape": self.window, "strides": self.steps, "pads": self.pool_pads,
                      "ceil_mode": self.ceil}
        if self.pool == "MaxPool":
            attributes["dilations"] = self.dilations
        else:
            attributes["count_include_pad"] = self.include
        nodes.append(helper.make_node(self.pool, [last], ["pooled"], name="pooled", **attributes))
        last = quantised("pooled")
        if self.reader:
            last = conv("reader", last, self.outputs, 16, 1)
        graph = helper.make_graph(
            nodes, "pooled",
            [helper.make_tensor_value_info("x", TensorProto.FLOAT, self.shape)],
            [helper.make_tensor_value_info(last, TensorProto.FLOAT, None)], weights)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)])
        model = onnx.shape_inference.infer_shapes(model)
        onnx.save(model, path)


LAYERS = (
    Layer("2 x 2 behind 3 x 3", [1, 64, 56, 56], 64),
    Layer("3 x 3 by 2 of a large map", [1, 3, 112, 112], 64, window=(3, 3), steps=(2, 2),
          pool_pads=(1, 1, 1, 1), strides=(2, 2)),
    Layer("mean, two images, two columns", [2, 32, 28, 28], 96, pool="AveragePool",
          pool_pads=(1, 0, 0, 1), include=1),
    Layer("a map for each window", [1, 16, 40, 40], 130, window=(3, 2), steps=(3, 1),
          pool_pads=(1, 0, 1, 0), dilations=(1, 2), ceil=1, function="", form="bfp16"),
    Layer("floats, no reader", [1, 32, 20, 20], 48, window=(3, 3), steps=(1, 1),
          function="LeakyRelu", reader=False),
    Layer("depthwise", [1, 64, 28, 28], 64, group=64),
    Layer("map that fills the memory", [1, 64, 112, 112], 64, kernel=1, pads=(0, 0, 0, 0),
          reader=False),
    Layer("integers", [1, 16, 24, 24], 32, integers=True),
)
# For tables alone.
MORE = (
    Layer("map larger than its memory", [1, 8, 224, 224], 64),
    Layer("small map", [1, 64, 16, 16], 64),
    Layer("mean of 2 x 2 behind 1 x 1", [1, 64, 56, 56], 64, kernel=1, pads=(0, 0, 0, 0),
          pool="AveragePool"),
)


def random_layer(seed):
    numbers = np.random.default_rng(seed)
    pick = lambda *values: values[numbers.integers(len(values))]  # noqa: E731
    size = int(numbers.integers(6, 34))
    inputs, outputs = int(pick(3, 8, 16, 40)), int(pick(8, 24, 64, 72, 136))
    window = (int(numbers.integers(1, 4)), int(numbers.integers(1, 4)))
    steps = (int(numbers.integers(1, window[0] + 1)), int(numbers.integers(1, 4)))
    pads = [int(numbers.integers(0, (w + 1) // 2)) for w in window + window]
    return Layer(f"random {seed}", [int(pick(1, 1, 2, 3)), inputs, size, size + int(pick(0, 1, 5))],
                 outputs, kernel=int(pick(1, 3)), strides=(int(pick(1, 1, 2)),) * 2,
                 function=pick("", "Relu", "Sigmoid", "LeakyRelu"),
                 pool=pick("MaxPool", "MaxPool", "AveragePool"), window=window, steps=steps,
                 pool_pads=pads, include=int(pick(0, 1)), ceil=int(pick(0, 1)),
                 reader=bool(pick(True, True, False)), integers=bool(pick(False, False, False, True)),
                 form=pick("bfp8", "bfp8", "bfp16", "w=5"))


def machine_of(folder, base):
    path = os.path.join(folder, "machine.yaml")
    with open(path, "w", encoding="utf-8") as file:
        file.write(f"name: {base}-pooling\nbase: {base}\nvec: {{psum_lanes: 64}}\n")
    return path


def in_each_mode(model, folder, options, form):
    """{mode: (disassembly, report)}; the outputs are those of off."""
    found = {}
    expected = os.path.join(folder, "off.npz")
    for mode in MODES:
        program, report = os.path.join(folder, mode + ".ash"), os.path.join(folder, "report.json")
        run("ashlarc", model, "-o", program, f"--pool-drain={mode}", f"--format={form}", *options)
        check = f"--outputs={expected}" if mode == "off" else f"--expect={expected}"
        run("ashlar-run", program, "--random-inputs=1", check, f"--report={report}")
        with open(report, encoding="utf-8") as file:
            found[mode] = (run("ashlar-dis", program), json.load(file))
    return found


def measure(name, model, folder, options, form, table):
    """(cycles by mode, pools in drains by mode)."""
    found = in_each_mode(model, folder, options, form)
    cycles = {mode: report["total_cycles"] for mode, (_, report) in found.items()}
    drains = {mode: len(re.findall(r"^.*vec\.drain.*$", text, re.M))
              for mode, (text, _) in found.items()}
    if drains["off"] or cycles["auto"] > cycles["off"]:
        sys.exit(f"{name}: cycles {cycles}, drains of the vector unit {drains}")
    if table:
        print("| " + " | ".join([name] + [f"{cycles[mode]:,}" for mode in MODES]
                                + [f"{drains['on']}"]) + " |", flush=True)
    return cycles, drains


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*")
    parser.add_argument("--table", action="store_true")
    parser.add_argument("--random")
    parser.add_argument("--machine", default="a1")
    parser.add_argument("--sparse", default="off")
    parser.add_argument("--pack-rows", default="auto")
    parser.add_argument("--save")
    arguments = parser.parse_args()
    if arguments.save:
        return next(layer for layer in LAYERS if layer.name.startswith("map that")).save(
            arguments.save)
    with tempfile.TemporaryDirectory() as folder:
        options = [f"--machine={machine_of(folder, arguments.machine)}",
                   f"--sparse={arguments.sparse}", f"--pack-rows={arguments.pack_rows}"]
        if arguments.models:
            for model in arguments.models:
                measure(os.path.basename(model), model, folder, options, "bfp8", arguments.table)
            return None
        layers = LAYERS + (MORE if arguments.table else ())
        if arguments.random:
            first, end = (int(number) for number in arguments.random.split(":"))
            layers = [random_layer(seed) for seed in range(first, end)]
        pooled = faster = 0
        for layer in layers:
            model = os.path.join(folder, "model.onnx")
            layer.save(model)
            cycles, drains = measure(layer.name, model, folder, options, layer.form,
                                     arguments.table)
            pooled += drains["on"] > 0
            faster += cycles["auto"] < cycles["off"]
            if layer in LAYERS and arguments.machine == "a1" and not drains["on"]:
                sys.exit(f"{layer.name}: no pool drains PSUM")
        print(f"{len(layers)} layers, {pooled} pools drain PSUM, {faster} faster, bits equal")
    return None


if __name__ == "__main__":
    main()
