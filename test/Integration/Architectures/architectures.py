#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Published architectures in small, with seeded weights, against fp32.

usage: architectures.py [NAME...] [--format=bfp16] [--list] [--keep=DIR]
                        [--option=OPTION]... [--reference]

Every architecture of architecture_models.py is compiled and run; outputs are
compared with ONNX Runtime. At bfp16 an output below 45 dB fails. One line
each: least SNR, cycles, compile seconds. With --reference every planned tensor
is compared with the numpy reference as well.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time

import numpy as np
import onnx

INTEGRATION = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, INTEGRATION)

import architecture_models  # noqa: E402
import common  # noqa: E402
import ort  # noqa: E402

LEAST_SNR = {"bfp16": 45.0}


def draw(model, seed):
    """One array per graph input: integers below the rows of the table that they
    choose from, floats normal."""
    random = np.random.default_rng(seed)
    rows = {array.name: array.dims[0] for array in model.graph.initializer
            if array.dims}
    limits = {node.input[1]: rows[node.input[0]] for node in model.graph.node
              if node.op_type == "Gather" and node.input[0] in rows}
    arrays = {}
    for info in model.graph.input:
        tensor = info.type.tensor_type
        shape = [d.dim_value for d in tensor.shape.dim]
        if tensor.elem_type == onnx.TensorProto.INT64:
            arrays[info.name] = random.integers(0, limits[info.name], shape)
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


def compare_bits(name, folder, options):
    """Every planned tensor against the numpy reference; False if one differs."""
    done = subprocess.run(
        [sys.executable, os.path.join(INTEGRATION, "numerics_model.py"),
         os.path.join(folder, name + ".onnx"), os.path.join(folder, "in.npz"),
         f"--format={options.format}",
         *(f"--ashlarc={option}" for option in options.option)],
        text=True, capture_output=True)
    print(f"{name}: {(done.stdout or done.stderr).strip().splitlines()[-1]}")
    return done.returncode == 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--format", default="bfp16")
    parser.add_argument("--option", action="append", default=[])
    parser.add_argument("--keep", metavar="DIR")
    parser.add_argument("--reference", action="store_true")
    parser.add_argument("--list", action="store_true")
    options = parser.parse_args()
    if options.list:
        print("\n".join(architecture_models.NAMES))
        return 0
    failures = 0
    with tempfile.TemporaryDirectory() as scratch:
        for name in options.names or architecture_models.NAMES:
            try:
                folder = options.keep or scratch
                least, report, seconds = measure(name, folder, options)
            except SystemExit as error:
                print(f"FAIL {name}: {error}")
                failures += 1
                continue
            bad = least < LEAST_SNR.get(options.format, -common.EXACT_DB)
            failures += bad
            print(f"{'FAIL ' if bad else ''}{name}: {least:.1f} dB, "
                  f"{report['total_cycles']:,} cycles, compiled in "
                  f"{seconds:.1f} s", flush=True)
            if options.reference:
                failures += not compare_bits(name, folder, options)
    return int(failures > 0)


if __name__ == "__main__":
    sys.exit(main())
