#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compiles a model once directly and once through a file after every phase.

usage: resume.py MODEL.onnx FOLDER [OPTION]...

Every program must have the bytes of the direct one. Options go to all
compilations that still accept them, except the machine, which the file names.
"""

import os
import subprocess
import sys

PHASES = ("import", "simplify", "fold", "quantise", "assign", "plan", "tile", "emit")
# Options by the first phase after which they are refused.
LATE = {"--format": 3, "--machine": 0, "--fold-w": 4}


def ashlarc(*arguments):
    subprocess.run(["ashlarc", *arguments], check=True,
                   stdout=subprocess.DEVNULL)


def read(path):
    with open(path, "rb") as file:
        return file.read()


def main():
    model, folder, options = sys.argv[1], sys.argv[2], sys.argv[3:]
    os.makedirs(folder, exist_ok=True)
    direct = os.path.join(folder, "direct.ash")
    ashlarc(model, "-o", direct, *options)
    wanted = read(direct)
    failed = False
    for k, phase in enumerate(PHASES):
        file = os.path.join(folder, phase + ".mlir")
        program = os.path.join(folder, phase + ".ash")
        ashlarc(model, f"--compile-to={phase}", "-o", file, *options)
        own = [o for o in options if LATE.get(o.split("=")[0], 9) > k]
        ashlarc(file, f"--compile-from={phase}", "-o", program, *own)
        same = read(program) == wanted
        print(phase, "equal" if same else "DIFFERENT")
        failed |= not same
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
