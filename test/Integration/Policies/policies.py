#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Scale-exponent policies of a network: emulator against the numpy reference.

usage: policies.py MODEL [--policies=fixed,table] [--samples=3]

MODEL is a shared model. For each policy the network is compiled, calibrated
on the first sample, and run on each sample; every planned tensor must have the
bits of the reference. A policy whose exponents are too low must agree as well:
`fixed(e=-20)` saturates at operand fetch.
"""

import argparse
import os
import subprocess
import sys
import tempfile

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))
import common  # noqa: E402

REFERENCE = os.path.join(common.ROOT, "test", "reference", "reference.py")


def check(model, policy, samples, name, folder):
    """Number of samples with a differing bit."""
    paths = []
    for index, sample in enumerate(samples):
        paths.append(os.path.join(folder, f"in{index}.npz"))
        np.savez(paths[-1], **{name: sample})
    binary, plan = os.path.join(folder, "m.ash"), os.path.join(folder, "plan")
    common.run_tool("ashlarc", model, "-o", binary, f"--scale={policy}",
                    f"--calibrate={paths[0]}", f"--dump-plan={plan}")
    failed = 0
    for index, path in enumerate(paths):
        dump = os.path.join(folder, f"dump{index}")
        common.run_tool("ashlar-run", binary, f"--inputs={path}",
                        f"--dump-tensors={dump}",
                        f"--outputs={os.path.join(folder, 'out.npz')}")
        code = subprocess.run([sys.executable, REFERENCE, plan, path,
                               dump]).returncode
        failed += code != 0
    return failed


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model")
    parser.add_argument("--policies", default="fixed;table;fixed(e=-20)")
    parser.add_argument("--samples", type=int, default=3)
    options = parser.parse_args()
    model = common.model_path(options.model)
    arrays, _ = common.dev_inputs(options.model, options.samples)
    samples = np.split(arrays, options.samples)
    name = common.graph_inputs(model)[0]
    failed = 0
    for policy in options.policies.split(";"):
        with tempfile.TemporaryDirectory() as folder:
            wrong = check(model, policy, samples, name, folder)
        print(f"{options.model} {policy}: {len(samples)} samples, "
              f"{wrong} differ")
        failed += wrong
    return int(bool(failed))


if __name__ == "__main__":
    sys.exit(main())
