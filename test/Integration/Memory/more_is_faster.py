#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""More memory or bandwidth never means more cycles.

usage: more_is_faster.py [MODEL...] [--machines=a1,...] [--sweep=NAME,...]
                         [--values=A,B,...] [--tolerance=0.5] [--most=N]

Compiles and times the shared and light models, or those named by a part of
their file name, on machines that differ in one parameter: `bytes` of a
partition, `dram` bytes per cycle, `psum` entries of a bank. Prints the cycles by
ascending parameter, and every value that takes more cycles than a smaller one,
by more than the tolerance in percent. Fails if there are more than N (default:
0) such cases.
"""

import argparse
import os
import sys
import tempfile

import memory_sweep as sweep

SWEEPS = {
    "bytes": ("sb", "bytes_per_partition",
              [6144, 8192, 12288, 16384, 24576, 32768, 49152, 65536, 131072]),
    "dram": ("dram", "bytes_per_cycle", [16, 32, 48, 64, 96, 128, 256]),
    "psum": ("psum", "entries_per_bank", [128, 256, 384, 512, 1024, 2048]),
}


def cycles(model, base, key, value, folder):
    """Cycles, or None where the compiler refuses."""
    section, parameter, _ = SWEEPS[key]
    machine = sweep.write_machine(os.path.join(folder, "m.yaml"), base, None,
                                  f"{section}: {{{parameter}: {value}}}\n")
    binary = os.path.join(folder, "m.ash")
    if sweep.compile_model(model, machine, binary, "--large-constants"):
        return None
    return sweep.run_program(binary, os.path.join(folder, "r.json"))["total_cycles"]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("models", nargs="*")
    parser.add_argument("--machines", default="a1,a1-ideal")
    parser.add_argument("--sweep", default="bytes,dram,psum")
    parser.add_argument("--values")
    parser.add_argument("--tolerance", type=float, default=0.5)
    parser.add_argument("--most", type=int, default=0)
    args = parser.parse_args()
    cases, pairs = [], 0
    for model in sweep.models(args.models):
        name = os.path.basename(model)[:-len(".onnx")]
        for base in args.machines.split(","):
            for key in args.sweep.split(","):
                values = [int(value) for value in args.values.split(",")] \
                    if args.values else SWEEPS[key][2]
                best, line = None, []
                for value in values:
                    with tempfile.TemporaryDirectory() as folder:
                        found = cycles(model, base, key, value, folder)
                    line.append(f"{value}: {found:,}" if found else f"{value}: refused")
                    pairs += bool(found and best)
                    limit = best and best[1] * (1 + args.tolerance / 100)
                    if best and (not found or found > limit):
                        more = 100 * (found / best[1] - 1) if found else float("inf")
                        cases.append(f"{name} on {base}: {key} {value} takes {more:.2f} % "
                                     f"more cycles than {best[0]}")
                    if found and (not best or found < best[1]):
                        best = value, found
                print(f"{name} {base} {key}: " + ", ".join(line), flush=True)
    for case in cases:
        print(case)
    print(f"{len(cases)} of {pairs} steps take more cycles")
    if len(cases) > args.most:
        sys.exit(f"expected {args.most} at most")


if __name__ == "__main__":
    main()
