#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Odd but legal models: against ONNX Runtime and the numpy reference.

usage: odd_models.py [--only=REGEX] [--machine=a1] [--option=OPTION]... [--no-ort]

Extents of 0, 1 and primes, thousands of channels, kernels larger than the feature map,
batches with sparse weights and transposes, weights that nodes share, outputs that
are inputs, constants, inner tensors or twice the same, odd names, external data,
symbolic dimensions. Every model is compiled with bfp16, run and compared with ONNX
Runtime as operators.py does, and every planned tensor with the numpy reference.
Models that cannot be mapped must be refused with the exit code and the words
given here.
"""

import argparse
import os
import re
import subprocess
import sys
import tempfile

import numpy as np

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

import common  # noqa: E402
import numerics_model  # noqa: E402
import odd_cases  # noqa: F401 (registers its cases)
import odd_names  # noqa: F401
import odd_quantised  # noqa: F401
from debian_cases import Outcome, check  # noqa: E402
from odd_graphs import CASES, Model  # noqa: E402


def run_case(name, options):
    model = Model(name)
    CASES[name](model)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "case.onnx")
        model.save(path)
        done = common.run_tool(
            "ashlarc", path, "-o", os.path.join(folder, "model.ash"), "--format=bfp16",
            f"--machine={options.machine}", f"--dump-plan={folder}/plan", *model.options,
            *options.option, check=False, timeout=120)
        if model.refused:
            code, words = model.refused
            missing = [w for w in words if w not in done.stderr]
            if done.returncode != code or missing:
                raise Outcome(f"exit code {done.returncode}, expected {code} and {missing}: "
                              f"{done.stderr}", True)
            return "refused"
        if done.returncode:
            raise Outcome(f"exit code {done.returncode}: {done.stderr}", True)
        np.savez(os.path.join(folder, "in.npz"), **model.inputs)
        machine, reference = numerics_model.commands(
            folder, os.path.join(folder, "in.npz"), 0, 1, 2)
        common.run_tool("ashlar-run", *machine[1:], timeout=120)
        if model.ort and not options.no_ort:
            wanted = common.ort.run(path, [model.inputs])[0][0]
            with np.load(os.path.join(folder, "out.npz")) as found:
                for name, right in wanted.items():
                    check(name, found[name], right, model.exact)
        if model.planned:
            done = subprocess.run(reference, capture_output=True, text=True, timeout=120)
            if done.returncode:
                raise Outcome("numpy reference: " + done.stdout + done.stderr, True)
    return "pass"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="")
    parser.add_argument("--machine", default="a1")
    parser.add_argument("--option", action="append", default=[])
    parser.add_argument("--no-ort", action="store_true")
    options = parser.parse_args()
    names = [name for name in CASES if re.search(options.only, name)]
    failed = 0
    for name in names:
        try:
            print(run_case(name, options), name, flush=True)
        except (Outcome, SystemExit, subprocess.SubprocessError) as error:
            failed += 1
            print(f"FAIL {name}: {error}", flush=True)
    print(f"{len(names)} models, {failed} failures")
    return int(bool(failed) or not names)


if __name__ == "__main__":
    sys.exit(main())
