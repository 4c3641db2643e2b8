#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What --epilogue=block refuses, and how.

usage: refusals.py FOLDER
"""

import os
import sys

import onnx

import block_epilogue
import common


CASES = [
    (["--residual=f32"], 2, "expected no --residual=f32"),
    (["--epilogue=integer"], 2, "expected float or block"),
    (["--machine=a1-tiny"], 3, "--epilogue=float"),
]


def main():
    folder = sys.argv[1]
    os.makedirs(folder, exist_ok=True)
    model = os.path.join(folder, "m.onnx")
    onnx.save(block_epilogue.residual(), model)
    failed = 0
    for options, code, text in CASES:
        done = common.run_tool("ashlarc", model, "-o", os.path.join(folder, "m.ash"),
                               "--epilogue=block", *options, check=False)
        if done.returncode != code or text not in done.stderr:
            failed += 1
            print(f"{options}: exit code {done.returncode}, expected {code} and "
                  f"'{text}':\n{done.stderr}")
    return int(bool(failed))


if __name__ == "__main__":
    sys.exit(main())
