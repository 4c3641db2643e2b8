# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Prices of a machine from a table that ships, by the rules of docs/Energy.md.

Reads the plain style of lib/Energy/tables: sections of lines, an entry in braces or a
list of them. Written apart from lib/Energy.
"""

import math
import re
from fractions import Fraction

PREFIX = {"fJ": 1e3, "pJ": 1e6, "nJ": 1e9, "um2": 1e6, "mm2": 1e12, "mW": 1e6, "W": 1e9}
AMOUNT = {"byte": 1, "bit": 8, "64bit": 0.125, "MiB": 1 / (1 << 20)}
MEMORIES = ("sb", "xm", "psum", "fmu", "wm", "acc", "counters")


def entry(text, part="byte"):
    fields = {}
    for name, quoted, plain in re.findall(r'(\w+): (?:"([^"]*)"|([^,}]+))', text):
        fields[name] = quoted or plain.strip()
    above, _, below = fields["unit"].partition("/")
    amount = 1 if below == part else AMOUNT.get(below, 1)
    value = float(fields["value"]) * (PREFIX[above] * amount)
    size = float(fields.get("bytes") or fields.get("bits") or 0)
    return size, value, float(fields.get("uncertainty", 1))


def read(path):
    """section.key -> entries, smallest size first."""
    lines, section, key = {}, None, None
    with open(path, encoding="utf-8") as file:
        for line in file:
            text = line.rstrip()
            if not text or text.startswith("#"):
                continue
            if head := re.match(r"(\w+):\s*(.*)", text):
                section = head[1]
                if head[2].startswith("{"):
                    lines[section] = [entry(head[2])]
            elif head := re.match(r"  (\w+):\s*(.*)", text):
                key = f"{section}.{head[1]}"
                # What cells have in addition is bits, not bytes.
                part = "bit" if key in ("pattern.area", "narrow.area") else "byte"
                lines[key] = [entry(head[2], part)] if head[2].startswith("{") else []
            elif text.lstrip().startswith("- "):
                lines[key].append(entry(text))
    return lines


def at(entries, size, scaled):
    """A straight line over the scaled size between entries, proportional outside."""
    if entries[0][0] == 0:
        return entries[0][1]
    x = scaled(size)
    if size < entries[0][0]:
        return entries[0][1] * (x / scaled(entries[0][0]))
    for (s0, v0, _), (s1, v1, _) in zip(entries, entries[1:]):
        if s0 <= size < s1:
            return v0 + (v1 - v0) * ((x - scaled(s0)) / (scaled(s1) - scaled(s0)))
    return entries[-1][1] * (x / scaled(entries[-1][0]))


def whole(value):
    return math.floor(value + 0.5)


class Prices:
    """Millionths of a pJ per action, of a um2 per part."""

    def __init__(self, table, machine):
        self.lines, self.machine = read(table), machine
        sparse, sb = machine["sparse"], machine["sb"]
        self.memory = {
            "sb": sb["bytes_per_partition"], "xm": sb["bytes_per_partition"],
            "psum": 8 * machine["psum"]["banks"] * machine["psum"]["entries_per_bank"],
            "fmu": sparse["fmu_bytes"], "wm": -(-sparse["wm_bytes"] // sparse["wm_banks"]),
            "acc": 8 * max(sparse["accumulator_entries"] // sparse["lanes"], 1),
            "counters": 4 * sparse["count_entries"]}

    def price(self, action):
        """None without a line."""
        component, name = action.split(".")
        if name == "multiply" and component != "narrow":
            digit = self.machine["pe"]["cell_digit_bits"]
            return whole(at(self.lines[action], digit, lambda bits: bits * bits))
        if component in MEMORIES and name in ("read", "write"):
            entries = self.lines.get(action) or self.lines[f"sram.{name}"]
            return whole(at(entries, self.memory[component], math.sqrt))
        return whole(self.lines[action][0][1]) if action in self.lines else None

    def pattern_bits(self):
        """Bits of a cell: where its words come from, and the multiplexers that pick."""
        pe = self.machine["pe"]
        group = pe["pattern_group"]
        places = group.bit_length() - 1 if group else 0
        sets = 2 if pe["shadow_set"] else 1
        return places * sets + (group - 1) * pe["cell_digit_bits"] if group else 0

    def parts(self):
        m, sparse = self.machine, self.machine["sparse"]
        rows = -(-m["sb"]["partitions"] // m["xm_group"])
        psum = 8 * m["psum"]["banks"] * m["psum"]["entries_per_bank"]
        units, narrow = sparse["tcus"], min(sparse["tcus"], sparse["narrow_tcus"])
        # Comparators and lines of pools in drains of the cluster.
        columns = m["act"]["pool_columns"] if units else 0
        lanes = m["act"]["lanes"]
        return {
            "dma": m["dma"]["queues"],
            "sb": m["sb"]["partitions"] * m["sb"]["bytes_per_partition"],
            "xm": rows * m["sb"]["bytes_per_partition"],
            "pe": m["pe"]["rows"] * m["pe"]["columns"],
            "psum": m["pe"]["columns"] * psum + 4 * lanes * columns,
            "act": lanes + (-(-lanes // 16) if columns else 0), "vec": m["vec"]["lanes"],
            "fmu": units * sparse["fmu_sets"] * sparse["fmu_bytes"],
            "wm": sparse["wm_bytes"] if units else 0, "tcu":
                (units - narrow) * sparse["lanes"] + narrow * sparse["narrow_lanes"],
            "acc": units * 8 * sparse["accumulator_entries"],
            "counters": 4 * sparse["count_entries"] if units else 0,
            "pattern": m["pe"]["rows"] * m["pe"]["columns"] * self.pattern_bits(),
            "narrow": 64 * m["pe"]["rows"] * m["pe"]["columns"]
                      if m["pe"]["narrow_bits"] else 0,
            "xr": m["xr"]["registers"], "sr": m["sr"]["registers"],
            "fetch": 10 * m["fetch"]["buffer_bytes"] if m["fetch"]["bytes_per_cycle"] else 0}

    def area(self, component):
        digit = self.machine["pe"]["cell_digit_bits"]
        entries = self.lines.get(f"{component}.area")
        if not entries and component in MEMORIES:
            entries = self.lines["sram.area"]
        return entries and whole(at(entries, digit, lambda bits: bits * bits))


def millionths(number):
    """A decimal of the report, exactly."""
    value = Fraction(number) * 1_000_000
    assert value.denominator == 1, number
    return int(value)
