#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compares one shared model with ONNX Runtime fp32 over its dev inputs.

usage: compare_model.py MODEL --format=bfp8|bfp16 [--machine=a1] [--limit=N]

Prints the least and mean SNR of every output and, for classifiers, how often
the best class agrees; fails where a threshold of THRESHOLDS is missed.
"""

import argparse
import os
import sys
import tempfile

import numpy as np

import common

CLASSIFIERS = {"mobilenet_v2_1.0_224", "mobilenet_v1_0.25_128",
               "squeezenet1_1", "shufflenet_v2_1.0", "resnet20_cifar10",
               "resnet8_cifar10", "mnist_cnn", "kws_dscnn", "kwt1_ln17"}
# (least share of equal best classes, least mean SNR in dB or None)
THRESHOLDS = {
    "bfp8": {
        "resnet20_cifar10": (0.98, None), "resnet8_cifar10": (0.98, None),
        "mnist_cnn": (0.98, None), "kws_dscnn": (0.98, None),
        "shufflenet_v2_1.0": (0.95, None), "squeezenet1_1": (0.92, None),
        "kwt1_ln17": (0.97, None),
        "mobilenet_v2_1.0_224": (0.90, 11.0),
        "mobilenet_v1_0.25_128": (0.75, 15.0),
    },
}
# Every output of every input at 16 bits of mantissa.
LEAST_SNR_BFP16 = 45.0


def emulate(model, inputs, options, folder):
    binary = os.path.join(folder, "model.ash")
    common.run_tool("ashlarc", model, "-o", binary,
                    f"--format={options.format}", f"--machine={options.machine}")
    name = common.graph_inputs(model)[0]
    np.savez(os.path.join(folder, "in.npz"), **{name: inputs})
    common.run_tool("ashlar-run", binary,
                    f"--inputs={os.path.join(folder, 'in.npz')}",
                    f"--outputs={os.path.join(folder, 'out.npz')}",
                    "--functional", "--threads=2")
    with np.load(os.path.join(folder, "out.npz")) as outputs:
        return dict(outputs)


def judge_snr(options, name, ratios):
    """Messages about an output's signal-to-noise ratios."""
    if options.format == "bfp16" and min(ratios) < LEAST_SNR_BFP16:
        worst = int(np.argmin(ratios))
        yield (f"{name}: sample {worst} has {ratios[worst]:.1f} dB, "
               f"expected {LEAST_SNR_BFP16}")
    _, mean = THRESHOLDS.get(options.format, {}).get(options.model, (0, None))
    if mean is not None and np.mean(ratios) < mean:
        yield f"{name}: mean SNR {np.mean(ratios):.1f} dB, expected {mean}"


def judge_classes(options, name, agreement, disagreements):
    least, _ = THRESHOLDS.get(options.format, {}).get(options.model, (0, None))
    if agreement < least:
        yield f"{name}: {agreement:.1%} agree, expected {least:.0%}"
    if options.format == "bfp16" and disagreements:
        yield f"{name}: {disagreements} best classes differ without a near tie"


def compare(options):
    model = common.model_path(options.model)
    inputs, _ = common.dev_inputs(options.model, options.limit)
    expected = common.fp32_outputs(model, inputs)
    with tempfile.TemporaryDirectory() as folder:
        found = emulate(model, inputs, options, folder)
    failures = []
    for name, reference in expected.items():
        if name not in found or found[name].shape != reference.shape:
            failures.append(f"{name}: missing or of another shape")
            continue
        ratios = [common.snr_db(r, f) for r, f in zip(reference, found[name])]
        line = (f"{options.model} {options.format} {options.machine} {name}: "
                f"{len(ratios)} samples, SNR least {min(ratios):.1f} dB, "
                f"mean {np.mean(ratios):.1f} dB")
        failures += judge_snr(options, name, ratios)
        if options.model in CLASSIFIERS:
            agreement, clear = common.top1_agreement(reference, found[name])
            line += f", best class equal {agreement:.1%}"
            failures += judge_classes(options, name, agreement, clear)
        print(line)
    for failure in failures:
        print("FAIL", failure)
    return int(bool(failures))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model")
    parser.add_argument("--format", default="bfp16")
    parser.add_argument("--machine", default="a1")
    parser.add_argument("--limit", type=int)
    return compare(parser.parse_args())


if __name__ == "__main__":
    sys.exit(main())
