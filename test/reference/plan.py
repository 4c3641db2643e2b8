# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Reads numeric plans and tensor dumps (docs/NumericPlan.md)."""

import json
import os
import re

import numpy as np

import blocks
from storage import Value, store


def file_name(name):
    """The file name part that stands for a tensor's name."""
    return re.sub(r"[^A-Za-z0-9_.-]", "_", name)


def format_of(tensor):
    return blocks.Format.from_json(tensor["format"])


def ordered(operands):
    """Operands in index order: x0, x1, ..., x10 or x, y."""
    def key(role):
        text, digits = re.fullmatch(r"(.*?)(\d*)", role).groups()
        return text, int(digits or 0)
    return [operands[role] for role in sorted(operands, key=key)]


def stored_array(value):
    """The array that a file holds for a value: bf16 as its 16 bits."""
    if value.type == "bfp":
        return value.numbers()
    if value.type == "bf16":
        return (np.ascontiguousarray(value.data).view(np.uint32) >> 16).astype(np.uint16)
    return value.data


class Plan:
    def __init__(self, folder):
        self.folder = folder
        with open(os.path.join(folder, "plan.json"), encoding="utf-8") as stream:
            data = json.load(stream)
        if (data.get("schema"), data.get("version")) != ("ashlar-plan", 1):
            raise SystemExit("plan.json is not an ashlar-plan of version 1")
        self.tensors = {t["name"]: t for t in data["tensors"]}
        self.ops = data["ops"]
        # Plan tensor -> name of the graph output.
        self.outputs = {t["name"]: t.get("output", t["name"])
                        for t in self.of_kind("output")}

    def of_kind(self, kind):
        return [t for t in self.tensors.values() if t["kind"] == kind]

    def constants(self):
        """Constant values, encoded here from the floats that the plan holds."""
        values = {}
        for tensor in self.of_kind("constant"):
            path = os.path.join(self.folder, tensor.get(
                "file", file_name(tensor["name"]) + ".npy"))
            array = np.load(path).reshape(tensor["shape"])
            values[tensor["name"]] = store(array, tensor)
        return values


class Dump:
    def __init__(self, folder):
        self.folder = folder
        with open(os.path.join(folder, "index.json"), encoding="utf-8") as stream:
            data = json.load(stream)
        self.index = data.get("tensors", data)

    def has(self, name):
        return name in self.index

    def load(self, file):
        return np.load(os.path.join(self.folder, file))

    def array(self, name):
        return self.load(self.index[name]["file"])

    def encoded(self, name):
        """(mantissas, exponents, E or None)"""
        entry = self.index[name]
        return (self.load(entry["mantissas"]), self.load(entry["exponents"]),
                entry.get("scaleExponent"))
