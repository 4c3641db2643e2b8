#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the priced timing models cost the emulation.

usage: bench_prices.py [--rounds=N] [--priced=a1] [--free=a1-ideal] [--limit=1.10]
                       [--json=FILE] MODEL.onnx...

Compiles each model for the priced machine and writes that program a second time with
the other built-in machine in its place (ashlar-dis, ashlar-as): the same instruction
stream, byte for byte, once with prices and once without. Each has its kept proof, so
that nothing is proved while time is taken. Both run in turn on one processor in one
thread, the order of a round being each of all orders in its turn. What is compared is
the processor time of the whole process, user and system: of their sum the kernel
keeps an exact account. Work of others on the host only ever adds time, so the least
of each five rounds counts; the table shows the median of the quotients of these, and
the interval that holds it with 95 % (resampled). As a control the priced program is
run twice in each round and compared with itself. Fails if the lower end of the
interval lies above --limit.
"""

import argparse
import itertools
import json
import os
import random
import re
import statistics
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.environ.get("ASHLAR_BUILD", os.path.join(ROOT, "build"))
RESAMPLES, BLOCK = 2000, 5
LEGS = ("priced", "free", "again")


def tool(name, *arguments):
    """The processor seconds of a tool."""
    command = [os.path.join(BUILD, "bin", name), *arguments]
    with tempfile.TemporaryFile("w+") as said:
        child = subprocess.Popen(command, stdout=said, stderr=said)
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        if child.returncode:
            said.seek(0)
            raise SystemExit(f"{' '.join(command)}: {said.read().strip()}")
    return usage.ru_utime + usage.ru_stime


def emulate(program, report):
    return tool("ashlar-run", program, "--random-inputs=1", "--threads=1", "--quiet",
                f"--report={report}")


def on_other_machine(program, machine, folder):
    """The same instructions, constants and plan, for another machine."""
    text, other = os.path.join(folder, "p.asm"), os.path.join(folder, "free.ash")
    tool("ashlar-dis", program, "-o", text)
    with open(text, encoding="utf-8") as file:
        changed, count = re.subn(r'^\.machine .*$', f'.machine name="{machine}"', file.read(),
                                 count=1, flags=re.M)
    if count != 1:
        raise SystemExit(f"{program}: its text names no machine")
    with open(text, "w", encoding="utf-8") as file:
        file.write(changed)
    tool("ashlar-as", text, "-o", other)
    return other


def summary(first, second):
    """Median of the quotients of the least of each block, and its interval."""
    quotients = [min(first[i:i + BLOCK]) / min(second[i:i + BLOCK])
                 for i in range(0, len(first), BLOCK)]
    draw = random.Random(1)
    medians = sorted(statistics.median(draw.choices(quotients, k=len(quotients)))
                     for _ in range(RESAMPLES))
    cut = RESAMPLES // 40
    return {"median": statistics.median(quotients), "low": medians[cut],
            "high": medians[-cut - 1], "quotients": len(quotients)}


def measure(model, options, folder):
    program, report = os.path.join(folder, "priced.ash"), os.path.join(folder, "r.json")
    tool("ashlarc", model, "-o", program, f"--machine={options.priced}")
    programs = {"priced": program, "again": program,
                "free": on_other_machine(program, options.free, folder)}
    cycles = {}
    for leg in LEGS:  # Proofs and pages are warm after this.
        emulate(programs[leg], report)
        with open(report, encoding="utf-8") as file:
            cycles[leg] = json.load(file)["total_cycles"]
    times = {leg: [] for leg in LEGS}
    orders = list(itertools.permutations(LEGS))
    for i in range(options.rounds):
        for leg in orders[i % len(orders)]:
            times[leg].append(emulate(programs[leg], report))
    return {"seconds": {leg: min(times[leg]) for leg in LEGS}, "cycles": cycles,
            "quotient": summary(times["priced"], times["free"]),
            "control": summary(times["again"], times["priced"])}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("models", nargs="+")
    parser.add_argument("--rounds", type=int, default=60)
    parser.add_argument("--priced", default="a1")
    parser.add_argument("--free", default="a1-ideal")
    parser.add_argument("--limit", type=float, default=1.10)
    parser.add_argument("--json")
    options = parser.parse_args()
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    results, failed = {}, False
    print(f"| network | {options.priced}, ms | {options.free}, ms | quotient | 95 % | control | 95 % |")
    print("|---|---|---|---|---|---|---|")
    for model in options.models:
        name = os.path.splitext(os.path.basename(model))[0]
        with tempfile.TemporaryDirectory() as folder:
            row = results[name] = measure(model, options, folder)
        cells = [name, *(f"{1e3 * row['seconds'][leg]:.1f}" for leg in LEGS[:2])]
        for part in (row["quotient"], row["control"]):
            cells += [f"{part['median']:.3f}", f"{part['low']:.3f} to {part['high']:.3f}"]
        failed |= row["quotient"]["low"] > options.limit
        print("| " + " | ".join(cells) + " |", flush=True)
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump(results, file, indent=1, sort_keys=True)
            file.write("\n")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
