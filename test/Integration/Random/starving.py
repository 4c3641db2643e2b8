#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Windowed operations on starving memories, against numpy.

usage: starving.py [--seeds=0:20] [--seconds=N] [--wide] [--keep=DIR] [--verbose]

A seed decides a convolution of one to three dimensions (grouped, depthwise or
transposed), or a pool, with kernels, strides, dilations and pads of any size on
both sides, alone or between other operations; and a machine whose partitions
have from 1 to 64 KiB, with an array from 3 x 5 to 128 x 128. --wide: maps up to
4096 columns wide. Fails if

- an output differs from a plain convolution in float64 by more than the steps of
  the format explain, or in any bit from what the same numeric plan gives on the
  same machine with plenty of memory (every other seed),
- a tool ends in any other way than by saying what does not fit (exit codes 2, 3
  and 5, counted),
- nothing was compared.
"""

import math
import os
import random
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

import random_machines  # noqa: E402
import seed_sweep  # noqa: E402

EXTENTS = [3, 4, 5, 6, 8, 8, 12, 16, 16, 20, 32, 32, 48, 64, 100, 128]
PLENTY = 1 << 20  # bytes of a partition
MOST_PRODUCTS = 12_000_000
MOST_ELEMENTS = 400_000


def draw_machine(draw, folder):
    """Names of the description and of the one with plenty of memory."""
    group = draw.choice([1, 2, 4, 8])
    rows, columns = draw.choice(EXTENTS), draw.choice(EXTENTS)
    partitions = -(-max(rows, columns) // group) * group * draw.choice([1, 1, 1, 2])
    size = 2 ** draw.uniform(10, 16)
    text = ("name: '{name}'\nxm_group: {group}\nsb:\n  partitions: {partitions}\n"
            "  bytes_per_partition: {bytes}\npe:\n  rows: {rows}\n  columns: {columns}\n"
            "  row_group_granularity: 1\n")
    if draw.random() < 0.3:
        text += "psum:\n  entries_per_bank: {bank}\n"
    values = {"group": group, "partitions": partitions, "rows": rows, "columns": columns,
              "bank": draw.choice([16, 64, 100, 2048])}
    paths = []
    for name, amount in (("starving", int(size) // 64 * 64), ("plenty", PLENTY)):
        paths.append(os.path.join(folder, name + ".yaml"))
        with open(paths[-1], "w", encoding="utf-8") as file:
            file.write(text.format(name=name, bytes=amount, **values))
    return paths


class Windows:
    """Kernel, strides, dilations and pads of one operation."""

    def __init__(self, draw, extents, pool):
        rank = len(extents)
        pick = lambda values: [draw.choice(values) for _ in range(rank)]
        self.kernel = pick([1, 2, 2, 3, 3, 3, 5, 7])
        self.strides = pick([1, 1, 1, 2, 3, 5])
        self.dilations = pick([1, 1, 1, 1, 2, 3])
        limit = lambda k, d: (k - 1) if pool else (k - 1) * d + draw.choice([0, 0, 1, 4, 20])
        pads = [[draw.randint(0, limit(k, d)) if draw.random() < 0.7 else 0
                 for k, d in zip(self.kernel, self.dilations)] for _ in range(2)]
        if pool:
            self.dilations = [1] * rank
        for i, extent in enumerate(extents):
            # A window must fit the padded map.
            while (self.kernel[i] - 1) * self.dilations[i] + 1 > extent + pads[0][i] + pads[1][i]:
                self.kernel[i] -= 1
                if pool:
                    pads[0][i] = min(pads[0][i], self.kernel[i] - 1)
                    pads[1][i] = min(pads[1][i], self.kernel[i] - 1)
        self.pads = pads[0] + pads[1]

    def results(self, extents):
        rank = len(extents)
        return [(e + self.pads[i] + self.pads[rank + i] - (self.kernel[i] - 1) * self.dilations[i]
                 - 1) // self.strides[i] + 1 for i, e in enumerate(extents)]

    def attributes(self):
        return {"kernel_shape": self.kernel, "strides": self.strides, "pads": self.pads}

    def taps(self, x, fill, out):
        """Views of the padded map, one for each tap of the kernel."""
        rank = len(self.kernel)
        padded = np.pad(x, [(0, 0), (0, 0)] + [(self.pads[i], self.pads[rank + i])
                                               for i in range(rank)], constant_values=fill)
        for tap in np.ndindex(*self.kernel):
            yield tap, padded[(slice(None), slice(None)) + tuple(
                slice(t * d, t * d + (o - 1) * s + 1, s)
                for t, d, o, s in zip(tap, self.dilations, out, self.strides))]


def convolve(windows, x, w, groups):
    out = windows.results(x.shape[2:])
    result = np.zeros((x.shape[0], w.shape[0], *out))
    own = w.shape[0] // groups
    for tap, part in windows.taps(x, 0, out):
        for g in range(groups):
            channels = slice(g * w.shape[1], (g + 1) * w.shape[1])
            kernels = slice(g * own, (g + 1) * own)
            result[:, kernels] += np.einsum(
                "oc,nc...->no...", w[(kernels, slice(None)) + tap], part[:, channels])
    return result


def transposed(windows, x, w, groups):
    """ONNX ConvTranspose; `w` is [in, out / groups, kernel]."""
    rank = x.ndim - 2
    full = [(e - 1) * s + (k - 1) * d + 1 for e, s, k, d in zip(
        x.shape[2:], windows.strides, windows.kernel, windows.dilations)]
    result = np.zeros((x.shape[0], w.shape[1] * groups, *full))
    own = x.shape[1] // groups
    for tap in np.ndindex(*windows.kernel):
        where = tuple(slice(t * d, t * d + (e - 1) * s + 1, s) for t, d, e, s in zip(
            tap, windows.dilations, x.shape[2:], windows.strides))
        for g in range(groups):
            channels = slice(g * own, (g + 1) * own)
            kernels = slice(g * w.shape[1], (g + 1) * w.shape[1])
            result[(slice(None), kernels) + where] += np.einsum(
                "co,nc...->no...", w[(channels, slice(None)) + tap], x[:, channels])
    cut = tuple(slice(windows.pads[i], full[i] - windows.pads[rank + i]) for i in range(rank))
    return result[(slice(None), slice(None)) + cut]


def pool(windows, x, kind):
    out = windows.results(x.shape[2:])
    if kind == "MaxPool":
        return np.maximum.reduce([part for _, part in windows.taps(x, -np.inf, out)])
    total = sum(part for _, part in windows.taps(x, 0, out))
    if kind == "AveragePool":
        return total / sum(part for _, part in windows.taps(np.ones_like(x), 0, out))
    return total / math.prod(windows.kernel)


class Network:
    """Nodes with their values in float64 and a bound of the error of each."""

    def __init__(self, draw, wide, mantissa):
        self.draw, self.step = draw, 2.0 ** (2 - mantissa)
        self.nodes, self.constants = [], []
        rank = draw.choice([1, 2, 2, 2, 2, 3])
        largest = {1: 4096, 2: 64, 3: 16}[rank]
        extents = [int(2 ** draw.uniform(0, math.log2(largest))) for _ in range(rank)]
        if wide and rank > 1:
            extents = [min(e, 24 if rank == 2 else 6) for e in extents]
            extents[-1] = draw.randint(200, 4096)
        shape = [draw.choice([1, 1, 1, 2, 3]), draw.choice([1, 2, 3, 4, 8, 12, 16, 24]), *extents]
        while math.prod(shape) > MOST_ELEMENTS:
            shape[1 if shape[1] > 1 else -1] //= 2
        random_state = np.random.default_rng(draw.getrandbits(32))
        self.normal = lambda size: random_state.standard_normal(size).astype(np.float32)
        self.input = self.normal(shape)
        self.value, self.name = self.input.astype(np.float64), "x"
        self.error = np.zeros_like(self.value)

    def node(self, op, operands, value, error, **attributes):
        self.name = f"t{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, operands, [self.name], **attributes))
        self.value, self.error = value, error

    def constant(self, array):
        name = f"c{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(array, name))
        return name

    def encoded(self):
        """Error of what a product reads: a block has the steps of its maximum."""
        return self.error + self.step * np.abs(self.value).max(initial=0)

    def add_convolution(self):
        draw, x = self.draw, self.value
        channels = x.shape[1]
        groups = draw.choice([g for g in (1, 1, 1, 2, 3, 4, channels) if channels % g == 0])
        outputs = groups * draw.choice([1, 1, 2, 3, 4, 8])
        if groups == 1:
            outputs = draw.choice([1, 3, 4, 8, 16, 20])
        windows = Windows(draw, x.shape[2:], False)
        back = draw.random() < 0.15
        if back:
            rank = x.ndim - 2
            windows.pads = [draw.randint(0, (windows.kernel[i % rank] - 1) // 2)
                            for i in range(2 * rank)]
        shape = ((channels, outputs // groups) if back else (outputs, channels // groups))
        w = self.normal((*shape, *windows.kernel)) / np.float32(
            math.sqrt(channels / groups * math.prod(windows.kernel)))
        apply = transposed if back else convolve
        places = x.shape[2:] if back else windows.results(x.shape[2:])
        if math.prod(w.shape) * math.prod(places) * x.shape[0] > MOST_PRODUCTS:
            return False
        weights = w.astype(np.float64)
        value = apply(windows, x, weights, groups)
        if min(value.shape) < 1 or value.size > MOST_ELEMENTS:
            return False
        rounding = np.full_like(weights, self.step * np.abs(weights).max())
        error = (apply(windows, self.encoded(), np.abs(weights) + rounding, groups)
                 + apply(windows, np.abs(x), rounding, groups))
        attributes = windows.attributes()
        self.node("ConvTranspose" if back else "Conv", [self.name, self.constant(w)], value,
                  error, group=groups, dilations=windows.dilations, **attributes)
        return True

    def add_pool(self):
        draw, x = self.draw, self.value
        windows = Windows(draw, x.shape[2:], True)
        kind = draw.choice(["MaxPool", "AveragePool", "counted"])
        value = pool(windows, x, kind)
        if value.size > MOST_ELEMENTS or value.size * math.prod(windows.kernel) > MOST_PRODUCTS:
            return False
        error = pool(windows, self.encoded(), "MaxPool")
        extra = {"count_include_pad": 1} if kind == "counted" else {}
        self.node("MaxPool" if kind == "MaxPool" else "AveragePool", [self.name], value, error,
                  **windows.attributes(), **extra)
        return True

    def add_other(self):
        kind = self.draw.choice(["Relu", "Residual", "Sigmoid"])
        if kind == "Relu":
            self.node("Relu", [self.name], np.maximum(self.value, 0), self.encoded())
        elif kind == "Residual":
            self.node("Add", [self.name, self.name], 2 * self.value, 2 * self.encoded())
        else:
            self.node("Sigmoid", [self.name], 1 / (1 + np.exp(-self.value)),
                      self.encoded() + self.step)
        return True

    def build(self):
        windowed = 0
        for _ in range(self.draw.choice([1, 1, 1, 2, 3])):
            kind = self.draw.random()
            if kind < 0.65:
                windowed += self.add_convolution()
            elif kind < 0.9:
                windowed += self.add_pool()
            else:
                self.add_other()
        return windowed > 0

    def save(self, folder):
        info = helper.make_tensor_value_info
        graph = helper.make_graph(
            self.nodes, "g", [info("x", TensorProto.FLOAT, self.input.shape)],
            [info(self.name, TensorProto.FLOAT, self.value.shape)], self.constants)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
        path, inputs = os.path.join(folder, "model.onnx"), os.path.join(folder, "in.npz")
        onnx.save(model, path)
        np.savez(inputs, x=self.input)
        return path, inputs


def run(folder, name, machine, model, inputs, options, may_refuse):
    program, outputs = (os.path.join(folder, name + end) for end in (".ash", ".npz"))
    random_machines.tool("ashlarc", model, "-o", program, f"--machine={machine}", *options,
                         may_refuse=may_refuse)
    random_machines.tool("ashlar-run", program, f"--inputs={inputs}", f"--outputs={outputs}",
                         "--quiet", "--functional")
    with np.load(outputs) as arrays:
        return arrays[arrays.files[0]]


def check(seed, folder, wide):
    draw = random.Random(seed)
    machines = draw_machine(draw, folder)
    mantissa = draw.choice([8, 16, 16, 16])
    network = Network(draw, wide, mantissa)
    while not network.build():
        network = Network(draw, wide, mantissa)
    model, inputs = network.save(folder)
    options = [f"--format=bfp{mantissa}"]  # all others are of later phases too
    for option, values in (("sparse", ["off", "tile", "scatter"]), ("fold-w", ["off"]),
                           ("map-compression", ["off"])):
        if draw.random() < 0.5:
            options.append(f"--{option}={draw.choice(values)}")
    with open(os.path.join(folder, "options"), "w", encoding="utf-8") as file:
        file.write(" ".join([*options, "ops", *(n.op_type for n in network.nodes)]))
    try:
        found = run(folder, "starving", machines[0], model, inputs, options, True)
    except random_machines.Refusal as why:
        return "refused", str(why)
    wrong = ~(np.abs(found - network.value) <= 4 * network.error + 1e-5)
    if wrong.any():
        raise seed_sweep.Mismatch(
            f"{wrong.sum()} of {wrong.size} outputs are wrong, the first at "
            f"{tuple(map(int, np.argwhere(wrong)[0]))}")
    if draw.random() < 0.5:
        # Folds look at the memory: both have those of the starving machine.
        quantised = os.path.join(folder, "quantised.mlir")
        random_machines.tool("ashlarc", model, "-o", quantised, f"--machine={machines[0]}",
                             "--compile-to=quantise", *options)
        plenty = run(folder, "plenty", machines[1], quantised, inputs,
                     ["--compile-from=quantise", *options[1:]], False)
        if found.tobytes() != plenty.tobytes():
            raise seed_sweep.Mismatch(
                f"{(found != plenty).sum()} of {found.size} outputs differ from those with "
                "plenty of memory")
    return "equal", ""


def main():
    wide = "--wide" in sys.argv
    if wide:
        sys.argv.remove("--wide")
    return seed_sweep.main(__doc__, "windowed networks on starving memories",
                           lambda seed, folder: check(seed, folder, wide))


if __name__ == "__main__":
    sys.exit(main())
