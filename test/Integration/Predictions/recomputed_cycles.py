#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Cycles of programs, recomputed from their text by the formulas of docs/Machine.md.

usage: recomputed_cycles.py [--machine=a1-ideal] [--format=bfp8] MODEL...

Reads the disassembly of a compiled program and the parameters in the report of its run,
and adds up what the copies (dma.copy, dma.fill, dma.unpack), drains (act.drain) and maps,
pools and reductions (vec.*) of each queue take by sections 3, 5 and 6 of the page, with
nothing of Ashlar's own code. The sums have to be the busy cycles in the report, cycle by
cycle. Machines without banks only: claims of ports (3.2) are left out. Queues with other
instructions than these are not compared; it is an error if none is left of a class.
"""

import argparse
import collections
import json
import math
import os
import re
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))
import common  # noqa: E402

CLASSES = {
    "cheap": "copy neg abs relu clip floor ceil round sign not add sub max min and or xor "
             "blockAdd blockSub sum mean l1",
    "medium": "mul blockMul equal less lessOrEqual greater greaterOrEqual prod sumSquare "
              "argmax argmin",
    "expensive": "sqrt reciprocal div blockDiv mod leakyRelu prelu hardSigmoid hardSwish softsign",
}
CLASS_OF = {name: cost for cost, names in CLASSES.items() for name in names.split()}
RANK = ["cheap", "medium", "expensive", "very_expensive"]
ON_CHIP = ("sb", "xm", "wm", "xr")


class Fields(dict):
    """Fields of an instruction; absent ones have their default."""

    def number(self, name, default=0):
        return int(self.get(name, default))


def instructions(text):
    for line in text.splitlines():
        found = re.match(r"\s*((?:dma|act|vec|xr)\.[a-z_]+)((?: [A-Za-z0-9]+=\S+)*)\s*$", line)
        if found:
            yield found[1], Fields(field.split("=", 1) for field in found[2].split())


def ceil_div(a, b):
    return -(-a // b)


def cost(machine, engine, function):
    return machine[engine]["cost_" + CLASS_OF.get(function, "very_expensive")]


# Copies


def runs_of(loops, element, pitch):
    """Addresses of the contiguous runs of one side and their length. `pitch`: where
    partitions end; 0: nowhere."""
    loops = [loop for loop in loops if loop[0] > 1]
    while loops and loops[-1][1] == 0:
        loops.pop()
    length = element
    while loops and loops[-1][1] == length and (
            pitch == 0 or loops[-1][0] * length <= pitch):
        length *= loops.pop()[0]
    starts = [0]
    for count, stride in loops:
        starts = [start + i * stride for start in starts for i in range(count)]
    return starts, length


def burst_cycles(machine, base, starts, length):
    dram = machine["dram"]
    burst = dram["burst_bytes"]
    if dram["misaligned_bursts"]:
        bursts = sum(((base + start) % burst + length - 1) // burst + 1 for start in starts)
    else:
        bursts = len(starts) * ceil_div(length, burst)
    return bursts * burst


def dram_cycles(machine, burst_bytes):
    dram = machine["dram"]
    percent = dram["efficiency"] if dram["model"] == "efficiency" else 100
    return ceil_div(burst_bytes * 100, dram["bytes_per_cycle"] * percent)


def copy_cycles(machine, name, fields):
    element, dma = fields.number("elemBytes", 1), machine["dma"]
    counts = [fields.number(f"n{i}", 1) for i in range(5)]
    elements = math.prod(counts)
    bursts, runs, extra = 0, 0, 0
    sides = ["dst"] if name != "dma.copy" else ["src", "dst"]
    for side in sides:
        memory = "sb" if name == "dma.unpack" else fields.get(side + "Mem", "dram")
        pitch = machine["sb"]["bytes_per_partition"] if memory in ("sb", "xm") else 0
        starts, length = runs_of(
            [(count, fields.number(f"{side}Stride{i}")) for i, count in enumerate(counts)],
            element, pitch)
        if memory == "dram":
            bursts += burst_cycles(machine, fields.number(side + "Base"), starts, length)
        else:
            runs = max(runs, len(starts))
    if name == "dma.unpack":
        width, stored = fields.number("mantissa"), fields.number("stored")
        unit, form = fields.number("unit"), fields.get("form", "dense")
        if form == "exponents":  # dimensions that the queue repeats
            stored = elements // math.prod(counts[i] for i in [(), (3,), (2, 4)][unit])
        bits = {"dense": elements * width, "runs": stored * (width + unit),
                "bitmap": elements // max(unit, 1) + stored * width,
                "exponents": stored * width}[form]
        bursts += burst_cycles(machine, fields.number("srcBase"), [0], ceil_div(bits, 8))
        if form != "dense":
            extra = ceil_div(stored, dma["decoded_codes_per_cycle"])
    inside = ceil_div(elements * element, dma["onchip_bytes_per_cycle"])
    if dma["runs_per_cycle"]:
        inside = max(inside, ceil_div(runs, dma["runs_per_cycle"]))
    return dma["setup_cycles"] + max(dram_cycles(machine, bursts), inside, extra)


# Drains


def drain_cycles(machine, fields):
    act, columns = machine["act"], fields.number("cols", 1)
    entries = math.prod(fields.number(f"n{i}", 1) for i in range(3))
    each = entries * cost(machine, "act", fields.get("function", "copy"))
    groups = ceil_div(columns, act["lanes"])
    issue = groups * each
    if fields.get("order") == "partition":
        last = columns - (groups - 1) * act["lanes"]
        issue = (groups - 1) * max(each, act["lanes"]) + each + last - 1
    if machine["psum"]["read_bytes_per_cycle"]:
        issue = max(issue, ceil_div(columns * entries * 8, machine["psum"]["read_bytes_per_cycle"]))
    return issue


# Vectors


def lane_steps(machine, channels):
    lanes, partitions = machine["vec"]["lanes"], machine["sb"]["partitions"]
    return (channels // partitions * ceil_div(partitions, lanes)
            + ceil_div(channels % partitions, lanes))


def stored_otherwise(fields, source):
    """Encodes, converts, or None."""
    result = fields.get("dstType", "f32")
    if result == "bfp":
        return "converts" if fields.number("cellFromXr") else "encodes"
    return None if source == result else "converts"


def map_cycles(machine, fields):
    vec = machine["vec"]
    name = CLASS_OF.get(fields.get("op", "copy"), "very_expensive")
    if any(fields.number(flag) for flag in ("affine", "limited", "rounded", "hasScale", "hasBias")):
        name = max(name, "medium", key=RANK.index)
    each, stored = vec["cost_" + name], stored_otherwise(fields, fields.get("aType", "f32"))
    if stored == "encodes":
        each = max(each + vec["cost_cheap"], vec["cost_medium"])
    elif stored:
        each = max(each, vec["cost_medium"])
    return each * math.prod(fields.number(f"n{i}", 1) for i in range(3))


def pool_cycles(machine, fields):
    vec = machine["vec"]
    size, out, window = ([fields.number(kind + axis, 1) for axis in "DHW"]
                         for kind in ("in", "out", "k"))
    results = math.prod(out)
    work = results * math.prod(window)
    if fields.get("kind", "max") == "max":
        passes, reached = 0, list(size)
        for axis in (2, 1, 0):
            if window[axis] == 1:
                continue
            reached[axis] = out[axis]
            passes += math.prod(reached) * window[axis]
        work = min(work, passes) if passes else work
    cycles = work * vec["cost_cheap"]
    if fields.get("kind", "max") != "max":
        cycles += results * vec["cost_expensive"]
    if stored_otherwise(fields, fields.get("srcType", "f32")):
        cycles += results * vec["cost_cheap"]
    return cycles


def reduce_cycles(machine, fields):
    vec, kind = machine["vec"], fields.get("kind", "sum")
    outer = fields.number("o0", 1) * fields.number("o1", 1)
    reduced = fields.number("r0", 1) * fields.number("r1", 1)
    cycles = outer * reduced * cost(machine, "vec", kind)
    if kind == "mean":
        cycles += outer * vec["cost_expensive"]
    if stored_otherwise(fields, fields.get("srcType", "f32")):
        cycles += outer * vec["cost_cheap"]
    return cycles


def reduce_channels_cycles(machine, fields):
    vec, kind = machine["vec"], fields.get("kind", "sum")
    positions = math.prod(fields.number(f"n{i}", 1) for i in range(3))
    store = stored_otherwise(fields, fields.get("srcType", "f32"))
    return (lane_steps(machine, fields.number("channels", 1)) * positions
            * cost(machine, "vec", kind)
            + positions * (vec["cost_expensive"] * (kind == "mean")
                           + vec["cost_cheap"] * bool(store)))


VECTORS = {"vec.map": map_cycles, "vec.pool": pool_cycles, "vec.reduce": reduce_cycles}


def cycles_of(machine, name, fields):
    """Queue and cycles of an instruction; None for what is not recomputed."""
    if name in ("dma.copy", "dma.fill", "dma.unpack"):
        return fields.get("queue", "dma0"), copy_cycles(machine, name, fields)
    if name == "act.drain":
        known = not (fields.number("fromTcu") or fields.number("repair"))
        return "act", drain_cycles(machine, fields) if known else None
    if name == "act.pool":
        return "act", None
    if name in VECTORS and not fields.number("repair"):
        steps = lane_steps(machine, fields.number("channels", 1))
        return "vec", steps * VECTORS[name](machine, fields)
    if name == "vec.reduce_channels":
        return "vec", reduce_channels_cycles(machine, fields)
    if name in ("xr.set", "xr.merge", "xr.pick"):
        return "vec", 1
    return fields.get("queue", "dma0") if name.startswith("dma.") else name.split(".")[0], None


def check(folder, model, machine, text_format):
    binary, report, text = (os.path.join(folder, name) for name in ("a.ash", "r.json", "a.asm"))
    common.run_tool("ashlarc", common.model_path(model), "-o", binary, "--machine=" + machine,
                    "--sparse=off", "--format=" + text_format)
    common.run_tool("ashlar-run", binary, "--random-inputs=1", "--report=" + report)
    common.run_tool("ashlar-dis", binary, "-o", text)
    with open(report, encoding="utf-8") as file:
        ran = json.load(file)
    with open(text, encoding="utf-8") as file:
        found = [(name, *cycles_of(ran["machine_parameters"], name, fields))
                 for name, fields in instructions(file.read())]
    sums, counts, unknown = (collections.Counter() for _ in range(3))
    for name, queue, cycles in found:
        counts[queue] += 1
        sums[queue] += cycles or 0
        unknown[queue] += cycles is None
    wrong, compared = 0, set()
    for queue in sorted(counts):
        if unknown[queue] or queue not in ran["engines"]:
            continue
        busy = ran["engines"][queue]["busy"]
        wrong += busy != sums[queue]
        compared.add(queue[:3])
        print(f"{model} {os.path.basename(machine)} {queue}: {counts[queue]:,} instructions, {sums[queue]:,} cycles"
              + ("" if busy == sums[queue] else f", WRONG: the report says {busy:,}"))
    missing = {"dma", "act", "vec"} - compared
    if missing:
        others = sorted({name for name, queue, cycles in found
                         if cycles is None and queue[:3] in missing})
        print(f"{model} {machine}: nothing compared of {', '.join(sorted(missing))}: "
              f"{', '.join(others) or 'no instructions'}")
    return wrong + len(missing)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("models", nargs="+")
    parser.add_argument("--machine", default="a1-ideal")
    parser.add_argument("--format", default="bfp8")
    options = parser.parse_args()
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        machine = options.machine
        if machine != "a1-ideal":
            # The prices but for the ports.
            machine = os.path.join(folder, "no-banks.yaml")
            with open(machine, "w", encoding="utf-8") as file:
                file.write(f"base: {options.machine}\nsb: {{banks: 0}}\n")
        for model in options.models:
            failed += check(folder, model, machine, options.format)
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
