#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What Program.run of the Python package costs compared with the C++ interface.

usage: bench_python.py MODEL.onnx BENCH [--runs=N] [--machine=NAME]

BENCH is tools/examples' `bench-run`, which runs a program with the C++ interface
and prints the seconds of each run. Both run the same program on zeros in one
thread, in turn, the order changing from round to round; the overhead is the
median over the rounds of the quotient of their least processor times, which
other work on the host disturbs least. Prints one JSON object; see docs/Api.md
for the path.
"""

import argparse
import json
import statistics
import subprocess
import tempfile
import time

import numpy

import ashlar

DTYPES = {"f32": "f4", "f16": "f2", "bf16": "u2", "f64": "f8", "bool": "?",
          **{f"{kind}{8 * size}": f"{kind}{size}" for kind in "iu"
             for size in (1, 2, 4, 8)}}


def python_seconds(program, runs):
    inputs = {t.name: numpy.zeros(t.shape, DTYPES[t.type]) for t in program.inputs}
    seconds = []
    for _ in range(runs + 1):
        start = time.process_time()
        program.run(inputs, threads=1, timing=False)
        seconds.append(time.process_time() - start)
    return seconds[1:]  # The first run allocates.


def native_seconds(bench, program, runs):
    text = subprocess.run([bench, program, str(runs)], check=True,
                          capture_output=True, text=True)
    return [float(line) for line in text.stdout.split()]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model")
    parser.add_argument("bench")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--machine", default="a1")
    given = parser.parse_args()
    program = ashlar.compile(given.model, machine=given.machine)
    python, native = [], []
    with tempfile.NamedTemporaryFile(suffix=".ash") as file:
        program.save(file.name)
        sides = [(python, lambda: python_seconds(program, given.runs)),
                 (native, lambda: native_seconds(given.bench, file.name, given.runs))]
        for _ in range(given.rounds):
            for kept, measure in sides:
                kept.append(min(measure()))
            sides.reverse()
    quotients = [a / b for a, b in zip(python, native, strict=True)]
    print(json.dumps({
        "python_seconds": min(python), "cpp_seconds": min(native),
        "python_median": statistics.median(python),
        "cpp_median": statistics.median(native),
        "overhead_percent": 100 * (statistics.median(quotients) - 1),
        "rounds_percent": sorted(round(100 * (q - 1), 1) for q in quotients)}))


if __name__ == "__main__":
    main()
