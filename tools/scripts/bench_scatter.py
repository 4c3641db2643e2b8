#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Modes of the sparse cluster on real activations.

usage: bench_scatter.py [MODEL|resnet50]... [--density=0.1] [--layers] [--check]
                        [--cuts]

Prunes each shared model (squeezenet1_1 without arguments; resnet50 is the light
ResNet-50 with seeded weights) to --density (1: not at all), compiles it with
--sparse=off, tile, scatter and auto, the last two with cuts from a profile of one
input (--calibrate), and runs all of them on another one. Prints the cycles of
each, and whether the multiplications issued are those that zeros leave
(issued_products.py counts them from the tensors). --layers prints both modes per
layer.

--cuts compares cuts: equal tiles, the profile's and the machine's where they are
predicted to pay, tiles of the operand, and both wherever they can be made
(run_time_cuts.py counts the machine's tiles' non-zeros again). Printed are cycles, also as a share of those of
the profile's cuts of the same kind, and the load as the units measured it: busiest
over mean of all units, mean over the layers; of those in it that were cut too. Last
the balance of the same maps on all units without splitting results (ashlar-tiles).

--check fails if a bit differs, if auto takes more than 1.03 times the best of the
others or more than off, if cuts at run time take more than 1.05 times the
profile's of their kind, if the load of an unpruned network is above 1.10, or if a
count is wrong.
"""

import argparse
import json
import os
import re
import sys
import tempfile

import numpy as np

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(
    os.path.abspath(__file__))))
INTEGRATION = os.path.join(ROOT, "test", "Integration")
sys.path[:0] = [INTEGRATION, os.path.join(INTEGRATION, "Sparse")]

import bench_sparse  # noqa: E402
import common  # noqa: E402
import issued_products  # noqa: E402
import run_time_cuts  # noqa: E402


class Network:
    """A pruned model with an input to run and one to calibrate with."""

    def __init__(self, name, density, machine, folder):
        self.name, self.machine, self.folder = name, machine, folder
        source = bench_sparse.source_of(name)
        self.model = source
        if float(density) < 1:
            self.model = os.path.join(folder, "pruned.onnx")
            bench_sparse.run("ashlar-prune", source, "-o", self.model,
                             f"--density={density}")
        self.input, self.calibration = self.samples()

    def path(self, name):
        return os.path.join(self.folder, name)

    def samples(self):
        key = common.graph_inputs(self.model)[0]
        image = "squeezenet1_1" if self.name == "resnet50" else self.name
        arrays, _ = common.dev_inputs(image, 2)
        paths = []
        for i, label in enumerate(["in", "calibration"]):
            paths.append(self.path(label + ".npz"))
            np.savez(paths[-1], **{key: arrays[i % len(arrays)][None]})
        return paths

    def measure(self, mode, *options, dump=False):
        """Report of a run, decisions by node, outputs."""
        binary, report, outputs = (self.path(n) for n in
                                   ("m.ash", "report.json", "out.npz"))
        plan = [f"--dump-plan={self.path('plan')}"] if dump else []
        bench_sparse.run("ashlarc", self.model, "-o", binary,
                         f"--sparse={mode}", f"--machine={self.machine}",
                         *options, *plan)
        dumps = [f"--dump-tensors={self.path('dump')}"] if dump else []
        bench_sparse.run("ashlar-run", binary, f"--inputs={self.input}",
                         f"--report={report}", f"--outputs={outputs}", *dumps)
        with open(report, encoding="utf-8") as stream:
            data = json.load(stream)
        with np.load(outputs) as arrays:
            results = {n: arrays[n].tobytes() for n in arrays}
        decisions = {d["node"]: d for d in data["decisions"]
                     if "data_density" in d}
        return data, decisions, results


def balances(decisions):
    """(equal tiles, chosen cuts) of the layers in scatter mode whose balance is
    known: a decision without cuts, or with cuts of data without places, has none."""
    layers = [d.get("cuts", {}) for d in decisions.values()
              if d["choice"] == "sparse-scatter"]
    return [(float(c["balance_uniform"]), float(c["balance"]))
            for c in layers if "balance" in c]


def print_layers(tile, scatter, decisions):
    cycles = {n["name"]: n["cycles"] for n in tile["nodes"]}
    for node in scatter["nodes"]:
        decision = decisions.get(node["name"])
        if decision is None or decision["choice"] != "sparse-scatter":
            continue
        cuts = decision.get("cuts", {})
        print(f"  {node['name'][-28:]:<28} zeros "
              f"{100 - decision['data_density'] / 10:5.1f} % tile "
              f"{cycles.get(node['name'], 0):>8} scatter {node['cycles']:>8} "
              f"{cuts.get('algorithm', '-'):<8} {cuts.get('flag', '-'):<11} uniform "
              f"{cuts.get('balance_uniform', '-')} cut {cuts.get('balance', '-')}")


def loads(report, units):
    """By layer in scatter mode: busiest over mean of all units, from the cycles
    that each was busy; units that ran together wait for the slowest."""
    found = {}
    for node in report["nodes"]:
        rounds = {}
        for work in node.get("units", []):
            rounds.setdefault(work["first"], []).append(work["cycles"])
        total = sum(map(sum, rounds.values()))
        if total:
            found[node["name"]] = units * sum(map(max, rounds.values())) / total
    return found


def mean(values):
    values = list(values)
    return sum(values) / len(values) if values else 1.0


def compare_cuts(network, options, extra, expected):
    """Prints equal tiles, cuts of the profile and of the machine; yields
    problems."""
    cycles_of = {}
    machine = common.run_tool("ashlarc", f"--dump-machine={network.machine}")
    units = int(re.search(r"\btcus: (\d+)", machine.stdout).group(1))
    for label, base, cuts in (
            ("profile", "profile", "--partition-cuts=profile"),
            ("equal tiles", "profile", "--partition=uniform"),
            ("at run time", "profile", "--partition-cuts=runtime"),
            ("disjoint", "profile", "--partition-halo=disjoint"),
            ("either halo", "profile", "--partition-halo=auto"),
            ("always, profile", "always, profile",
             "--partition-cuts=always-profile"),
            ("always, run time", "always, profile",
             "--partition-cuts=always")):
        report, decisions, results = network.measure(
            "scatter", *extra, cuts, dump=True)
        cycles = cycles_of[label] = report["total_cycles"]
        share = cycles / cycles_of[base]
        found = loads(report, units)
        cut = [n for n, d in decisions.items()
               if d.get("cuts", {}).get("algorithm") != "uniform"]
        print(f"  {label:<16} {cycles:>9} cycles ({share:.3f}), load "
              f"{mean(found.values()):.3f} in {len(found)} layers, "
              f"{mean(found[n] for n in cut if n in found):.3f} in the "
              f"{len(cut)} cut ones, {len(report['cuts'])} cuts at run time",
              flush=True)
        if results != expected:
            yield f"{network.name}: {label} changes a bit"
        yield from (f"{network.name}: {w}" for w in run_time_cuts.check_dump(
            network.path("dump"), report, zeros=False))
        if label.endswith("run time") and share > 1.05:
            yield (f"{network.name}: {label} takes {share:.3f} of the cycles of "
                   f"the profile's cuts")
        if (label == "profile" and float(options.density) == 1 and
                mean(found.values()) > 1.10):
            yield f"{network.name}: load {mean(found.values()):.3f}"
    study = common.run_tool("ashlar-tiles", network.path("dump"),
                            f"--constants={network.path('plan')}", "--groups=1")
    print("  one group of units:",
          study.stdout.splitlines()[-1].split(";")[0], flush=True)


def bench(network, options):
    """Prints the lines of a network; yields problems."""
    name = network.name
    calibrate = f"--calibrate={network.calibration}"
    extra = [calibrate, f"--partition={options.partition}"]
    off, _, expected = network.measure("off")
    tile, _, tiled = network.measure("tile")
    scatter, decisions, scattered = network.measure("scatter", *extra,
                                                    dump=True)
    issued = issued_products.compare(network.path("plan"),
                                     network.path("dump"), scatter, decisions)
    auto, _, chosen = network.measure("auto", *extra)
    cycles = {k: v["total_cycles"] for k, v in
              (("off", off), ("tile", tile), ("scatter", scatter),
               ("auto", auto))}
    print(f"{name} density {options.density}: " + " ".join(
        f"{k} {v}" for k, v in cycles.items()), flush=True)
    pairs = balances(decisions)
    if pairs:
        even, cut = (sum(p[i] for p in pairs) / len(pairs) for i in (0, 1))
        print(f"  {len(pairs)} layers in scatter mode: balance {even:.3f} "
              f"uniform, {cut:.3f} {options.partition}; issued products "
              f"counted in {issued.layers} layers, {issued.products} of "
              f"{issued.dense} dense ones")
    if options.layers:
        print_layers(tile, scatter, decisions)
    if options.cuts:
        yield from compare_cuts(network, options, extra, expected)
    for label, found in (("tile", tiled), ("scatter", scattered),
                         ("auto", chosen)):
        if found != expected:
            yield f"{name}: --sparse={label} changes a bit"
    yield from (f"{name}: {w}" for w in issued.wrong)
    if cycles["auto"] > cycles["off"]:
        yield f"{name}: auto takes more cycles than off"
    best = min(cycles["off"], cycles["tile"], cycles["scatter"])
    if cycles["auto"] > 1.03 * best:
        yield f"{name}: auto takes {cycles['auto'] / best:.3f} of the best mode"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("models", nargs="*", default=["squeezenet1_1"])
    parser.add_argument("--density", default="0.1")
    parser.add_argument("--machine", default="a1")
    parser.add_argument("--partition", default="p2")
    parser.add_argument("--layers", action="store_true")
    parser.add_argument("--cuts", action="store_true")
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    failures = []
    for name in options.models or ["squeezenet1_1"]:
        with tempfile.TemporaryDirectory() as folder:
            network = Network(name, options.density, options.machine, folder)
            failures += bench(network, options)
    for failure in failures:
        print(failure)
    return 1 if options.check and failures else 0


if __name__ == "__main__":
    sys.exit(main())
