#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Feeds the tools what they must refuse.

usage: bad_input.py compile|run|flip [--flips=N]

Every refusal is one paragraph on stderr and a documented exit code, never 1
and never 128 or more, and leaves no file behind. `flip` changes random bytes
of a model and of a binary: any documented code is right, a crash or a hang is
not.
"""

import argparse
import os
import resource
import signal
import subprocess
import sys
import tempfile

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

import common  # noqa: E402

DEMO = os.path.join(common.ROOT, "tools", "demo-network", "glyphs.onnx")
TIMEOUT = 30
USAGE, UNSUPPORTED, MALFORMED, CAPACITY = 2, 3, 4, 5
FLOAT = TensorProto.FLOAT


class Checker:
    def __init__(self, folder):
        self.folder, self.failures, self.count = folder, [], 0

    def path(self, name):
        return os.path.join(self.folder, name)

    def write(self, name, data):
        with open(self.path(name), "wb") as out:
            out.write(data)
        return self.path(name)

    def refuses(self, label, codes, command, *mentions, limit=None):
        """The command fails with one of `codes` and mentions these texts."""
        self.count += 1
        before = set(os.listdir(self.folder))
        try:
            done = subprocess.run(
                [common.tool(command[0]), *command[1:]], text=True, timeout=TIMEOUT,
                capture_output=True, preexec_fn=limit, errors="replace")
        except subprocess.TimeoutExpired:
            self.failures.append(f"{label}: still running after {TIMEOUT} s")
            return
        text = done.stderr.strip()
        problems = []
        if done.returncode not in codes:
            problems.append(f"exit code {done.returncode}, expected one of {codes}")
        if done.returncode and not text:
            problems.append("no message")
        if "\n\n" in text or len(text) > 4000:
            problems.append("more than a paragraph")
        problems += [f"does not mention {m}" for m in mentions if m not in text]
        left = set(os.listdir(self.folder)) - before
        if done.returncode and left:
            problems.append(f"left {sorted(left)} behind")
        if problems:
            self.failures.append(f"{label}: {'; '.join(problems)}\n    {text[:300]}")


def value(name, shape, kind=FLOAT):
    return helper.make_tensor_value_info(name, kind, shape)


def model(nodes, inputs, outputs, constants=()):
    graph = helper.make_graph(nodes, "g", inputs, outputs, list(constants))
    return helper.make_model(graph, ir_version=7,
                             opset_imports=[helper.make_opsetid("", 13)])


def constant(name, array):
    return numpy_helper.from_array(np.asarray(array, np.float32), name)


def node(op, inputs, outputs, name="", **attributes):
    return helper.make_node(op, inputs, outputs, name, **attributes)


def huge_constant():
    tensor = constant("w", np.zeros((1, 1, 1, 1)))
    tensor.dims[:] = [1 << 40, 1 << 20, 3, 3]
    return tensor


def outside_constant():
    tensor = TensorProto(name="w", data_type=FLOAT, dims=[1, 1, 1, 1],
                         data_location=TensorProto.EXTERNAL)
    tensor.external_data.add(key="location", value="../outside.bin")
    return tensor


def models():
    """(label, exit codes, model, texts that the message mentions)"""
    x, y = value("x", [1, 1, 4, 4]), value("y", [1, 1, 4, 4])
    conv = node("Conv", ["x", "w"], ["y"], "conv")
    bad = np.zeros((1, 1, 1, 1))
    return [
        ("cycle", {MALFORMED}, model(
            [node("Add", ["x", "b"], ["a"], "p"), node("Relu", ["a"], ["b"], "q"),
             node("Relu", ["b"], ["y"])], [x], [y]), []),
        ("undefined value", {MALFORMED},
         model([node("Relu", ["nowhere"], ["y"], "r")], [x], [y]), ["nowhere"]),
        ("value made twice", {MALFORMED}, model(
            [node("Relu", ["x"], ["y"], "r"), node("Abs", ["x"], ["y"], "s")],
            [x], [y]), ["y"]),
        ("integer weights", {UNSUPPORTED, MALFORMED}, model(
            [conv], [x], [y],
            [numpy_helper.from_array(np.ones((1, 1, 1, 1), np.int64), "w")]), []),
        ("weights of a wrong rank", {MALFORMED},
         model([conv], [x], [y], [constant("w", np.ones((1, 1)))]), ["conv"]),
        ("huge constant without data", {MALFORMED, CAPACITY},
         model([conv], [x], [y], [huge_constant()]), ["w"]),
        ("huge activation", {CAPACITY, UNSUPPORTED}, model(
            [node("Relu", ["x"], ["y"], "r")],
            [value("x", [1, 64, 1 << 20, 1 << 20])],
            [value("y", [1, 64, 1 << 20, 1 << 20])]), []),
        ("two unknown operators", {UNSUPPORTED}, model(
            [node("Frobnicate", ["x"], ["a"], "first"),
             node("Frobnicate", ["a"], ["y"], "second")], [x], [y]),
         ["first", "second", "Frobnicate"]),
        ("unsupported attribute", {UNSUPPORTED}, model(
            [node("BatchNormalization", ["x", "s", "s", "s", "s"], ["y"],
                  "normalise", spatial=0)], [x], [y],
            [constant("s", [1])]), ["normalise"]),
        ("NaN in a constant", {UNSUPPORTED, MALFORMED},
         model([conv], [x], [y], [constant("w", bad + np.nan)]), ["w"]),
        ("infinity in a constant", {UNSUPPORTED, MALFORMED},
         model([conv], [x], [y], [constant("w", bad + np.inf)]), ["w"]),
        ("open dimension", {USAGE, UNSUPPORTED, MALFORMED}, model(
            [node("Relu", ["x"], ["y"])], [value("x", ["n", 1, 4, 4])],
            [value("y", ["n", 1, 4, 4])]), ["x", "--input-shape"]),
        ("external data outside the folder", {MALFORMED},
         model([conv], [x], [y], [outside_constant()]), ["outside.bin"]),
        ("newer opset", {UNSUPPORTED, MALFORMED}, helper.make_model(
            helper.make_graph([node("Relu", ["x"], ["y"])], "g", [x], [y]),
            opset_imports=[helper.make_opsetid("", 999)]), ["999"]),
    ]


def small_files():
    """A file may hold 4096 bytes: the same error as a full disk."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))


def check_compile(checker):
    out = checker.path("out.ash")
    compiles = lambda path, *more: ["ashlarc", path, "-o", out, *more]
    for label, codes, proto, mentions in models():
        path = checker.write("model.onnx", proto.SerializeToString())
        checker.refuses(label, codes, compiles(path), *mentions)
    with open(DEMO, "rb") as stream:
        demo = stream.read()
    for k in range(1, 24):
        path = checker.write("model.onnx", demo[:len(demo) * k // 24])
        checker.refuses(f"{k}/24 of a model", {UNSUPPORTED, MALFORMED}, compiles(path))
    for label, data in (("empty file", b""), ("text", b"no model\n" * 50)):
        checker.refuses(label, {MALFORMED}, compiles(checker.write("model.onnx", data)))
    checker.refuses("absent file", {USAGE, MALFORMED},
                    compiles(checker.path("absent.onnx")), "absent.onnx")
    checker.refuses("unknown option", {USAGE}, compiles(DEMO, "--frobnicate"),
                    "frobnicate")
    checker.refuses("unknown machine", {USAGE, MALFORMED},
                    compiles(DEMO, "--machine=nowhere"), "nowhere")
    checker.refuses("bad format", {USAGE}, compiles(DEMO, "--format=w=99"))
    checker.refuses("full disk", {USAGE, MALFORMED, CAPACITY}, compiles(DEMO),
                    limit=small_files)
    check_machines(checker, compiles)


def check_machines(checker, compiles):
    text = common.run_tool("ashlarc", "--dump-machine=a1").stdout
    path = checker.write("m.yaml", (text + "\nfrobnication: 3\n").encode())
    checker.refuses("unknown machine field", {USAGE, MALFORMED},
                    compiles(DEMO, f"--machine={path}"), "frobnication")
    huge = text.replace("65536", "1099511627776")
    path = checker.write("m.yaml", huge.encode())
    checker.refuses("machine of terabytes", {CAPACITY},
                    compiles(DEMO, f"--machine={path}"))
    path = checker.write("m.yaml", text.replace(": ", ": -", 40).encode())
    checker.refuses("negative machine", {USAGE, MALFORMED, CAPACITY},
                    compiles(DEMO, f"--machine={path}"))


def check_run(checker):
    binary = checker.path("demo.ash")
    common.run_tool("ashlarc", DEMO, "-o", binary)
    runs = lambda *arguments: ["ashlar-run", *arguments]
    checker.refuses("no inputs", {USAGE}, runs(binary), "image", "28")
    good = np.zeros((1, 1, 28, 28), np.float32)
    arrays = {"wrong name": ("other", good), "wrong rank": ("image", good[0]),
              "wrong shape": ("image", good[..., :27]),
              "wrong type": ("image", good.astype(np.int32)),
              "empty array": ("image", good[:0])}
    for label, (name, array) in arrays.items():
        np.savez(checker.path("in.npz"), **{name: array})
        checker.refuses(label, {USAGE, MALFORMED},
                        runs(binary, f"--inputs={checker.path('in.npz')}"))
    np.savez(checker.path("in.npz"), image=good)
    with open(checker.path("in.npz"), "rb") as stream:
        data = stream.read()
    for k in range(8):
        path = checker.write("cut.npz", data[:len(data) * k // 8])
        checker.refuses(f"{k}/8 of an npz", {USAGE, MALFORMED},
                        runs(binary, f"--inputs={path}"))
    checker.refuses("too little memory", {CAPACITY},
                    runs(binary, "--random-inputs=1", "--max-memory=1000"))
    with open(binary, "rb") as stream:
        data = stream.read()
    for k in range(32):
        path = checker.write("cut.ash", data[:len(data) * k // 32])
        checker.refuses(f"{k}/32 of a binary", {MALFORMED},
                        runs(path, "--random-inputs=1"))
    checker.refuses("longer binary", {0, MALFORMED},
                    runs(checker.write("long.ash", data + b"x" * 100),
                         "--random-inputs=1"))
    checker.refuses("a model in place of a binary", {MALFORMED},
                    runs(DEMO, "--random-inputs=1"))


def check_flips(checker, flips):
    rng = np.random.default_rng(3)
    binary = checker.path("demo.ash")
    common.run_tool("ashlarc", DEMO, "-o", binary)
    any_code = {0, USAGE, UNSUPPORTED, MALFORMED, CAPACITY}
    for source, name in ((DEMO, "flip.onnx"), (binary, "flip.ash")):
        with open(source, "rb") as stream:
            data = np.frombuffer(stream.read(), np.uint8)
        for k in range(flips):
            changed = data.copy()
            # Half of the changes go where the structure is densest.
            span = len(data) if k % 2 else min(len(data), 2000)
            at = rng.integers(0, span, rng.integers(1, 4))
            changed[at] = rng.integers(0, 256, len(at))
            path = checker.write(name, changed.tobytes())
            command = (["ashlarc", path, "-o", "/dev/null", "--check"]
                       if name.endswith("onnx")
                       else ["ashlar-run", path, "--random-inputs=1"])
            checker.refuses(f"{name} change {k} at {at.tolist()}", any_code, command)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=["compile", "run", "flip"])
    parser.add_argument("--flips", type=int, default=40)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        checker = Checker(folder)
        if options.what == "compile":
            check_compile(checker)
        elif options.what == "run":
            check_run(checker)
        else:
            check_flips(checker, options.flips)
    for failure in checker.failures:
        print("FAIL", failure)
    print(f"{checker.count} bad inputs, {len(checker.failures)} handled badly")
    return int(bool(checker.failures))


if __name__ == "__main__":
    sys.exit(main())
