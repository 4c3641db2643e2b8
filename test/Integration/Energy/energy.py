#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Energy and area of a report by hand (docs/Energy.md).

usage: energy.py MODEL.onnx... [--machine=NAME] [--table=n7|n45] [--seed=1] [-- OPTION...]

Compiles every model, runs it, counts the actions of every node from the disassembly,
multiplies them with the table's lines and compares with the report: counts, energy by
component, sums over nodes, area. Of programs with the sparse cluster the counts of the
report are taken, and only prices and sums are compared.
"""

import argparse
import decimal
import json
import os
import sys
import tempfile
from collections import Counter

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

import actions  # noqa: E402
import common  # noqa: E402
import table  # noqa: E402

TABLES = os.path.join(common.ROOT, "lib", "Energy", "tables")


class Comparison:
    def __init__(self):
        self.wrong, self.values = [], 0

    def equal(self, what, found, expected):
        self.values += 1
        if found != expected:
            self.wrong.append(f"{what}: {found}, by hand {expected}")


def run(model, machine, name, seed, options, folder):
    """(report, disassembly)"""
    binary, report = os.path.join(folder, "p.ash"), os.path.join(folder, "r.json")
    common.run_tool("ashlarc", model, "-o", binary, f"--machine={machine}", *options)
    common.run_tool("ashlar-run", binary, f"--random-inputs={seed}", f"--report={report}",
                    f"--energy-table={name}", "--quiet")
    with open(report, encoding="utf-8") as file:
        data = json.load(file, parse_float=decimal.Decimal)
    return data, common.run_tool("ashlar-dis", binary).stdout


def check_counts(check, report, text):
    with open(os.path.join(common.BUILD, "include", "ashlar", "Isa", "Isa.json"),
              encoding="utf-8") as file:
        isa = json.load(file)
    program = actions.Program(isa, report["machine_parameters"], text)
    nodes = dict(enumerate(report["nodes"])) | {-1: report["unassigned"]}
    for index, node in nodes.items():
        name = node.get("name", "unassigned")
        expected = +program.counts[index]
        for action in sorted(set(expected) | set(node["actions"])):
            if index in program.by_data and action.startswith("dram."):
                continue
            if action == "dram.activate":  # rows follow from the walk over banks
                continue
            check.equal(f"{name}: {action}", node["actions"].get(action, 0), expected[action])
        widths = {(w["moving_bits"], w["stationary_bits"]): w["count"]
                  for w in node["multiplications"]}
        check.equal(f"{name}: multiplications", widths, dict(program.widths[index]))


def check_energy(check, what, node, prices):
    by_component = Counter()
    for action, count in node["actions"].items():
        price = prices.price(action)
        if price is not None:
            by_component[action.split(".")[0]] += count * price
    found = {name: table.millionths(value) for name, value in node["energy"].items()}
    check.equal(f"{what}: energy", found, dict(+by_component))
    check.equal(f"{what}: sum", table.millionths(node["energy_pj"]), sum(found.values()))
    return by_component


def check_run(check, report, prices):
    nodes = report["nodes"] + [report["unassigned"]]
    counts, total = Counter(), Counter()
    for node in nodes:
        counts.update(node["actions"])
        total.update(check_energy(check, node.get("name", "unassigned"), node, prices))
    check.equal("actions of the nodes", report["actions"], dict(counts))
    energy = report["energy"]
    found = {name: table.millionths(v) for name, v in energy["components"].items()}
    check.equal("components", found, dict(+total))
    check.equal("dynamic energy", table.millionths(energy["dynamic_pj"]), sum(total.values()))
    for key, other in (("dram.read", "dram_read"), ("dram.write", "dram_write"),
                       ("dram.activate", "dram_activations")):
        check.equal(key, counts[key], report["totals"][other])
    area = {}
    for component, parts in prices.parts().items():
        if parts and prices.area(component) is not None:
            area[component] = parts * prices.area(component)
    check.equal("area", {name: table.millionths(v)
                         for name, v in report["area"]["components"].items()}, area)
    check.equal("sum of areas", table.millionths(report["area"]["total_um2"]), sum(area.values()))
    near = float(energy["dynamic_pj"]) + float(energy.get("leakage_pj", 0))
    seconds = report["total_cycles"] / report["clock_hz"]
    for key, value in (("total_pj", near), ("average_w", near * 1e-12 / seconds),
                       ("edp_js", near * 1e-12 * seconds),
                       ("tops_per_w", 2 * report["totals"]["macs"] / near)):
        check.equal(key, abs(float(energy[key]) / value - 1) < 1e-12, True)


def check_all(check, report, text, name):
    """Whether counts could be compared too."""
    prices = table.Prices(os.path.join(TABLES, name + ".yaml"), report["machine_parameters"])
    check_run(check, report, prices)
    try:
        check_counts(check, report, text)
    except actions.NotFollowed:
        return False
    return True


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("models", nargs="+")
    parser.add_argument("--machine", default="a1")
    parser.add_argument("--table", default="n7")
    parser.add_argument("--seed", default=1)
    given = sys.argv[1:]
    rest = given[given.index("--") + 1:] if "--" in given else []
    arguments = parser.parse_args(given[:given.index("--")] if "--" in given else given)
    failed = False
    for model in arguments.models:
        check = Comparison()
        with tempfile.TemporaryDirectory() as folder:
            report, text = run(model, arguments.machine, arguments.table, arguments.seed,
                               rest, folder)
        followed = check_all(check, report, text, arguments.table)
        name = os.path.splitext(os.path.basename(model))[0]
        print(f"{name} on {arguments.machine}, {arguments.table}: {check.values} values"
              f"{'' if followed else ' (counts not followed)'}, "
              f"{len(check.wrong)} differ; {float(report['energy']['dynamic_pj']) * 1e-6:.3f} uJ")
        for line in check.wrong[:10]:
            print(" ", line)
        failed |= bool(check.wrong)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
