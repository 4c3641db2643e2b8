#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Groups of units that hand tiles on (tcc.bind), from ONNX to cycles.

usage: hand_over.py [MODEL]... [--density=D] [--seeds=FIRST:END] [--table]

Two sparse convolutions in a row, the second of which loads much more than it drains,
or the networks named: on the array, and on the cluster of machines whose memories
have narrow ports and a mesh or a Benes network between them and the compute units.
Outputs are equal to the bit with --sparse-bind=off, auto and always, tiles and
scatter mode. With off, and on a machine without routes, nothing is bound and
programs take the same cycles; with auto the network takes no more. Maps do not stay between layers here: they
need no routes. The loader refuses
a program whose units take tiles of other places. --seeds does the same with random
networks, without comparing cycles. --table prints a row for each program.
"""

import argparse
import os
import re
import subprocess
import sys
import tempfile

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", "Integers"), os.path.join(HERE, "..", "..")]
import common  # noqa: E402
import integer_cluster as cluster  # noqa: E402
import pruned_channels  # noqa: E402  (on the path of integer_cluster)

BINDINGS = ("mesh", "benes")
SIZE = 14


def two_layers(path, density):
    """x -> 1x1 to 512 -> 1x1 to 16 channels."""
    numbers = np.random.default_rng(3)
    nodes, weights = [], []

    def conv(name, x, inputs, outputs):
        values = numbers.standard_normal((outputs, inputs, 1, 1)).astype(np.float32)
        values[numbers.random(values.shape) >= density] = 0
        weights.append(numpy_helper.from_array(values, name + "_w"))
        nodes.append(helper.make_node("Conv", [x, name + "_w"], [name + "_sum"], name=name))
        nodes.append(helper.make_node("Relu", [name + "_sum"], [name]))
        return name

    last = conv("narrow", conv("wide", "x", 64, 512), 512, 16)
    graph = helper.make_graph(
        nodes, "two_layers",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 64, SIZE, SIZE])],
        [helper.make_tensor_value_info(last, TensorProto.FLOAT, [1, 16, SIZE, SIZE])], weights)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)]), path)


def machine_of(folder, binding, base="a1"):
    path = os.path.join(folder, f"{base}-{binding}.yaml")
    with open(path, "w", encoding="utf-8") as file:
        file.write(f"name: {base}-{binding}\nbase: {base}\n"
                   f"sparse: {{binding: {binding}, fmu_write_bytes: 16}}\n")
    return path


def measure(model, inputs, folder, *options):
    """Cycles, and how often units are bound, of a program that has the array's bits."""
    program = os.path.join(folder, "p.ash")
    cluster.run("ashlarc", model, "-o", program, *options, "--sparse-keep=off")
    text = cluster.run("ashlar-run", program, f"--inputs={inputs}",
                       f"--expect={os.path.join(folder, 'array.npz')}")
    binds = len(re.findall(r"^.*tcc\.bind.*$", cluster.run("ashlar-dis", program), re.M))
    return int(re.search(r"([\d,]+) cycles", text).group(1).replace(",", "")), binds


def on_array(model, inputs, folder, *options):
    program = os.path.join(folder, "array.ash")
    cluster.run("ashlarc", model, "-o", program, "--sparse=off", *options)
    cluster.run("ashlar-run", program, f"--inputs={inputs}",
                f"--outputs={os.path.join(folder, 'array.npz')}")


def check(name, model, inputs, folder, table):
    """Cycles that --sparse-bind=auto saves, and the instructions that it writes."""
    saved = used = 0
    for form in ("bfp8", "bfp16"):
        on_array(model, inputs, folder, f"--format={form}")
        for mode in ("tile", "scatter"):
            for binding in BINDINGS:
                def timed(how, network):
                    return measure(model, inputs, folder, f"--sparse={mode}", f"--format={form}",
                                   f"--machine={machine_of(folder, network)}",
                                   f"--sparse-bind={how}")

                rows = {how: timed(how, binding) for how in ("off", "auto", "always")}
                fixed = timed("always", "static")
                if fixed[1] or rows["off"] != fixed or not rows["always"][1]:
                    sys.exit(f"{name}, {form}, {mode}, {binding}: {rows}, without routes {fixed}")
                if rows["auto"][0] > rows["off"][0]:
                    sys.exit(f"{name}, {form}, {mode}, {binding}: auto is slower: {rows}")
                saved += rows["off"][0] - rows["auto"][0]
                used += rows["auto"][1]
                if table:
                    print(f"| {name} | {form} | {mode} | {binding} | {rows['off'][0]:,} | "
                          f"{rows['auto'][0]:,} | {rows['auto'][1]} | {rows['always'][0]:,} | "
                          f"{rows['always'][1]} |")
    return saved, used


def run_text(text, inputs, folder):
    source, program = (os.path.join(folder, f"broken.{end}") for end in ("asm", "ash"))
    with open(source, "w", encoding="utf-8") as file:
        file.write(text)
    cluster.run("ashlar-as", source, "-o", program)
    return subprocess.run(["ashlar-run", program, f"--inputs={inputs}",
                           f"--expect={os.path.join(folder, 'array.npz')}"],
                          capture_output=True, text=True, check=False)


def refuse(model, inputs, folder):
    """What the loader says to units that take the tiles of other places. Without a
    hand-over each unit works on its own channels twice: other results."""
    machine = machine_of(folder, "mesh")
    on_array(model, inputs, folder)
    measure(model, inputs, folder, "--sparse=tile", f"--machine={machine}", "--sparse-bind=always")
    text = cluster.run("ashlar-dis", os.path.join(folder, "p.ash"))
    if run_text(text, inputs, folder).returncode:
        sys.exit("the text of the program does not run")
    own = re.sub(r"(tcc\.bind.*?) memory=\d+", r"\1", text)
    own = re.sub(r"(tcc\.bind.*?) unit=(\d+)", r"\1 unit=\2 memory=\2", own)
    if "differ" not in run_text(own, inputs, folder).stderr:
        sys.exit("nothing depends on the hand-over")
    # The units of the first table in a ring, each one takes the next one's tile.
    ring = re.sub(r"(tcc\.bind.*?) memory=\d+ count=\d+", r"\1 memory=1 count=15", text)
    ring = re.sub(r"(tcc\.bind.*?) unit=\d+ count=\d+", r"\1 unit=15 count=1", ring)
    done = run_text(ring, inputs, folder)
    said = re.search(r"was loaded for other tiles", done.stderr)
    if done.returncode == 0 or not said:
        sys.exit(f"exit code {done.returncode}: {done.stderr}")
    return said.group()


def random_networks(first, end, folder):
    used = 0
    for seed in range(first, end):
        model = os.path.join(folder, f"n{seed}.onnx")
        pruned_channels.Network(seed, integers=seed % 3 == 0).build(model)
        inputs = cluster.sample(model, seed + 1, folder)
        for base, binding in (("a1", "benes"), ("a1-tiny", "mesh"), ("a1-ideal", "mesh")):
            on_array(model, inputs, folder, f"--machine={base}")
            for mode in ("tile", "scatter"):
                used += measure(model, inputs, folder, f"--sparse={mode}",
                                f"--machine={machine_of(folder, binding, base)}",
                                "--sparse-bind=always")[1]
    print(f"{end - first} networks: equal bits, {used} times bound")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("models", nargs="*", default=["two_layers"])
    parser.add_argument("--density", default="0.05")
    parser.add_argument("--seeds", help="FIRST:END")
    parser.add_argument("--table", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        if options.seeds:
            return random_networks(*map(int, options.seeds.split(":")), folder)
        for name in options.models:
            model = os.path.join(folder, f"{name}.onnx")
            if name == "two_layers":
                two_layers(model, float(options.density))
                inputs = cluster.sample(model, 1, folder)
            else:
                source = common.model_path(name)
                cluster.run("ashlar-prune", source, "-o", model, f"--density={options.density}")
                inputs = os.path.join(folder, "x.npz")
                arrays, _ = common.dev_inputs(name, 1)
                np.savez(inputs, **{common.graph_inputs(source)[0]: arrays[0][None]})
            saved, used = check(name, model, inputs, folder, options.table)
            print(f"{name}: equal bits, {used} times bound by choice, {saved} cycles fewer")
        if options.models == ["two_layers"]:
            print("refused:", refuse(model, inputs, folder))
    return None


if __name__ == "__main__":
    main()
