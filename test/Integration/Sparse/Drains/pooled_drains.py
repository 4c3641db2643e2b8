#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Drains of the sparse cluster that pool (act.pool), from ONNX to outputs and cycles.

usage: pooled_drains.py [MODEL.onnx]... [--table] [--random=FIRST:END] [--machine=NAME]
                        [--sparse=MODE] [--density=D]
       pooled_drains.py --save=MODEL.onnx [--seed=N]

Convolutions with a maximum behind them (those of Pooling/pool_drain.py, and two that are
joined along channels), or the networks named, compiled with --pool-drain=off, on and
auto. Outputs are equal to the bit; with off no drain pools, with on those of layers that
can; auto takes no more cycles than off. The steps of every act.pool are counted again
from its windows, one by one, and compared with the cycles of ACT. --random draws layers,
formats, paddings, strides and batches; --density prunes the weights; --save writes the
layer that seed N draws, without it the joined one.
"""

import argparse
import collections
import os
import re
import sys
import tempfile

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "Pooling"))
from pool_drain import MODES, Layer, in_each_mode, run  # noqa: E402

LANES = {"a1": 64, "a1-edge": 32, "a1-tiny": 4}


class Joined:
    """Two convolutions of one map, joined along channels in front of a maximum."""

    def __init__(self, name, shape, outputs, window=(3, 3), steps=(2, 2), form="bfp8"):
        self.__dict__.update(locals())
        self.pools = True

    def save(self, path, seed=1):
        numbers = np.random.default_rng(seed)
        nodes, weights, made = [], [], []
        for kernel, outputs in zip((1, 3), self.outputs):
            name = f"expand{kernel}"
            values = numbers.standard_normal((outputs, self.shape[1], kernel, kernel)) / kernel
            weights.append(numpy_helper.from_array(values.astype(np.float32), name + "_w"))
            nodes.append(helper.make_node("Conv", ["x", name + "_w"], [name], name=name,
                                          pads=[kernel // 2] * 4))
            nodes.append(helper.make_node("Relu", [name], [name + "_r"], name=name + "_r"))
            made.append(name + "_r")
        nodes.append(helper.make_node("Concat", made, ["joined"], name="joined", axis=1))
        nodes.append(helper.make_node("MaxPool", ["joined"], ["pooled"], name="pooled",
                                      kernel_shape=self.window, strides=self.steps))
        last = numbers.standard_normal((16, sum(self.outputs), 1, 1)).astype(np.float32)
        weights.append(numpy_helper.from_array(last, "reader_w"))
        nodes.append(helper.make_node("Conv", ["pooled", "reader_w"], ["reader"], name="reader"))
        graph = helper.make_graph(
            nodes, "joined", [helper.make_tensor_value_info("x", TensorProto.FLOAT, self.shape)],
            [helper.make_tensor_value_info("reader", TensorProto.FLOAT, None)], weights)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)])
        onnx.save(onnx.shape_inference.infer_shapes(model), path)


JOINED = Joined("two joined maps", [1, 16, 31, 29], (32, 48))
LAYERS = (
    Layer("2 x 2 behind 3 x 3", [1, 64, 56, 56], 64),
    Layer("3 x 3 by 2, padded", [1, 8, 57, 56], 64, window=(3, 3), steps=(2, 2),
          pool_pads=(1, 1, 1, 1)),
    Layer("two images, three columns", [2, 32, 28, 28], 136, window=(3, 2), steps=(2, 1)),
    Layer("depthwise", [1, 64, 28, 28], 64, group=64),
    Layer("strides, bfp16", [1, 16, 41, 40], 40, strides=(2, 2), function="", form="bfp16"),
    Layer("integers", [1, 16, 24, 24], 32, integers=True, window=(3, 3), steps=(2, 2)),
    Layer("steps beyond the window", [1, 16, 24, 24], 32, window=(2, 2), steps=(3, 3)),
    JOINED,
)


def random_layer(seed):
    numbers = np.random.default_rng(seed)
    pick = lambda *values: values[numbers.integers(len(values))]  # noqa: E731
    size = int(numbers.integers(6, 40))
    if numbers.random() < 0.2:
        return Joined(f"random {seed}", [1, int(pick(16, 40)), size, size + 3],
                      (int(pick(16, 64)), int(pick(16, 48, 80))))
    steps = (int(numbers.integers(1, 4)), int(numbers.integers(1, 4)))
    window = tuple(int(numbers.integers(1, 2 * step + 1)) for step in steps)
    pads = [int(numbers.integers(0, (w + 1) // 2)) for w in window + window]
    return Layer(f"random {seed}", [int(pick(1, 1, 2, 3)), int(pick(3, 8, 16, 40)), size,
                                    size + int(pick(0, 1, 5))],
                 int(pick(8, 24, 64, 72, 136)), kernel=int(pick(1, 3)),
                 strides=(int(pick(1, 1, 2)),) * 2,
                 function=pick("", "Relu", "Sigmoid", "LeakyRelu"), window=window, steps=steps,
                 pool_pads=pads, ceil=int(pick(0, 1)), reader=bool(pick(True, True, False)),
                 integers=bool(pick(False, False, False, True)),
                 form=pick("bfp8", "bfp8", "bfp16", "w=5"))


def ends(entries, results, kernel, step, pad):
    """Windows that end with each position of an axis."""
    return collections.Counter(min(i * step - pad + kernel - 1, entries - 1)
                               for i in range(results))


def steps_of(fields):
    """Steps of ACT for the lanes of an act.pool."""
    at = lambda name, default=1: int(fields.get(name, default))  # noqa: E731
    rows = ends(at("inH"), at("outH"), at("kH"), at("sH"), at("pH", 0))
    columns = ends(at("inW"), at("outW"), at("kW"), at("sW"), at("pW", 0))
    return sum(max(rows[y] * columns[x], 1) for y in range(at("inH")) for x in range(at("inW")))


def pools_of(text):
    return [dict(re.findall(r"(\w+)=(\S+)", line))
            for line in re.findall(r"^.*\bact\.pool\b.*$", text, re.M)]


def measure(layer, model, folder, options, form, table):
    """(cycles by mode, pools in drains by mode, reports by mode)."""
    found = in_each_mode(model, folder, options, form)
    reports = {mode: report for mode, (_, report) in found.items()}
    cycles = {mode: report["total_cycles"] for mode, report in reports.items()}
    pools = {mode: pools_of(text) for mode, (text, _) in found.items()}
    if pools["off"] or cycles["auto"] > cycles["off"]:
        sys.exit(f"{layer}: cycles {cycles}, {len(pools['off'])} drains pool with off")
    if table:
        print("| " + " | ".join([layer] + [f"{cycles[mode]:,}" for mode in MODES]
                                + [f"{len(pools['on'])}"]) + " |", flush=True)
    return cycles, pools, reports


def check_steps(pools, report, lanes):
    """Where all drains pool and no function is slow, the cycles of ACT."""
    nodes = {node["name"]: node for node in report["nodes"]}
    if "product" not in nodes:
        return 0
    expected = sum(steps_of(pool) * -(-int(pool.get("cols", 1)) // lanes) for pool in pools)
    found = nodes["product"]["busy"].get("act", 0)
    if found != expected:
        sys.exit(f"act.pool takes {found} cycles of ACT, its windows {expected}")
    return 1


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*")
    parser.add_argument("--table", action="store_true")
    parser.add_argument("--random")
    parser.add_argument("--machine", default="a1")
    parser.add_argument("--sparse", default="tile")
    parser.add_argument("--density")
    parser.add_argument("--save")
    parser.add_argument("--seed", type=int)
    arguments = parser.parse_args()
    if arguments.save:
        layer = JOINED if arguments.seed is None else random_layer(arguments.seed)
        return layer.save(arguments.save)
    layers = LAYERS
    if arguments.random:
        first, end = (int(number) for number in arguments.random.split(":"))
        layers = [random_layer(seed) for seed in range(first, end)]
    pooled = faster = checked = 0
    with tempfile.TemporaryDirectory() as folder:
        options = [f"--machine={arguments.machine}", f"--sparse={arguments.sparse}"]
        model = os.path.join(folder, "model.onnx")
        for layer in arguments.models or layers:
            named = isinstance(layer, str)
            if named:
                source = layer
            else:
                source = os.path.join(folder, "drawn.onnx")
                layer.save(source)
            pruned = arguments.density and not getattr(layer, "integers", False)
            if pruned:
                run("ashlar-prune", source, "-o", model, f"--density={arguments.density}")
            name = os.path.basename(layer) if named else layer.name
            cycles, pools, reports = measure(name, model if pruned else source, folder,
                                             options, "bfp8" if named else layer.form,
                                             arguments.table)
            pooled += bool(pools["on"])
            faster += cycles["auto"] < cycles["off"]
            if pools["on"] and not named and getattr(layer, "function", "Sigmoid") in ("", "Relu"):
                lanes = LANES[arguments.machine]
                checked += check_steps(pools["on"], reports["on"], lanes)
            if layer in LAYERS and arguments.machine == "a1" and not pools["on"]:
                sys.exit(f"{name}: no drain pools")
    print(f"{len(arguments.models or layers)} layers, drains of {pooled} pool, {faster} faster, "
          f"steps of {checked} counted again, bits equal")
    return None


if __name__ == "__main__":
    main()
