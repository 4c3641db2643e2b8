#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Pruned networks on the dense array and on the sparse cluster.

usage: bench_sparse.py [MODEL|resnet50]... [--density=1,0.5,...] [--check]
       bench_sparse.py MODEL... --depthwise [--check]
       bench_sparse.py MODEL... --never-above
       bench_sparse.py MODEL... --bound
       bench_sparse.py MODEL... --large-cluster [--bound|...]

Prunes each shared model (squeezenet1_1 without arguments; resnet50 is the light
ResNet-50 with seeded weights) to each density, compiles it with --sparse=off
and --sparse=auto, runs both and prints the cycles of the network, the layers
on the sparse cluster, and for the whole network on it (--sparse=tile) the
cycles relative to density 1, which is the speed-up that skipping realises.
--check fails if auto takes more cycles than off, if their outputs differ in a
bit, or if auto gains less than LIMITS says at 10 %.

For the realised skip a layer counts as bound by compute if the sums of the
cluster take most of its predicted cycles; with --check the skip of these layers
together has to be SHARE of the weights per coefficient that is left.

--depthwise prints the cycles of each depthwise layer on both clusters and their
share of the network (--check: at least DEPTHWISE times fewer), --never-above
compares the cycles and bits of models as they are. --bound prints, at 10 %, the
cycles that no overlap can save (on a1): a layer of products begins when the one
before has ended, because the exponents of a feature map are known when it is complete,
and takes as long as the engine with the most to do in it. --large-cluster takes
a1 with a sparse cluster that no layer waits for (CLUSTER): what is left of the
difference to 1 are cycles that both clusters share. --machine takes any other.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile

import numpy as np

import drawn

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(
    os.path.abspath(__file__))))
BUILD = os.environ.get("ASHLAR_BUILD", os.path.join(ROOT, "build"))
MODELS = os.environ.get("ASHLAR_MODELS",
                        os.path.join(ROOT, "..", "shared", "models"))
# How many times fewer cycles the whole network has to take at 10 %.
LIMITS = {"squeezenet1_1": 1.6, "resnet50": 1.6}
SHARE = 0.9
DRAM_BYTES = 64  # of a1 in a cycle
DEPTHWISE = 4
# What differs from a1: 16 times as many multipliers, 8 times as many coefficients
# a step, 16 times the bandwidth on the chip.
CLUSTER = """name: large-cluster
sparse: {tcus: 64, lanes: 512, coefficients_per_step: 16, wm_broadcast: 16}
dma: {onchip_bytes_per_cycle: 2048}
"""


def run(tool, *arguments):
    done = subprocess.run([os.path.join(BUILD, "bin", tool), *arguments],
                          text=True, capture_output=True)
    if done.returncode:
        raise SystemExit(f"{tool} {' '.join(arguments)}\n{done.stderr}")


def measure(model, mode, machine, folder):
    """(cycles, report, outputs) of a compiled network."""
    binary, report, outputs = (os.path.join(folder, name) for name in
                               ("m.ash", "report.json", "out.npz"))
    run("ashlarc", model, "-o", binary, f"--sparse={mode}",
        f"--machine={machine}")
    run("ashlar-run", binary, "--random-inputs=1", f"--report={report}",
        f"--outputs={outputs}")
    with open(report, encoding="utf-8") as stream:
        data = json.load(stream)
    with np.load(outputs) as arrays:
        results = {name: arrays[name].tobytes() for name in arrays}
    return data["total_cycles"], data, results


def sparse_layers(report):
    return sum(node.get("engine") == "tcu" for node in report["nodes"])


def compute_bound(report):
    """(weights, coefficients, cycles without skipping, cycles) of the layers on
    the cluster whose sums take most of their cycles."""
    totals = [0, 0, 0, 0]
    for decision in report["decisions"]:
        if decision.get("choice") != "sparse-tile" or "engines" not in decision:
            continue
        cycles = decision["alternatives"]
        if decision["engines"]["run"] < 0.9 * cycles["sparse-tile"]:
            continue
        zeros = decision["zeros"]
        left = zeros["weights"] - sum(
            zeros[kind] for kind in ("exact", "encoded", "structural"))
        for i, value in enumerate((zeros["weights"], left,
                                   cycles["sparse-tile-unskipped"],
                                   cycles["sparse-tile"])):
            totals[i] += value
    return totals


def source_of(name):
    if name != "resnet50":
        return os.path.join(MODELS, name + ".onnx")
    return drawn.model(drawn.RESNET50)


def ladder(name, densities, machine, tile, folder):
    """Prints one line per density; yields problems."""
    source = source_of(name)
    full = None
    for density in densities:
        model = os.path.join(folder, "pruned.onnx")
        run("ashlar-prune", source, "-o", model, f"--density={density}")
        off, _, expected = measure(model, "off", machine, folder)
        auto, report, found = measure(model, "auto", machine, folder)
        line = (f"{name} density {density:<5} off {off:>9} auto {auto:>9} "
                f"gain {off / auto:5.2f} sparse layers {sparse_layers(report)}")
        if tile:
            cycles, report, tiled = measure(model, "tile", machine, folder)
            full = full or cycles
            weights, left, dense, kept = compute_bound(report)
            line += f" tile {cycles:>9} fewer than dense {full / cycles:5.2f}"
            if left and kept:
                line += (f" bound by compute: weights/left {weights / left:5.2f}"
                         f" realised skip {dense / kept:5.2f}")
                if dense / kept < SHARE * weights / left:
                    yield f"{name} at {density}: realised skip too small"
            if tiled != expected:
                yield f"{name} at {density}: --sparse=tile changes a bit"
        print(line, flush=True)
        if auto > off:
            yield f"{name} at {density}: auto takes {auto} cycles, off {off}"
        if found != expected:
            yield f"{name} at {density}: --sparse=auto changes a bit"
        limit = LIMITS.get(name, 1)
        if density == 0.1 and off < limit * auto:
            yield f"{name} at 0.1: gain {off / auto:.2f}, expected {limit}"


def depthwise(name, machine, folder):
    """Prints the depthwise layers of a model on both clusters."""
    import onnx
    source = source_of(name)
    graph = onnx.load(source).graph
    shapes = {t.name: t.dims for t in graph.initializer}
    groups = {}
    for index, node in enumerate(graph.node):
        group = next((a.i for a in node.attribute if a.name == "group"), 1)
        if node.op_type == "Conv" and group > 1 and \
                shapes[node.input[1]][1] == 1:
            groups[node.name or f"{node.op_type}_{index}"] = group
    off, plain, _ = measure(source, "off", machine, folder)
    auto, report, _ = measure(source, "auto", machine, folder)
    dense = sparse = 0
    for before, after in zip(plain["nodes"], report["nodes"]):
        if before["name"] not in groups:
            continue
        dense += before["cycles"]
        sparse += after["cycles"]
        print(f"  {before['name']:<40} channels {groups[before['name']]:>5} "
              f"array {before['cycles']:>7} sparse cluster "
              f"{after['cycles']:>7} {before['cycles'] / max(after['cycles'], 1):6.2f}")
    print(f"{name} depthwise layers: array {dense} ({dense / off:.0%} of the "
          f"network), sparse cluster {sparse} ({sparse / auto:.0%}), "
          f"{dense / max(sparse, 1):.2f} times fewer; network {off} -> {auto}")
    if dense < DEPTHWISE * sparse:
        yield f"{name}: depthwise layers {dense / max(sparse, 1):.2f} times fewer"


def never_above(name, machine, folder):
    source = source_of(name)
    off, _, expected = measure(source, "off", machine, folder)
    auto, report, found = measure(source, "auto", machine, folder)
    print(f"{name} off {off} auto {auto} sparse layers {sparse_layers(report)}",
          flush=True)
    if auto > off:
        yield f"{name}: auto takes {auto} cycles, off {off}"
    if found != expected:
        yield f"{name}: --sparse=auto changes a bit"


def levels(model):
    """Level of each node: products on the longest way from an input."""
    import onnx
    graph = onnx.load(model).graph
    made, found = {}, {}
    for index, node in enumerate(graph.node):
        level = max((made.get(name, 0) for name in node.input), default=0)
        level += node.op_type in ("Conv", "Gemm", "MatMul")
        made.update((name, level) for name in node.output)
        found[node.name or f"{node.op_type}_{index}"] = level
    constants = {t.name for t in graph.initializer}
    elements = sum(int(np.prod([d.dim_value for d in value.type.tensor_type.
                                shape.dim]))
                   for value in graph.input if value.name not in constants)
    return found, elements * 4 // DRAM_BYTES


def bound(name, machine, folder):
    """Prints the cycles that are left if engines never wait within a level."""
    model = os.path.join(folder, "pruned.onnx")
    run("ashlar-prune", source_of(name), "-o", model, "--density=0.1")
    level_of, loading = levels(model)
    line = f"{name} density 0.1 input {loading}"
    for mode in ("off", "auto"):
        cycles, _, _ = measure(model, mode, machine, folder)
        trace = os.path.join(folder, "trace.json")
        run("ashlar-run", os.path.join(folder, "m.ash"), "--random-inputs=1",
            f"--trace={trace}")
        with open(trace, encoding="utf-8") as stream:
            events = json.load(stream)["traceEvents"]
        queues = {e["tid"]: e["args"]["name"] for e in events
                  if e["name"] == "thread_name"}
        busy = {}
        for event in events:
            node = event.get("args", {}).get("node")
            queue = queues.get(event.get("tid"))
            if node is None or queue not in ("pe", "act", "vec", "tcc"):
                continue
            engines = busy.setdefault(level_of.get(node, 0), {})
            engines[queue] = engines.get(queue, 0) + event["dur"]
        least = loading + sum(max(engines.values())
                              for engines in busy.values())
        line += f" {mode} {cycles} at least {least}"
    print(line, flush=True)
    return []


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("models", nargs="*", default=["squeezenet1_1"])
    parser.add_argument("--density", default="1,0.5,0.25,0.2,0.1,0.05")
    parser.add_argument("--machine", default="a1")
    parser.add_argument("--no-tile", action="store_true",
                        help="leave out the whole network on the cluster")
    parser.add_argument("--depthwise", action="store_true")
    parser.add_argument("--never-above", action="store_true")
    parser.add_argument("--bound", action="store_true")
    parser.add_argument("--large-cluster", action="store_true",
                        help="a1 with a sparse cluster that nothing waits for")
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    densities = [float(d) for d in options.density.split(",")]
    failures = []
    for name in options.models:
        with tempfile.TemporaryDirectory() as folder:
            if options.large_cluster:
                options.machine = os.path.join(folder, "machine.yaml")
                with open(options.machine, "w", encoding="utf-8") as stream:
                    stream.write(CLUSTER)
            if options.depthwise:
                failures += depthwise(name, options.machine, folder)
            elif options.bound:
                failures += bound(name, options.machine, folder)
            elif options.never_above:
                failures += never_above(name, options.machine, folder)
            else:
                failures += ladder(name, densities, options.machine,
                                   not options.no_tile, folder)
    for failure in failures:
        print(failure)
    strict = options.check or options.never_above
    return 1 if strict and failures else 0


if __name__ == "__main__":
    sys.exit(main())
