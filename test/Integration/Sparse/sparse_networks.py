#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random pruned networks on the sparse cluster against the dense array.

usage: sparse_networks.py [--seeds=0:20] [--seconds=N] [--keep=DIR] [--verbose]

A seed decides a network of convolutions (all-zero weights, channels and kernels;
groups and depthwise; strides, dilations, asymmetric pads larger than kernels;
extents of one; branches that are added or joined; pools; several outputs), the
options of the sparse cluster and a machine. The same network is compiled with
--sparse=off. Fails if

- an output differs in one bit,
- the loader refuses what the compiler wrote, or a tool ends in any other way than
  by saying what does not fit (exit codes 2, 3 and 5, counted),
- --sparse=auto refuses what --sparse=off compiles,
- a decision of the report does not describe the program that was written.
"""

import json
import os
import random
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

import random_machines  # noqa: E402
import seed_sweep  # noqa: E402

EXTENTS = [1, 1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 14, 16, 19, 25, 33]
CHANNELS = [1, 2, 3, 4, 5, 7, 8, 12, 16, 17, 20, 24, 32, 40]


class Network:
    """A graph that grows node by node; every feature map has a known shape."""

    def __init__(self, draw):
        self.draw = draw
        self.numbers = np.random.default_rng(draw.randrange(1 << 30))
        self.spatial = draw.choice([1, 2, 2, 2])
        self.nodes, self.inits, self.maps = [], [], {}
        shape = [draw.choice([1, 1, 1, 2, 3]), draw.choice(CHANNELS)]
        self.shape = shape + [draw.choice(EXTENTS) for _ in range(self.spatial)]
        self.maps["x"] = self.shape

    def add(self, op, inputs, shape, **attributes):
        name = f"{op.lower()}{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, inputs, [name], name, **attributes))
        self.maps[name] = list(shape)
        return name

    def constant(self, array):
        name = f"w{len(self.inits)}"
        self.inits.append(numpy_helper.from_array(array.astype(np.float32), name))
        return name

    def weights(self, shape):
        draw, numbers = self.draw, self.numbers
        values = numbers.normal(size=shape)
        density = draw.choice([0.02, 0.1, 0.1, 0.3, 0.6, 1.0])
        values *= numbers.random(shape) < density
        for axis in (0, 1):
            if draw.random() < 0.3:
                dead = numbers.random(shape[axis]) < draw.choice([0.2, 0.5, 0.8])
                values[(slice(None),) * axis + (dead,)] = 0
        if draw.random() < 0.08:
            values[:] = 0
        return values

    def windows(self, extents, depthwise):
        """Kernel, strides, dilations, pads and result of a convolution, or None."""
        draw, axes = self.draw, []
        for extent in extents:
            kernel = draw.choice([1, 1, 2, 3, 3, 3, 4, 5, 7] if not depthwise else [2, 3, 3, 5])
            stride, dilation = draw.choice([1, 1, 1, 2, 2, 3, 4]), draw.choice([1, 1, 1, 2, 3])
            style = draw.random()
            if style < 0.4:
                pads = [(kernel - 1) * dilation // 2] * 2
            elif style < 0.8:
                pads = [draw.randrange(kernel + 1), draw.randrange(kernel + 1)]
            else:  # larger than the kernel
                span = kernel * dilation
                pads = [draw.randrange(2 * span + 4), draw.randrange(span + 4)]
            out = (extent + sum(pads) - (kernel - 1) * dilation - 1) // stride + 1
            if out < 1 or out > 40:
                return None
            axes.append((kernel, stride, dilation, pads[0], pads[1], out))
        return list(zip(*axes))

    def convolution(self, source, outputs=None):
        draw = self.draw
        images, channels, *extents = self.maps[source]
        kind = draw.random()
        depthwise = kind < 0.2
        groups = channels if depthwise else 1
        if 0.2 <= kind < 0.4:
            groups = draw.choice([g for g in range(1, channels + 1) if channels % g == 0])
        if outputs is None:
            outputs = groups * draw.choice([1, 1, 2, 3, 5] if groups > 1 else CHANNELS)
        if outputs % groups or outputs > 80:
            groups, outputs = 1, min(outputs, 80)
        found = None
        while found is None:
            found = self.windows(extents, depthwise)
        kernel, strides, dilations, before, after, out = found
        inputs = [source, self.constant(self.weights([outputs, channels // groups, *kernel]))]
        if draw.random() < 0.6:
            inputs.append(self.constant(self.numbers.normal(size=outputs)))
        return self.add("Conv", inputs, [images, outputs, *out], kernel_shape=kernel,
                        strides=strides, dilations=dilations, pads=[*before, *after], group=groups)

    def function(self, source):
        op = self.draw.choice(["Relu"] * 5 + ["LeakyRelu", "HardSigmoid", "Sigmoid"])
        return self.add(op, [source], self.maps[source])

    def pool(self, source):
        images, channels, *extents = self.maps[source]
        if min(extents) < 2:
            return source
        out = [e // 2 for e in extents]
        return self.add(self.draw.choice(["MaxPool", "AveragePool"]), [source],
                        [images, channels, *out], kernel_shape=[2] * len(extents),
                        strides=[2] * len(extents))

    def join(self):
        """Adds or concatenates two feature maps of equal extents, if there are any."""
        pairs = [(a, b) for a in self.maps for b in self.maps if a < b and
                 self.maps[a][2:] == self.maps[b][2:] and "x" not in (a, b)]
        if not pairs:
            return None
        a, b = self.draw.choice(pairs)
        if self.maps[a] == self.maps[b] and self.draw.random() < 0.7:
            return self.add("Add", [a, b], self.maps[a])
        shape = list(self.maps[a])
        shape[1] += self.maps[b][1]
        return self.add("Concat", [a, b], shape, axis=1) if shape[1] <= 80 else None

    def build(self):
        draw, last = self.draw, "x"
        if draw.random() < 0.3:
            last = self.function(last)
        for _ in range(draw.choice([1, 1, 2, 3, 4, 5])):
            source = last if draw.random() < 0.75 else draw.choice(list(self.maps))
            outputs = None
            if draw.random() < 0.15:  # of the shape of another map's channels
                outputs = self.maps[draw.choice(list(self.maps))][1]
            last = self.convolution(source, outputs)
            if draw.random() < 0.6:
                last = self.function(last)
            if draw.random() < 0.15:
                last = self.pool(last)
            if draw.random() < 0.35:
                last = self.join() or last
        used = {name for node in self.nodes for name in node.input}
        results = [n.output[0] for n in self.nodes if n.output[0] not in used]
        if draw.random() < 0.3:
            results = sorted({*results, draw.choice(self.nodes).output[0]})
        info = lambda name: helper.make_tensor_value_info(name, TensorProto.FLOAT, self.maps[name])
        graph = helper.make_graph(self.nodes, "network", [info("x")], [info(n) for n in results],
                                  self.inits)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)

    def sample(self):
        """An input with an uneven share of zeros."""
        values = self.numbers.normal(size=self.shape)
        places = self.numbers.random(self.shape[2:]) < self.numbers.random(self.shape[2:])
        return {"x": (values * places if self.draw.random() < 0.5 else values).astype(np.float32)}


def draw_machine(draw, folder):
    kind = draw.random()
    if kind < 0.4:
        return draw.choice(["a1", "a1-tiny"])
    if kind < 0.75:  # a cluster of any kind next to a known array
        machine = random_machines.Machine.read(draw.choice(["a1", "a1-tiny"]))
        share = draw.choice([0.2, 0.5])
        machine = machine.changed({
            key: draw.choice(values) for key, values in random_machines.SIZES.items()
            if draw.random() < (share if key.startswith("sparse.") else 0.03)})
        machine = random_machines.consistent(machine)
    else:
        machine = random_machines.draw_machine(draw)
    return machine.write(os.path.join(folder, "machine.yaml"))


def draw_options(draw, folder):
    """(options of both compilations, options of the cluster)."""
    common = ["--format=" + draw.choice(["bfp8", "bfp8", "bfp8", "bfp16", "w=4,block=8,range=3",
                                         "w=12,block=16,range=7", "w=6,block=32,range=1"])]
    for option, values in (("fold-w", ["off", "stride", "lane", "both"]),
                           ("residual", ["bfp", "bf16", "f32"])):
        if draw.random() < 0.3:
            common.append(f"--{option}={draw.choice(values)}")
    sparse = ["--sparse=" + draw.choice(["tile"] + ["scatter"] * 4 + ["auto"])]
    for option, values, share in (
            ("scatter-unit", "ABCD", 0.6), ("classify", ["majority", "threshold"], 0.2),
            ("partition", ["p2", "p1", "rows", "uniform"], 0.5),
            ("partition-metric", ["nnz", "density", "zeros"], 0.4),
            ("partition-threshold", ["0", "0.1", "1"], 0.2),
            ("partition-halo", ["disjoint", "disjoint", "auto"], 0.6),
            ("partition-cuts", ["profile", "runtime", "always", "always", "always-profile",
                                "always-profile"], 0.7),
            ("sparse-keep", ["off", "always", "always"], 0.8),
            ("sparse-copies", ["all", "needed"], 0.5)):
        if draw.random() < share:
            sparse.append(f"--{option}={draw.choice(values)}")
    if draw.random() < 0.5:
        sparse.append(f"--calibrate={os.path.join(folder, 'calibrate.npz')}")
    return common, sparse


def outputs_of(folder, name, inputs, timed):
    """(bytes of the outputs, report) of a program."""
    outputs, report = (os.path.join(folder, name + end) for end in (".npz", ".json"))
    random_machines.tool("ashlar-run", os.path.join(folder, name + ".ash"), f"--inputs={inputs}",
                         f"--outputs={outputs}", "--quiet", "--threads=1",
                         *([f"--report={report}"] if timed else ["--functional"]))
    with np.load(outputs) as arrays:
        found = {key: (arrays[key].shape, arrays[key].tobytes()) for key in arrays}
    if not timed:
        return found, None
    with open(report, encoding="utf-8") as file:
        return found, json.load(file)


def check_report(report):
    """What decisions say of cuts is what the run did."""
    cut = {c["node"] for c in report["cuts"]}
    for decision in report["decisions"]:
        if "eligible" not in decision:
            continue
        node, choice = decision["node"], decision["choice"]
        said = choice == "sparse-scatter" and decision.get("cuts", {}).get("time") == "run"
        if said != (node in cut):
            raise seed_sweep.Mismatch(f"{node}: {choice} with {decision.get('cuts')}, the machine "
                                       f"has {'' if node in cut else 'not '}cut it")


def check(seed, folder):
    """(outcome, text) of one network."""
    draw = random.Random(seed)
    machine = draw_machine(draw, folder)
    network = Network(draw)
    model = os.path.join(folder, "model.onnx")
    onnx.save(network.build(), model)
    for name in ("calibrate", "in"):
        np.savez(os.path.join(folder, name + ".npz"), **network.sample())
    options, sparse = draw_options(draw, folder)
    options.append(f"--machine={machine}")
    with open(os.path.join(folder, "options"), "w", encoding="utf-8") as file:
        file.write(" ".join(options + sparse).replace(folder + "/", "") + "\n")
    compile_to = lambda name, *more, **how: random_machines.tool(
        "ashlarc", model, "-o", os.path.join(folder, name + ".ash"), *options, *more, **how)
    try:
        compile_to("dense", "--sparse=off", may_refuse=True)
    except random_machines.Refusal as why:
        return "refused", f"{why}".replace(folder, "")
    try:
        compile_to("sparse", *sparse, may_refuse="--sparse=auto" not in sparse)
    except random_machines.Refusal as why:
        return "refused", f"with the cluster alone: {why}".replace(folder, "")
    inputs = os.path.join(folder, "in.npz")
    expected, _ = outputs_of(folder, "dense", inputs, False)
    found, report = outputs_of(folder, "sparse", inputs, True)
    for name in expected:
        if found.get(name) != expected[name]:
            raise seed_sweep.Mismatch(f"'{name}' differs from the dense array")
    check_report(report)
    tcu = sum(node["engine"] == "tcu" for node in report["nodes"])
    kept = sum(d.get("operand", {}).get("choice") == "kept" for d in report["decisions"])
    return "equal", (f"{tcu} convolutions on the cluster, {len(report['cuts'])} cuts at run time, "
                     f"{kept} maps kept")


if __name__ == "__main__":
    sys.exit(seed_sweep.main(__doc__, "networks", check))
