# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A compiled network whose inner tensor holds exactly the values that a test
chooses, and what its runs store.

The network is two convolutions of 1x1 with identities as weights. The tensor
between them, `hidden`, is made by a product of encoded operands and read by
another one; its policy is what a test is about.
"""

import json
import os
import shutil
import sys
import tempfile

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

TEST = os.path.join(os.path.dirname(__file__), "..", "..")
sys.path[:0] = [os.path.join(TEST, "Integration"), os.path.join(TEST, "reference")]
import common  # noqa: E402

CHANNELS, EXTENT = 16, 6
SHAPE = (1, CHANNELS, EXTENT, EXTENT)
CLEARED = -32768


def save_model(path, extent):
    identity = np.eye(CHANNELS, dtype=np.float32).reshape(CHANNELS, CHANNELS, 1, 1)
    shape = [1, CHANNELS, extent, extent]
    tensor = helper.make_tensor_value_info
    graph = helper.make_graph(
        [helper.make_node("Conv", ["x", "w"], ["hidden"], name="hidden"),
         helper.make_node("Conv", ["hidden", "w"], ["y"], name="last")],
        "claims", [tensor("x", TensorProto.FLOAT, shape)],
        [tensor("y", TensorProto.FLOAT, shape)],
        [numpy_helper.from_array(identity, "w")])
    onnx.save(helper.make_model(graph, ir_version=8,
                                opset_imports=[helper.make_opsetid("", 17)]), path)


class Run:
    """What one run stored of `hidden`, and what it left."""

    def __init__(self, folder, width):
        with open(os.path.join(folder, "dump", "index.json"), encoding="utf-8") as file:
            entry = json.load(file)["tensors"]["hidden"]
        load = lambda key: np.load(os.path.join(folder, "dump", entry[key])).astype(np.int64)
        self.mantissas, self.cells = load("mantissas"), load("exponents")
        self.scale = entry["scaleExponent"]
        self.steps = self.cells - (width - 2)
        self.values = np.ldexp(self.mantissas.astype(np.float64), self.steps)
        with open(os.path.join(folder, "report.json"), encoding="utf-8") as file:
            self.report = json.load(file)
        self.node = next(n for n in self.report["nodes"] if n["name"] == "hidden")
        self.cycles = self.report["total_cycles"]
        with np.load(os.path.join(folder, "y.npz")) as outputs:
            self.y = outputs["y"]
        state = os.path.join(folder, "state.npz")
        self.state = np.load(state)["state"].astype(int) if os.path.exists(state) else None

    def exponents(self):
        """The step exponents of blocks that are not zero."""
        return sorted(set(self.steps[self.cells != -128].tolist()))


class Program:
    """The network under a policy of `hidden`; runs keep the state."""

    def __init__(self, policy, width=8, machine="a1", extent=EXTENT):
        self.folder = tempfile.mkdtemp()
        self.width, self.extent = width, extent
        self.model = self.path("model.onnx")
        save_model(self.model, extent)
        with open(self.path("formats.json"), "w", encoding="utf-8") as file:
            json.dump({"activations": f"bfp{width}", "weights": f"bfp{width}",
                       "nodes": {"hidden": {"activations": "bfp16"},
                                 "last": {"scale": policy}}}, file)
        common.run_tool("ashlarc", self.model, "-o", self.path("m.ash"),
                        f"--formats={self.path('formats.json')}", f"--machine={machine}", "--sparse=off",
                        f"--dump-plan={self.path('plan')}")
        os.remove(self.model)
        with open(self.path("plan/plan.json"), encoding="utf-8") as file:
            self.plan = json.load(file)
        self.event = next(e for e in self.plan["events"] if e["tensor"] == "hidden")
        self.text = common.run_tool("ashlar-dis", self.path("m.ash")).stdout

    def __enter__(self):
        return self

    def __exit__(self, *_):
        shutil.rmtree(self.folder)

    def path(self, name):
        return os.path.join(self.folder, name)

    def run(self, values, binary="m.ash"):
        x = np.asarray(values, np.float32).reshape(1, CHANNELS, self.extent, self.extent)
        np.savez(self.path("x.npz"), x=x)
        command = ["ashlar-run", self.path(binary), f"--inputs={self.path('x.npz')}", "--quiet",
                   f"--dump-tensors={self.path('dump')}", f"--report={self.path('report.json')}",
                   f"--outputs={self.path('y.npz')}"]
        if "state" in self.event:
            if os.path.exists(self.path("state.npz")):
                shutil.copy(self.path("state.npz"), self.path("before.npz"))
                command.append(f"--state-in={self.path('before.npz')}")
            command.append(f"--state-out={self.path('state.npz')}")
        shutil.rmtree(self.path("dump"), ignore_errors=True)
        common.run_tool(*command)
        return Run(self.folder, self.width)

    def instructions(self, mnemonic, **fields):
        """Fields of the instructions of that name that have these fields."""
        found = []
        for line in self.text.splitlines():
            words = line.split()
            if words and words[0] == mnemonic:
                own = dict(word.partition("=")[::2] for word in words[1:])
                if all(own.get(key, "0") == str(value) for key, value in fields.items()):
                    found.append(own)
        return found

    def assemble(self, text, binary):
        """Writes `text` as a program; False if the assembler or loader refuses."""
        with open(self.path("edited.asm"), "w", encoding="utf-8") as file:
            file.write(text)
        done = common.run_tool("ashlar-as", self.path("edited.asm"), "-o", self.path(binary),
                               check=False)
        if done.returncode:
            return False
        np.savez(self.path("zeros.npz"),
                 x=np.zeros((1, CHANNELS, self.extent, self.extent), np.float32))
        return common.run_tool("ashlar-run", self.path(binary), "--quiet",
                               f"--inputs={self.path('zeros.npz')}",
                               check=False).returncode == 0

