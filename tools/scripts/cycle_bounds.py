#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How near networks run to what no schedule can beat.

usage: cycle_bounds.py [MODEL...] [--machine=NAME|FILE]... [--json=FILE]
                       [--before=FILE] [-- OPTION...]

For each of the shared and light models (or those named by a part of their file
name) and each machine (a1-ideal and a1): cycles of one sample, the cycles of
the engine that is busiest, the multiply-accumulates over the multipliers of the
array, and the bytes that DRAM has to move at least - constants, inputs and
outputs once - at its full rate. Also the longest chain of layers: what a schedule
could reach in which each layer begins after those that it reads, as products do
(the scale exponent of a running maximum is known when the last element is). A
layer counts with the cycles of its busiest engine, with copies only where it
consists of copies. Layers on the vector unit and copies may begin earlier, so
that a network can take less than its chain. The geometric means of the
quotients close the table. --json keeps the numbers, --before prints the cycles
of an earlier file next to them. What follows -- goes to ashlarc.
"""

import argparse
import glob
import json
import math
import os
import re
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.environ.get("ASHLAR_BUILD", os.path.join(ROOT, "build"))
MODELS = os.environ.get("ASHLAR_MODELS",
                        os.path.join(ROOT, "..", "shared", "models"))


def tool(name):
    return os.path.join(BUILD, "bin", name)


def models(wanted):
    files = sorted(glob.glob(os.path.join(MODELS, "*.onnx")) +
                   glob.glob(os.path.join(MODELS, "light", "*.onnx")))
    return [file for file in files if not wanted or
            any(part in os.path.basename(file) for part in wanted)]


def run(command):
    done = subprocess.run(command, text=True, capture_output=True)
    if done.returncode:
        raise SystemExit(f"{' '.join(command)}: {done.stderr.strip()}")


def bindings(binary):
    """Bytes of the inputs and outputs of a program."""
    widths = {"f64": 8, "i64": 8, "u64": 8, "f16": 2, "bf16": 2, "i16": 2,
              "u16": 2, "i8": 1, "u8": 1, "bool": 1}
    text = subprocess.run([tool("ashlar-dis"), binary, "-o", "-"], text=True,
                          capture_output=True, check=True).stdout
    total = 0
    for kind, shape in re.findall(
            r"^\.(?:input|output) .*type=(\w+) shape=\[([^\]]*)\]", text, re.M):
        extents = [int(n) for n in shape.split(",") if n.strip()]
        total += math.prod(extents) * widths.get(kind, 4)
    return total


def work(node):
    """Cycles of a layer's busiest engine; loads of weights may come before."""
    busy = node["busy"]
    engines = [cycles for name, cycles in busy.items()
               if name != "peload" and not name.startswith("dma")]
    return max(engines or busy.values(), default=0)


def chain(plan, nodes):
    """Cycles of the longest chain of layers that read each other's results."""
    cycles = {node["name"]: work(node) for node in nodes}
    ends, maker = {}, {}
    for op in plan["ops"]:
        name = op["name"]
        read = [tensor for value in op["inputs"].values()
                for tensor in (value if isinstance(value, list) else [value])]
        before = [ends[maker[tensor]] for tensor in read
                  if maker.get(tensor, name) != name]
        # A node of several operations ends with the latest of its operands.
        ends[name] = max(max(before, default=0) + cycles.get(name, 0),
                         ends.get(name, 0))
        maker[op["output"]] = name
    return max(ends.values(), default=0)


def measure(model, machine, options):
    """Cycles and bounds of one model on one machine."""
    with tempfile.TemporaryDirectory() as folder:
        binary, compiled, ran, plan = (
            os.path.join(folder, name)
            for name in ("m.ash", "compile.json", "run.json", "plan"))
        # Light models come without weights.
        run([tool("ashlarc"), model, "-o", binary, f"--machine={machine}", "--large-constants",
             f"--report={compiled}", f"--dump-plan={plan}", *options])
        run([tool("ashlar-run"), binary, "--random-inputs=1", "--quiet",
             f"--report={ran}"])
        with open(compiled, encoding="utf-8") as stream:
            constants = json.load(stream)["constant_bytes"]
        with open(ran, encoding="utf-8") as stream:
            report = json.load(stream)
        with open(os.path.join(plan, "plan.json"), encoding="utf-8") as stream:
            layers = chain(json.load(stream), report["nodes"])
        bound = bindings(binary)
    engines = {name: engine["busy"]
               for name, engine in report["engines"].items()}
    busiest = max(engines, key=engines.get)
    described = report["machine_parameters"]
    multipliers = described["pe"]["rows"] * described["pe"]["columns"]
    return {
        "cycles": report["total_cycles"], "engine": busiest,
        "busy": engines[busiest], "chain": layers,
        "array": math.ceil(report["totals"]["macs"] / multipliers),
        "dram": math.ceil((constants + bound) /
                          described["dram"]["bytes_per_cycle"]),
    }


def quotients(row):
    bound = max(row["array"], row["dram"])
    return (row["cycles"] / row["busy"],
            row["cycles"] / max(row["busy"], row["chain"]),
            row["cycles"] / bound)


def mean(values):
    return math.exp(sum(map(math.log, values)) / len(values))


def table(rows, before):
    head = ["network", "cycles", "busiest engine", "over it", "chain",
            "over both", "array", "DRAM", "over the larger"]
    if before:
        head.insert(1, "before")
    print("| " + " | ".join(head) + " |\n|" + "---|" * len(head))
    for name, row in rows.items():
        over_engine, over_chain, over_bound = quotients(row)
        cells = [name, f"{row['cycles']:,}", f"{row['engine']} {row['busy']:,}",
                 f"{over_engine:.2f}", f"{row['chain']:,}",
                 f"{over_chain:.2f}", f"{row['array']:,}", f"{row['dram']:,}",
                 f"{over_bound:.2f}"]
        if before:
            cells.insert(1, f"{before[name]['cycles']:,}"
                         if name in before else "")
        print("| " + " | ".join(cells) + " |")
    engine, layers, bound = zip(*map(quotients, rows.values()))
    print(f"\n{len(rows)} networks, geometric means: {mean(engine):.3f} over "
          f"the busiest engine, {mean(layers):.3f} over it or the longest "
          f"chain, {mean(bound):.3f} over the larger bound")
    if before:
        common = [name for name in rows if name in before]
        ratio = mean([rows[name]["cycles"] / before[name]["cycles"]
                      for name in common])
        worse = [name for name in common
                 if rows[name]["cycles"] > 1.005 * before[name]["cycles"]]
        print(f"cycles over those before: {ratio:.3f}; more than 0.5 % above: "
              f"{', '.join(worse) or 'none'}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("models", nargs="*")
    parser.add_argument("--machine", action="append")
    parser.add_argument("--json")
    parser.add_argument("--before")
    own, options = sys.argv[1:], []
    if "--" in own:
        at = own.index("--")
        own, options = own[:at], own[at + 1:]
    args = parser.parse_args(own)
    before, result = {}, {}
    if args.before:
        with open(args.before, encoding="utf-8") as stream:
            before = json.load(stream)
    for machine in args.machine or ["a1-ideal", "a1"]:
        rows = result.setdefault(os.path.basename(machine), {})
        for model in models(args.models):
            name = os.path.splitext(os.path.basename(model))[0]
            rows[name] = measure(model, machine, options)
        print(f"### {os.path.basename(machine)}\n")
        table(rows, before.get(os.path.basename(machine), {}))
        print(flush=True)
    if args.json:
        with open(args.json, "w", encoding="utf-8") as stream:
            json.dump(result, stream, indent=1, sort_keys=True)
            stream.write("\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
