#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Feature maps that stay in the sparse cluster between two convolutions.

usage: kept_maps.py [MODEL|FILE.onnx]... [--density=D] [--seeds=FIRST:END] [--table]

A chain of pruned convolutions (3x3, depthwise, pointwise, strides, a residual
connection), or the networks named: outputs are those of the array to the bit with
--sparse-keep=off, auto and always, in tile and scatter mode. With off every map is
loaded; with always loads vanish, and with --sparse-copies=needed drains of maps with one
reader store nothing.
auto never takes more cycles than off. Of the chain also: the bytes that the state
buffer reads and writes, and programs that the loader refuses, each a field of the
compiler's program changed. --seeds does the same with random chains on random machines,
without comparing cycles. --table prints a row for each program.
"""

import argparse
import json
import os
import random
import re
import subprocess
import sys
import tempfile

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", "Integers"), os.path.join(HERE, ".."),
                os.path.join(HERE, "..", "..")]
import common  # noqa: E402
import integer_cluster as cluster  # noqa: E402
import random_machines  # noqa: E402
import sparse_networks  # noqa: E402


class Chain:
    """Convolutions one after the other."""

    def __init__(self, numbers, shape, density):
        self.numbers, self.density = numbers, density
        self.shapes, self.last = {"x": list(shape)}, "x"
        self.nodes, self.weights = [], []

    def add(self, op, inputs, shape, **attributes):
        name = f"{op.lower()}{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, inputs, [name], name, **attributes))
        self.shapes[name], self.last = list(shape), name
        return name

    def conv(self, outputs, kernel=1, stride=1, groups=1, dilation=1, pad=None):
        images, channels, *extents = self.shapes[self.last]
        pad = (kernel - 1) * dilation // 2 if pad is None else pad
        outs = [(e + 2 * pad - (kernel - 1) * dilation - 1) // stride + 1 for e in extents]
        if min(outs) < 1:
            return False
        values = self.numbers.standard_normal((outputs, channels // groups, kernel, kernel))
        values[self.numbers.random(values.shape) >= self.density] = 0
        name = f"w{len(self.weights)}"
        self.weights.append(numpy_helper.from_array(values.astype(np.float32), name))
        self.add("Conv", [self.last, name], [images, outputs, *outs], kernel_shape=[kernel] * 2,
                 strides=[stride] * 2, dilations=[dilation] * 2, pads=[pad] * 4, group=groups)
        return True

    def relu(self):
        self.add("Relu", [self.last], self.shapes[self.last])

    def save(self, path):
        info = lambda n: helper.make_tensor_value_info(n, TensorProto.FLOAT, self.shapes[n])
        graph = helper.make_graph(self.nodes, "chain", [info("x")], [info(self.last)],
                                  self.weights)
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)],
                                    ir_version=8), path)


def layers(path):
    """The chain of the test."""
    chain = Chain(np.random.default_rng(5), (1, 32, 8, 8), 0.1)
    for outputs, kernel, stride, groups in ((64, 3, 1, 1), (64, 3, 1, 64), (64, 1, 1, 1),
                                            (64, 3, 1, 1)):
        before = chain.last
        chain.conv(outputs, kernel, stride, groups)
        chain.relu()
    chain.add("Add", [before, chain.last], chain.shapes[before])
    chain.relu()
    chain.conv(48, 3, 2)
    chain.relu()
    chain.save(path)


def random_chain(draw, path):
    numbers = np.random.default_rng(draw.randrange(1 << 30))
    size = draw.choice([3, 5, 8, 10, 14, 20, 28])
    chain = Chain(numbers, (draw.choice([1, 1, 2]), draw.choice([8, 16, 24, 32]), size, size),
                  draw.choice([0.05, 0.2, 0.6]))
    for _ in range(draw.randrange(2, 6)):
        before, channels = chain.last, chain.shapes[chain.last][1]
        depthwise = draw.random() < 0.3
        outputs = channels if depthwise else draw.choice([8, 16, 16, 32, 48, 72, 130])
        chain.conv(outputs, draw.choice([1, 2, 3, 3, 5]), draw.choice([1, 1, 1, 2, 3]),
                   channels if depthwise else 1, draw.choice([1, 1, 2]),
                   draw.choice([None, None, 0, 1, 3]))
        if draw.random() < 0.8:
            chain.relu()
        if chain.shapes[before] == chain.shapes[chain.last] and before != "x":
            if draw.random() < 0.5:
                chain.add("Add", [before, chain.last], chain.shapes[before])
    chain.save(path)


def program_of(model, inputs, folder, *options, refuses=False):
    """(cycles, actions, decisions, text) of a program that has the array's bits."""
    program, report = os.path.join(folder, "p.ash"), os.path.join(folder, "p.json")
    if refuses:
        try:
            random_machines.tool("ashlarc", model, "-o", program, *options, may_refuse=True)
        except random_machines.Refusal:
            return None
    else:
        cluster.run("ashlarc", model, "-o", program, *options)
    cluster.run("ashlar-run", program, f"--inputs={inputs}", f"--report={report}", "--quiet",
                f"--expect={os.path.join(folder, 'array.npz')}")
    with open(report, encoding="utf-8") as file:
        data = json.load(file)
    return (data["total_cycles"], data["actions"], data["decisions"],
            cluster.run("ashlar-dis", program))


def on_array(model, inputs, folder, *options):
    program = os.path.join(folder, "array.ash")
    cluster.run("ashlarc", model, "-o", program, "--sparse=off", *options)
    cluster.run("ashlar-run", program, f"--inputs={inputs}", "--quiet",
                f"--outputs={os.path.join(folder, 'array.npz')}")


def kept_of(decisions):
    return [d["operand"] for d in decisions if d.get("operand", {}).get("choice") == "kept"]


def counts(text):
    """Loads of tiles, tiles opened for drains, drains that keep, of them without a copy."""
    loads = re.findall(r"^.*dma\.tile.*$", text, re.M)
    drains = re.findall(r"^.*act\.drain.*kept=1.*$", text, re.M)
    opened = sum("drained=1" in load for load in loads)
    return (len(loads) - opened, opened, len(drains), sum("unstored=1" in d for d in drains))


def agree(name, decisions, text):
    """Decisions and instructions say the same of a program."""
    kept = kept_of(decisions)
    _, opened, drains, unstored = counts(text)
    if opened != len(kept) or (drains > 0) != (opened > 0) or (unstored > 0) != any(
            k["state_buffer"] == "none" for k in kept):
        sys.exit(f"{name}: {kept}, but {counts(text)}")
    return len(kept)


def check(name, model, inputs, folder, table, form):
    on_array(model, inputs, folder, f"--format={form}")
    found = {}
    for mode in ("tile", "scatter", "auto"):
        rows = {how: program_of(model, inputs, folder, f"--sparse={mode}", f"--format={form}",
                                f"--sparse-keep={how}", "--sparse-copies=needed") for how in ("off", "auto", "always")}
        kept = {how: agree(f"{name}, {mode}, {how}", row[2], row[3]) for how, row in rows.items()}
        if kept["off"] or rows["auto"][0] > rows["off"][0]:
            sys.exit(f"{name}, {mode}: kept {kept}, cycles {[r[0] for r in rows.values()]}")
        found[mode] = rows, kept
        if table:
            moved = lambda how: sum(rows[how][1][k] for k in ("sb.read", "sb.write"))
            energy = lambda how: rows[how][1]["dma.move"]
            print(f"| {name} | {mode} | {rows['off'][0]:,} | {rows['auto'][0]:,} | "
                  f"{kept['auto']} | {rows['always'][0]:,} | {kept['always']} | "
                  f"{moved('off'):,} | {moved('always'):,} | {energy('off'):,} | "
                  f"{energy('always'):,} |", flush=True)
    return found


def run_text(text, inputs, folder):
    source, program = (os.path.join(folder, f"broken.{end}") for end in ("asm", "ash"))
    with open(source, "w", encoding="utf-8") as file:
        file.write(text)
    cluster.run("ashlar-as", source, "-o", program)
    return subprocess.run(["ashlar-run", program, f"--inputs={inputs}",
                           f"--expect={os.path.join(folder, 'array.npz')}"],
                          capture_output=True, text=True, check=False)


def changed(text, line, pattern, to):
    """The text with the first match of a pattern in the first line of its kind replaced."""
    at = re.search(rf"^.*{line}.*$", text, re.M)
    own = re.sub(pattern, to, at.group(), count=1)
    if own == at.group():
        sys.exit(f"nothing to change in {own}")
    return text[:at.start()] + own + text[at.end():]


STORED = r"act\.drain(?!.*unstored).*kept=1"
KEPT, OPENED = r"act\.drain.*unstored=1", r"dma\.tile.*drained=1"
BROKEN = [
    (STORED, r" kept=1( set=\d+)?( slot=\d+)?", "", "were not drained"),
    (KEPT, r" cols=\d+", " cols=8", "were not drained"),
    (KEPT, r" unstored=1", r" unstored=1 slot=4095", "the tiles have"),
    (KEPT, r" kept=1", "", "a drain that keeps nothing"),
    (KEPT, r" unstored=1", " unstored=1 dstOffset=64", "a place in SB"),
    (KEPT, r" unstored=1", " unstored=1 counted=1", "non-zeros of results that are not stored"),
    (KEPT, r" n2=\d+", " n2=9", "results of 1x8x9 for an operand of 1x8x8"),
    (OPENED, r" drained=1", " part=8 drained=1", "a source of tiles that drains fill"),
    (OPENED, r" drained=1", " srcStrideW=1 drained=1", "a source of tiles that drains fill"),
    (OPENED, r" inH=8", " inH=7", "for an operand of"),
    (OPENED, r" kH=3", " kH=2", "another kernel, tile or type"),
    (OPENED, r" mantissa=8", " mantissa=7", "of another type than the tiles"),
    (OPENED, r" drained=1", "", ""),
]


def refuse(model, inputs, folder):
    """What the loader says to each change of a program."""
    on_array(model, inputs, folder)
    text = program_of(model, inputs, folder, "--sparse=tile", "--sparse-keep=always",
                      "--sparse-copies=needed")[3]
    if run_text(text, inputs, folder).returncode:
        sys.exit("the text of the program does not run")
    for line, pattern, to, expected in BROKEN:
        done = run_text(changed(text, line, pattern, to), inputs, folder)
        if done.returncode == 0 or "fault" not in done.stderr or expected not in done.stderr:
            sys.exit(f"'{pattern}' -> '{to}': exit code {done.returncode}: {done.stderr}")
    return len(BROKEN)


def random_chains(first, end, folder):
    kept = programs = refused = 0
    for seed in range(first, end):
        draw = random.Random(seed)
        model = os.path.join(folder, "chain.onnx")
        random_chain(draw, model)
        inputs = cluster.sample(model, seed, folder)
        machine = f"--machine={sparse_networks.draw_machine(draw, folder)}"
        form = "--format=" + draw.choice(["bfp8", "bfp8", "bfp16", "w=4,block=8,range=3"])
        try:
            random_machines.tool("ashlarc", model, "-o", os.path.join(folder, "array.ash"),
                                 "--sparse=off", machine, form, may_refuse=True)
        except random_machines.Refusal:
            refused += 1
            continue
        on_array(model, inputs, folder, machine, form)
        for mode in ("tile", "scatter"):
            row = program_of(model, inputs, folder, f"--sparse={mode}", machine, form,
                             "--sparse-keep=always",
                             "--sparse-copies=" + draw.choice(["all", "needed"]), refuses=True)
            if row:
                programs += 1
                kept += agree(f"seed {seed}, {mode}", row[2], row[3])
    print(f"{end - first} chains: {programs} programs with equal bits, {kept} maps kept")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("models", nargs="*", default=["layers"])
    parser.add_argument("--density", default="0.1")
    parser.add_argument("--seeds", help="FIRST:END")
    parser.add_argument("--table", action="store_true")
    parser.add_argument("--format", default="bfp8")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        if options.seeds:
            return random_chains(*map(int, options.seeds.split(":")), folder)
        for name in options.models:
            model = os.path.join(folder, "model.onnx")
            if name == "layers":
                layers(model)
                inputs = cluster.sample(model, 1, folder)
            else:
                source = name if name.endswith(".onnx") else common.model_path(name)
                cluster.run("ashlar-prune", source, "-o", model, f"--density={options.density}")
                inputs = os.path.join(folder, "x.npz")
                key = common.graph_inputs(source)[0]
                shape = [d.dim_value or 1 for d in
                         onnx.load(source).graph.input[0].type.tensor_type.shape.dim]
                numbers = np.random.default_rng(1)
                np.savez(inputs, **{key: numbers.normal(size=shape).astype(np.float32)})
            found = check(name, model, inputs, folder, options.table, options.format)
            rows, kept = found["tile"]
            print(f"{name}: equal bits, {kept['auto']} maps kept by choice, "
                  f"{rows['off'][0] - rows['auto'][0]} cycles fewer")
        if options.models == ["layers"]:
            off, always = (rows["off"], rows["always"])
            print("loads", counts(off[3])[0], "->", counts(always[3])[0])
            for action in ("sb.read", "sb.write", "dma.move"):
                if always[1][action] >= off[1][action]:
                    sys.exit(f"{action}: {off[1][action]} -> {always[1][action]}")
            print("refused:", refuse(model, inputs, folder))
    return None


if __name__ == "__main__":
    main()
