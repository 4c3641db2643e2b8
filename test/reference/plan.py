# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Reads numeric plans and tensor dumps (docs/NumericPlan.md)."""

import json
import os
import re

import numpy as np

import blocks
import scales
from storage import Value, store


def format_of(tensor):
    return blocks.Format.from_json(tensor["format"])


def ordered(operands):
    """Operands in index order: x0, x1, ..., x10."""
    def key(role):
        text, digits = re.fullmatch(r"(.*?)(\d*)", role).groups()
        return text, int(digits or 0)
    return [operands[role] for role in sorted(operands, key=key)]


def stored_array(value):
    """The array that a file holds for a value: bf16 as its 16 bits."""
    if value.type == "bfp":
        return value.numbers()
    if value.type == "bf16":
        words = np.asarray(value.data, order="C").view(np.uint32) >> 16
        return words.astype(np.uint16)
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
        self.events = {e["id"]: e for e in data.get("events", [])}
        self.inputs = data["inputs"]
        # ONNX output name -> plan tensor; two outputs may be one tensor.
        self.outputs = {o["name"]: o["tensor"] for o in data["outputs"]}
        self.scale_exponents = {}
        # Event -> scales.State, for the policies that depend on earlier runs.
        self.states = {k: scales.State() for k, e in self.events.items()
                       if "state" in e}

    def settle(self, tensor, value):
        """Gives an encoded value its scale exponents: E of its event, or the
        axis whose indices own one each. Returns the value."""
        if value.type != "bfp":
            return value
        if "scale" in tensor:
            if tensor["scale"] != "per_output_channel":
                raise SystemExit(f"{tensor['name']}: unknown scale {tensor['scale']}")
            value.channel_axis = tensor["channel_axis"]
            return value
        event = self.events[tensor["event"]]
        if event["id"] not in self.scale_exponents:
            self.scale_exponents[event["id"]] = self.merge(event, tensor, value)
        value.scale_exponent = self.scale_exponents[event["id"]]
        return value

    def given(self, tensor):
        """(exponent or None, overflow) where a policy sets the stored exponents
        of the tensor, else None."""
        event = self.events.get(tensor.get("event"), {})
        policy = event.get("policy", {})
        if event.get("tensor") != tensor["name"] or policy.get("at") != "store":
            return None
        exponent = event.get("exponent")
        if "state" in event:
            exponent = self.states[event["id"]].exponent
        return (None if exponent == scales.CLEARED else exponent,
                policy["overflow"])

    def merge_stored(self, event, value):
        """E under a policy that sets the stored exponents."""
        exponent, overflow = self.given(self.tensors[event["tensor"]])
        own = value.own_exponent
        if "state" in event:
            self.states[event["id"]].advance(event["policy"], value.data, own)
        if exponent is None:
            return value.data.scale_exponent() if own is None else own
        return max(exponent, own) if overflow == "repair" and own is not None \
            else exponent

    def merge(self, event, tensor, value):
        if "max_of" in event:
            return max(self.scale_exponents[k] for k in event["max_of"])
        if event["tensor"] != tensor["name"]:
            raise SystemExit(f"{tensor['name']}: event {event['id']} belongs to "
                             f"{event['tensor']}, which does not exist yet")
        if event.get("policy", {}).get("at") == "store":
            return self.merge_stored(event, value)
        policy = event.get("policy", {"kind": "runmax"})["kind"]
        if policy in ("fixed", "table"):
            return int(event["exponent"])
        if policy in ("stats", "predict"):
            state = self.states[event["id"]]
            used = state.used(value.data.scale_exponent())
            state.advance(event["policy"], value.data,
                          value.data.largest_exponent())
            return used
        if policy != "runmax":
            raise SystemExit(f"{tensor['name']}: unknown policy {policy}")
        return value.data.scale_exponent()

    def load_states(self, path):
        """States that an earlier run has left."""
        with open(path, encoding="utf-8") as stream:
            for key, entry in json.load(stream).items():
                self.states[int(key)] = scales.State(**entry)

    def save_states(self, path):
        with open(path, "w", encoding="utf-8") as stream:
            json.dump({k: s.to_json() for k, s in self.states.items()}, stream)

    def constants(self):
        """Constant values, encoded here from the floats that the plan holds."""
        values = {}
        for tensor in self.tensors.values():
            if tensor["kind"] != "constant":
                continue
            array = np.load(os.path.join(self.folder, tensor["file"]))
            if tensor["type"] == "bfp":
                array = array.astype(np.float32)
            value = store(array.reshape(tensor["shape"]), tensor)
            values[tensor["name"]] = self.settle(tensor, value)
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
