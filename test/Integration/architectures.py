#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Published architectures in small, with seeded weights, against fp32.

usage: architectures.py [NAME...] [--format=bfp16] [--list] [--keep=DIR]
                        [--option=OPTION]...

Every architecture of architecture_models.py is compiled and run; outputs are
compared with ONNX Runtime. At bfp16 an output below 45 dB fails. One line
each: least SNR, cycles, array utilisation, compile seconds.
"""

import argparse
import json
import os
import sys
import tempfile
import time

import numpy as np
import onnx

import architecture_models
import common
import ort

LEAST_SNR = {"bfp16": 45.0}


def draw(model, seed):
    """One array per graph input: integers below 100, floats normal."""
    random = np.random.default_rng(seed)
    arrays = {}
    for info in model.graph.input:
        tensor = info.type.tensor_type
        shape = [d.dim_value for d in tensor.shape.dim]
        if tensor.elem_type == onnx.TensorProto.INT64:
            arrays[info.name] = random.integers(0, 100, shape)
        else:
            arrays[info.name] = random.standard_normal(shape).astype(np.float32)
    return arrays


def measure(name, folder, options):
    """(least SNR in dB, report of the run, seconds to compile)."""
    path = os.path.join(folder, name + ".onnx")
    model = architecture_models.build(name)
    onnx.save(model, path)
    arrays = draw(model, 7)
    np.savez(os.path.join(folder, "in.npz"), **arrays)
    binary, report = (os.path.join(folder, name + end)
                      for end in (".ash", ".json"))
    start = time.monotonic()
    common.run_tool("ashlarc", path, "-o", binary,
                    f"--format={options.format}", *options.option)
    seconds = time.monotonic() - start
    common.run_tool("ashlar-run", binary,
                    f"--inputs={os.path.join(folder, 'in.npz')}",
                    f"--outputs={os.path.join(folder, 'out.npz')}",
                    f"--report={report}", "--quiet")
    (expected,), _ = ort.run(path, [arrays])
    with np.load(os.path.join(folder, "out.npz")) as outputs:
        least = min(common.snr_db(expected[key], outputs[key])
                    for key in expected)
    with open(report, encoding="utf-8") as stream:
        return least, json.load(stream), seconds


def utilisation(report):
    """Multiply-accumulates over what the busy array could do."""
    busy = report["engines"].get("pe", {}).get("busy", 0)
    macs = sum(n["macs"] for n in report["nodes"] if n["engine"] == "pe")
    peak = report.get("peak_macs_per_cycle", 128 * 64)
    return macs / (busy * peak) if busy else 0.0


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--format", default="bfp16")
    parser.add_argument("--option", action="append", default=[])
    parser.add_argument("--keep", metavar="DIR")
    parser.add_argument("--list", action="store_true")
    options = parser.parse_args()
    if options.list:
        print("\n".join(architecture_models.NAMES))
        return 0
    failures = 0
    with tempfile.TemporaryDirectory() as scratch:
        for name in options.names or architecture_models.NAMES:
            try:
                least, report, seconds = measure(name, options.keep or scratch,
                                                 options)
            except SystemExit as error:
                print(f"FAIL {name}: {error}")
                failures += 1
                continue
            bad = least < LEAST_SNR.get(options.format, -common.EXACT_DB)
            failures += bad
            print(f"{'FAIL ' if bad else ''}{name}: {least:.1f} dB, "
                  f"{report['total_cycles']:,} cycles, compiled in "
                  f"{seconds:.1f} s", flush=True)
    return int(failures > 0)


if __name__ == "__main__":
    sys.exit(main())
