#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random networks under random formats, policies, machines and options: every
planned tensor of the emulator against the numpy reference.

usage: random_formats.py [--seeds=0:20] [--seconds=N] [--keep=DIR]

A seed decides a network (random_network.py), the formats of all its products
(W 3 to 16, B 8 to 64, axis or tensor, D 0 to 15, each operand its own), the
scale-exponent policy, the machine (built in, or sizes drawn) and the options that
must not change a bit. Fails if one bit differs, a tool fails in any other way
than by saying that something does not fit (exit codes 3 and 5, counted), or
nothing was compared. With --seconds seeds are taken until the time is over;
--keep keeps the files of failures.
"""

import argparse
import collections
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time

import numpy as np
import onnx

import common
import numerics_model
import random_network

REFERENCE = os.path.join(common.ROOT, "test", "reference", "reference.py")
BLOCKS = [8, 16, 32, 64, "axis", "tensor"]
UNSUPPORTED, CAPACITY = 3, 5


def valid_machine(path):
    return common.run_tool("ashlarc", f"--dump-machine={path}", check=False).returncode == 0


def machine(draw, folder):
    """Name of a built-in machine or path of one with sizes drawn."""
    base = draw.choice(["a1", "a1", "a1-tiny", "a1-tiny", "fig3-4x4", "fig4-128x64"])
    if draw.random() < 0.5:
        return base
    base = draw.choice(["a1", "a1-tiny"])
    text = common.run_tool("ashlarc", f"--dump-machine={base}").stdout
    sizes = {"dram:latency": [1, 20, 200], "dma:queues": [1, 2, 4],
             "sb:partitions": [8, 16, 32, 64], "sb:bytes_per_partition": [16384, 65536, 131072],
             "pe:rows": [4, 8, 16, 32], "pe:columns": [4, 8, 16, 32],
             "pe:cell_digit_bits": [8, 16], "pe:shadow_set": ["true", "false"],
             "psum:banks": [1, 2, 4], "psum:entries_per_bank": [32, 64, 256],
             "act:lanes": [4, 16], "vec:lanes": [4, 8, 16]}
    lines, section = [], ""
    for line in text.splitlines():
        if line and not line.startswith(" "):
            section = line.split(":")[0]
        key = f"{section}:{line.strip().split(':')[0]}"
        if key in sizes and draw.random() < 0.4:
            line = f"  {line.strip().split(':')[0]}: {draw.choice(sizes[key])}"
        lines.append(line)
    path = os.path.join(folder, "machine.yaml")
    with open(path, "w", encoding="utf-8") as file:
        file.write("\n".join(lines) + "\n")
    # Not every combination is a machine.
    return path if valid_machine(path) else base


def formats(draw, model, folder):
    """Options that choose the formats."""
    kind = draw.random()
    if kind < 0.4:
        return ["--formats=" + numerics_model.mixed_table(
            draw.random(), model, folder, BLOCKS)]
    if kind < 0.8:
        return ["--activations=" + numerics_model.any_format(draw, BLOCKS),
                "--weights=" + numerics_model.any_format(draw, BLOCKS)]
    return ["--format=" + numerics_model.any_format(draw, BLOCKS)]


def options(draw, model, calibration, folder):
    chosen = formats(draw, model, folder) + ["--machine=" + machine(draw, folder)]
    policy = draw.choice(["runmax"] * 4 + ["fixed", "table", f"fixed(e={draw.randint(-25, 5)})"])
    if policy != "runmax":
        chosen += [f"--scale={policy}", f"--calibrate={calibration}"]
    for option, values in (("sparse", ["auto", "off", "tile"]),
                           ("fold-w", ["auto", "off", "stride", "lane", "both"]),
                           ("transpose", ["auto", "pe", "dma", "copy"]),
                           ("residual", ["bfp", "bf16", "f32"])):
        if draw.random() < 0.5:
            chosen.append(f"--{option}={draw.choice(values)}")
    return chosen


def tool(name, *arguments):
    return subprocess.run([common.tool(name), *map(str, arguments)], text=True,
                          capture_output=True, timeout=600)


def check(seed, folder):
    """(outcome, text): 'equal', 'refused' or 'FAIL'."""
    draw = random.Random(seed)
    network, (calibration, values) = random_network.build(seed, 2)
    model = os.path.join(folder, "model.onnx")
    onnx.save(network, model)
    np.savez(os.path.join(folder, "calibrate.npz"), **calibration)
    inputs = os.path.join(folder, "in.npz")
    np.savez(inputs, **values)
    chosen = options(draw, model, os.path.join(folder, "calibrate.npz"), folder)
    with open(os.path.join(folder, "options"), "w", encoding="utf-8") as file:
        file.write("\n".join(chosen) + "\n")
    binary, plan, dump = (os.path.join(folder, n) for n in ("m.ash", "plan", "dump"))
    text = " ".join(o.replace(folder, "") for o in chosen)
    done = tool("ashlarc", model, "-o", binary, f"--dump-plan={plan}", *chosen)
    if done.returncode in (UNSUPPORTED, CAPACITY):
        return "refused", f"{text}: {done.stderr.strip().replace(folder, '')}"
    if done.returncode:
        return "FAIL", f"{text}: ashlarc {done.returncode}: {done.stderr.strip()}"
    done = tool("ashlar-run", binary, f"--inputs={inputs}", f"--dump-tensors={dump}",
                f"--threads={draw.choice([1, 2])}",
                f"--outputs={os.path.join(folder, 'out.npz')}")
    if done.returncode:
        return "FAIL", f"{text}: ashlar-run {done.returncode}: {done.stderr.strip()}"
    done = subprocess.run([sys.executable, REFERENCE, plan, inputs, dump], text=True,
                          capture_output=True)
    outcome = "FAIL" if done.returncode else "equal"
    return outcome, f"{text}: {(done.stdout + done.stderr).strip()}"


def run(seed, keep):
    with tempfile.TemporaryDirectory() as folder:
        try:
            outcome, text = check(seed, folder)
        except subprocess.TimeoutExpired as error:
            outcome, text = "FAIL", f"no end after {error.timeout} s"
        if outcome == "FAIL" and keep:
            shutil.copytree(folder, os.path.join(keep, str(seed)), dirs_exist_ok=True)
    return outcome, text


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", default="0:20")
    parser.add_argument("--seconds", type=float)
    parser.add_argument("--keep")
    parser.add_argument("--verbose", action="store_true")
    chosen = parser.parse_args()
    first, last = map(int, chosen.seeds.split(":"))
    end = time.monotonic() + chosen.seconds if chosen.seconds else None
    outcomes, reasons = collections.Counter(), []
    seed = first
    while seed < last if end is None else time.monotonic() < end:
        outcome, text = run(seed, chosen.keep)
        outcomes[outcome] += 1
        if chosen.verbose or outcome == "FAIL":
            print(outcome, seed, text, flush=True)
        elif outcome == "refused":
            reasons.append(f"refused {seed} {text}")
        seed += 1
    for reason in reasons:
        print(reason)
    print(f"{seed - first} networks: {outcomes['equal']} equal in every bit, "
          f"{outcomes['refused']} refused, {outcomes['FAIL']} failures")
    return int(bool(outcomes["FAIL"]) or not outcomes["equal"])


if __name__ == "__main__":
    sys.exit(main())
