#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Feeds every tool and every option that reads or writes a file what it must
refuse: noise, text, nothing, folders, a full device, files of another kind,
hostile text programs and models.

usage: bad_tools.py [--only=REGEX]

Refusals are judged as in bad_input.py.
"""

import argparse
import os
import re
import resource
import signal
import struct
import sys
import tempfile

import numpy as np
from onnx import TensorProto, helper, numpy_helper

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

import bad_input  # noqa: E402
import common  # noqa: E402
from bad_input import (CAPACITY, DEMO, FLOAT, MALFORMED, UNSUPPORTED, USAGE,  # noqa: E402
                       constant, model, node, value)

FULL = "/dev/full"
REFUSED = {USAGE, UNSUPPORTED, MALFORMED, CAPACITY}
INPUT = {USAGE, MALFORMED}
ARRAY_TEXT = ("{'descr': '<f4', 'fortran_order': False, "
              "'shape': (1, 1, 1000000, 1000000, 1000000), }")


def small_files(size):
    """A file may hold so many bytes: the same error as a full disk."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))


class Selected(bad_input.Checker):
    """A checker that skips what --only does not name."""

    def __init__(self, folder, only):
        super().__init__(folder)
        self.only = only

    def refuses(self, label, codes, command, *mentions, limit=None):
        if not re.search(self.only, label):
            return
        known = len(self.failures)
        super().refuses(label, codes, command, *mentions, limit=limit)
        for failure in self.failures[known:]:
            print("FAIL", failure, flush=True)


def npy(header):
    text = header.ljust(118).encode() + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text


def hostile_files(checker):
    """(label, path): none of them is what any option expects."""
    noise = np.random.default_rng(5).bytes(5000)
    files = {"noise": noise, "nothing": b"", "words": b"no such thing\n" * 99,
             "zeros": bytes(5000), "json": b"[[[[" * 2000,
             "braces": b'{"a":' * 50000,
             "mlir": b"module attributes {a = " + b"[" * 200000,
             # Recursion without a bracket, and with brackets in aliases.
             "minus": b"module attributes {a = affine_map<() -> (" +
                      b"- " * 200000 + b"1)>} {}\n",
             "aliases": b"#a0 = 1 : i32\n" + b"".join(
                 b"#a%d = [#a%d]\n" % (i + 1, i) for i in range(100000)) +
                 b"module attributes {a = #a100000} {}\n",
             "array": npy(ARRAY_TEXT),
             "archive": b"PK\x05\x06" + b"\xff" * 18}
    for name, data in files.items():
        yield name, checker.write("hostile_" + name, data)
    os.makedirs(checker.path("hostile_folder"), exist_ok=True)
    yield "folder", checker.path("hostile_folder")
    yield "absent", checker.path("hostile_absent")
    yield "device", "/dev/zero"


def prepare(checker):
    """Good files of every kind, by kind."""
    good = {"model": DEMO}
    for kind in ("demo.ash", "plan.mlir", "demo.asm", "in.npz", "dump", "plan"):
        good[kind] = checker.path(kind)
    common.run_tool("ashlarc", DEMO, "-o", good["demo.ash"],
                    "--machine=a1-tiny", f"--dump-plan={good['plan']}")
    common.run_tool("ashlarc", DEMO, "-o", good["plan.mlir"],
                    "--machine=a1-tiny", "--compile-to=plan")
    common.run_tool("ashlar-dis", good["demo.ash"], "-o", good["demo.asm"])
    np.savez(good["in.npz"], image=np.zeros((1, 1, 28, 28), np.float32))
    common.run_tool("ashlar-run", good["demo.ash"], "--random-inputs=1",
                    f"--dump-tensors={good['dump']}")
    return good


def readers(good, checker):
    """(label, command with {} for the hostile file)"""
    out = checker.path("out")
    samples = f"--calibrate={good['in.npz']}"
    return [
        ("ashlarc", ["ashlarc", "{}", "-o", out]),
        ("ashlarc --check", ["ashlarc", "{}", "--check"]),
        ("ashlarc --machine", ["ashlarc", DEMO, "-o", out, "--machine={}"]),
        ("ashlarc --formats", ["ashlarc", DEMO, "-o", out, "--formats={}"]),
        ("ashlarc --calibrate", ["ashlarc", DEMO, "-o", out, "--format=auto",
                                 "--min-snr=20", "--calibrate={}"]),
        ("ashlarc --constant", ["ashlarc", DEMO, "-o", out,
                                "--constant=image={}"]),
        ("ashlarc --compile-from", ["ashlarc", "{}", "-o", out,
                                    "--compile-from=plan"]),
        ("ashlarc --verify", ["ashlarc", DEMO, "--verify", "--inputs={}"]),
        ("ashlarc --scale", ["ashlarc", DEMO, "-o", out, "--scale={}", samples]),
        ("ashlar-run", ["ashlar-run", "{}", "--random-inputs=1"]),
        ("ashlar-run --inputs", ["ashlar-run", good["demo.ash"], "--inputs={}"]),
        ("ashlar-run --input", ["ashlar-run", good["demo.ash"],
                                "--input=image={}"]),
        ("ashlar-run --expect", ["ashlar-run", good["demo.ash"],
                                 "--random-inputs=1", "--expect={}"]),
        ("ashlar-dis", ["ashlar-dis", "{}", "-o", out]),
        ("ashlar-as", ["ashlar-as", "{}", "-o", out]),
        ("ashlar-translate", ["ashlar-translate", "--import-onnx", "{}"]),
        ("ashlar-reference", ["ashlar-reference", "{}"]),
        ("ashlar-reference --inputs", ["ashlar-reference", DEMO,
                                       "--inputs={}"]),
        ("ashlar-opt", ["ashlar-opt", "{}", "-o", out]),
        ("ashlar-opt pass", ["ashlar-opt", "{}", "-ashlar-npu-plan-memory", "-o",
                             out]),
        ("ashlar-tiles", ["ashlar-tiles", "{}"]),
        ("ashlar-tiles --constants", ["ashlar-tiles", good["dump"],
                                      "--constants={}"]),
        ("ashlar-tiles --machine", ["ashlar-tiles", good["dump"],
                                    "--machine={}"]),
        ("ashlar-prune", ["ashlar-prune", "{}", "-o", out, "--density=0.5"]),
        ("ashlar-reduce", ["ashlar-reduce", "{}", "-o", out,
                           "--test=false {model}"]),
    ]


def writers(good, checker):
    """(label, command with {} for the file to write)"""
    run = ["ashlar-run", good["demo.ash"], "--random-inputs=1"]
    return [
        ("ashlarc -o", ["ashlarc", DEMO, "-o", "{}"]),
        ("ashlarc --report", ["ashlarc", DEMO, "--report={}"]),
        ("ashlarc --dump-plan", ["ashlarc", DEMO, "--dump-plan={}"]),
        ("ashlarc --dump-formats", ["ashlarc", DEMO, "-o", "/dev/null",
                                    "--dump-formats={}"]),
        ("ashlarc --compile-to", ["ashlarc", DEMO, "--compile-to=plan", "-o",
                                  "{}"]),
        ("ashlar-run --outputs", [*run, "--outputs={}"]),
        ("ashlar-run --report", [*run, "--report={}"]),
        ("ashlar-run --trace", [*run, "--trace={}"]),
        ("ashlar-run --dump-tensors", [*run, "--dump-tensors={}"]),
        ("ashlar-opt -o", ["ashlar-opt", good["plan.mlir"], "-o", "{}"]),
        ("ashlar-dis -o", ["ashlar-dis", good["demo.ash"], "-o", "{}"]),
        ("ashlar-as -o", ["ashlar-as", good["demo.asm"], "-o", "{}"]),
        ("ashlar-tiles --picture", ["ashlar-tiles", good["dump"],
                                    "--picture={}"]),
        ("ashlar-prune -o", ["ashlar-prune", DEMO, "--density=0.5", "-o",
                             "{}"]),
        ("ashlar-reduce -o", ["ashlar-reduce", DEMO, "--max-trials=1",
                              "--test=false {model}", "-o", "{}"]),
    ]


def fill(command, file):
    return [part.replace("{}", file) for part in command]


def check_files(checker, good):
    for tool, command in readers(good, checker):
        for label, path in hostile_files(checker):
            if label == "nothing" and tool in ("ashlar-as", "ashlar-opt"):
                continue  # The empty program and the empty module.
            checker.refuses(f"{tool}: {label}", REFUSED, fill(command, path))
    others = {"a binary": good["demo.ash"], "an archive": good["in.npz"],
              "a model": DEMO, "text": good["plan.mlir"]}
    for tool, command in readers(good, checker):
        for label, path in others.items():
            if {label, tool} & {"a model"} and tool in (
                    "ashlarc", "ashlarc --check", "ashlar-translate",
                    "ashlar-reference", "ashlar-prune", "ashlar-reduce"):
                continue
            if label == "a binary" and tool in ("ashlar-run", "ashlar-dis"):
                continue
            if label == "text" and tool in (
                    "ashlarc --compile-from", "ashlar-reference", "ashlar-opt",
                    "ashlar-opt pass"):
                continue
            if label == "an archive" and "inputs" in tool or \
                    label == "an archive" and tool in ("ashlarc --calibrate",
                                                       "ashlarc --verify"):
                continue
            checker.refuses(f"{tool}: {label}", REFUSED, fill(command, path))


def check_writers(checker, good):
    for tool, command in writers(good, checker):
        folder = checker.path("hostile_folder")
        if "--dump" not in tool or "formats" in tool:
            checker.refuses(f"{tool}: full device", {CAPACITY},
                            fill(command, FULL))
            checker.refuses(f"{tool}: a folder", {USAGE},
                            fill(command, folder))
        checker.refuses(f"{tool}: below a file", INPUT,
                        fill(command, DEMO + "/x"))
        checker.refuses(f"{tool}: below nothing", {USAGE},
                        fill(command, "/proc/nothing/x"))
        checker.refuses(f"{tool}: full disk", {CAPACITY},
                        fill(command, checker.path("out_file")),
                        limit=lambda: small_files(64))


def check_standard_output(checker, good):
    commands = {
        "ashlarc --check": ["ashlarc", DEMO, "--check"],
        "ashlarc --explain": ["ashlarc", DEMO, "--explain"],
        "ashlarc --list-machines": ["ashlarc", "--list-machines"],
        "ashlarc --compile-to": ["ashlarc", DEMO, "--compile-to=plan"],
        "ashlar-run": ["ashlar-run", good["demo.ash"], "--random-inputs=1"],
        "ashlar-dis": ["ashlar-dis", good["demo.ash"]],
        "ashlar-translate": ["ashlar-translate", "--import-onnx", DEMO],
        "ashlar-opt": ["ashlar-opt", good["plan.mlir"]],
        "ashlar-tiles": ["ashlar-tiles", good["dump"]],
        "ashlar-prune": ["ashlar-prune", DEMO, "--density=0.5", "-o",
                         "/dev/null"],
        "ashlar-reduce": ["ashlar-reduce", DEMO, "--max-trials=1",
                          "--test=false {model}", "-o", "/dev/null"],
    }

    def full_output():
        os.dup2(os.open(FULL, os.O_WRONLY), 1)

    for label, command in commands.items():
        checker.refuses(f"{label}: standard output is full", {CAPACITY},
                        command, limit=full_output)


def check_versions(checker, good):
    """Headers that say a newer format or instruction set."""
    with open(good["demo.ash"], "rb") as stream:
        data = stream.read()
    for at in (8, 12, 14):
        for by in (1, 0x7f):
            newer = bytearray(data)
            newer[at] = min(newer[at] + by, 255)
            path = checker.write("newer.ash", bytes(newer))
            for tool in (["ashlar-run", path, "--random-inputs=1"],
                         ["ashlar-dis", path]):
                checker.refuses(f"{tool[0]}: newer binary, byte {at} + {by}",
                                {MALFORMED}, tool, "version")


def typed(name, elements, shape):
    return numpy_helper.from_array(np.zeros(shape, elements), name)


def deep_model():
    """A chain of 20000 nodes: no recursion may follow it."""
    nodes = [node("Relu", [f"v{i}"], [f"v{i + 1}"]) for i in range(20000)]
    return model(nodes, [value("v0", [1, 4])], [value("v20000", [1, 4])])


def external(location, **entries):
    tensor = TensorProto(name="w", data_type=FLOAT, dims=[1, 1, 1, 1],
                         data_location=TensorProto.EXTERNAL)
    tensor.external_data.add(key="location", value=location)
    for key, text in entries.items():
        tensor.external_data.add(key=key, value=text)
    return tensor


def recursive_function():
    proto = model([helper.make_node("F", ["x"], ["y"], domain="f")],
                  [value("x", [1])], [value("y", [1])])
    proto.opset_import.append(helper.make_opsetid("f", 1))
    function = helper.make_function(
        "f", "F", ["a"], ["b"],
        [helper.make_node("F", ["a"], ["b"], domain="f")],
        [helper.make_opsetid("", 13), helper.make_opsetid("f", 1)])
    proto.functions.append(function)
    return proto


def exploding_functions():
    """Each level calls the next twice: 2^30 nodes when inlined."""
    proto = model([helper.make_node("F0", ["x"], ["y"], domain="f")],
                  [value("x", [1])], [value("y", [1])])
    imports = [helper.make_opsetid("", 13), helper.make_opsetid("f", 1)]
    proto.opset_import.append(imports[1])
    for k in range(30):
        domain, op = ("f", f"F{k + 1}") if k < 29 else ("", "Relu")
        body = [helper.make_node(op, ["a"], ["m"], domain=domain),
                helper.make_node(op, ["m"], ["b"], domain=domain)]
        proto.functions.append(helper.make_function(
            "f", f"F{k}", ["a"], ["b"], body, imports))
    return proto


def hostile_models():
    """(label, codes, model)"""
    x, y = value("x", [1, 1, 4, 4]), value("y", [1, 1, 4, 4])
    conv = node("Conv", ["x", "w"], ["y"], "conv")

    def one(op, constants=(), inputs=None, shape=None, **attributes):
        names = ["x"] + [c.name for c in constants]
        return model([node(op, inputs or names, ["y"], "n", **attributes)],
                     [x if shape is None else value("x", shape)], [y],
                     constants)

    integers = lambda name, *values: numpy_helper.from_array(
        np.array(values, np.int64), name)
    big = 1 << 62
    return [
        ("attribute of a wrong type", INPUT, one(
            "Softmax", axis="three")),
        ("kernel of zeros", INPUT, one("MaxPool", kernel_shape=[0, 0])),
        ("negative stride", INPUT, one("MaxPool", kernel_shape=[2, 2],
                                       strides=[-1, 0])),
        ("huge kernel", REFUSED, one("MaxPool", kernel_shape=[big, big])),
        ("huge pads", REFUSED, one("MaxPool", kernel_shape=[2, 2],
                                   pads=[big, big, big, big])),
        ("huge Pad", REFUSED, one("Pad", [integers("p", 0, 0, big, big, 0, 0,
                                                   big, big)])),
        ("negative Pad", REFUSED, one("Pad", [integers("p", 0, 0, -9, 0, 0, 0,
                                                       -9, 0)])),
        ("huge Tile", REFUSED, one("Tile", [integers("r", big, big, 1, 1)])),
        ("huge Expand", REFUSED, one("Expand", [integers("s", big, big, 4, 4)])),
        ("huge Reshape", INPUT, one("Reshape", [integers("s", big, big)])),
        ("two -1 in Reshape", INPUT, one("Reshape", [integers("s", -1, -1)])),
        ("huge ConstantOfShape", REFUSED, model(
            [node("ConstantOfShape", ["s"], ["c"]),
             node("Add", ["x", "c"], ["y"])], [x], [y],
            [integers("s", 1 << 20, 1 << 20)])),
        ("huge Range", REFUSED, model(
            [node("Range", ["a", "b", "d"], ["c"]),
             node("Cast", ["c"], ["f"], to=1), node("Add", ["x", "f"], ["y"])],
            [x], [y], [numpy_helper.from_array(np.array(v, np.int64), n)
                       for n, v in (("a", 0), ("b", big), ("d", 1))])),
        ("Range with step 0", REFUSED, model(
            [node("Range", ["a", "b", "d"], ["c"]),
             node("Cast", ["c"], ["f"], to=1), node("Add", ["x", "f"], ["y"])],
            [x], [y], [numpy_helper.from_array(np.array(v, np.int64), n)
                       for n, v in (("a", 0), ("b", 4), ("d", 0))])),
        ("huge Resize", REFUSED, model(
            [node("Resize", ["x", "", "s"], ["y"])], [x], [y],
            [constant("s", [1, 1, 1e30, 1e30])])),
        ("negative Resize", REFUSED, model(
            [node("Resize", ["x", "", "s"], ["y"])], [x], [y],
            [constant("s", [1, 1, -2, np.nan])])),
        ("split into too many", INPUT, one("Split", [integers("s", big, -big)])),
        ("axis far out", INPUT, one("Concat", axis=big)),
        ("transposed twice the same", INPUT, one("Transpose",
                                                 perm=[0, 0, 1, 2])),
        ("group of zero", INPUT, model(
            [node("Conv", ["x", "w"], ["y"], "conv", group=0)], [x], [y],
            [constant("w", np.ones((1, 1, 1, 1)))])),
        ("huge group", INPUT, model(
            [node("Conv", ["x", "w"], ["y"], "conv", group=big)], [x], [y],
            [constant("w", np.ones((1, 1, 1, 1)))])),
        ("huge dilation", REFUSED, model(
            [node("Conv", ["x", "w"], ["y"], "conv", dilations=[big, big])],
            [x], [y], [constant("w", np.ones((1, 1, 2, 2)))])),
        ("constant index far out", INPUT, one("Gather", [integers("i", big)])),
        ("block of zero", INPUT, one("DepthToSpace", blocksize=0)),
        ("zero extent", REFUSED | {0}, model([node("Relu", ["x"], ["y"])],
                                       [value("x", [1, 0, 4, 4])],
                                       [value("y", [1, 0, 4, 4])])),
        # Values that are never encoded stay what they are.
        ("NaN epsilon", REFUSED | {0}, model(
            [node("InstanceNormalization", ["x", "s", "s"], ["y"],
                  epsilon=float("nan"))], [x], [y], [constant("s", [1])])),
        ("einsum nonsense", INPUT, one("Einsum", equation="ab->c.d->(")),
        ("absolute external data", INPUT, model([conv], [x], [y],
                                                [external("/etc/passwd")])),
        ("external device", INPUT, model([conv], [x], [y],
                                         [external("../../dev/zero")])),
        ("external data at the end of numbers", INPUT, model(
            [conv], [x], [y], [external("in.npz", offset=str((1 << 64) - 2),
                                        length="4")])),
        ("external data of negative length", INPUT, model(
            [conv], [x], [y], [external("in.npz", length="-4")])),
        ("external folder", INPUT, model([conv], [x], [y],
                                         [external("hostile_folder")])),
        ("function that calls itself", REFUSED, recursive_function()),
        ("functions that explode", REFUSED, exploding_functions()),
        ("strings", REFUSED, model(
            [node("Relu", ["x"], ["y"])],
            [value("x", [1], TensorProto.STRING)],
            [value("y", [1], TensorProto.STRING)])),
        ("half of a pair", INPUT, model(
            [node("Add", ["x"], ["y"], "n")], [x], [y])),
        ("no operand", INPUT, model([node("Relu", [], ["y"], "n")], [x], [y])),
        ("wrong output type", INPUT, model(
            [node("Relu", ["x"], ["y"], "n")], [x],
            [value("y", [1, 1, 4, 4], TensorProto.INT64)])),
        ("Infinity in Clip", REFUSED | {0}, one(
            "Clip", [constant("lo", -np.inf), constant("hi", np.inf)])),
        ("NaN in an addition", REFUSED | {0}, one("Add", [constant("c", np.nan)])),
        ("weights that overflow", REFUSED | {0}, model(
            [conv], [x], [y], [constant("w", np.full((1, 1, 1, 1), 3e38))])),
        ("huge rank", REFUSED, model([node("Relu", ["x"], ["y"])],
                                     [value("x", [1] * 3000)],
                                     [value("y", [1] * 3000)])),
        ("chain of 20000", REFUSED | {0}, deep_model()),
    ]


def check_models(checker):
    for label, codes, proto in hostile_models():
        path = checker.write("hostile.onnx", proto.SerializeToString())
        out = checker.path("out.ash")
        checker.refuses(f"model: {label}", codes, ["ashlarc", path, "-o", out])
        if os.path.exists(out):
            os.remove(out)
        reads = codes | {0}
        checker.refuses(f"reference: {label}", reads,
                        ["ashlar-reference", path])
        checker.refuses(f"check: {label}", reads, ["ashlarc", path, "--check"])
        checker.refuses(f"prune: {label}", REFUSED | {0},
                        ["ashlar-prune", path, "-o", "/dev/null",
                         "--density=0.5"])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        checker = Selected(folder, options.only)
        good = prepare(checker)
        check_files(checker, good)
        check_writers(checker, good)
        check_standard_output(checker, good)
        check_versions(checker, good)
        check_models(checker)
    print(f"{checker.count} bad inputs, {len(checker.failures)} handled badly")
    return int(bool(checker.failures) or not checker.count)


if __name__ == "__main__":
    sys.exit(main())
