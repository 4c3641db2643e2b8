#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The numeric plan of a shared model, executed by the numpy reference alone.

usage: plan_model.py MODEL [--format=bfp8] [--samples=4] [--least=DB]

Import, simplify, fold and quantise without code generation or emulator: tells
an error of the plan from one of the machine. Compares with the stored fp32
outputs of the shared models and fails below --least decibels.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile

import numpy as np

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

import common  # noqa: E402

REFERENCE = os.path.join(common.ROOT, "test", "reference", "reference.py")


def write_plan(model, options, folder):
    """The plan's folder."""
    plan = os.path.join(folder, "plan")
    imported = os.path.join(folder, "model.mlir")
    common.run_tool("ashlar-translate", "--import-onnx", "--keep-resources", model,
                    "-o", imported)
    common.run_tool("ashlar-opt", imported, "--ashlar-set-target=machine=a1",
                    "--ashlar-simplify", "--ashlar-fold",
                    f"--ashlar-quantise=format={options.format}",
                    f"--ashlar-bfp-print-plan=directory={plan}",
                    "-o", os.devnull)
    return plan


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model")
    parser.add_argument("--format", default="bfp8")
    parser.add_argument("--samples", type=int, default=4)
    parser.add_argument("--least", type=float, default=-common.EXACT_DB)
    options = parser.parse_args()
    golden = os.path.join(common.MODELS, "golden", options.model)
    with open(os.path.join(golden, "meta.json"), encoding="utf-8") as stream:
        meta = json.load(stream)
    ratios = []
    with tempfile.TemporaryDirectory() as folder:
        plan = write_plan(common.model_path(options.model), options, folder)
        inputs = os.path.join(folder, "in.npz")
        outputs = os.path.join(folder, "out.npz")
        for k in range(options.samples):
            sample = np.load(os.path.join(golden, f"in_{k}.npy"))
            np.savez(inputs, **{meta["input"]: sample})
            subprocess.run([sys.executable, REFERENCE, plan, inputs,
                            f"--outputs={outputs}"], check=True)
            with np.load(outputs) as found:
                ratios += [common.snr_db(
                    np.load(os.path.join(golden, f"out_{k}_{i}.npy")), found[name])
                    for i, name in enumerate(meta["outputs"])]
    print(f"{options.model} {options.format}: SNR "
          + " ".join(f"{r:.1f}" for r in ratios) + " dB")
    return int(min(ratios) < options.least)


if __name__ == "__main__":
    sys.exit(main())
