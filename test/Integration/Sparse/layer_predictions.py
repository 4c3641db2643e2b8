#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Plans of the sparse cluster predict the cycles of whole layers.

usage: layer_predictions.py [--latencies=1,2,4] [--mode=tile] [--within=0.05]
                            [--least=N] [--all] [--apart] MODEL...

Before every convolution the map is turned upside down by a copy, so that all of it
is there before its first part is loaded: a plan knows the layer alone. For each
latency of the accumulators the network is compiled and run, and the cycles from
there to the last stored result must be the plan's. Layers are left out whose work
overlaps with that of others on the cluster, or whose parameter records come late; at
least --least are compared in each run. MODEL is a shared network and the share of its
weights that is kept, as in squeezenet1_1@0.1, or `made-up`: pruned layers of many
kinds.

With --apart every convolution is a network of its own, behind one that makes its map:
branches that the program would run next to each other, as those of SqueezeNet's fires,
are compared as well.

In mode `auto` no layer may take more cycles than the dense array is predicted to.
"""

import argparse
import json
import os
import sys
import tempfile

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

import common  # noqa: E402

# Outputs, kernel, stride, dilation, groups, share of the weights that is kept.
LAYERS = [(64, 3, 1, 1, 1, 0.1), (128, 1, 1, 1, 1, 0.05), (96, 3, 2, 1, 1, 0.2),
          (96, 3, 1, 1, 96, 1.0), (40, 5, 1, 1, 1, 0.1), (40, 3, 1, 2, 1, 0.3),
          (128, 1, 2, 1, 1, 0.5), (128, 3, 1, 1, 4, 0.1), (256, 1, 1, 1, 1, 0.02),
          (64, 3, 1, 1, 1, 0.03), (64, 3, 1, 1, 64, 1.0), (128, 3, 1, 1, 1, 0.08)]


def made_up(path):
    """A chain of pruned convolutions on maps from 28 x 28 to 7 x 7."""
    numbers = np.random.default_rng(11)
    nodes, weights, value, channels = [], [], "x", 48
    for i, (outputs, kernel, stride, dilation, groups, density) in enumerate(LAYERS):
        shape = (outputs, channels // groups, kernel, kernel)
        kept = numbers.normal(size=shape) * (numbers.random(shape) < density)
        weights.append(numpy_helper.from_array(kept.astype(np.float32), f"w{i}"))
        pad = (kernel - 1) * dilation // 2
        nodes += [helper.make_node("Conv", [value, f"w{i}"], [f"c{i}"], f"conv{i}",
                                   pads=[pad] * 4, strides=[stride] * 2,
                                   dilations=[dilation] * 2, group=groups),
                  helper.make_node("Relu", [f"c{i}"], [f"r{i}"], f"relu{i}")]
        value, channels = f"r{i}", outputs
    tensor = lambda name, shape: helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)
    graph = helper.make_graph(nodes, "g", [tensor("x", [1, 48, 28, 28])],
                              [tensor(value, None)], weights)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)],
                                ir_version=8), path)

# Cycles for which a bank of the state buffer may hold up an instruction.
BANK_WAIT = 4


def turn_inputs(path):
    """Puts a copy that reverses the rows before each convolution of the file;
    returns the names of convolutions and their copies."""
    model = onnx.load(path)
    graph = model.graph
    given = {value.name for value in graph.input}
    constants = {"back": -1, "first": -(1 << 31), "rows": 2}
    graph.initializer.extend(numpy_helper.from_array(np.array([number], np.int64), name)
                             for name, number in constants.items())
    nodes, turned = [], {}
    for number, node in enumerate(graph.node):
        node.name = node.name or f"{node.op_type}_{number}"
        if node.op_type == "Conv" and node.input[0] not in given:
            copy = turned[node.name] = f"turn_{number}"
            nodes.append(helper.make_node(
                "Slice", [node.input[0], "back", "first", "rows", "back"], [copy], copy))
            node.input[0] = copy
        nodes.append(node)
    del graph.node[:]
    graph.node.extend(nodes)
    onnx.save(model, path)
    return turned


def apart(path, target):
    """Yields the name of each convolution of the model `path` that reads no input of
    it, with `target` a model of that layer, its function, and a convolution that makes
    its map."""
    model = onnx.shape_inference.infer_shapes(onnx.load(path))
    graph = model.graph
    shapes = {value.name: [d.dim_value for d in value.type.tensor_type.shape.dim]
              for value in graph.value_info}
    constants = {tensor.name: tensor for tensor in graph.initializer}
    for number, node in enumerate(graph.node):
        shape = shapes.get(node.input[0]) if node.op_type == "Conv" else None
        if not shape or node.input[1] not in constants:
            continue
        layer = onnx.NodeProto()
        layer.CopyFrom(node)
        layer.name, layer.input[0] = node.name or f"Conv_{number}", "map"
        channels = shape[1]
        ones = numpy_helper.from_array(np.ones((channels, 1, 1, 1), np.float32), "ones")
        nodes = [helper.make_node("Conv", ["given", "ones"], ["made"], "maker", group=channels),
                 helper.make_node("Relu", ["made"], ["map"], "maker_relu"), layer]
        result = layer.output[0]
        for after in graph.node:
            if after.op_type == "Relu" and after.input[0] == result:
                nodes.append(helper.make_node("Relu", [result], ["result"], "relu"))
                result = "result"
                break
        # A reader that takes no queue of copies: the result is a map on the chip.
        nodes.append(helper.make_node("GlobalAveragePool", [result], ["out"], "reader"))
        tensor = lambda name, dims: helper.make_tensor_value_info(name, TensorProto.FLOAT, dims)
        own = helper.make_graph(nodes, "apart", [tensor("given", [1] + shape[1:])],
                                [tensor("out", None)],
                                [ones] + [constants[name] for name in layer.input[1:]])
        onnx.save(helper.make_model(own, opset_imports=model.opset_import,
                                    ir_version=model.ir_version), target)
        yield layer.name


def measure(folder, machine, *options):
    """(compilation's report, run's report, events) of the network."""
    path = lambda name: os.path.join(folder, name)
    common.run_tool("ashlarc", path("m.onnx"), "-o", path("m.ash"), f"--machine={machine}",
                    f"--report={path('c.json')}", *options)
    common.run_tool("ashlar-run", path("m.ash"), "--random-inputs=1", "--quiet",
                    f"--report={path('r.json')}", f"--trace={path('t.json')}")
    found = []
    for name in ("c.json", "r.json", "t.json"):
        with open(path(name), encoding="utf-8") as file:
            found.append(json.load(file))
    events = [e for e in found[2]["traceEvents"]
              if e.get("cat") == "instruction" and "node" in e["args"]]
    return found[0], found[1], events


def kind(event):
    return event["name"].split()[0]


def cycles_alone(events, node, turn):
    """Cycles from the first load, when the whole map is there, to the last result.
    Nothing if other layers take the queues of its loads, the units or the drain before
    its last drain starts; the queue of streams fetches for later ones."""
    own = [e for e in events if e["args"]["node"] == node]
    loads = [e for e in own if kind(e) == "dma.tile"]
    there = max((e["args"]["complete"] for e in events if e["args"]["node"] == turn),
                default=None)
    if not loads or there is None or min(e["ts"] for e in loads) < there:
        return None
    drained = [e for e in own if kind(e) in ("act.drain", "act.pool")]
    # A drain that waited for its records may wait for a bank as well.
    copied = [e["args"]["complete"] for e in own if kind(e) == "dma.copy"]
    if any(0 <= e["ts"] - record < BANK_WAIT for e in drained for record in copied):
        return None
    # Results may be laid out anew after that, which is none of the plan's.
    start, end = min(e["ts"] for e in loads), max(e["args"]["complete"] for e in drained)
    drains = max(e["ts"] for e in drained)
    queues = {e["tid"] for e in loads}
    for event in events:
        if (event["args"]["node"] != node and event["ts"] <= drains and
                event["ts"] + event["dur"] > start and
                (event["tid"] in queues or kind(event) in ("tcc.run", "act.drain", "act.pool"))):
            return None
    return end - start


def compare(folder, model, machine, options, layer=None):
    """(layers compared, failures) of the network in the folder, or of one layer."""
    turned = turn_inputs(os.path.join(folder, "m.onnx"))
    if layer:
        turned = {layer: turned[layer]}
    compiled, _, events = measure(folder, machine, f"--sparse={options.mode}",
                                  "--schedule=off")
    failures, compared = [], 0
    for decision in compiled["decisions"]:
        node = decision.get("node")
        if "plan" not in decision or node not in turned:
            continue
        taken = cycles_alone(events, node, turned[node])
        if taken is None:
            continue
        compared += 1
        predicted = decision["alternatives"][decision["choice"]]
        wrong = abs(predicted / taken - 1) > options.within
        if wrong:
            failures.append(f"{model}: {node} predicted {predicted}, "
                            f"taken {taken}: {decision['plan']}")
        dense = decision["alternatives"]["dense"]
        if options.mode == "auto" and taken > dense:
            failures.append(f"{model}: {node} takes {taken}, the dense array {dense}")
        if wrong or options.all:
            print(f"{node}: predicted {predicted:,}, taken {taken:,} "
                  f"({predicted / taken:.3f})")
    return compared, failures


def check(folder, model, latency, options):
    """Failures of one network on a machine with this latency."""
    path = os.path.join(folder, "m.onnx")
    source = os.path.join(folder, "whole.onnx") if options.apart else path
    if model == "made-up":
        made_up(source)
    else:
        name, _, density = model.partition("@")
        common.run_tool("ashlar-prune", common.model_path(name), "-o", source,
                        f"--density={density}")
    machine = os.path.join(folder, "machine.yaml")
    with open(machine, "w", encoding="utf-8") as file:
        file.write(f"name: priced\nsparse: {{accumulate_latency: {latency}}}\n")
    what = f"{model}, latency {latency}"
    compared, failures = 0, []
    for layer in apart(source, path) if options.apart else [None]:
        count, found = compare(folder, what, machine, options, layer)
        compared += count
        failures += found
    print(f"{what}: {compared} layers, {len(failures)} wrong")
    if compared < options.least:
        failures.append(f"{what}: only {compared} layers compared")
    return failures


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("models", nargs="+")
    parser.add_argument("--latencies", default="1,2,4")
    parser.add_argument("--mode", default="tile")
    parser.add_argument("--within", type=float, default=0.05)
    parser.add_argument("--least", type=int, default=1)
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--apart", action="store_true")
    options = parser.parse_args()
    failures = []
    with tempfile.TemporaryDirectory() as folder:
        for model in options.models:
            for latency in options.latencies.split(","):
                failures += check(folder, model, int(latency), options)
    for failure in failures:
        print(failure)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
