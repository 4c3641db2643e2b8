#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Width folds on the machine: bits, copies, and rows of zeros.

usage: folds.py random [--count=N] [--seed=S]
       folds.py copies
       folds.py elision
       folds.py pools
       folds.py inplace
       folds.py integers [--count=N] [--seed=S]
       folds.py groups

`random` draws convolutions (one and two dimensions, strides, dilations, pads,
widths that are no multiple of anything, batches, few channels, groups, a second
layer after some) and compares every planned tensor with the numpy reference under a
random --fold-w; the emulator refuses reads of memory that nothing wrote.
`copies` reads the emulator's counters of bytes copied inside the chip (report
and trace, `copied`) for stems whose fold is a view, and between the last
instruction of a layer and the first of the one that reads it in lanes: none. A
count from the program's text, which shares no code with it, must agree.
`elision` shows by the array's counter that folded taps of zeros are not issued.
`inplace` shows that a fold inside the chip is made over its operand where no
tile reaches what later ones read, that its bits are those of the reference, and
that it takes an area of its own where the rule does not hold.
`integers` compares every layer of random networks of small integers, whose sums
are exact in float32, before and after the fold phase in the interpreter, under
every --fold-w: equal bits.
`groups` shows that depthwise and grouped convolutions run in lanes: as many
steps of the array as rows of lanes times taps, and the bits of the reference.
`pools` shows that the pool behind a stem uses all partitions and runs in parallel with it.
"""

import argparse
import json
import math
import os
import random
import re
import subprocess
import sys
import tempfile

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

import common  # noqa: E402

REFERENCE = os.path.join(common.ROOT, "test", "reference", "reference.py")
MODES = ["auto", "off", "stride", "lane", "both"]


def save_model(path, shape, layers, front=False, integers=False,
               kernels="constants"):
    """A chain of convolutions: (outputs, kernel, strides, pads, dilations), and
    the number of groups if there are several. With `integers` weights are small
    ones, and every layer is an output. `kernels` are constants, graph "inputs"
    w0, w1, ..., or "computed" from these by a function."""
    rng = np.random.default_rng(7)
    nodes, weights, value, channels = [], [], "x", shape[1]
    if front:
        nodes.append(helper.make_node("Relu", ["x"], ["r"], name="front"))
        value = "r"
    for i, (outputs, kernel, strides, pads, dilations, *rest) in \
            enumerate(layers):
        groups = rest[0] if rest else 1
        extents = (outputs, channels // groups) + tuple(kernel)
        array = (rng.integers(-3, 4, extents) if integers else
                 rng.standard_normal(extents))
        weights.append(numpy_helper.from_array(array.astype(np.float32),
                                               f"w{i}"))
        if kernels == "computed":
            nodes.append(helper.make_node("Tanh", [f"w{i}"], [f"k{i}"],
                                          name=f"kernel{i}"))
        nodes.append(helper.make_node(
            "Conv", [value, f"k{i}" if kernels == "computed" else f"w{i}"],
            [f"y{i}"], name=f"conv{i}",
            kernel_shape=kernel, strides=strides, pads=pads,
            dilations=dilations, group=groups))
        value, channels = f"y{i}", outputs
    graph = helper.make_graph(
        nodes, "fold",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)] +
        [helper.make_tensor_value_info(w.name, TensorProto.FLOAT, w.dims)
         for w in weights if kernels != "constants"],
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, None)
         for name in ([f"y{i}" for i in range(len(layers))] if integers
                      else [value])],
        weights if kernels == "constants" else [])
    model = helper.make_model(graph,
                              opset_imports=[helper.make_opsetid("", 13)])
    model.ir_version = 8
    onnx.save(onnx.shape_inference.infer_shapes(model), path)


def fold_only(simplified, name, folded):
    """Writes a simplified module with fold `name` wherever it is an alternative, as one
    that the fold phase has made."""
    common.run_tool("ashlar-opt", simplified, f"--ashlar-fold=only={name}",
                    "--mlir-print-debuginfo", "-o", folded)
    with open(folded, encoding="utf-8") as stream:
        text = stream.read()
    with open(folded, "w", encoding="utf-8") as stream:
        stream.write(text.replace('ashlar.phase = "simplify"',
                                  'ashlar.phase = "fold"'))


def draw_layer(source, sizes):
    """A layer that fits maps of `sizes`, and the sizes of its result."""
    kernel, strides, dilations, low, high, out = [], [], [], [], [], []
    for size in sizes:
        stride, dilation = source.randint(1, 5), source.choice([1, 1, 1, 2, 4])
        before, after = source.randint(0, 3), source.randint(0, 3)
        longest = (size + before + after - 1) // dilation + 1
        taps = source.randint(1, min(7, longest))
        kernel.append(taps)
        strides.append(stride)
        dilations.append(dilation)
        low.append(before)
        high.append(after)
        out.append((size + before + after - (taps - 1) * dilation - 1) // stride
                   + 1)
    return (source.choice([1, 5, 8, 16, 33]), kernel, strides, low + high,
            dilations), out


def draw_groups(source, layer, channels):
    """The layer with a number of groups that its channels allow."""
    groups = source.choice([g for g in range(1, channels + 1)
                            if channels % g == 0])
    outputs = groups * source.choice([1, 1, 2, 3])
    return (outputs, *layer[1:], groups)


def draw_network(source):
    """Shape of the input, and one to three layers."""
    sizes = [source.randint(1, 40) for _ in range(source.choice([1, 2, 2]))]
    shape = [source.choice([1, 1, 2]), source.randint(1, 12)] + sizes
    layers = []
    channels = shape[1]
    for _ in range(source.choice([1, 1, 2, 3])):
        layer, sizes = draw_layer(source, sizes)
        if source.random() < 0.3:
            layer = draw_groups(source, layer, channels)
        layers.append(layer)
        channels = layer[0]
    return shape, layers


def check_random(seed, folder):
    source = random.Random(seed)
    shape, layers = draw_network(source)
    model = os.path.join(folder, "model.onnx")
    save_model(model, shape, layers, front=source.random() < 0.3)
    mode = source.choice(MODES)
    machine = source.choice(["a1", "a1", "a1-tiny"])
    sparse = source.choice(["auto", "off"])
    done = compare_bits(model, shape, seed, folder, f"--fold-w={mode}",
                        f"--machine={machine}", f"--sparse={sparse}")
    if done.returncode:
        print(f"seed {seed}: {shape} {layers} --fold-w={mode} --sparse={sparse} on {machine}\n"
              f"{done.stdout}{done.stderr}")
    return done.returncode != 0


def compare_bits(model, shape, seed, folder, *options, kernels=None):
    """The numpy reference against all planned tensors of a run. `kernels` are
    the shapes of inputs besides x."""
    binary, inputs, plan, dump = (
        os.path.join(folder, name) for name in
        ("model.ash", "in.npz", f"plan{seed}", f"dump{seed}"))
    rng = np.random.default_rng(seed)
    np.savez(inputs, **{name: rng.standard_normal(extents).astype(np.float32)
                        for name, extents in
                        {"x": shape, **(kernels or {})}.items()})
    common.run_tool("ashlarc", model, "-o", binary, f"--dump-plan={plan}",
                    f"--report={os.path.join(folder, 'compiled.json')}",
                    *options)
    common.run_tool("ashlar-run", binary, f"--inputs={inputs}",
                    f"--dump-tensors={dump}", "--quiet",
                    f"--outputs={os.path.join(folder, 'out.npz')}")
    return subprocess.run([sys.executable, REFERENCE, plan, inputs, dump],
                          text=True, capture_output=True)


def check_integers(seed, folder):
    """(folds that changed the program, whether a bit differs)."""
    source = random.Random(seed)
    shape, layers = draw_network(source)
    model, inputs, folded = (os.path.join(folder, name) for name in
                             ("model.onnx", "in.npz", "fold.mlir"))
    save_model(model, shape, layers, integers=True)
    sample = np.random.default_rng(seed).integers(-4, 5, shape)
    np.savez(inputs, x=sample.astype(np.float32))

    def evaluate(program):
        out = os.path.join(folder, "out.npz")
        common.run_tool("ashlar-reference", program, f"--inputs={inputs}",
                        f"--outputs={out}")
        with np.load(out) as arrays:
            return {name: array.view(np.uint32)
                    for name, array in arrays.items()}

    before, folds, differs = evaluate(model), 0, False
    for mode in MODES:
        common.run_tool("ashlarc", model, "--compile-to=fold", "-o", folded,
                        f"--fold-w={mode}")
        with open(folded, encoding="utf-8") as stream:
            folds += "nn.im2col" in stream.read()
        after = evaluate(folded)
        if any(not np.array_equal(before[name], after[name])
               for name in before):
            differs = True
            print(f"seed {seed}: {shape} {layers} --fold-w={mode}: other bits")
    return folds, differs


def instructions(binary):
    """Lines of the disassembly, one per instruction."""
    done = common.run_tool("ashlar-dis", binary, "-o", "-")
    return [line for line in done.stdout.splitlines()
            if re.match(r"[a-z]+\.[a-z_]+", line)]


def fields(line):
    return dict(item.split("=", 1) for item in line.split()[1:] if "=" in item)


def copied_bytes(lines):
    """Bytes that DMA moves inside the chip; DRAM is the default memory."""
    total = 0
    for line in lines:
        values = fields(line)
        if (not line.startswith("dma.copy") or
                values.get("srcMem", "dram") == "dram" or
                values.get("dstMem", "dram") == "dram"):
            continue
        total += math.prod(int(values.get(f"n{d}", 1)) for d in range(5)) * \
            int(values.get("elemBytes", 1))
    return total


def first(lines, name):
    return next(i for i, line in enumerate(lines) if line.startswith(name))


# Closed forms, and views wherever copies could be thought to be faster, are those of
# the machine without prices.
IDEAL = "--machine=a1-ideal"

# name, --fold-w, input shape, layers: the fold is a view of the input
VIEWS = [
    ("resnet", "auto", (1, 3, 224, 224),
     [(64, (7, 7), (2, 2), (3, 3, 3, 3), (1, 1))]),
    ("mobilenet", "auto", (1, 3, 224, 224),
     [(32, (3, 3), (2, 2), (1, 1, 1, 1), (1, 1))]),
    ("tf-same", "auto", (1, 3, 224, 224),
     [(32, (3, 3), (2, 2), (0, 0, 1, 1), (1, 1))]),
    ("yolo", "stride", (1, 3, 320, 320),
     [(16, (6, 6), (2, 2), (2, 2, 2, 2), (1, 1))]),
    ("vit", "both", (1, 3, 224, 224),
     [(64, (16, 16), (16, 16), (0, 0, 0, 0), (1, 1))]),
    ("alexnet-227", "auto", (1, 3, 227, 227),
     [(96, (11, 11), (4, 4), (0, 0, 0, 0), (1, 1))]),
    ("inception-299", "auto", (1, 3, 299, 299),
     [(32, (3, 3), (2, 2), (0, 0, 0, 0), (1, 1))]),
    ("audio", "auto", (1, 1, 16000), [(512, (10,), (5,), (0, 0), (1,))]),
]


def counted(binary, folder):
    """(report, instructions on the time line by index) of a run."""
    report, trace = (os.path.join(folder, n) for n in ("r.json", "t.json"))
    common.run_tool("ashlar-run", binary, "--random-inputs=1", "--quiet",
                    f"--report={report}", f"--trace={trace}")
    with open(report, encoding="utf-8") as stream:
        data = json.load(stream)
    with open(trace, encoding="utf-8") as stream:
        events = {e["args"]["instruction"]: e
                  for e in json.load(stream)["traceEvents"]
                  if e.get("cat") == "instruction"}
    return data, events


def copied_between(events, producer, consumer):
    """Bytes copied from the end of `producer` to the array's start on
    `consumer`, in program order."""
    last = max(i for i, e in events.items()
               if e["name"] == f"act.drain {producer}")
    start = min(i for i, e in events.items()
                if e["name"] == f"pe.matmul {consumer}")
    return sum(e["args"].get("copied", 0) for i, e in events.items()
               if last < i < start)


def check_copies(folder):
    failed = False
    model, binary = (os.path.join(folder, n) for n in ("m.onnx", "m.ash"))
    for name, mode, shape, layers in VIEWS:
        save_model(model, shape, layers)
        common.run_tool("ashlarc", model, "-o", binary, IDEAL,
                        f"--fold-w={mode}")
        lines = instructions(binary)
        moved = copied_bytes(lines[:first(lines, "pe.matmul")])
        data, _ = counted(binary, folder)
        total = data["totals"]["copied"]
        wrong = moved != 0 or total != 0 or copied_bytes(lines) != 0
        failed |= wrong
        print(f"{name}: {total} bytes copied in the chip, {moved} before the "
              f"array starts{'  WRONG' if wrong else ''}")
    # A producer that writes lanes for its reader, both on the array.
    layer = (16, (3, 3), (1, 1), (1, 1, 1, 1), (1, 1))
    save_model(model, (1, 3, 32, 32), [layer, layer, layer])
    common.run_tool("ashlarc", model, "-o", binary, IDEAL, "--sparse=off")
    lines = instructions(binary)
    data, events = counted(binary, folder)
    moved = [copied_between(events, "conv0", "conv1"),
             copied_between(events, "conv1", "conv2")]
    folded = sum("groups=" in line for line in lines)
    failed |= any(moved) or data["totals"]["copied"] != 0 or folded == 0
    print(f"chain: {moved} bytes copied in the chip between layers, {folded} "
          "streams in lanes")
    # The counter counts: windows that overlap are gathered inside the chip.
    save_model(model, *VIEWS[1][2:])
    common.run_tool("ashlarc", model, "-o", binary, IDEAL, "--fold-w=off")
    data, events = counted(binary, folder)
    total, expected = data["totals"]["copied"], copied_bytes(
        instructions(binary))
    parts = (sum(n["copied"] for n in data["nodes"]),
             sum(e["copied"] for e in data["engines"].values()),
             sum(e["args"].get("copied", 0) for e in events.values()))
    failed |= total == 0 or any(p != total for p in parts + (expected,))
    print(f"gathered: {total} bytes copied, {expected} by the program's text")
    return failed


def check_elision(folder):
    """Stride 2, dilation 4: the folded kernel has 5 columns, 2 of zeros."""
    model, binary, report = (
        os.path.join(folder, n) for n in ("m.onnx", "m.ash", "r.json"))
    layer = (64, (3, 3), (2, 2), (1, 4, 1, 4), (1, 4))
    save_model(model, (1, 7, 64, 64), [layer])
    common.run_tool("ashlarc", model, "-o", binary, IDEAL, "--fold-w=both")
    common.run_tool("ashlar-run", binary, "--random-inputs=1",
                    f"--report={report}", "--quiet")
    with open(report, encoding="utf-8") as stream:
        data = json.load(stream)
    decision = next(d for d in data["decisions"] if "details" in d)
    lanes = decision["details"]["stride-fold"]["lanes"]
    live = 32 * math.ceil(32 / lanes) * 3 * 3
    busy = data["engines"]["pe"]["busy"]
    print(f"{decision['choice']}: {busy} cycles, {live} without taps of zeros, "
          f"{live * 5 // 3} with them")
    return busy != live


# --fold-w, machine, input shape, layers behind a Relu: where the folded feature map goes
IN_PLACE = [
    ("stride", "a1", (1, 3, 96, 96),
     [(16, (3, 3), (2, 2), (1, 1, 1, 1), (1, 1))], "in-place"),
    ("stride", "a1", (2, 1, 40, 61),
     [(8, (5, 7), (1, 3), (2, 3, 2, 3), (1, 1))], "in-place"),
    ("both", "a1", (1, 1, 1, 4000), [(8, (1, 10), (1, 5), (0, 2, 0, 2), (1, 1))],
     "in-place"),
    # The packed windows take two channel tiles. Those of the first rows lie
    # where the second tile still reads, unless the stride makes them few.
    ("off", "a1", (1, 3, 64, 64),
     [(16, (7, 7), (2, 2), (3, 3, 3, 3), (1, 1))], "in-place"),
    ("off", "a1", (1, 3, 40, 40),
     [(16, (7, 7), (1, 1), (3, 3, 3, 3), (1, 1))], "own-area"),
]


def check_in_place(folder):
    failed = False
    model = os.path.join(folder, "model.onnx")
    for seed, (mode, machine, shape, layers, expected) in enumerate(IN_PLACE):
        save_model(model, shape, layers, front=True)
        done = compare_bits(model, shape, seed, folder, f"--fold-w={mode}",
                            f"--machine={machine}")
        with open(os.path.join(folder, "compiled.json"),
                  encoding="utf-8") as stream:
            decisions = json.load(stream)["decisions"]
        found = [d for d in decisions
                 if d["choice"] in ("in-place", "own-area")]
        wrong = (done.returncode != 0 or
                 [d["choice"] for d in found] != [expected])
        failed |= wrong
        print(f"--fold-w={mode} {shape}: "
              f"{[(d['choice'], d['reason']) for d in found]}, "
              f"{'other bits' if done.returncode else 'bits equal'}"
              f"{'  WRONG' if wrong else ''}")
        if done.returncode:
            print(done.stdout + done.stderr)
    return failed


# Input shape, layers (the second one has groups), its lanes.
GROUPS = [
    ((1, 3, 56, 56), [(32, (3, 3), (1, 1), (1, 1, 1, 1), (1, 1)),
                      (32, (3, 3), (1, 1), (1, 1, 1, 1), (1, 1), 32)], 4),
    # Columns that begin at a later channel, in two blocks of 32.
    ((1, 12, 40, 37), [(48, (3, 3), (1, 1), (1, 1, 1, 1), (1, 1)),
                       (192, (3, 3), (1, 1), (1, 1, 1, 1), (1, 1), 48)], 4),
    ((2, 9, 21, 30), [(12, (1, 1), (1, 1), (0, 0, 0, 0), (1, 1)),
                      (24, (5, 5), (2, 1), (2, 4, 2, 4), (1, 2), 4)], 4),
]


def check_groups(folder):
    failed = False
    model, binary, report = (
        os.path.join(folder, n) for n in ("model.onnx", "model.ash", "r.json"))
    for seed, (shape, layers, lanes) in enumerate(GROUPS):
        save_model(model, shape, layers)
        busy = {}
        for fold in ("off", "lane"):
            done = compare_bits(model, shape, seed, folder, "--sparse=off",
                                "--machine=a1", f"--fold-w={fold}")
            failed |= done.returncode != 0
            common.run_tool("ashlar-run", binary, "--random-inputs=1",
                            f"--report={report}", "--quiet")
            with open(report, encoding="utf-8") as stream:
                nodes = json.load(stream)["nodes"]
            busy[fold] = next(n["pe_busy"] for n in nodes
                              if n["name"] == "conv1")
        # PSUM takes four results of a column in a cycle. A row takes a step for
        # each of its pixels, or for as many as there are lanes.
        width = onnx.load(model).graph.output[0].type.tensor_type.shape.dim[
            3].dim_value
        expected = busy["off"] // width * -(-width // lanes) * -(-lanes // 4)
        streams = [fields(line) for line in instructions(binary)
                   if line.startswith("pe.matmul")]
        groups = {int(f.get("groups", 1)) for f in streams}
        wrong = busy["lane"] != expected or lanes not in groups
        failed |= wrong
        print(f"{layers[1][-1]} groups: {busy['lane']} cycles of the array in "
              f"{lanes} lanes, {expected} expected, {busy['off']} in one"
              f"{'  WRONG' if wrong else ''}")
    return failed


def check_pools(folder):
    model, binary, trace = (
        os.path.join(folder, n) for n in ("m.onnx", "m.ash", "t.json"))
    save_model(model, (1, 3, 224, 224),
               [(64, (7, 7), (2, 2), (3, 3, 3, 3), (1, 1))])
    network = onnx.load(model)
    network.graph.node.append(helper.make_node(
        "MaxPool", ["y0"], ["p"], name="pool", kernel_shape=[3, 3],
        strides=[2, 2], pads=[1, 1, 1, 1]))
    network.graph.output[0].name = "p"
    network.graph.output[0].type.tensor_type.ClearField("shape")
    onnx.save(network, model)
    common.run_tool("ashlarc", model, "-o", binary)
    common.run_tool("ashlar-run", binary, "--random-inputs=1", "--quiet",
                    f"--trace={trace}")
    with open(trace, encoding="utf-8") as stream:
        events = json.load(stream)["traceEvents"]
    starts = [e["ts"] for e in events if e["name"].startswith("vec.pool")]
    drained = max(e["args"]["complete"] for e in events
                  if e["name"].startswith("act.drain"))
    channels = [int(fields(line)["channels"]) for line in instructions(binary)
                if line.startswith("vec.pool")]
    before = sum(start < drained for start in starts)
    print(f"{len(starts)} pool instructions, {before} begin before the stem's "
          f"last result, up to {max(channels)} channels")
    return max(channels) != 128 or 2 * before < len(starts)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=["random", "copies", "elision", "pools",
                                         "inplace", "integers", "groups"])
    parser.add_argument("--count", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        if options.what == "copies":
            failed = check_copies(folder)
        elif options.what == "elision":
            failed = check_elision(folder)
        elif options.what == "pools":
            failed = check_pools(folder)
        elif options.what == "groups":
            failed = check_groups(folder)
        elif options.what == "inplace":
            failed = check_in_place(folder)
        elif options.what == "integers":
            results = [check_integers(seed, folder) for seed in range(
                options.seed, options.seed + options.count)]
            failed = sum(differs for _, differs in results)
            folds = sum(count for count, _ in results)
            failed += folds == 0
            print(f"{options.count} networks, {folds} folded programs, "
                  f"{failed} differ")
        else:
            for seed in range(options.seed, options.seed + options.count):
                failed += check_random(seed, folder)
            print(f"{options.count} networks, {failed} differ")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
