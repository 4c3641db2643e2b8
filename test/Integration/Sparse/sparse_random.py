#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random convolutions on the sparse cluster, from ONNX to cycles.

usage: sparse_random.py [--count=60] [--seed=1] [--only=N] [--numpy=K]
                        [--modes=tile,scatter] [--verbose]

Kernels 1 to 7, strides and dilations 1 to 3, any pads, groups, depthwise,
densities 0 to 1, dead channels and results, on `a1-ideal`, `a1-tiny` and machines
whose units are so small that tiles shrink to one result. Each network is
compiled with --sparse=off and --sparse=tile: the outputs have to be the same
bits, and in the order of emission every tcc.run and every dma.tile has to take the cycles of the closed
form (tile_cycles.py), which knows no prices. Every K-th network is also compared with the numpy
reference, tensor by tensor.

With a second convolution after it each is compiled with --sparse=scatter too, for
a random unit, algorithm, metric and source of cuts, on `a1` in place of `a1-ideal`: the bits of the dense array,
and after each cut at run time the counts of the feature map (run_time_cuts.py).
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

INTEGRATION = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, INTEGRATION)

import common  # noqa: E402
import run_time_cuts  # noqa: E402
import tile_cycles  # noqa: E402

sys.path.insert(0, os.path.join(common.ROOT, "test", "reference"))
import plan as numeric_plan  # noqa: E402
import products  # noqa: E402

FORMATS = ["bfp8", "bfp8", "bfp16", "w=6,block=8,range=3",
           "w=8,block=32,range=15", "w=5,block=axis,range=7"]
DENSITIES = [0, 0.02, 0.1, 0.1, 0.25, 0.5, 0.9, 1]


class Case:
    """A convolution, its network and the machine it is compiled for."""

    def __init__(self, seed):
        self.source = source = random.Random(seed)
        self.numbers = np.random.default_rng(seed)
        self.machine, self.changes = self.draw_machine()
        # Closed forms are checked where channels and results lie in one tile
        # of the state buffer's partitions.
        most = 8 if self.machine == "a1-tiny" else 96
        rank = source.choice([1, 2, 2, 2, 2])
        self.kernel = [source.choice([1, 1, 2, 3, 3, 4, 5, 7])
                       for _ in range(rank)]
        self.stride = [source.choice([1, 1, 2, 3]) for _ in range(rank)]
        self.dilation = [source.choice([1, 1, 2, 3]) for _ in range(rank)]
        span = [(k - 1) * d + 1 for k, d in zip(self.kernel, self.dilation)]
        self.pads = [source.choice([0, 0, k // 2, source.randint(0, k)])
                     for k in self.kernel * 2]
        self.extent = [max(source.randint(1, 20), s - a - b, 1)
                       for s, a, b in zip(span, self.pads, self.pads[rank:])]
        self.groups = source.choice([1, 1, 1, 1, 2, 3, 4, 8])
        inner = source.randint(1, max(1, most // self.groups))
        if source.random() < 0.5:
            inner = min(inner, source.randint(1, 8))
        outer = source.randint(1, max(1, most // self.groups))
        if source.random() < 0.2:  # depthwise
            self.groups, inner, outer = source.randint(2, most), 1, 1
        self.channels = inner * self.groups
        self.outputs = outer * self.groups
        self.images = source.choice([1, 1, 1, 2, 3])
        self.density = source.choice(DENSITIES)
        self.weights = self.draw_weights(outer * self.groups, inner)
        self.format = source.choice(FORMATS)
        if self.machine == "a1-tiny" and "32" in self.format:
            self.format = "bfp8"
        self.relu = source.random() < 0.5
        self.bias = source.random() < 0.7
        self.draw_scatter(random.Random(-1 - seed))

    def draw_machine(self):
        source = self.source
        base = source.choice(["a1-ideal"] * 3 + ["a1-tiny"])
        changes = {}
        if base == "a1-ideal" and source.random() < 0.6:
            changes = {
                "tcus": source.choice([1, 2, 5, 16]),
                "lanes": source.choice([1, 7, 16, 64, 128]),
                "coefficients_per_step": source.choice([1, 2, 3, 4]),
                "fmu_bytes": source.choice([4096, 16384, 65536]),
                "fmu_sets": source.choice([1, 2, 3]),
                "wm_bytes": source.choice([65536, 524288]),
                "wm_broadcast": source.choice([1, 2, 4]),
                "accumulator_entries": source.choice([64, 100, 512, 8192]),
                "tile_tables": source.choice([1, 2, 16])}
        return base, changes

    def draw_scatter(self, source):
        """Options of scatter mode, and the convolution that follows."""
        self.scatter = [
            f"--scatter-unit={source.choice('ABCD')}",
            f"--partition={source.choice(['p2', 'p2', 'p1', 'rows'])}",
            f"--partition-metric={source.choice(['nnz', 'density', 'zeros'])}",
            "--partition-cuts=" + source.choice(
                ["auto", "profile", "runtime", "always", "always"]),
            "--partition-halo=" + source.choice(
                ["overlap", "disjoint", "auto"])]
        self.calibrate = source.random() < 0.5
        self.cuts = 0  # chosen while the network ran
        kernel = [source.choice([1, 2, 3])] * len(self.kernel)
        self.second = {"kernel_shape": kernel,
                       "strides": [source.choice([1, 1, 2])] * len(kernel),
                       "pads": [k // 2 for k in kernel * 2]}
        shape = [source.choice([1, 3, 8, 24]), self.outputs, *kernel]
        numbers = np.random.default_rng(source.randrange(1 << 30))
        weights = numbers.normal(size=shape).astype(np.float32)
        self.more_weights = weights * (numbers.random(shape) < 0.4)
        if self.changes:
            self.changes["count_entries"] = source.choice([16, 200, 65536])

    def draw_weights(self, outputs, inner):
        shape = [outputs, inner, *self.kernel]
        weights = self.numbers.normal(size=shape).astype(np.float32)
        weights *= self.numbers.random(shape) < self.density
        for axis in (0, 1):
            if self.source.random() < 0.3:  # dead results, dead channels
                dead = self.numbers.random(shape[axis]) < 0.4
                if self.source.random() < 0.5:
                    dead[0] = True
                index = [slice(None)] * len(shape)
                index[axis] = dead
                weights[tuple(index)] = 0
        return weights

    def __str__(self):
        return (f"{self.machine}{self.changes or ''} {self.format} "
                f"[{self.images},{self.channels},{self.extent}] -> "
                f"{self.outputs} kernel {self.kernel} stride {self.stride} "
                f"dilation {self.dilation} pads {self.pads} groups "
                f"{self.groups} density {self.density}")

    def write(self, folder):
        """Writes models, inputs and machine; returns the compiler's options."""
        inits = [numpy_helper.from_array(self.weights, "w")]
        if self.bias:
            inits.append(numpy_helper.from_array(
                self.numbers.normal(size=self.outputs).astype(np.float32), "b"))
        node = helper.make_node(
            "Conv", ["x", "w"] + ["b"] * self.bias, ["c" if self.relu else "y"],
            kernel_shape=self.kernel, strides=self.stride, pads=self.pads,
            dilations=self.dilation, group=self.groups)
        nodes = [node] + ([helper.make_node("Relu", ["c"], ["y"])]
                          if self.relu else [])
        shape = [self.images, self.channels, *self.extent]
        save(os.path.join(folder, "m.onnx"), nodes, inits, shape, "y")
        behind = helper.make_node("Conv", ["y", "v"], ["z"], **self.second)
        inits.append(numpy_helper.from_array(self.more_weights, "v"))
        save(os.path.join(folder, "deep.onnx"), nodes + [behind], inits, shape,
             "z")
        for name in ("in", "calibration"):
            np.savez(os.path.join(folder, name + ".npz"),
                     x=self.numbers.normal(size=shape).astype(np.float32))
        self.priced = self.write_machine(
            folder, self.machine.replace("a1-ideal", "a1"))
        return [f"--machine={self.write_machine(folder, self.machine)}",
                f"--format={self.format}"]

    def write_machine(self, folder, base):
        """`base` with this case's changes: its name, or a file."""
        if not self.changes:
            return base
        path = os.path.join(folder, base + ".yaml")
        with open(path, "w", encoding="utf-8") as file:
            file.write(f"base: {base}\nsparse:\n" + "".join(
                f"  {name}: {value}\n" for name, value in self.changes.items()))
        return path


def save(path, nodes, inits, shape, output):
    graph = helper.make_graph(
        nodes, "case",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
        [helper.make_tensor_value_info(output, TensorProto.FLOAT, None)],
        inits)
    onnx.save(helper.make_model(
        graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8), path)


def outputs_of(folder, options, mode):
    binary = os.path.join(folder, mode + ".ash")
    result = os.path.join(folder, mode + ".npz")
    common.run_tool("ashlarc", os.path.join(folder, "m.onnx"), "-o", binary,
                    f"--sparse={mode}", *options,
                    f"--dump-plan={os.path.join(folder, 'plan')}")
    common.run_tool("ashlar-run", binary, f"--outputs={result}", "--quiet",
                    f"--inputs={os.path.join(folder, 'in.npz')}",
                    f"--report={os.path.join(folder, mode + '.json')}",
                    f"--trace={os.path.join(folder, mode + '.trace')}")
    with np.load(result) as arrays:
        return arrays["y"]


def machine_of(case, weight_bits):
    text = common.run_tool("ashlarc", f"--dump-machine={case.machine}").stdout
    read = lambda name: int(re.search(rf"\b{name}: (\d+)", text).group(1))
    sparse = text.split("sparse:")[1]
    of = lambda name: case.changes.get(
        name, int(re.search(rf"\b{name}: (\d+)", sparse).group(1)))
    return {"tcus": of("tcus"), "lanes": of("lanes"),
            "per_step": of("coefficients_per_step"),
            "broadcast": of("wm_broadcast"), "digit": read("cell_digit_bits"),
            "onchip": read("onchip_bytes_per_cycle"),
            "partitions": read("partitions"), "weight_bits": weight_bits}


def measured(path, mnemonic):
    """Cycles of each instruction of one kind, in program order."""
    with open(path, encoding="utf-8") as file:
        data = json.load(file)
    events = data["traceEvents"] if isinstance(data, dict) else data
    found = [(e["args"]["instruction"], e["dur"]) for e in events
             if e.get("cat") == "instruction"
             and e["name"].split()[0] == mnemonic]
    return [duration for _, duration in sorted(found)]


def mask_of(folder):
    """(weights that are not zero once aligned, mantissa bits, groups)."""
    plan = numeric_plan.Plan(os.path.join(folder, "plan"))
    op = next(o for o in plan.ops if o["op"] == "conv")
    weight = plan.constants()[op["inputs"]["w"]]
    _, integers = products.aligned(weight)
    flat = integers.reshape(integers.shape[0], integers.shape[1], -1)
    return flat != 0, weight.data.format.mantissa, op["attrs"]["group"]


def closed_form(case, folder, mode):
    """Compares the cycles of runs and loads; None or a problem."""
    with open(os.path.join(folder, mode + ".json"), encoding="utf-8") as file:
        report = json.load(file)
    if all(node["engine"] != "tcu" for node in report["nodes"]):
        reasons = [d["reason"] for d in report["decisions"] if "eligible" in d]
        return f"not on the sparse cluster: {reasons}"
    text = common.run_tool(
        "ashlar-dis", os.path.join(folder, mode + ".ash")).stdout
    mask, bits, groups = mask_of(folder)
    machine = machine_of(case, bits)
    live = mask.any(axis=2).reshape(groups, -1, mask.shape[1]).any(axis=1)
    first = int(live.reshape(-1).argmax()) // machine["partitions"]
    layer = tile_cycles.Layer(machine, mask, groups, first)
    layer.follow(text)
    trace = os.path.join(folder, mode + ".trace")
    found = measured(trace, "dma.tile")
    if found != layer.loads:
        return f"dma.tile takes {found[:8]}, closed form {layer.loads[:8]}"
    found = measured(trace, "tcc.run")
    allowed = list(zip(layer.runs, layer.dense_runs))
    if len(found) != len(allowed) or any(
            cycles not in both for cycles, both in zip(found, allowed)):
        return f"tcc.run takes {found[:8]}, closed form {layer.runs[:8]}"
    return None


def check_scatter(case, folder, options):
    """Two convolutions in scatter mode; None or a problem."""
    scatter = ["--sparse=scatter", *case.scatter]
    if case.calibrate:
        scatter.append(
            f"--calibrate={os.path.join(folder, 'calibration.npz')}")
    model, inputs = (os.path.join(folder, n) for n in ("deep.onnx", "in.npz"))
    expected, _ = run_time_cuts.run(model, inputs, folder, "--sparse=off",
                                    *options)
    found, report = run_time_cuts.run(model, inputs, folder, *options, *scatter)
    case.cuts = len(report["cuts"])
    if found != expected:
        return f"{scatter}: bits differ from the dense array"
    zeros = "--partition-metric=zeros" in scatter
    wrong = list(run_time_cuts.check_dump(os.path.join(folder, "dump"), report,
                                          zeros))
    return f"{scatter}: {wrong}" if wrong else None


def check_tile(case, folder, options, against_numpy):
    expected = outputs_of(folder, options, "off")
    found = outputs_of(folder, options, "tile")
    if found.tobytes() != expected.tobytes():
        return "bits differ from the dense cluster"
    # The closed form takes a drain to be that of the run before it.
    emitted = outputs_of(folder, [*options, "--schedule=off"], "tile")
    if emitted.tobytes() != expected.tobytes():
        return "bits differ in the order of emission"
    problem = closed_form(case, folder, "tile")
    if problem or not against_numpy:
        return problem
    done = subprocess.run(
        [sys.executable, os.path.join(INTEGRATION, "numerics_model.py"),
         os.path.join(folder, "m.onnx"), os.path.join(folder, "in.npz"),
         "--ashlarc=--sparse=tile", *options], capture_output=True, text=True)
    return done.stdout + done.stderr if done.returncode else None


def check(case, folder, modes, against_numpy):
    options = case.write(folder)
    if "scatter" in modes:
        problem = check_scatter(
            case, folder, [*options, f"--machine={case.priced}"])
        if problem:
            return problem
    if "tile" in modes:
        return check_tile(case, folder, options, against_numpy)
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=60)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", type=int)
    parser.add_argument("--numpy", type=int, default=10)
    parser.add_argument("--modes", default="tile,scatter")
    parser.add_argument("--verbose", action="store_true")
    options = parser.parse_args()
    failures = cuts = 0
    chosen = range(options.count) if options.only is None else [options.only]
    for index in chosen:
        case = Case(1000 * options.seed + index)
        with tempfile.TemporaryDirectory() as folder:
            try:
                problem = check(case, folder, options.modes.split(","),
                                  index % options.numpy == 0)
            except SystemExit as error:
                problem = str(error)
        if options.verbose or problem:
            print(f"{index}: {case}{': ' + problem if problem else ''}",
                  flush=True)
        failures += problem is not None
        cuts += case.cuts
    print(f"{len(chosen)} convolutions, {failures} failures, {cuts} cuts at "
          "run time")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
