#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs ashlarc with a standard output that takes nothing.

usage: terminal.py MODEL
"""

import subprocess
import sys

MODEL = sys.argv[1]
FLAGS = ("--check", "--explain", "--compile-to=import", "--help",
         "--list-machines")

for flag in FLAGS:
    with open("/dev/full", "wb") as full:
        done = subprocess.run(["ashlarc", MODEL, flag], stdout=full,
                              stderr=subprocess.PIPE, text=True)
    print(flag, done.returncode, done.stderr.strip())
pipe = subprocess.Popen(["ashlarc", MODEL, "--compile-to=emit"],
                        stdout=subprocess.PIPE)
pipe.stdout.close()
print("closed", pipe.wait())
