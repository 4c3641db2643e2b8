#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Every planned tensor of a network: emulator against the numpy reference.

usage: numerics_model.py MODEL.onnx INPUT.npz|dev [--format=bfp8]
                         [--machine=a1] [--threads=2]

`dev` takes the first dev input of a shared model, MODEL then being its name.
Fails if one bit differs (test/reference/reference.py does the comparison).
"""

import argparse
import os
import subprocess
import sys
import tempfile

import numpy as np

import common

REFERENCE = os.path.join(common.ROOT, "test", "reference", "reference.py")


def inputs_of(options, folder):
    """(model path, npz with one sample)."""
    if options.inputs != "dev":
        return options.model, options.inputs
    model = common.model_path(options.model)
    array, _ = common.dev_inputs(options.model, 1)
    path = os.path.join(folder, "in.npz")
    np.savez(path, **{common.graph_inputs(model)[0]: array})
    return model, path


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model")
    parser.add_argument("inputs")
    parser.add_argument("--format", default="bfp8")
    parser.add_argument("--machine", default="a1")
    parser.add_argument("--threads", default="2")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        model, inputs = inputs_of(options, folder)
        binary = os.path.join(folder, "model.ash")
        plan = os.path.join(folder, "plan")
        dump = os.path.join(folder, "dump")
        common.run_tool("ashlarc", model, "-o", binary,
                        f"--format={options.format}",
                        f"--machine={options.machine}", f"--dump-plan={plan}")
        common.run_tool("ashlar-run", binary, f"--inputs={inputs}",
                        f"--dump-tensors={dump}",
                        f"--threads={options.threads}",
                        f"--outputs={os.path.join(folder, 'out.npz')}")
        return subprocess.run(
            [sys.executable, REFERENCE, plan, inputs, dump]).returncode


if __name__ == "__main__":
    sys.exit(main())
