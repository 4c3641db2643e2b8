#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A light model with seeded weights: compile time and SNR against fp32.

usage: light_model.py LIGHT [--samples=4]

Fails if it takes more than 30 seconds to compile or an output of a sample
has less than 45 dB at bfp16.
"""

import argparse
import os
import sys
import tempfile
import time

import numpy as np

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

import common  # noqa: E402
import refill_light

LEAST_SNR = 45.0
COMPILE_SECONDS = 30.0


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("light")
    parser.add_argument("--samples", type=int, default=4)
    options = parser.parse_args()
    failures = []
    with tempfile.TemporaryDirectory() as folder:
        model = os.path.join(folder, "model.onnx")
        refill_light.refill(os.path.join(common.MODELS, "light",
                                         options.light + ".onnx"), model, seed=1)
        binary = os.path.join(folder, "model.ash")
        start = time.monotonic()
        common.run_tool("ashlarc", model, "-o", binary, "--format=bfp16")
        seconds = time.monotonic() - start
        if seconds > COMPILE_SECONDS:
            failures.append(f"compiles in {seconds:.1f} s, expected at most "
                            f"{COMPILE_SECONDS:.0f}")
        inputs = np.concatenate(list(refill_light.images(options.samples, 2)))
        name = common.graph_inputs(model)[0]
        np.savez(os.path.join(folder, "in.npz"), **{name: inputs})
        common.run_tool("ashlar-run", binary,
                        f"--inputs={os.path.join(folder, 'in.npz')}",
                        f"--outputs={os.path.join(folder, 'out.npz')}",
                        "--functional", "--threads=2")
        expected = common.fp32_outputs(model, inputs)
        with np.load(os.path.join(folder, "out.npz")) as outputs:
            found = dict(outputs)
    for name, reference in expected.items():
        ratios = [common.snr_db(r, f) for r, f in zip(reference, found[name])]
        print(f"{options.light} {name}: compiled in {seconds:.1f} s, "
              f"SNR least {min(ratios):.1f} dB, mean {np.mean(ratios):.1f} dB")
        if min(ratios) < LEAST_SNR:
            failures.append(f"{name}: {min(ratios):.1f} dB, expected {LEAST_SNR}")
    for failure in failures:
        print("FAIL", failure)
    return int(bool(failures))


if __name__ == "__main__":
    sys.exit(main())
