#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Transposes through compiler and emulator.

usage: transposes.py exact [--sample=N] [--types=...] [--mode=pe] [--machine=a1]
       transposes.py measure [--machine=a1] [--shapes=128x64,...] [--place=pools]
       transposes.py ranges [--machine=a1] [--places=pools,...]
       transposes.py isolation [--machine=a1]
       transposes.py blocks [--machine=a1]

exact: permutations of rank 2 to 6 (all 872, or N of them) of random shapes and
random bit patterns, every element type, bit for bit against numpy on raw words.
measure: cycles of a transpose for every --transpose; fails if `auto` is more
than 2 % (--above) above the best, if `pe` moves a byte of DRAM for it or issues a
descriptor, or if a result differs from numpy's. A third extent in front is a
batch. By --place it stands between two poolings, which need its two axes across
partitions (pools), reads a graph input before a pooling (load: `copy` is a
transposing load), makes a graph output after one (store), or both (alone).
ranges: which way wins, for n x n of every width at every place, and for what is
encoded across the other axis: what a pooling made (encoded) and what a product
made (product). Their widths are those of the mantissas.
isolation: an identity multiplication inside a convolution network whose weights
are mostly zero, with the sparse cluster on and off: equal outputs.
blocks: dense layers whose activations are stationary. Their results leave the
array with blocks along the free axis and are turned as whole blocks; the same
layers on a machine whose copies cost nothing turn floats: equal outputs.
"""

import argparse
import itertools
import json
import os
import random
import sys
import tempfile

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

import common  # noqa: E402

# ONNX type: (numpy type of the file, unsigned type of the same size).
TYPES = {
    "FLOAT": (np.float32, np.uint32), "FLOAT16": (np.float16, np.uint16),
    "BFLOAT16": (np.uint16, np.uint16), "DOUBLE": (np.float64, np.uint64),
    "INT8": (np.int8, np.uint8), "UINT8": (np.uint8, np.uint8),
    "INT16": (np.int16, np.uint16), "UINT16": (np.uint16, np.uint16),
    "INT32": (np.int32, np.uint32), "UINT32": (np.uint32, np.uint32),
    "INT64": (np.int64, np.uint64), "UINT64": (np.uint64, np.uint64),
    "BOOL": (np.bool_, np.uint8),
}
EXTENTS = [1, 1, 2, 3, 5, 7, 11, 13]
PER_MODEL = 240  # starting a process costs more than a few transposes
MOST_ELEMENTS = 2500


def permutations():
    return [perm for rank in range(2, 7)
            for perm in itertools.permutations(range(rank))]


def any_shape(source, rank):
    while True:
        shape = [source.choice(EXTENTS) for _ in range(rank)]
        if source.random() < 0.1:
            shape[source.randrange(rank)] = source.choice([129, 67])
        if np.prod(shape) <= MOST_ELEMENTS:
            return shape


def any_words(source, kind, shape):
    stored, word = TYPES[kind]
    size = int(np.prod(shape))
    data = source.randbytes(size * np.dtype(word).itemsize)
    words = np.frombuffer(data, dtype=word).reshape(shape)
    if kind == "BOOL":
        words = words & 1
    return words.view(stored)


def model_of(cases):
    nodes, inputs, outputs = [], [], []
    for i, (kind, shape, perm) in enumerate(cases):
        number = getattr(TensorProto, kind)
        inputs.append(helper.make_tensor_value_info(f"x{i}", number, shape))
        outputs.append(helper.make_tensor_value_info(
            f"y{i}", number, [shape[axis] for axis in perm]))
        nodes.append(helper.make_node("Transpose", [f"x{i}"], [f"y{i}"],
                                      name=f"t{i}", perm=list(perm)))
    return save_ready(helper.make_graph(nodes, "transposes", inputs, outputs))


def save_ready(graph):
    return helper.make_model(
        graph, ir_version=8,
        opset_imports=[helper.make_opsetid("", 17)])


def run(options, folder, model, arrays, mode, *more, traced=True):
    """(outputs, report of the run, report of the compiler)."""
    path = os.path.join(folder, "model.onnx")
    onnx.save(model, path)
    binary = os.path.join(folder, "model.ash")
    compiled = os.path.join(folder, "compiled.json")
    report = os.path.join(folder, "report.json")
    np.savez(os.path.join(folder, "in.npz"), **arrays)
    common.run_tool("ashlarc", path, "-o", binary, f"--transpose={mode}",
                    f"--machine={options.machine}", f"--report={compiled}",
                    *more)
    common.run_tool("ashlar-run", binary, "--quiet",
                    f"--inputs={os.path.join(folder, 'in.npz')}",
                    f"--outputs={os.path.join(folder, 'out.npz')}",
                    f"--report={report}",
                    *([f"--trace={os.path.join(folder, 'trace.json')}"]
                      if traced else []))
    with np.load(os.path.join(folder, "out.npz")) as outputs:
        result = dict(outputs)
    with open(report, encoding="utf-8") as file:
        ran = json.load(file)
    with open(compiled, encoding="utf-8") as file:
        return result, ran, json.load(file)


def choices(compiled):
    ways = [d["choice"] for d in compiled["decisions"]
            if d["choice"] in ("none", "copy", "identity", "planes", "dma")]
    return {way: ways.count(way) for way in sorted(set(ways))}


def exact(options, folder):
    source = random.Random(options.seed)
    perms = permutations()
    if options.sample:
        perms = source.sample(perms, options.sample)
    kinds = options.types.split(",") if options.types else list(TYPES)
    cases = [(kinds[(i + k) % len(kinds)], any_shape(source, len(perm)), perm)
             for k in range(options.rounds or len(kinds))
             for i, perm in enumerate(perms)]
    failed, ways = 0, {}
    for first in range(0, len(cases), PER_MODEL):
        part = cases[first:first + PER_MODEL]
        arrays = {f"x{i}": any_words(source, kind, shape)
                  for i, (kind, shape, _) in enumerate(part)}
        outputs, _, compiled = run(options, folder, model_of(part), arrays,
                                   options.mode, traced=False)
        for way, count in choices(compiled).items():
            ways[way] = ways.get(way, 0) + count
        for i, (kind, shape, perm) in enumerate(part):
            word = TYPES[kind][1]
            expected = arrays[f"x{i}"].view(word).transpose(perm)
            if not np.array_equal(outputs[f"y{i}"].view(word), expected):
                failed += 1
                print(f"{kind} {shape} {perm}: bits differ")
    print(f"{len(cases)} transposes, mode {options.mode}, "
          f"{options.machine}: {failed} differ; {ways}")
    return int(failed > 0)


# What stands before and after the transpose. A pooling needs the axis that it
# does not work along across partitions.
PLACES = {"pools": (True, True), "load": (False, True), "store": (True, False),
          "alone": (False, False)}


def model_at(place, kind, batch, rows, columns):
    before, after = PLACES[place]
    number = getattr(TensorProto, kind)
    tensor = helper.make_tensor_value_info
    nodes = []
    if before:
        nodes.append(helper.make_node("MaxPool", ["x"], ["a"], name="first",
                                      kernel_shape=[2]))
    nodes.append(helper.make_node(
        "Transpose", ["a" if before else "x"], ["b" if after else "y"],
        name="transpose", perm=[0, 2, 1]))
    if after:
        nodes.append(helper.make_node("MaxPool", ["b"], ["y"], name="second",
                                      kernel_shape=[2]))
    return save_ready(helper.make_graph(
        nodes, "transposes",
        [tensor("x", number, [batch, rows, columns + before])],
        [tensor("y", number, [batch, columns, rows - after])]))


def pooled(x):
    """Maximum of neighbours along the last axis."""
    return np.maximum(x[..., :-1], x[..., 1:])


def descriptors(folder, node):
    """DMA instructions of a node in the trace of the last run."""
    with open(os.path.join(folder, "trace.json"), encoding="utf-8") as file:
        events = json.load(file)["traceEvents"]
    queues = {e["tid"]: e["args"]["name"] for e in events
              if e.get("name") == "thread_name"}
    return sum(e.get("ph") == "X" and e["args"].get("node") == node and
               queues[e["tid"]].startswith("dma") for e in events)


# Integers up to this are exact in the type.
LARGEST = {"INT8": 127, "FLOAT16": 2048, "FLOAT": 1 << 24}


def measure_one(options, folder, kind, batch, rows, columns):
    source = np.random.default_rng(options.seed)
    before, after = PLACES[options.place]
    x = source.integers(-LARGEST[kind], LARGEST[kind],
                        (batch, rows, columns + before))
    x = x.astype(TYPES[kind][0])
    arrays = {"x": x}
    expected = (pooled(x) if before else x).transpose(0, 2, 1)
    expected = pooled(expected) if after else expected
    totals, chosen, problems = {}, "", []
    for mode in ("pe", "copy", "dma", "auto"):
        outputs, ran, compiled = run(
            options, folder,
            model_at(options.place, kind, batch, rows, columns), arrays, mode)
        node = next(n for n in ran["nodes"] if n["name"] == "transpose")
        totals[mode] = (ran["total_cycles"], node["cycles"])
        if not np.array_equal(expected, outputs["y"]):
            problems.append(f"{mode} gives other values")
        stays = all(d["choice"] != "dram" for d in compiled["decisions"]
                    if d["node"] in ("first", "transpose"))
        if options.place == "pools" and stays:
            if mode in ("pe", "copy") and (node["dram_read"] +
                                           node["dram_write"]):
                problems.append(f"{mode} moves bytes of DRAM")
            if mode == "pe" and descriptors(folder, "transpose"):
                problems.append("pe issues descriptors")
        if mode == "auto":
            chosen = "/".join(choices(compiled))
            swaps = [d for d in compiled["decisions"]
                     if d["node"] == "transpose" and d["choice"] == "in-place"]
    best = min(total for mode, (total, _) in totals.items() if mode != "auto")
    if totals["auto"][0] > (1 + options.above / 100) * best:
        problems.append(f"auto takes {totals['auto'][0]} cycles, best {best}")
    size = np.dtype(TYPES[kind][1]).itemsize
    cells = " ".join(f"{mode} {total:>8,} ({own:>7,})"
                     for mode, (total, own) in totals.items())
    print(f"{rows:>5} x {columns:<5} {size} B: {cells}  dma/pe "
          f"{totals['dma'][1] / max(totals['pe'][1], 1):.2f}  auto {chosen}"
          f"{' in place' if swaps else ''}")
    for problem in problems:
        print(f"  {problem}")
    return bool(problems)


RANGE = [16, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1024]


def cycles_of(options, folder, model, mode, more):
    """Cycles of the whole run and what was chosen; nothing is compared."""
    path = os.path.join(folder, "model.onnx")
    onnx.save(model, path)
    binary = os.path.join(folder, "model.ash")
    compiled = os.path.join(folder, "compiled.json")
    report = os.path.join(folder, "report.json")
    common.run_tool("ashlarc", path, "-o", binary, f"--transpose={mode}",
                    f"--machine={options.machine}", f"--report={compiled}",
                    *more)
    common.run_tool("ashlar-run", binary, "--quiet", "--random-inputs=1",
                    f"--report={report}")
    with open(report, encoding="utf-8") as file:
        return json.load(file)["total_cycles"]


# Formats of the places where blocks are made along the axis that was not across
# partitions before.
ENCODED = ("encoded", "product")
FORMATS = {"INT8": "bfp8", "FLOAT16": "bfp16"}


def encoded_model(place, extent):
    """encoded: the pooling lies across rows, the product reads across columns,
    and its result lies as it is stored. product: two convolutions of one tap,
    the second along what were the positions of the first."""
    def weights(name, shape):
        values = np.random.default_rng(extent).standard_normal(shape)
        return numpy_helper.from_array(
            (values / np.sqrt(extent)).astype(np.float32), name)
    tensor = helper.make_tensor_value_info
    turn = {"name": "transpose", "perm": [0, 2, 1]}
    if place == "encoded":
        nodes = [helper.make_node("MaxPool", ["x"], ["a"], name="first",
                                  kernel_shape=[2]),
                 helper.make_node("MatMul", ["a", "w"], ["b"], name="second"),
                 helper.make_node("Transpose", ["b"], ["y"], **turn)]
        constants = [weights("w", (extent, extent))]
    else:
        nodes = [helper.make_node("Conv", ["x", "v"], ["a"], name="first"),
                 helper.make_node("Transpose", ["a"], ["b"], **turn),
                 helper.make_node("Conv", ["b", "w"], ["y"], name="second")]
        constants = [weights("v", (extent, extent, 1)),
                     weights("w", (extent, extent, 1))]
    width = extent + (place == "encoded")
    return save_ready(helper.make_graph(
        nodes, "blocks", [tensor("x", TensorProto.FLOAT, [1, extent, width])],
        [tensor("y", TensorProto.FLOAT, [1, extent, extent])], constants))


def winners(options, folder, place, kind):
    """Per extent: the ways within 2 % of the best, and by what part `auto` is
    above it."""
    for extent in options.extents or RANGE:
        if place in ENCODED:
            model = encoded_model(place, extent)
            more = ["--sparse=off", f"--format={FORMATS[kind]}"]
        else:
            model, more = model_at(place, kind, 1, extent, extent), []
        cycles = {mode: cycles_of(options, folder, model, mode, more)
                  for mode in ("pe", "copy", "dma", "auto")}
        best = min(cycles["pe"], cycles["copy"], cycles["dma"])
        ways = [mode for mode in ("copy", "pe", "dma")
                if cycles[mode] <= 1.02 * best]
        yield extent, ways, cycles["auto"] / best - 1


def ranges(options, folder):
    """Prints, for each place and width, the extents n of n x n for which the
    array, a copy or DRAM is best (two within 2 %: equal)."""
    failed = 0
    for place in options.places.split(","):
        kinds = options.types.split(",") if options.types else LARGEST
        for kind in kinds:
            if place in ENCODED and kind not in FORMATS:
                continue
            size = np.dtype(TYPES[kind][1]).itemsize
            wins = {}
            for extent, ways, above in winners(options, folder, place, kind):
                # A way that is no other one is named as the others are: a
                # graph input or output is in DRAM anyway.
                if place in PLACES and place != "pools" and "copy" in ways:
                    ways = [way for way in ways if way != "dma"]
                wins.setdefault("=".join(ways), []).append(extent)
                if above > options.above / 100:
                    failed += 1
                    print(f"  {place}, {size} B, {extent}: auto is "
                          f"{100 * above:.1f} % above the best")
            print(f"{place}, {size} B: " + "; ".join(
                f"{ways} {' '.join(map(str, extents))}"
                for ways, extents in wins.items()))
    return int(failed > 0)


def measure(options, folder):
    print("cycles of the run (of the transpose)")
    failed = 0
    for text in options.shapes.split(","):
        *batch, rows, columns = map(int, text.split("x"))
        for kind in options.types.split(",") if options.types else LARGEST:
            failed += measure_one(options, folder, kind,
                                  batch[0] if batch else 1, rows, columns)
    return int(failed > 0)


def sparse_network(source):
    """conv - relu - pool - transpose of channels and rows - pool."""
    weights = np.array([source.choice([0, 0, 0, source.uniform(-1, 1)])
                        for _ in range(16 * 16 * 9)], np.float32)
    nodes = [
        helper.make_node("Conv", ["x", "w"], ["c"], name="conv",
                         pads=[1, 1, 1, 1]),
        helper.make_node("Relu", ["c"], ["r"], name="relu"),
        helper.make_node("MaxPool", ["r"], ["p"], name="first",
                         kernel_shape=[2, 2], strides=[2, 2]),
        helper.make_node("Transpose", ["p"], ["t"], name="transpose",
                         perm=[0, 2, 1, 3]),
        helper.make_node("MaxPool", ["t"], ["y"], name="second",
                         kernel_shape=[2, 2]),
    ]
    tensor = helper.make_tensor_value_info
    return save_ready(helper.make_graph(
        nodes, "sparse", [tensor("x", TensorProto.FLOAT, [1, 16, 24, 20])],
        [tensor("y", TensorProto.FLOAT, [1, 12, 15, 9])],
        [numpy_helper.from_array(weights.reshape(16, 16, 3, 3), "w")]))


def isolation(options, folder):
    source = random.Random(options.seed)
    model = sparse_network(source)
    arrays = {"x": np.array([source.uniform(-1, 1) for _ in range(
        16 * 24 * 20)], np.float32).reshape(1, 16, 24, 20)}
    first, failed = None, 0
    for mode in ("copy", "pe"):
        for sparse in ("off", "tile"):
            outputs, ran, compiled = run(options, folder, model, arrays, mode,
                                         f"--sparse={sparse}")
            first = outputs["y"] if first is None else first
            equal = np.array_equal(first.view(np.uint32),
                                   outputs["y"].view(np.uint32))
            done = choices(compiled)
            failed += not equal or (mode == "pe" and "identity" not in done)
            print(f"--transpose={mode} --sparse={sparse}: {done}, "
                  f"{ran['total_cycles']:,} cycles, "
                  f"{'equal' if equal else 'other'} bits")
    return int(failed > 0)


def dense_layers(source):
    """Layers of few positions, the last one with a residual."""
    def weights(rows, columns, name):
        values = np.array([source.gauss(0, rows ** -0.5) for _ in range(
            rows * columns)], np.float32)
        return numpy_helper.from_array(values.reshape(rows, columns), name)
    bias = np.array([source.gauss(0, 1) for _ in range(640)], np.float32)
    nodes = [
        helper.make_node("MatMul", ["x", "w0"], ["a"], name="first"),
        helper.make_node("Add", ["a", "b0"], ["b"], name="bias"),
        helper.make_node("Relu", ["b"], ["c"], name="relu"),
        helper.make_node("MatMul", ["c", "w1"], ["d"], name="second"),
        helper.make_node("Tanh", ["d"], ["e"], name="tanh"),
        helper.make_node("MatMul", ["e", "w2"], ["f"], name="third"),
        helper.make_node("Add", ["f", "c"], ["g"], name="sum"),
        helper.make_node("MatMul", ["g", "w3"], ["y"], name="fourth"),
    ]
    tensor = helper.make_tensor_value_info
    return save_ready(helper.make_graph(
        nodes, "dense", [tensor("x", TensorProto.FLOAT, [5, 256])],
        [tensor("y", TensorProto.FLOAT, [5, 100])],
        [weights(256, 640, "w0"), numpy_helper.from_array(bias, "b0"),
         weights(640, 336, "w1"), weights(336, 640, "w2"),
         weights(640, 100, "w3")]))


FAST_COPIES = """name: fast-copies
base: a1-ideal
dma: {onchip_bytes_per_cycle: 1048576}
vec: {lanes: 4095, latency: 0}
"""


def blocks(options, folder):
    source = random.Random(options.seed)
    model = dense_layers(source)
    arrays = {"x": np.array([source.gauss(0, 1) for _ in range(5 * 256)],
                            np.float32).reshape(5, 256)}
    other = os.path.join(folder, "fast.yaml")
    with open(other, "w", encoding="utf-8") as file:
        file.write(FAST_COPIES)
    failed = 0
    for form in ("bfp8", "bfp16", "w=6,block=32,range=7"):
        results = {}
        for machine in (options.machine, other):
            options.machine, kept = machine, options.machine
            outputs, ran, _ = run(options, folder, model, arrays, "auto",
                                  f"--format={form}")
            options.machine = kept
            text = common.run_tool("ashlar-dis", os.path.join(
                folder, "model.ash")).stdout
            results[machine] = (outputs["y"].view(np.uint32),
                                text.count("dstOrientation=f"),
                                ran["total_cycles"])
        (here, turned, cycles), (there, floats, _) = results.values()
        equal = np.array_equal(here, there)
        # Words of two bytes take twice as long to load as to copy.
        failed += (not equal or floats != 0 or
                   (turned == 0 and form != "bfp16"))
        print(f"{form}: {turned} drains encode along the free axis "
              f"({floats} where copies cost nothing), {cycles:,} cycles, "
              f"{'equal' if equal else 'other'} bits")
    return int(failed > 0)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=["exact", "measure", "ranges",
                                         "isolation", "blocks"])
    parser.add_argument("--sample", type=int, default=0)
    parser.add_argument("--rounds", type=int, default=0,
                        help="types per permutation (all)")
    parser.add_argument("--types", default="")
    parser.add_argument("--mode", default="pe")
    parser.add_argument("--machine", default="a1")
    parser.add_argument("--above", type=float, default=2)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--place", choices=PLACES, default="pools")
    parser.add_argument("--places", default=",".join([*PLACES, *ENCODED]))
    parser.add_argument("--extents", type=int, nargs="*", default=[],
                        help="of ranges (16 to 1024)")
    parser.add_argument("--shapes", default="128x64,256x256,512x512,1024x1024")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        what = {"exact": exact, "measure": measure, "ranges": ranges,
                "isolation": isolation, "blocks": blocks}
        return what[options.what](options, folder)


if __name__ == "__main__":
    sys.exit(main())
