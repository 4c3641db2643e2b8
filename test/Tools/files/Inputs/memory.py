#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tools under limits of their address space, from too little to load them to
enough.

usage: memory.py MODEL FOLDER [--steps=N]
"""

import os
import resource
import subprocess
import sys

MODEL, FOLDER = os.path.abspath(sys.argv[1]), sys.argv[2]
STEPS = int(sys.argv[3].split("=")[1]) if len(sys.argv) > 3 else 8
os.chdir(FOLDER)


def limited(command, size):
    """Exit code and the last line of the messages."""
    done = subprocess.run(
        command, capture_output=True, timeout=300,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS,
                                              (size, size)))
    lines = done.stderr.decode().splitlines()
    return done.returncode, lines[-1] if lines else ""


def loads(command):
    """The least limit, in steps of a MB, under which the tool prints its
    version: what is below is the dynamic loader's."""
    low, high = 1, 1 << 12
    while low < high:
        middle = (low + high) // 2
        if limited([command[0], "--version"], middle << 20)[0] == 0:
            high = middle
        else:
            low = middle + 1
    return low << 20


def sweep(command):
    start = loads(command)
    seen = set()
    size = start
    # Finely at first: that is where a small network runs out.
    for step in range(STEPS):
        code, line = limited(command, size)
        seen.add(code)
        if code not in (0, 5) or (code == 5 and "bytes" not in line):
            print(f"FAIL {command} under {size}: {code} {line}")
        size += (step + 1) * (1 << 18)
    return seen


with open("out", "wb"):
    pass
subprocess.run(["ashlarc", MODEL, "-o", "p.ash"], check=True,
               stdout=subprocess.DEVNULL)
_, text = limited(["ashlar-run", "big.ash", "--random-inputs=1", "--quiet"],
                  4 << 30)
print(text)
codes = set()
for tool in (["ashlarc", MODEL, "-o", "out", "--threads=3"],
             ["ashlar-run", "p.ash", "--random-inputs=1", "--threads=3"],
             ["ashlar-dis", "p.ash", "-o", "out"],
             ["ashlar-prune", MODEL, "--density=0.5", "-o", "out"],
             ["ashlar-reference", MODEL, "--outputs=out"]):
    codes |= sweep(tool)
print(STEPS, "limits, exit codes", *sorted(codes))
