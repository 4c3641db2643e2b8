# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Digit passes and narrow operands of the array, from an ONNX model.

usage: digits.py MODEL --machine=FILE.yaml [--narrow] [--like=OPTION] [--fewer=FILE.yaml]
                 [--table=NAME] -- OPTIONS of ashlarc

Evaluates the formulas of docs/Machine.md 4 on the instructions of the program:
the cycles in which the array is busy must be theirs (on machines whose SB has no
banks), or at least theirs. With `--narrow` some streams take two positions at a
time, without none does. `--like=--format=...` compares with another format,
which must have as many passes. `--fewer` names a machine whose array takes
longer, for the same bits.
"""

import argparse
import json
import math
import os
import re
import subprocess
import sys
import tempfile

import numpy as np

SIGNIFICANDS = {"f32": 24, "f16": 11, "bf16": 8}
SIZES = {"i8": 1, "u8": 1, "bool": 1, "i16": 2, "u16": 2}


def run(*command):
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{' '.join(command)}: exit code {done.returncode}\n{done.stderr}")
    return done.stdout


class Program:
    """A compiled model and its run."""

    def __init__(self, model, machine, options, folder):
        path = lambda name: os.path.join(folder, name)
        run("ashlarc", model, "-o", path("p.ash"), f"--machine={machine}", *options)
        run("ashlar-run", path("p.ash"), "--random-inputs=1", f"--outputs={path('y.npz')}",
            f"--report={path('r.json')}", "--quiet")
        with open(path("r.json"), encoding="utf-8") as file:
            self.report = json.load(file)
        self.outputs = {name: value.tobytes() for name, value in np.load(path("y.npz")).items()}
        self.pe = self.report["machine_parameters"]["pe"]
        self.ports = self.report["machine_parameters"]["psum"]["write_ports"]
        self.busy = self.report["engines"]["pe"]["busy"]
        self.cycles = self.narrow = self.passes = 0
        loaded = active = None
        for line in run("ashlar-dis", path("p.ash")).splitlines():
            fields = dict(re.findall(r"(\w+)=(-?\w+)", line))
            if "pe.load " in line:
                loaded = self.digits(fields)
            elif line.strip().startswith("pe.swap"):
                active = loaded
            elif "pe.matmul " in line:
                self.stream(fields, active)

    def digits(self, fields):
        """Digits of an operand: the highest has the sign of a mantissa."""
        mode, kind = fields.get("mode", "bfp"), fields.get("type")
        bits = {"select": lambda: 1, "bfp": lambda: int(fields["mantissa"]) - 1,
                "float": lambda: SIGNIFICANDS[kind], "int": lambda: 8 * SIZES[kind]}[mode]()
        return math.ceil(bits / self.pe["cell_digit_bits"])

    def stream(self, fields, active):
        get = lambda name, default: int(fields.get(name, default))
        groups, narrow = get("groups", 1), get("narrow", 0)
        side = 2 if narrow else 1
        if get("pattern", 0):
            side *= self.pe["pattern_group"] // self.pe["pattern_kept"]
        ports = math.ceil(groups * side / self.ports) if self.ports else 1
        step = max(ports, math.gcd(groups, 1 + get("skip", 0)))
        passes = self.digits(fields) * active
        self.cycles += (get("n0", 1) * get("n1", 1) * math.ceil(get("n2", 1) / side) *
                        passes * step)
        self.narrow += narrow
        if fields.get("mode", "bfp") == "bfp":
            self.passes = max(self.passes, passes)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("model")
    parser.add_argument("--machine", required=True)
    parser.add_argument("--narrow", action="store_true")
    parser.add_argument("--like")
    parser.add_argument("--fewer")
    parser.add_argument("--table")
    split = sys.argv.index("--") if "--" in sys.argv else len(sys.argv)
    options = parser.parse_args(sys.argv[1:split])
    options.options = sys.argv[split + 1:]
    problems = []
    with tempfile.TemporaryDirectory() as folder:
        own = Program(options.model, options.machine, options.options, folder)
        banks = own.report["machine_parameters"]["sb"]["banks"]
        if own.busy < own.cycles or (banks == 0 and own.busy != own.cycles):
            problems.append(f"the array is busy {own.busy} cycles, by the formulas {own.cycles}")
        if bool(own.narrow) != options.narrow:
            problems.append(f"{own.narrow} streams of two positions a step")
        if options.like:
            other = Program(options.model, options.machine,
                            [*options.options, options.like], folder)
            if other.passes != own.passes:
                problems.append(f"{own.passes} passes, with {options.like} {other.passes}")
        if options.fewer:
            other = Program(options.model, options.fewer, options.options, folder)
            if other.outputs != own.outputs:
                problems.append("the outputs have other bits")
            if other.busy <= own.busy:
                problems.append(f"{own.busy} busy cycles, without {other.busy}")
            if options.table:
                print(f"| {options.table} | {other.busy:,} | {own.busy:,} | "
                      f"{other.report['total_cycles']:,} | {own.report['total_cycles']:,} | "
                      f"{other.report['total_cycles'] / own.report['total_cycles']:.2f} | "
                      f"{float(other.report['energy']['dynamic_pj']) / 1e6:.2f} uJ | "
                      f"{float(own.report['energy']['dynamic_pj']) / 1e6:.2f} uJ |")
    for problem in problems:
        print(f"FAILED: {problem}")
    print(f"{own.cycles} cycles of {own.passes} passes, {own.narrow} narrow streams, "
          f"{len(problems)} problems")
    sys.exit(bool(problems))


if __name__ == "__main__":
    main()
