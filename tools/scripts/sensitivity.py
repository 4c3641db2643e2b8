#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How many cycles each price of the machine costs.

usage: sensitivity.py [NETWORK...] [--machine=a1] [--only=PRICE,...] [--json=FILE]
       sensitivity.py --table FILE       (the tables of docs/Sensitivity.md)
       sensitivity.py --plot FILE > docs/sensitivity.svg
       sensitivity.py --iso [NETWORK...] [--json=FILE]

Compiles and runs each network for the machine and for machines that differ in
one price: off (the resource is free), half and double the price. A price that is
a rate is halved by doubling the rate. Prints cycles relative to the machine.
The six networks of the study are taken without arguments.

--iso prunes the networks to densities from 100 to 5 % and compares `a1`, whose
sparse cluster skips zeros, with `a1-iso`, which has the same multipliers and
memory in the array instead.

--json writes what was measured; the keys of a file that exists are kept.
"""

import argparse
import dataclasses
import json
import os
import sys
import tempfile

from figure_tools import MODELS, Failure, parameters, tool

NETWORKS = ("resnet8_cifar10", "resnet20_cifar10", "kwt1_ln17", "shufflenet_v2_1.0",
            "squeezenet1_1", "mobilenet_v2_1.0_224")
DENSITIES = (1, 0.5, 0.25, 0.1, 0.05)
STEPS = ("off", "half", "double")


@dataclasses.dataclass
class Price:
    """Parameters that make a resource dear, and their values when it is free.
    Of a rate, more is cheaper; of a share, what is missing to 100 is the price; of the
    cycles of a class, what is above one; a switch has no half."""
    name: str
    free: dict
    kind: str = "cost"
    #: Parameters that halving and doubling change; all of `free` if empty.
    scaled: tuple = ()

    def values(self, machine, step):
        """What differs from `machine` at a step."""
        if step == "off":
            return self.free
        if self.kind == "switch":
            return {}
        factor = {"half": 0.5, "double": 2}[step]
        return {name: self.scale(machine[name], factor)
                for name in self.scaled or self.free}

    def scale(self, value, factor):
        if self.kind == "rate":
            return max(1, round(value / factor))
        if self.kind == "share":
            return max(1, round(100 - (100 - value) * factor))
        if self.kind == "cycles":  # of a class: one is what a lane takes anyway
            return round(1 + (value - 1) * factor)
        return round(value * factor)


CLASSES = ("cost_cheap", "cost_medium", "cost_expensive", "cost_very_expensive")
PRICES = (
    Price("DMA set-up", {"dma.setup_cycles": 0}),
    Price("DMA latency on chip", {"dma.onchip_latency": 0}),
    Price("DMA runs", {"dma.runs_per_cycle": 0}, "rate"),
    Price("SB ports", {"sb.banks": 0}, "rate", ("sb.ports",)),
    Price("waits of row groups", {"pe.groups_wait": "false"}, "switch"),
    Price("PSUM write ports", {"psum.write_ports": 0}, "rate"),
    Price("PSUM read width", {"psum.read_bytes_per_cycle": 0}, "rate"),
    Price("functions on ACT", {f"act.{c}": 1 for c in CLASSES}, "cycles"),
    Price("functions on VEC", {f"vec.{c}": 1 for c in CLASSES}, "cycles"),
    Price("instruction fetch", {"fetch.bytes_per_cycle": 0}, "rate"),
    Price("DRAM efficiency", {"dram.model": "ideal"}, "share", ("dram.efficiency",)),
)


def yaml(values, name):
    """A description with the values of {"section.key": value}."""
    sections = {}
    for path, value in values.items():
        section, _, key = path.rpartition(".")
        sections.setdefault(section, []).append(f"{key}: {value}")
    lines = [f"name: {name}", *sections.pop("", [])]
    for section, entries in sections.items():
        lines += [f"{section}:", *("  " + entry for entry in entries)]
    return "\n".join(lines) + "\n"


class Bench:
    """Cycles of a network on a machine."""

    def __init__(self, folder):
        self.folder = folder

    def path(self, name):
        return os.path.join(self.folder, name)

    def cycles(self, model, machine, *options):
        program, report = self.path("m.ash"), self.path("r.json")
        tool("ashlarc", model, "-o", program, f"--machine={machine}", *options)
        tool("ashlar-run", program, "--random-inputs=1", f"--report={report}", "--quiet")
        with open(report, encoding="utf-8") as file:
            return json.load(file)["total_cycles"]

    def changed(self, base, changes):
        """A file with the machine `base` and other values of some parameters."""
        path = self.path("machine.yaml")
        description = {k: v for k, v in parameters(base).items() if k != "name"}
        description.update(changes)
        with open(path, "w", encoding="utf-8") as file:
            file.write(yaml(description, "study"))
        return path


def model_of(network):
    return os.path.join(MODELS, network + ".onnx")


def study(bench, networks, options):
    """{network: {price: {step: cycles}}}, with the machine's own at ''."""
    base = parameters(options.machine)
    wanted = set(options.only.split(",")) if options.only else None
    result = {}
    for network in networks:
        entry = {"": bench.cycles(model_of(network), options.machine)}
        print(f"{network}: {entry['']:,} cycles", flush=True)
        for price in PRICES:
            if wanted and price.name not in wanted:
                continue
            steps = {}
            for step in STEPS:
                changes = price.values(base, step)
                same = all(base[name] == value for name, value in changes.items())
                steps[step] = entry[""] if same else bench.cycles(
                    model_of(network), bench.changed(options.machine, changes))
            entry[price.name] = steps
            shares = "  ".join(f"{s} {c / entry['']:.3f}" for s, c in steps.items())
            print(f"  {price.name:20} {shares}", flush=True)
        result[network] = entry
    return result


def iso(bench, networks):
    """{network: {density: {machine: cycles}}}."""
    result = {}
    for network in networks:
        entry = {}
        for density in DENSITIES:
            model = bench.path("pruned.onnx")
            tool("ashlar-prune", model_of(network), "-o", model, f"--density={density}")
            entry[str(density)] = {machine: bench.cycles(model, machine, "--sparse=auto")
                                   for machine in ("a1", "a1-iso")}
            both = entry[str(density)]
            print(f"{network} {100 * density:g} %: sparse {both['a1']:,}, dense "
                  f"{both['a1-iso']:,}, {both['a1-iso'] / both['a1']:.3f}", flush=True)
        result[network] = entry
    return result


def tables(data):
    networks = list(data.get("study", {}))
    if networks:
        yield "| price | step | " + " | ".join(networks) + " |"
        yield "|" + "---|" * (len(networks) + 2)
        for price in [p for p in data["study"][networks[0]] if p]:
            for step in STEPS:
                cells = [f"{entry[price][step] / entry['']:.3f}"
                         for entry in data["study"].values()]
                yield f"| {price} | {step} | " + " | ".join(cells) + " |"
        cells = [f"{entry['']:,}" for entry in data["study"].values()]
        yield "| cycles of the machine | | " + " | ".join(cells) + " |"
    densities = list(next(iter(data.get("iso", {}).values()), {}))
    if densities:
        yield ""
        yield "| network | " + " | ".join(f"{100 * float(d):g} %" for d in densities) + " |"
        yield "|" + "---|" * (len(densities) + 1)
        for network, entry in data["iso"].items():
            cells = [f"{e['a1-iso'] / e['a1']:.2f}" for e in entry.values()]
            yield f"| {network} | " + " | ".join(cells) + " |"


WIDTH, LEFT, ROW, TOP = 760, 150, 20, 46
COLOURS = {"off": "#2ca02c", "half": "#1f77b4", "double": "#d62728"}


def plot(data):
    """Geometric means over the networks: one row per price, one mark per step."""
    study_data = list(data["study"].values())
    prices = [p for p in study_data[0] if p]

    def mean(price, step):
        product = 1.0
        for entry in study_data:
            product *= entry[price][step] / entry[""]
        return product ** (1 / len(study_data))

    means = {(p, s): mean(p, s) for p in prices for s in STEPS}
    low = min(0.95, *means.values())
    high = max(1.05, *means.values())
    height = TOP + ROW * len(prices) + 40

    def across(ratio):
        return LEFT + (WIDTH - LEFT - 30) * (ratio - low) / (high - low)

    def text(x, y, words, anchor="start"):
        return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="#222222">{words}</text>'

    yield (f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" '
           'font-family="sans-serif" font-size="11">')
    yield f'<rect width="{WIDTH}" height="{height}" fill="#ffffff"/>'
    for number, step in enumerate(STEPS):
        x = LEFT + 90 * number
        yield f'<circle cx="{x}" cy="14" r="4" fill="{COLOURS[step]}"/>'
        yield text(x + 9, 18, step)
    x = across(1)
    bottom = TOP + ROW * len(prices)
    yield f'<line x1="{x:.1f}" y1="{TOP - 12}" x2="{x:.1f}" y2="{bottom}" stroke="#888888"/>'
    for number, price in enumerate(prices):
        y = TOP + ROW * number
        yield text(LEFT - 10, y + 4, price, "end")
        for step in STEPS:
            yield (f'<circle cx="{across(means[price, step]):.1f}" cy="{y}" r="4" '
                   f'fill="{COLOURS[step]}"/>')
    for ratio in (low, 1, high):
        yield text(across(ratio), bottom + 16, f"{ratio:.3f}", "middle")
    yield text(LEFT, bottom + 32, "cycles relative to a1, geometric mean of the networks")
    yield "</svg>"


def keep(path, key, value):
    """Puts `value` under `key` of the JSON file, whatever else it has."""
    data = {}
    if os.path.exists(path):
        with open(path, encoding="utf-8") as file:
            data = json.load(file)
    data.setdefault(key, {}).update(value)
    with open(path, "w", encoding="utf-8") as file:
        json.dump(data, file, indent=1)
        file.write("\n")


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("networks", nargs="*")
    parser.add_argument("--machine", default="a1")
    parser.add_argument("--only")
    parser.add_argument("--json")
    parser.add_argument("--table")
    parser.add_argument("--plot")
    parser.add_argument("--iso", action="store_true")
    options = parser.parse_args()
    for path, make in ((options.table, tables), (options.plot, plot)):
        if path:
            with open(path, encoding="utf-8") as file:
                print("\n".join(make(json.load(file))))
            return
    networks = options.networks or NETWORKS
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(folder)
        try:
            measured = iso(bench, networks) if options.iso else study(bench, networks, options)
        except Failure as failure:
            sys.exit(str(failure))
    if options.json:
        keep(options.json, "iso" if options.iso else "study", measured)


if __name__ == "__main__":
    main()
