#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Networks in small state buffers.

usage: small_memories.py [MODEL...] [--machines=a1,...] [--kib=64,...]
                         [--compile-only] [--refusals=N]

Compiles the shared and light models, or those named by a part of their file
name, for machines with so many KiB of state buffer, runs them and prints the
cycles, or why the compiler refuses. The same numeric plan then runs on the same
machine with 128 MiB. Fails if any output differs from that machine's in a bit,
if a tool ends in any other way than by saying what does not fit, or if more
than N programs are refused (default: any number).
"""

import argparse
import os
import sys
import tempfile

import numpy as np

import memory_sweep as sweep


def outputs(path):
    with np.load(path) as arrays:
        return {name: arrays[name].tobytes() for name in arrays.files}


class Case:
    """One model on one machine."""

    def __init__(self, model, base, folder, execute):
        self.model, self.base, self.folder, self.execute = model, base, folder, execute
        self.plenty = sweep.write_machine(self.path("plenty.yaml"), base, None)

    def path(self, name):
        return os.path.join(self.folder, name)

    def run(self, plan, machine, name):
        binary = self.path(name + ".ash")
        said = sweep.compile_model(plan, machine, binary, "--compile-from=quantise")
        if said or not self.execute:
            return said or "compiles", None
        report = sweep.run_program(binary, self.path("run.json"),
                                   "--outputs=" + self.path("outputs.npz"))
        return report["total_cycles"], outputs(self.path("outputs.npz"))

    def measure(self, kib):
        """Cycles or what the compiler says, and whether the bits are equal."""
        plan = self.path("quantised.mlir")
        machine = sweep.write_machine(self.path("small.yaml"), self.base, kib << 10)
        said = sweep.compile_model(self.model, machine, plan, "--large-constants",
                                   "--compile-to=quantise")
        if said:
            return said, True
        cell, found = self.run(plan, machine, "small")
        if not found:
            return cell, True
        return cell, found == self.run(plan, self.plenty, "plenty")[1]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("models", nargs="*")
    parser.add_argument("--machines", default="a1")
    parser.add_argument("--kib", default="64,128,256,512,1024")
    parser.add_argument("--compile-only", action="store_true")
    parser.add_argument("--refusals", type=int)
    args = parser.parse_args()
    sizes = [int(size) for size in args.kib.split(",")]
    print("| network | machine | " + " | ".join(f"{size} KiB" for size in sizes) + " |")
    print("|---" * (2 + len(sizes)) + "|")
    reasons, different = [], []
    for model in sweep.models(args.models):
        name = os.path.basename(model)[:-len(".onnx")]
        for base in args.machines.split(","):
            with tempfile.TemporaryDirectory() as folder:
                case = Case(model, base, folder, not args.compile_only)
                cells = []
                for size in sizes:
                    cell, equal = case.measure(size)
                    if not equal:
                        different.append(f"{name} on {base} with {size} KiB")
                    if isinstance(cell, str) and cell != "compiles":
                        reasons.append(f"{name} on {base} with {size} KiB: {cell}")
                        cell = "refused"
                    cells.append(f"{cell:,}" if isinstance(cell, int) else cell)
                print(f"| {name} | {base} | " + " | ".join(cells) + " |", flush=True)
    for line in reasons:
        print(line)
    if different:
        sys.exit("other bits than with plenty of memory: " + "; ".join(different))
    if args.refusals is not None and len(reasons) > args.refusals:
        sys.exit(f"{len(reasons)} programs refused, expected {args.refusals} at most")


if __name__ == "__main__":
    main()
