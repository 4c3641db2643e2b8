#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Imports every model of a folder; prints node counts and failures.

usage: import_all.py FOLDER
"""

import collections
import glob
import os
import subprocess
import sys


def states(path):
    """Number of nodes per state, or None after printing the failure."""
    done = subprocess.run(["ashlar-translate", "--check", path],
                          capture_output=True, text=True, timeout=300)
    if done.returncode != 0:
        print(f"{os.path.basename(path)} fails: exit {done.returncode}\n"
              f"{done.stdout}{done.stderr}")
        return None
    return collections.Counter(line.split()[0] for line in done.stdout.splitlines())


def main():
    folder = sys.argv[1]
    paths = sorted(glob.glob(folder + "/*.onnx") + glob.glob(folder + "/light/*.onnx"))
    good = bool(paths)
    for path in paths:
        counts = states(path)
        good = good and counts is not None
        if counts:
            print(os.path.basename(path), dict(counts))
    if good:
        print("all models import")
    sys.exit(not good)


if __name__ == "__main__":
    main()
