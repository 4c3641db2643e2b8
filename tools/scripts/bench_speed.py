#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The board of speed: every figure beside its peer, in one run.

usage: bench_speed.py [--kernels=avx512vnni,avx2] [--networks=NAME,...]
                      [--threads=2] [--rounds=5] [--emulator=PATH]
                      [--compiler=PATH] [--json=FILE]

For every network: compiles it, then takes turns between a timed emulation of
one sample with each kernel set and the same sample in ONNX Runtime (fp32), so
that all see the same state of the host. Prints the least time of each and
their ratio, simulated cycles per second, the time per sample of a data set,
the time of a load without and with a kept proof, and processor seconds and
memory of the compiler. Names the host's processor and vector instructions.
Nothing fails on time. --emulator and --compiler measure other binaries; --json
writes the rows for docs/Speed.md (figures.py).
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time

import numpy as np

import drawn
import measured
import ort
import refill_light

BUILD = os.environ.get("ASHLAR_BUILD", os.path.join(ort.ROOT, "build"))
MODELS = os.environ.get("ASHLAR_MODELS",
                        os.path.join(ort.ROOT, "..", "shared", "models"))
NETWORKS = ["resnet50", "squeezenet1_1", "mobilenet_v2_1.0_224",
            "shufflenet_v2_1.0", "kwt1_ln17", "resnet20_cifar10"]
DATA_SET = {"resnet20_cifar10": 256}
FEATURES = ["avx2", "avx512bw", "avx512_vnni", "amx_int8"]
HEAD = ["network", "kernels", "emulation, ms", "ONNX Runtime, ms", "ratio",
        "Mcycles/s"]
COSTS = ["network", "load, ms", "load with a kept proof, ms",
         "compile, processor s", "compile, MiB", "model, MiB"]


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


def inputs_of(name):
    """(model, samples) of a network."""
    if name == "resnet50":
        return (drawn.model(drawn.RESNET50),
                [{"image": next(refill_light.images(1, 3))}])
    sys.path.insert(0, MODELS)
    import load  # the networks' own inputs
    import onnx
    model = os.path.join(MODELS, name + ".onnx")
    graph = onnx.load(model, load_external_data=False).graph
    count = DATA_SET.get(name, 1)
    return model, [{graph.input[0].name: x}
                   for _, (x, _) in zip(range(count), load.inputs(name))]


def compile_model(options, model, program):
    """(processor seconds, MiB at most) of the compiler."""
    usage = measured.run([options.compiler, model, "-o", program])
    return usage.processor, usage.peak / 2**20


def save(path, samples):
    np.savez(path, **{k: np.concatenate([s[k] for s in samples])
                      for k in samples[0]})


def emulate(options, program, inputs, kernels, folder, *extra):
    """(report, wall seconds of the process)."""
    report = os.path.join(folder, "report.json")
    start = time.monotonic()
    subprocess.run([options.emulator, program, f"--inputs={inputs}", "--quiet",
                    f"--kernels={kernels}", f"--threads={options.threads}",
                    f"--report={report}", *extra], check=True,
                   env=dict(os.environ, XDG_CACHE_HOME=folder))
    seconds = time.monotonic() - start
    with open(report, encoding="utf-8") as stream:
        return json.load(stream), seconds


def single(name, model, program, samples, options, folder):
    """Rows of one sample."""
    one = os.path.join(folder, "one.npz")
    save(one, samples[:1])
    ours, theirs, cycles = {k: [] for k in options.kernels}, [], 0
    for _ in range(options.rounds):
        _, times = ort.run(model, samples[:1], threads=options.threads,
                           repeat=5)
        theirs.append(min(times) / 1000)
        for kernels in options.kernels:
            report, _ = emulate(options, program, one, kernels, folder)
            ours[kernels].append(report["wall_seconds"])
            cycles = report["total_cycles"]
    for kernels in options.kernels:
        best, peer = min(ours[kernels]), min(theirs)
        yield [name, kernels, f"{best * 1000:.2f}", f"{peer * 1000:.2f}",
               f"{best / peer:.2f}", f"{cycles / best / 1e6:.1f}"]
    if len(samples) > 1:
        yield from data_set(name, program, samples, min(theirs), options, folder)


def data_set(name, program, samples, peer, options, folder):
    """Rows of many samples: whole processes, minus that of a single sample."""
    one, every = (os.path.join(folder, n) for n in ("one.npz", "all.npz"))
    save(every, samples)
    for kernels in options.kernels:
        few, many = (min(emulate(options, program, path, kernels, folder)[1]
                         for _ in range(options.rounds))
                     for path in (one, every))
        each = (many - few) / (len(samples) - 1)
        yield [f"{name}, each of {len(samples)}", kernels, f"{each * 1000:.2f}",
               f"{peer * 1000:.2f}", f"{each / peer:.2f}", ""]


def loads(program, options, folder):
    """Milliseconds of a load without and with a kept proof."""
    one = os.path.join(folder, "one.npz")
    def least(*extra):
        return min(emulate(options, program, one, options.kernels[-1], folder,
                           *extra)[0]["load_seconds"]
                   for _ in range(options.rounds)) * 1000
    emulate(options, program, one, options.kernels[-1], folder)
    return [f"{least('--no-cache'):.1f}", f"{least():.1f}"]


def measure(name, options):
    """(rows of HEAD, row of COSTS) of a network."""
    model, samples = inputs_of(name)
    with tempfile.TemporaryDirectory() as folder:
        program = os.path.join(folder, name + ".ash")
        compiled = [compile_model(options, model, program)
                    for _ in range(options.rounds)]
        rows = list(single(name, model, program, samples, options, folder))
        costs = [name, *loads(program, options, folder),
                 f"{min(s for s, _ in compiled):.2f}",
                 f"{max(m for _, m in compiled):.0f}",
                 f"{os.path.getsize(model) / 2**20:.1f}"]
    return rows, costs


def show(head, rows):
    print("| " + " | ".join(head) + " |\n" + "|---" * len(head) + "|")
    for row in rows:
        print("| " + " | ".join(row) + " |")
    print(flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kernels", type=lambda s: s.split(","))
    parser.add_argument("--networks", type=lambda s: s.split(","),
                        default=NETWORKS)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--emulator", default=tool("ashlar-run"))
    parser.add_argument("--compiler", default=tool("ashlarc"))
    parser.add_argument("--json")
    options = parser.parse_args()
    if not ort.available():
        raise SystemExit(f"no ONNX Runtime in {ort.folder()}")
    options.kernels = options.kernels or kernel_sets()
    where = f"{host()}; {options.threads} threads"
    print(where + "\n", flush=True)
    rows, costs = [], []
    for name in options.networks:
        own, cost = measure(name, options)
        show(HEAD, own)
        rows += own
        costs.append(cost)
    show(COSTS, costs)
    if options.json:
        with open(options.json, "w", encoding="utf-8") as stream:
            json.dump({"host": where, "rows": rows, "costs": costs}, stream,
                      indent=1)


if __name__ == "__main__":
    main()
