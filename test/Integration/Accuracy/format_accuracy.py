#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Accuracy of shared networks per mantissa width, on the emulator.

usage: format_accuracy.py MODEL... [--widths=16,8,6] [--data=FILE.json]
       format_accuracy.py --noise --data=FILE.json

Blocks of 16, D = 7, the first n development inputs of TABLE, logits against
ONNX Runtime fp32. Prints mean and least SNR and the agreement of the best
class; fails where they fall short of TABLE by more than MARGIN. With --data
the numbers are merged into the data of docs/BlockFloatingPoint.md. --noise
replaces the signal-to-noise ratios of random numbers there, measured with the
numpy reference of the format.
"""

import argparse
import json
import os
import sys
import tempfile

import numpy as np
import onnx

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

import common  # noqa: E402
import compare_model  # noqa: E402

# Network: (inputs, {W: (agreement in %, mean dB, least dB)}), measured on an
# independent model of the format.
TABLE = {
    "squeezenet1_1": (24, {16: (100, 89, 84), 8: (92, 38, 34), 6: (83, 22, 18)}),
    "resnet20_cifar10": (128, {16: (100, 84, 75), 8: (99, 35, 26),
                               6: (99, 23, 13)}),
    "resnet8_cifar10": (128, {16: (100, 82, 73), 8: (100, 31, 20),
                              6: (95, 18, 11)}),
    "shufflenet_v2_1.0": (24, {16: (100, 68, 65), 8: (100, 20, 15),
                               6: (88, 8, 3)}),
    "mobilenet_v2_1.0_224": (24, {16: (100, 58, 51), 8: (100, 12, 5),
                                  6: (50, 2, -2)}),
    "mobilenet_v1_0.25_128": (48, {16: (100, 66, 60), 8: (81, 17, 9),
                                   6: (40, 6, 1)}),
}
# How far below the table a number may lie: agreement in points, dB, dB. An
# input more or less is always allowed: other folds round in another order.
MARGIN = (4, 1, 3)


def without_softmax(path, folder):
    """The model up to its logits: a softmax at the end would hide errors."""
    model = onnx.load(path)
    makers = {o: n for n in model.graph.node for o in n.output}
    last = makers[model.graph.output[0].name]
    while last.op_type in ("Reshape", "Flatten", "Squeeze", "Identity"):
        last = makers[last.input[0]]
    if last.op_type != "Softmax":
        return path
    last.op_type = "Identity"
    del last.attribute[:]
    cut = os.path.join(folder, "logits.onnx")
    onnx.save(model, cut)
    return cut


def measure(network, width, count):
    """(agreement in %, mean SNR, least SNR) of the only output."""
    inputs, _ = common.dev_inputs(network, count)
    options = argparse.Namespace(format=f"w={width},block=16,range=7",
                                 machine="a1")
    with tempfile.TemporaryDirectory() as folder:
        path = without_softmax(common.model_path(network), folder)
        expected = common.fp32_outputs(path, inputs)
        found = compare_model.emulate(path, inputs, options, folder)
    (name, reference), = expected.items()
    ratios = [common.snr_db(r, f) for r, f in zip(reference, found[name])]
    agreement, _ = common.top1_agreement(reference, found[name])
    return 100 * agreement, float(np.mean(ratios)), float(min(ratios))


def shortfalls(network, width, found):
    """One message per number that misses the table by more than its margin."""
    count, table = TABLE[network]
    wanted = table.get(width)
    if wanted is None:
        return
    margins = (max(MARGIN[0], 100.1 / count), *MARGIN[1:])
    for what, have, want, margin in zip(
            ("agreement", "mean SNR", "least SNR"), found, wanted, margins):
        # The table is rounded to whole numbers.
        if have < want - margin - 0.5:
            yield (f"{network} W={width}: {what} {have:.1f}, expected at least "
                   f"{want - margin:.1f}")


def write(path, data):
    with open(path + ".part", "w", encoding="utf-8") as stream:
        json.dump(data, stream, indent=1)
        stream.write("\n")
    os.replace(path + ".part", path)


def merge(path, network, count, rows):
    """Replaces this network's rows in the data file."""
    with open(path, encoding="utf-8") as stream:
        data = json.load(stream)
    entry = data["networks"].setdefault(network, {"inputs": count, "rows": {}})
    entry["inputs"] = count
    for width, (agreement, mean, least) in rows.items():
        entry["rows"][str(width)] = {"agreement": round(agreement, 1),
                                     "mean": round(mean, 1),
                                     "least": round(least, 1)}
    entry["rows"] = dict(sorted(entry["rows"].items(), key=lambda r: int(r[0])))
    data["networks"] = dict(sorted(data["networks"].items()))
    write(path, data)


def noise_ratios():
    """{source: {W: dB}} of 2^18 numbers in blocks of 16."""
    sys.path.insert(0, os.path.join(common.ROOT, "test", "reference"))
    import blocks
    random = np.random.default_rng(5)
    sources = {"gauss": random.standard_normal((1, 2 ** 18)),
               "uniform": random.uniform(-1, 1, (1, 2 ** 18)),
               "laplace": random.laplace(size=(1, 2 ** 18))}
    result = {}
    for name, values in sources.items():
        values = values.astype(np.float32)
        result[name] = {}
        for width in range(3, 17):
            encoded = blocks.encode(values, blocks.Format(width, 16, 7, 1))
            result[name][str(width)] = round(
                common.snr_db(values, encoded.decode()), 1)
    return result


def merge_noise(path):
    with open(path, encoding="utf-8") as stream:
        data = json.load(stream)
    data["noise"] = noise_ratios()
    write(path, data)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("models", nargs="*",
                        help=", ".join(sorted(TABLE)))
    parser.add_argument("--widths", default="16,8,6")
    parser.add_argument("--data")
    parser.add_argument("--noise", action="store_true")
    options = parser.parse_args()
    if options.noise:
        merge_noise(options.data)
    failures = []
    for network in options.models:
        count, rows = TABLE[network][0], {}
        for width in map(int, options.widths.split(",")):
            found = rows[width] = measure(network, width, count)
            print(f"{network} W={width} n={count}: agreement {found[0]:.1f} %, "
                  f"SNR mean {found[1]:.1f} dB, least {found[2]:.1f} dB",
                  flush=True)
            failures += shortfalls(network, width, found)
        if options.data:
            merge(options.data, network, count, rows)
    for failure in failures:
        print("FAIL", failure)
    return int(bool(failures))


if __name__ == "__main__":
    sys.exit(main())
