# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Figures about data movement and sparsity, which scripts of their own measure."""

import os
import re
import tempfile

import drawn
import figure_tools as tools
from figure_tools import Failure, Row, Table, find, grouped

EXTENTS = ("64x64", "128x64", "128x128", "256x256", "512x512", "1024x1024")
MOVED = re.compile(r" *(\d+) x (\d+) +(\d+) B: (.*?)  dma/pe ([\d.]+)")
SIMULATED = {"even 40 %": "even 40 %", "ramp 20..80 %": "ramp 20 to 80 %",
             "blob 25 %": "blob, mean 25 %", "blob 4 %": "blob, mean 4 %"}
ENCODERS = ("bert-norm-op", "bert-wide", "vit-norm-op", "vit-large")
PART = re.compile(r"(\w+) +([\d,]+) \( *([\d,]+)\)")


def transpose(extent, size, place):
    """Cycles of a transpose, by mode: (of the run, of the transpose)."""
    text = tools.script("test/Integration/Transposes/transposes.py", "measure",
                        "--shapes=" + ",".join(EXTENTS), f"--place={place}", "--above=100")
    for rows, columns, found, parts, _ in MOVED.findall(text):
        if f"{rows}x{columns}" == extent and int(found) == size:
            number = lambda value: int(value.replace(",", ""))
            return {m: (number(a), number(b)) for m, a, b in PART.findall(parts)}
    raise Failure(f"no line for {extent}, {size} bytes")


def transpose_cells(extent, size, place):
    def measure():
        modes = transpose(extent, size, place)
        ways = ("pe", "copy", "dma") if place == "pools" else ("pe", "copy")
        best = min(run for mode, (run, _) in modes.items() if mode != "auto")
        return [extent.replace("x", " x "), str(size),
                *(grouped(modes[way][of]) for of in (1, 0) for way in ways
                  if of == 0 or place == "pools"),
                grouped(modes["auto"][0]), f"{100 * (modes['auto'][0] / best - 1):.1f} %"]
    return measure


def transposes():
    def table(name, place, titles):
        return Table(name, ["size", "bytes", *titles, "run, `auto`", "above the best"],
                     [Row(f"{e} {s}", transpose_cells(e, s, place), True)
                      for e in EXTENTS for s in (1, 2, 4)])
    runs = ["run, array", "run, copy"]
    return [table("transposes", "pools",
                  ["array", "copy", "DRAM and back", *runs, "run, DRAM"]),
            table("transposes-on-load", "load", runs),
            table("transposes-on-store", "store", runs),
            table("transposes-alone", "alone", runs),
            transpose_ranges()]


PLACES = {"pools": "inside the chip", "load": "on load", "store": "on store",
          "alone": "from DRAM to DRAM"}


def winners(place, size):
    """The extents n of n x n for which a copy, both (within 2 %) or the array win."""
    text = tools.script("test/Integration/Transposes/transposes.py", "ranges",
                        f"--places={place}", "--above=100")
    line = find(rf"(?m)^{place}, {size} B: (.*)$", text)[0]
    found = dict(part.split(" ", 1) for part in line.split("; "))
    return found.pop("copy", ""), found.pop("copy=pe", ""), found.pop("pe", ""), found


def transpose_ranges():
    def cells(place, size):
        def measure():
            copy, both, array, others = winners(place, size)
            if others:
                raise Failure(f"{place}, {size} bytes: {others} win somewhere")
            return [PLACES[place], str(size), *(part or "none" for part in (copy, both, array))]
        return measure
    return Table("transpose-ranges",
                 ["n x n", "bytes", "copy, load or store wins", "equal", "array wins"],
                 [Row(f"{p} {s}", cells(p, s), True) for p in PLACES for s in (1, 2, 4)])


def transpose_terms():
    """The table that TransposeBenchmark prints."""
    matrices = [(r, c, b) for r, c in ((128, 64), (128, 128), (256, 256), (512, 512), (1024, 1024))
                for b in (1, 2, 4) if (r, b) != (1024, 4)]
    def cells(rows, columns, size):
        def measure():
            text = benchmark()
            # A table of its own before it has the terms of one tile.
            line = find(rf"(?m)^(\| {rows} x {columns} \| {size} (?:\|[^|\n]*){{9}}\|)$", text)[0]
            return [cell.strip() for cell in line.strip("|").split("|")]
        return measure
    return Table("transpose-terms",
                 ["matrix", "bytes", "array", "array, row order", "byte planes", "round trip",
                  "on load", "on-chip copy, 1 queue", "4 queues", "round trip / array",
                  "on-chip copy / array"],
                 [Row(f"{r}x{c} {b}", cells(r, c, b), True,
                      ("test/Unit/Transpose/TransposeBenchmark",))
                  for r, c, b in matrices])


def benchmark():
    return tools.run(os.path.join(tools.BUILD, "test", "Unit", "Transpose", "TransposeBenchmark"),
                     "a1-ideal")


def share(model):
    def measure():
        text = tools.script("test/Integration/Transposes/transpose_share.py", model, "--most=100")
        total, moved, encodes, array, changes, chosen, forced = find(
            r": ([\d,]+) cycles, .*?, ([\d.]+) %; their encodes [\d,]+, ([\d.]+) %.*; (\d+) of "
            r"(\d+) changes .* array, ([\d,]+) cycles predicted, ([\d,]+) if", text)
        return [model, total, f"{moved} %", f"{encodes} %", f"{array} of {changes}", chosen, forced]
    return measure


def shares():
    return Table("transpose-share", ["network", "cycles", "data movement", "encodes of moved data",
                                     "changes done by the array", "predicted, as chosen",
                                     "if the array did all"],
                 [Row(m, share(m), True, ("models",))
                  for m in ("shufflenet_v2_1.0", "ultraface_rfb_320", "kwt1_ln17",
                            "super_resolution_x3_96")])


def compressed(model, size):
    def measure():
        text = tools.script("test/Integration/Sparse/compressed_maps.py", model, f"--bytes={size}",
                            "--table")
        line = find(rf"(?m)^(\| {re.escape(model)}, {size} .*)$", text)[0]
        return [cell.strip() for cell in line.strip("|").split("|")]
    return measure


def maps():
    return Table("compressed-maps", ["network, bytes per partition", "off", "auto", "bitmap",
                                     "coo", "quadtree"],
                 [Row("squeezenet1_1", compressed("squeezenet1_1", 8192), True, ("models",))])


STUDY = ("squeezenet1_1",)


def study(groups):
    """The last line of ashlar-tiles on a dump of a dev image."""
    def measure():
        import sys
        sys.path.insert(0, os.path.join(tools.ROOT, "test", "Integration"))
        import common
        import numpy as np
        model = tools.shared(STUDY[0])
        with tempfile.TemporaryDirectory() as folder:
            inputs, plan, dump = (os.path.join(folder, n) for n in ("in.npz", "plan", "dump"))
            arrays, _ = common.dev_inputs(STUDY[0], 1)
            np.savez(inputs, **{common.graph_inputs(model)[0]: arrays})
            program = os.path.join(folder, "m.ash")
            tools.tool("ashlarc", model, "-o", program, f"--dump-plan={plan}")
            tools.tool("ashlar-run", program, f"--inputs={inputs}", f"--dump-tensors={dump}",
                       "--functional", "--quiet")
            text = tools.tool("ashlar-tiles", dump, f"--constants={plan}", f"--groups={groups}")
        numbers = find(r"max / mean of units ([\d.]+) uniform, ([\d.]+) p2; cycles (\d+) scatter, "
                       r"(\d+) tile mode, (\d+) the better", text.splitlines()[-1])
        return [str(groups), *numbers[:2], *map(grouped, numbers[2:])]
    return measure


def studies():
    return Table("tile-studies", ["G", "mean max / mean, uniform", "P2", "cycles, scatter D",
                                  "tile mode", "better per layer"],
                 [Row(str(g), study(g), True, ("models",)) for g in (1, 2, 4, 8, "auto")])


def clusters(model):
    """Cycles of a pruned network under every mode of the sparse cluster."""
    def measure():
        text = tools.script("tools/scripts/bench_scatter.py", model)
        return [model, *map(grouped, find(r"off (\d+) tile (\d+) scatter (\d+) auto (\d+)", text))]
    return measure


def pruned():
    models = ("mnist_cnn", "kws_dscnn", "resnet8_cifar10", "resnet20_cifar10",
              "mobilenet_v1_0.25_128", "shufflenet_v2_1.0", "squeezenet1_1",
              "mobilenet_v2_1.0_224")
    return Table("sparse-modes", ["network", "off", "tile", "scatter", "auto"],
                 [Row(m, clusters(m), m != "mnist_cnn", ("models",)) for m in models])


def cuts(model, density):
    """Cycles under the cuts that bench_scatter.py --cuts compares."""
    def measure():
        text = tools.script("tools/scripts/bench_scatter.py", model, f"--density={density}",
                            "--cuts")
        cells, loads = [model, "all" if density == 1 else f"{100 * density:.0f} %"], {}
        for label in ("profile", "at run time", "always, profile", "always, run time", "disjoint"):
            cycles, load = find(rf"(?m)^  {label} +(\d+) cycles \([\d.]+\), load ([\d.]+)", text)
            cells.append(grouped(cycles))
            loads[label] = load
        return cells + [loads["profile"]]
    return measure


def run_time_cuts():
    rows = [("resnet8_cifar10", 0.1), ("resnet20_cifar10", 0.1), ("squeezenet1_1", 0.1),
            ("squeezenet1_1", 1), ("resnet50", 1)]
    return Table("cuts", ["network", "weights", "profile", "runtime", "always-profile", "always",
                          "disjoint", "load of the units, profile"],
                 [Row(f"{m} {d}", cuts(m, d), True, ("models",)) for m, d in rows])


def bound(large):
    def measure():
        text = tools.script("tools/scripts/bench_sparse.py", "squeezenet1_1", "--bound",
                            *(["--large-cluster"] if large else []))
        off, least, auto, best = map(int, find(
            r"off (\d+) at least (\d+) auto (\d+) at least (\d+)", text))
        return ["64 units x 512 lanes, 16 coefficients a step, 2048 bytes a cycle on the chip"
                if large else "as it is", grouped(off), grouped(least), grouped(auto),
                grouped(best), f"{off / auto:.2f}"]
    return measure


def bounds():
    return Table("skipping-bounds", ["cluster", "without it", "at least", "with it", "at least",
                                     "ratio"],
                 [Row("a1", bound(False), True, ("models",)),
                  Row("large", bound(True), True, ("models",))])


# Machine and options of the columns of the comparison at equal cost.
CLUSTERS = (("a1", "auto"), ("a1", "off"), ("a1-iso", "auto"))


def equal_cost(name, model, density):
    """Cycles and energy of a pruned network with the sparse cluster, without it, and
    with its multipliers and memory in the array."""
    def measure():
        with tempfile.TemporaryDirectory() as folder:
            pruned_model = os.path.join(folder, "pruned.onnx")
            tools.tool("ashlar-prune", model(), "-o", pruned_model, f"--density={density}")
            runs = [tools.reports(pruned_model, f"--machine={machine}", f"--sparse={mode}")[1]
                    for machine, mode in CLUSTERS]
        cycles = [run["total_cycles"] for run in runs]
        energy = [run["energy"]["total_pj"] for run in runs]
        return [name, f"{100 * density:.0f} %", *map(grouped, cycles),
                f"{cycles[2] / cycles[0]:.2f}", *(f"{e / 1e6:,.1f}" for e in energy),
                f"{energy[2] / energy[0]:.2f}"]
    return measure


def equal_costs():
    models = {"squeezenet1_1": ("SqueezeNet 1.1", lambda: tools.shared("squeezenet1_1")),
              "resnet50": ("ResNet-50, drawn", lambda: drawn.model(drawn.RESNET50))}
    return Table("equal-cost", ["network", "weights", "cycles on `a1`", "`--sparse=off`", "`a1-iso`",
                                "ratio", "uJ on `a1`", "`--sparse=off`", "`a1-iso`", "ratio"],
                 [Row(f"{key} {density}", equal_cost(name, model, density), True, ("models",))
                  for key, (name, model) in models.items() for density in (1, 0.1)])


def unit_test(binary, name):
    """What a unit test prints."""
    return tools.run(os.path.join(tools.BUILD, "unittests", binary), f"--gtest_filter={name}")


def simulated(label, title):
    """A line of the table of cuts of random maps."""
    def measure():
        line = find(rf"(?m)^({re.escape(label)} .*)$",
                    unit_test("PartitionTests", "Partition.SimulationTable"))[0]
        return [title, *re.findall(r" (\d+\.\d+)", line)]
    return measure


def simulations():
    return Table("cut-simulation", ["map", "uniform", "P1, columns only", "P1",
                                    "P2, running sums", "P2"],
                 [Row(label, simulated(label, title), True, ("unittests/PartitionTests",))
                  for label, title in SIMULATED.items()])


def affordable(extent):
    def measure():
        text = unit_test("PartitionTests", "Partition.RunTimeCuts")
        found = re.findall(rf"(?m)^{extent} x {extent}, .*?: ([\d.]+), (\d+) boxes$", text)
        return [f"{extent} x {extent}", *(f"{ratio} ({grouped(boxes)})" for ratio, boxes in found)]
    return measure


def affordable_cuts():
    return Table("affordable-cuts", ["map", "uniform", "rows", "p1", "p2, running sums",
                                     "p2, 8 rounds", "p2, least maximum"],
                 [Row(str(e), affordable(e), True, ("unittests/PartitionTests",))
                  for e in (14, 28, 56, 112)])


def transformer(name):
    def measure():
        text = {form: tools.script("test/Integration/Transposes/transformer.py", f"--format={form}",
                                   f"--only={name}") for form in ("bfp16", "bfp8")}
        wide = find(r": \w+ ([\d.]+) dB", text["bfp16"])[0]
        narrow, total, moved, encodes, read, written = find(
            r": \w+ ([\d.]+) dB.*?; ([\d,]+) cycles, movement ([\d.]+)%, its encodes ([\d.]+)%; "
            r"attention reads ([\d,]+) B and writes ([\d,]+) B", text["bfp8"])
        return [name, total, f"{moved} %", f"{encodes} %", f"{read} / {written} B",
                f"{wide} / {narrow} dB"]
    return measure


def transformers():
    return Table("transformers", ["network", "cycles", "data movement", "encodes of moved data",
                                  "DRAM of attention, read / written", "SNR bfp16 / bfp8"],
                 [Row(name, transformer(name), True, ("onnxruntime",)) for name in ENCODERS])


def all_sets():
    return [*transposes(), transpose_terms(), shares(), transformers(), simulations(),
            affordable_cuts(), maps(), studies(), pruned(),
            run_time_cuts(), bounds(), equal_costs()]
