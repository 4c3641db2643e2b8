#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Every planned tensor of a network: emulator against the numpy reference.

usage: numerics_model.py MODEL.onnx INPUT.npz|dev [--format=bfp8]
                         [--mixed=SEED] [--machine=a1] [--threads=2]
                         [--ashlarc=OPTION]... [--runs=N]

`dev` takes the first dev input of a shared model, MODEL then being its name.
`--mixed` gives every product formats of its own, drawn from all that there are.
`--runs` repeats that with inputs of other sizes, each run given the state that
the last one left, and compares that as well.
Maps that drains pool are stored nowhere; all other tensors have to be there.
Fails if one bit differs (test/reference/reference.py does the comparison).
"""

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile

import numpy as np

import common

REFERENCE = os.path.join(common.ROOT, "test", "reference", "reference.py")


def inputs_of(options, folder):
    """(model path, npz with one sample)."""
    if options.inputs != "dev":
        return options.model, options.inputs
    model = common.model_path(options.model)
    array, _ = common.dev_inputs(options.model, 1)
    path = os.path.join(folder, "in.npz")
    np.savez(path, **{common.graph_inputs(model)[0]: array})
    return model, path


def any_format(source, blocks, weights=False):
    """A format; of constant `weights` output channels may share exponents."""
    block = source.choice(blocks)
    text = (f"w={source.randint(3, 16)},block={block},"
            f"range={source.choice([0, 1, 3, 7, 15])}")
    if weights and block != "tensor" and source.random() < 0.4:
        text += f",rows={source.choice([2, 3, 4, 5, 8, 16, 'quadrant'])}"
    return text


def mixed_table(seed, model, folder, blocks=("tensor", 8, 16, 32, 64, "axis")):
    """A table of formats with an entry for every product of the model."""
    plan = os.path.join(folder, "products")
    common.run_tool("ashlarc", model, f"--dump-plan={plan}",
                    "--compile-to=quantise")
    with open(os.path.join(plan, "plan.json"), encoding="utf-8") as file:
        described = json.load(file)
    constant = {tensor["name"] for tensor in described["tensors"] if "channel_axis" in tensor}
    products = {op["name"]: op["inputs"]["w"] in constant for op in described["ops"]
                if op["op"] in ("conv", "matmul")}
    source = random.Random(seed)
    table = {name: {"activations": any_format(source, blocks),
                    "weights": any_format(source, blocks, weights)}
             for name, weights in products.items()}
    path = os.path.join(folder, "formats.json")
    with open(path, "w", encoding="utf-8") as file:
        json.dump({"nodes": table}, file)
    return path


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model")
    parser.add_argument("inputs")
    parser.add_argument("--format", default="bfp8")
    parser.add_argument("--mixed")
    parser.add_argument("--ashlarc", action="append", default=[])
    parser.add_argument("--machine", default="a1")
    parser.add_argument("--threads", default="2")
    parser.add_argument("--runs", type=int, default=1)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        model, inputs = inputs_of(options, folder)
        binary = os.path.join(folder, "model.ash")
        plan = os.path.join(folder, "plan")
        dump = os.path.join(folder, "dump")
        formats = f"--format={options.format}"
        if options.mixed is not None:
            formats = "--formats=" + mixed_table(options.mixed, model, folder)
        common.run_tool("ashlarc", model, "-o", binary, formats,
                        f"--machine={options.machine}", f"--dump-plan={plan}",
                        f"--report={folder}/compile.json", *options.ashlarc)
        return run_all(options, folder, inputs)


def scaled_inputs(inputs, run, folder):
    """The inputs of a run: from the second on, factors from 1/16 to 64."""
    if run == 0:
        return inputs
    factor = [1, 0.25, 8, 0.0625, 64, 2, 0][run % 7]
    path = os.path.join(folder, f"in{run}.npz")
    with np.load(inputs) as arrays:
        np.savez(path, **{name: (array * factor).astype(array.dtype)
                          for name, array in arrays.items()})
    return path


def commands(folder, sample, run, runs, threads):
    """Command lines of one run on the emulator and of the reference; of `runs`
    runs each but the first is given the state that the last one left."""
    binary, plan, dump, outputs = (
        os.path.join(folder, name)
        for name in ("model.ash", "plan", "dump", "out.npz"))
    machine = [common.tool("ashlar-run"), binary, f"--inputs={sample}",
               f"--dump-tensors={dump}", f"--threads={threads}",
               f"--outputs={outputs}"]
    reference = [sys.executable, REFERENCE, plan, sample, dump]
    for command, ending in ((machine, "npz"), (reference, "json")):
        if runs > 1:
            command.append(f"--state-out={folder}/state{run}.{ending}")
        if run > 0:
            command.append(f"--state-in={folder}/state{run - 1}.{ending}")
    return machine, reference


def run_all(options, folder, inputs):
    """The number of runs that differ."""
    failed = 0
    for run in range(options.runs):
        sample = scaled_inputs(inputs, run, folder)
        machine, reference = commands(folder, sample, run, options.runs,
                                      options.threads)
        reference += [f"--unstored={node}" for node in pooled_nodes(folder)]
        common.run_tool("ashlar-run", *machine[1:])
        failed += subprocess.run(reference).returncode != 0
        for name in states_differ(folder, run) if options.runs > 1 else []:
            print(f"{name}: another exponent for the next run")
            failed += 1
    return failed


def pooled_nodes(folder):
    """Nodes whose results are pooled in the drain, and stored nowhere before: so
    are joined maps of which all parts are."""
    with open(os.path.join(folder, "compile.json"), encoding="utf-8") as file:
        decisions = json.load(file)["decisions"]
    nodes = [decision["node"] for decision in decisions
             if decision["choice"] == "pool-in-drain"]
    with open(os.path.join(folder, "plan", "plan.json"), encoding="utf-8") as file:
        ops = json.load(file)["ops"]
    return nodes + [op["name"] for op in ops if op["op"] == "concat" and
                    all(name in nodes for name in op["inputs"].values())]


def states_differ(folder, run):
    """Tensors whose exponent of the next run is not the reference's."""
    with np.load(f"{folder}/state{run}.npz") as arrays:
        found = arrays["state"]
    with open(f"{folder}/state{run}.json", encoding="utf-8") as stream:
        expected = json.load(stream)
    with open(os.path.join(folder, "plan", "plan.json"), encoding="utf-8") as stream:
        events = [e for e in json.load(stream)["events"] if "state" in e]
    return [e["tensor"] for e in events if int(found[e["state"]]) !=
            expected[str(e["id"])]["exponent"]]


if __name__ == "__main__":
    sys.exit(main())
