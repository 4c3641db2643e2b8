# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Evaluates shared models in the reference interpreter after simplify + fold and
# compares with the float32 outputs stored next to the models: within 1e-4 of
# each output's largest magnitude. Usage: golden.py MODELS SAMPLES [NAME...]

import json
import os
import subprocess
import sys
import tempfile

import numpy as np

TOLERANCE = 1e-4


def run(model, arrays, folder):
    source = os.path.join(folder, "in.npz")
    target = os.path.join(folder, "out.npz")
    np.savez(source, **arrays)
    subprocess.run(
        ["ashlar-reference", model, "--phase=fold", f"--inputs={source}",
         f"--outputs={target}"],
        check=True,
    )
    with np.load(target) as archive:
        return dict(archive)


def check(models, name, samples):
    golden = os.path.join(models, "golden", name)
    with open(os.path.join(golden, "meta.json")) as file:
        meta = json.load(file)
    worst = 0.0
    for i in range(samples):
        array = np.load(os.path.join(golden, f"in_{i}.npy"))
        with tempfile.TemporaryDirectory() as folder:
            results = run(os.path.join(models, name + ".onnx"),
                          {meta["input"]: array}, folder)
        for k, output in enumerate(meta["outputs"]):
            expected = np.load(os.path.join(golden, f"out_{i}_{k}.npy"))
            found = results[output]
            if found.shape != expected.shape:
                print(f"{name}: {output} is {found.shape}, "
                      f"expected {expected.shape}")
                return False
            error = np.abs(found.astype(np.float64) - expected).max()
            worst = max(worst, error / np.abs(expected).max())
    good = worst <= TOLERANCE
    print(f"{'ok' if good else 'WRONG'} {name}: {worst:.2e}")
    return good


def main():
    models, samples = sys.argv[1], int(sys.argv[2])
    chosen = sys.argv[3:] or sorted(os.listdir(os.path.join(models, "golden")))
    results = [check(models, name, samples) for name in chosen]
    sys.exit(not all(results))


main()
