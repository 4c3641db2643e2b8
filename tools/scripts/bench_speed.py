#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Speed of exact emulation against ONNX Runtime, in one run, as a table.

usage: bench_speed.py [--kernels=avx512vnni,avx2] [--networks=NAME,...]
                      [--threads=2] [--rounds=5] [--emulator=PATH]

For every network: compiles it, then takes turns between a timed emulation of
one sample with each kernel set and the same sample in ONNX Runtime (fp32), so
that all see the same state of the host. Prints the least time of each and
their ratio, simulated cycles per second, and the time per sample of a data
set. Names the host's processor and vector instructions. Nothing fails on
time. --emulator measures another ashlar-run with the programs of this build.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time

import numpy as np

import ort
import drawn
import refill_light

BUILD = os.environ.get("ASHLAR_BUILD", os.path.join(ort.ROOT, "build"))
MODELS = os.environ.get("ASHLAR_MODELS",
                        os.path.join(ort.ROOT, "..", "shared", "models"))
NETWORKS = ["resnet50", "squeezenet1_1", "mobilenet_v2_1.0_224",
            "shufflenet_v2_1.0", "kwt1_ln17", "resnet20_cifar10"]
DATA_SET = {"resnet20_cifar10": 256}
FEATURES = ["avx2", "avx512bw", "avx512_vnni", "amx_int8"]


def tool(name):
    return os.path.join(BUILD, "bin", name)


def host():
    """Processor and those of FEATURES that it has."""
    name, flags = "unknown processor", set()
    with open("/proc/cpuinfo", encoding="utf-8") as stream:
        for line in stream:
            key, _, value = line.partition(":")
            if key.strip() == "model name":
                name = value.strip()
            elif key.strip() == "flags":
                flags = set(value.split())
    return f"{name}, {os.cpu_count()} processors, " + " ".join(
        f for f in FEATURES if f in flags)


def kernel_sets():
    """Names that `ashlar-run --kernels=help` lists, without the scalar one."""
    text = subprocess.run([tool("ashlar-run"), "--kernels=help"], check=True,
                          capture_output=True, text=True).stdout
    names = text.partition(":")[2].replace(" ", "").strip().split(",")
    return [n for n in names if n != "scalar" and not n.startswith("best")]


def prepare(name, folder):
    """(model, program, samples) of a network."""
    model = os.path.join(MODELS, name + ".onnx")
    if name == "resnet50":
        model = drawn.model(drawn.RESNET50)
        samples = [{"image": next(refill_light.images(1, 3))}]
    else:
        sys.path.insert(0, MODELS)
        import load  # the networks' own inputs
        import onnx
        graph = onnx.load(model, load_external_data=False).graph
        count = DATA_SET.get(name, 1)
        samples = [{graph.input[0].name: x}
                   for _, (x, _) in zip(range(count), load.inputs(name))]
    program = os.path.join(folder, name + ".ash")
    subprocess.run([tool("ashlarc"), model, "-o", program], check=True,
                   stdout=subprocess.DEVNULL)
    return model, program, samples


def save(path, samples):
    np.savez(path, **{k: np.concatenate([s[k] for s in samples])
                      for k in samples[0]})


def emulate(emulator, program, inputs, kernels, threads, folder, extra=()):
    """(report, wall seconds of the process)."""
    report = os.path.join(folder, "report.json")
    start = time.monotonic()
    subprocess.run([emulator, program, f"--inputs={inputs}", "--quiet",
                    f"--kernels={kernels}", f"--threads={threads}",
                    f"--report={report}", *extra], check=True)
    seconds = time.monotonic() - start
    with open(report, encoding="utf-8") as stream:
        return json.load(stream), seconds


def measure(name, options, folder):
    """Rows (network, kernels, ours, theirs, cycles per second, load)."""
    model, program, samples = prepare(name, folder)
    one = os.path.join(folder, "one.npz")
    save(one, samples[:1])
    ours = {k: [] for k in options.kernels}
    loads, theirs, cycles = [], [], 0
    for _ in range(options.rounds):
        _, times = ort.run(model, samples[:1], threads=options.threads,
                           repeat=5)
        theirs.append(min(times) / 1000)
        for kernels in options.kernels:
            report, _ = emulate(options.emulator, program, one, kernels,
                                options.threads, folder)
            ours[kernels].append(report["wall_seconds"])
            loads.append(report["load_seconds"])
            cycles = report["total_cycles"]
    for kernels in options.kernels:
        best = min(ours[kernels])
        yield (name, kernels, best, min(theirs), cycles / best, min(loads))
    if len(samples) > 1:
        every = os.path.join(folder, "all.npz")
        save(every, samples)
        for kernels in options.kernels:
            # Whole processes, minus the time of one with a single sample.
            few = min(emulate(options.emulator, program, one, kernels,
                              options.threads, folder)[1]
                      for _ in range(options.rounds))
            many = min(emulate(options.emulator, program, every, kernels,
                               options.threads, folder)[1]
                       for _ in range(options.rounds))
            yield (f"{name}, {len(samples)} samples, each", kernels,
                   (many - few) / (len(samples) - 1), min(theirs), None, None)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kernels", type=lambda s: s.split(","))
    parser.add_argument("--networks", type=lambda s: s.split(","),
                        default=NETWORKS)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--emulator", default=tool("ashlar-run"))
    options = parser.parse_args()
    if not ort.available():
        raise SystemExit(f"no ONNX Runtime in {ort.folder()}")
    options.kernels = options.kernels or kernel_sets()
    print(f"{host()}; {options.threads} threads\n")
    print("| network | kernels | emulation, ms | ONNX Runtime, ms | ratio "
          "| Mcycles/s | load, ms |\n|---|---|---|---|---|---|---|")
    for name in options.networks:
        with tempfile.TemporaryDirectory() as folder:
            for row in measure(name, options, folder):
                what, kernels, ours, theirs, rate, load = row
                rate = "" if rate is None else f"{rate / 1e6:.1f}"
                load = "" if load is None else f"{load * 1000:.0f}"
                print(f"| {what} | {kernels} | {ours * 1000:.2f} | "
                      f"{theirs * 1000:.2f} | {ours / theirs:.2f} | {rate} | "
                      f"{load} |", flush=True)


if __name__ == "__main__":
    main()
