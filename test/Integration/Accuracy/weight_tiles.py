#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Weights whose output channels share exponents: bits, bytes, cycles and noise.

usage: weight_tiles.py MODEL... [--samples=8] [--format=FORMAT]... [--check]

Compiles each shared model with each format, by default w=8 with rows=R for several R, and
prints the bits of a weight with
its share of the exponents, the bytes of the exponents, the bytes that DRAM is read and the
cycles; the share of samples whose best class is that of binary32; and the mean
signal-to-noise ratio of the worst output, of the network and of weights alone (activations
of 16 bits), each with and without weight scaling, which brings channels that share
exponents into one octave. --check fails if a format takes more bits, bytes or cycles than the
first one, or loses more than WITHIN decibels of the weights to it with scaling.
"""

import argparse
import json
import os
import sys
import tempfile

import numpy as np

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

import common  # noqa: E402

FORMATS = ["w=8", "w=8,rows=2", "w=8,rows=4", "w=8,rows=16", "w=8,rows=quadrant"]
WITHIN = 8  # dB: without factors and exponents of its own a channel loses up to a bit
SLACK = 0.005


def compiled(model, folder, *options):
    """(path of the binary, what its report says of storage)"""
    program, report = os.path.join(folder, "t.ash"), os.path.join(folder, "t.json")
    common.run_tool("ashlarc", common.model_path(model), "-o", program, f"--report={report}",
                    *options)
    with open(report, encoding="utf-8") as stream:
        return program, json.load(stream)["storage"]


def outputs(program, model, samples, folder):
    given, found = os.path.join(folder, "in.npz"), os.path.join(folder, "out.npz")
    np.savez(given, **{common.graph_inputs(common.model_path(model))[0]: samples})
    common.run_tool("ashlar-run", program, f"--inputs={given}", f"--outputs={found}",
                    "--functional", "--threads=2")
    with np.load(found) as arrays:
        return dict(arrays)


def ratio(expected, found):
    return min(np.mean([common.snr_db(e, f) for e, f in zip(value, found[name])])
               for name, value in expected.items())


def measure(model, text, samples, expected, folder):
    program, storage = compiled(model, folder, f"--format={text}")
    report = os.path.join(folder, "run.json")
    common.run_tool("ashlar-run", program, "--random-inputs=1", "--quiet", f"--report={report}")
    with open(report, encoding="utf-8") as stream:
        run = json.load(stream)
    weights = [node for node in storage if node["weights"]]
    own = outputs(program, model, samples, folder)
    noise = [ratio(expected, own)]
    for options in ([f"--format={text}", "--weight-scaling=off"],
                    ["--activations=bfp16", f"--weights={text}"],
                    ["--activations=bfp16", f"--weights={text}", "--weight-scaling=off"]):
        program, _ = compiled(model, folder, *options)
        noise.append(ratio(expected, outputs(program, model, samples, folder)))
    exponents = sum(node["exponents"] for node in weights)
    bits = 8 * (sum(node["mantissas"] for node in weights) + exponents) / \
        sum(node["weights"] for node in weights)
    agree = np.mean([common.top1_agreement(value, own[name])[0]
                     for name, value in expected.items()])
    return bits, exponents, run["totals"]["dram_read"], run["total_cycles"], agree, noise


def compare(model, options, folder):
    samples, _ = common.dev_inputs(model, options.samples)
    expected = common.fp32_outputs(common.model_path(model), samples)
    first = None
    for text in options.format or FORMATS:
        bits, exponents, read, cycles, agree, noise = found = \
            measure(model, text, samples, expected, folder)
        print(f"| {model} | `{text}` | {bits:.3f} | {exponents:,} | {read:,} | {cycles:,} | "
              f"{agree:.0%} | {noise[0]:.1f} / {noise[1]:.1f} dB | {noise[2]:.1f} / "
              f"{noise[3]:.1f} dB |", flush=True)
        first = first or found
        if options.check and (bits > first[0] or read > first[2]
                              or cycles > first[3] * (1 + SLACK)
                              or noise[2] < first[5][2] - WITHIN):
            yield f"{model}, {text}: {found}, the first: {first}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("models", nargs="+")
    parser.add_argument("--samples", type=int, default=8)
    parser.add_argument("--format", action="append", default=[])
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    print("| network | format | bits per weight | exponents, bytes | DRAM bytes read | cycles | "
          "top 1 | noise | of weights |\n|---|---|---|---|---|---|---|---|---|")
    problems = []
    with tempfile.TemporaryDirectory() as folder:
        for model in options.models:
            problems += compare(model, options, folder)
    for problem in problems:
        print(problem, file=sys.stderr)
    return bool(problems)


if __name__ == "__main__":
    sys.exit(main())
