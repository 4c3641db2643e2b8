#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Feeds the tools mutated ONNX models: well-formed messages of wrong content.

usage: mutate_onnx.py [--count=N] [--seed=S] [--jobs=J] [--keep=DIR] [--seconds=T]
                      [--networks=N] [--models=DIR]

Seeds are the models of corpus/onnx, the networks of seeds.txt, N networks drawn
by test/Integration/Differential/differential/grammar.py, and the models in DIR. A mutant differs from its seed in one to
four places: attributes, extents, element types, constants (shapes and axes among
them), names of operators, edges, nodes, versions. Changed bytes, which replay-onnx
tries, seldom get past the parser. Compiler, ashlar-translate and ashlar-prune have to
end on their own, with a documented exit code in less than 20 seconds of processor time and
2 GiB; what compiles has to run. What does not is printed, and kept with --keep.
"""

import argparse
import concurrent.futures
import glob
import os
import random
import subprocess
import sys
import tempfile
import time

import mutate_mlir as common
import numpy as np
import onnx
import onnx.parser
from onnx import AttributeProto, TensorProto, helper, numpy_helper

HERE = common.HERE
INTEGRATION = os.path.join(common.TESTS, "Integration")
sys.path[:0] = [INTEGRATION, os.path.join(INTEGRATION, "Differential")]
sys.path.insert(0, os.path.dirname(common.MAKE_MODEL))

from make_model import part_of  # noqa: E402

INTEGERS = [0, -1, 1, 2, 3, 5, 7, 8, 16, 64, 255, 4096, 65536, 1 << 20, (1 << 31) - 1, 1 << 31,
            1 << 32, 1 << 40, (1 << 63) - 1, -(1 << 63), -2, -4096]
FLOATS = [0.0, -1.0, 1.0, 1e-45, 3.4e38, float("inf"), float("-inf"), float("nan"), 1e-6]
TYPES = [t for t in TensorProto.DataType.values()]
WORDS = ["", "NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID", "linear", "nearest", "cubic", "wrap",
         "reflect", "edge", "constant", "tanh", "ij,jk->ik", "...->", "DCR", "ä\0", "x" * 5000]
MACHINES = ["a1", "a1", "a1-tiny", "fig3-4x4", "fig4-128x64"]
FLAGS = ["--format=bfp16", "--format=w=6,block=64,range=15", "--sparse=tile", "--sparse=scatter",
         "--fold-w=off", "--transpose=dma", "--residual=f32", "--pci-policy=cycles"]


def nodes_of(graph):
    """The nodes of a graph and of the graphs inside it."""
    for node in graph.node:
        yield node
        for attribute in node.attribute:
            if attribute.HasField("g"):
                yield from nodes_of(attribute.g)


def mutate_attribute(rng, model, nodes):
    node = rng.choice(nodes)
    if not node.attribute:
        return
    attribute = rng.choice(node.attribute)
    kind = rng.randrange(8)
    if kind == 0:
        node.attribute.remove(attribute)
    elif kind == 1:
        node.attribute.add().CopyFrom(attribute)
    elif kind == 2:
        others = [a for n in nodes for a in n.attribute]
        name = attribute.name
        attribute.CopyFrom(rng.choice(others))
        attribute.name = rng.choice([name, attribute.name])
    elif kind == 3:
        attribute.type = rng.choice(list(AttributeProto.AttributeType.values()))
    elif attribute.type == AttributeProto.INT:
        attribute.i = rng.choice(INTEGERS)
    elif attribute.type == AttributeProto.FLOAT:
        attribute.f = rng.choice(FLOATS)
    elif attribute.type == AttributeProto.STRING:
        attribute.s = rng.choice(WORDS).encode()
    elif attribute.type == AttributeProto.INTS:
        if attribute.ints and rng.random() < 0.7:
            attribute.ints[rng.randrange(len(attribute.ints))] = rng.choice(INTEGERS)
        elif rng.random() < 0.5:
            attribute.ints.append(rng.choice(INTEGERS))
        else:
            del attribute.ints[rng.randrange(len(attribute.ints) + 1):]


def mutate_type(rng, model, nodes):
    graph = model.graph
    infos = [*graph.input, *graph.output, *graph.value_info]
    tensor = rng.choice(infos).type.tensor_type
    kind = rng.randrange(6)
    if kind == 0:
        tensor.elem_type = rng.choice(TYPES)
    elif kind == 1:
        tensor.ClearField("shape")
    elif kind == 2:
        tensor.shape.dim.add().dim_value = rng.choice(INTEGERS)
    elif tensor.shape.dim:
        extent = rng.choice(tensor.shape.dim)
        if kind == 3:
            extent.dim_param = "n"
        else:
            extent.dim_value = rng.choice([*INTEGERS, extent.dim_value + 1, 2 * extent.dim_value])


def mutate_constant(rng, model, nodes):
    tensors = list(model.graph.initializer) + [
        a.t for n in nodes for a in n.attribute if a.type == AttributeProto.TENSOR]
    if not tensors:
        return
    # Shapes and axes decide more than weights do.
    small = [t for t in tensors if t.data_type == TensorProto.INT64]
    tensor = rng.choice(small if small and rng.random() < 0.6 else tensors)
    kind = rng.randrange(5)
    if kind == 0:
        tensor.data_type = rng.choice(TYPES)
    elif kind == 1:
        tensor.dims.append(rng.choice(INTEGERS))
    elif kind == 2 and tensor.dims:
        tensor.dims[rng.randrange(len(tensor.dims))] = rng.choice(INTEGERS)
    elif kind == 3:
        tensor.raw_data = tensor.raw_data[:rng.randrange(len(tensor.raw_data) + 1)]
    else:
        try:
            array = numpy_helper.to_array(tensor).copy()
        except (ValueError, TypeError, KeyError, RuntimeError):
            return
        if array.size and array.dtype.kind in "iuf":
            with np.errstate(all="ignore"):
                new = np.array(rng.choice(FLOATS if array.dtype.kind == "f" else INTEGERS))
                array.reshape(-1)[rng.randrange(array.size)] = new.astype(array.dtype)
            tensor.CopyFrom(numpy_helper.from_array(array, tensor.name))


def mutate_operator(rng, model, nodes):
    node, other = rng.choice(nodes), rng.choice(nodes)
    node.op_type = rng.choice([other.op_type, rng.choice(OPERATORS), rng.choice(OPERATORS)])
    if rng.random() < 0.05:
        node.domain = rng.choice(["ai.onnx.ml", "com.microsoft", "x"])


def mutate_edge(rng, model, nodes):
    names = [*[name for n in nodes for name in [*n.input, *n.output]],
             *[i.name for i in model.graph.initializer], ""]
    node, name = rng.choice(nodes), rng.choice(names)
    ends = node.output if rng.random() < 0.2 else node.input
    kind = rng.randrange(4)
    if kind == 0 or not ends:
        ends.append(name)
    elif kind == 1:
        del ends[rng.randrange(len(ends))]
    else:
        ends[rng.randrange(len(ends))] = name


def mutate_nodes(rng, model, nodes):
    graph = model.graph
    node = rng.choice(graph.node)
    kind = rng.randrange(4)
    if kind == 0:
        graph.node.remove(node)
    elif kind == 1:
        graph.node.add().CopyFrom(node)
    elif kind == 2:
        node.name = rng.choice([n.name for n in nodes] + WORDS)
    else:
        graph.output.add().CopyFrom(helper.make_tensor_value_info(
            rng.choice([*node.output, *node.input] or [""]), TensorProto.FLOAT, None))


def mutate_version(rng, model, nodes):
    if rng.random() < 0.2:
        model.ir_version = rng.choice([0, 1, 3, 4, 9, 10, 99])
    elif model.opset_import:
        model.opset_import[0].version = rng.choice([0, 1, *range(5, 24), 99])


MUTATIONS = [(mutate_attribute, 6), (mutate_type, 3), (mutate_constant, 6), (mutate_operator, 4),
             (mutate_edge, 3), (mutate_nodes, 2), (mutate_version, 1)]


def operators():
    from onnx import defs
    return sorted({schema.name for schema in defs.get_all_schemas() if schema.domain == ""})


OPERATORS = operators()


def seeds(networks, folder):
    """(label, model) of every seed."""
    for path in sorted(glob.glob(os.path.join(folder, "**", "*.onnx"), recursive=True)) if folder else []:
        yield os.path.relpath(path, folder), onnx.load(path)
    for path in sorted(glob.glob(os.path.join(HERE, "corpus", "onnx", "*.onnx"))):
        yield os.path.basename(path), onnx.load(path)
    with open(common.NETWORKS, encoding="utf-8") as stream:
        lines = stream.readlines()
    for line in lines:
        if line.startswith("#---"):
            yield line.split()[1], onnx.parser.parse_model(part_of(lines, line[4:].strip()))
    if networks:
        from differential import grammar
        for number in range(networks):
            only = [None, None, *sorted(grammar.GRAMMARS)][number % 6]
            yield f"{only or 'all'}.{number}", grammar.draw(4711, number, only).model


class Mutant:
    def __init__(self, known, seed, number):
        rng = random.Random(f"{seed}/{number}")
        self.number = number
        self.label, model = rng.choice(known)
        self.model = onnx.ModelProto()
        self.model.CopyFrom(model)
        for _ in range(rng.choice([1, 1, 1, 2, 2, 3, 4])):
            nodes = list(nodes_of(self.model.graph))
            if not nodes:
                break
            try:
                rng.choices(*zip(*MUTATIONS))[0](rng, self.model, nodes)
            except (ValueError, OverflowError):
                pass  # what the message cannot hold
        machine = "--machine=" + rng.choice(MACHINES)
        compilation = ["ashlarc", "{}", "-o", "{}.out", machine,
                       *rng.sample(FLAGS, rng.choice([0, 0, 1, 2]))]
        self.command = rng.choices([
            compilation, ["ashlarc", "{}", "--check", machine],
            ["ashlar-translate", "{}", "--import-onnx", "-o", "{}.out"],
            ["ashlar-translate", "{}", "--check"],
            ["ashlar-prune", "{}", "--density=0.5", "-o", "{}.out"]], [8, 2, 2, 1, 1])[0]

    def execute(self, command, path):
        done = subprocess.run([word.replace("{}", path) for word in command],
                              stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                              timeout=common.LONGEST, preexec_fn=common.limit)
        return common.ended(done.returncode), done.stderr.decode(errors="replace")

    def run(self, folder):
        """The exit code, and what went wrong or nothing."""
        path = os.path.join(folder, f"mutant{self.number}.onnx")
        with open(path, "wb") as stream:
            stream.write(self.model.SerializeToString())
        try:
            code, error = self.execute(self.command, path)
            wrong = code not in (0, 2, 3, 4, 5)
            if code == 0 and self.command[:4] == ["ashlarc", "{}", "-o", "{}.out"]:
                ran, error = self.execute(["ashlar-run", "{}.out", "--random-inputs=1", "--quiet",
                                           "--functional"], path)
                # Random values may be no indices of what they choose from, and results
                # may need more than the limit.
                wrong = ran != 0 and not (ran == 4 and "out of range fault" in error or
                                          ran == 5 and "out of memory" in error)
                code = f"0, run {ran}" if wrong else 0
        except subprocess.TimeoutExpired:
            code, error, wrong = "hang", "", True
        for name in (path, path + ".out"):
            if os.path.exists(name):
                os.remove(name)
        return code, (error.strip().split("\n")[-1][:300] or "silent") if wrong else ""


def report(mutant, code, error, keep):
    print(f"mutant {mutant.number} of {mutant.label}: {' '.join(mutant.command)}: "
          f"exit {code} {error}", flush=True)
    if keep:
        os.makedirs(keep, exist_ok=True)
        with open(os.path.join(keep, f"{mutant.number}.onnx"), "wb") as stream:
            stream.write(mutant.model.SerializeToString())


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--count", type=int, default=25000)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--seconds", type=float)
    parser.add_argument("--keep")
    parser.add_argument("--networks", type=int, default=200)
    parser.add_argument("--models", metavar="DIR")
    args = parser.parse_args()
    codes, bad, begin = {}, 0, time.monotonic()
    known = list(seeds(args.networks, args.models))
    with tempfile.TemporaryDirectory() as folder, \
            concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        def one(number):
            if args.seconds and time.monotonic() - begin > args.seconds:
                return None
            mutant = Mutant(known, args.seed, number)
            return mutant, *mutant.run(folder)

        for result in pool.map(one, range(args.first, args.first + args.count)):
            if result is None:
                continue
            mutant, code, error = result
            codes[code] = codes.get(code, 0) + 1
            if error:
                bad += 1
                report(mutant, code, error, args.keep)
    counts = ", ".join(f"{n} exit {code}" for code, n in sorted(codes.items(), key=str))
    print(f"{sum(codes.values())} mutants: {counts}; {bad} wrong")
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()
