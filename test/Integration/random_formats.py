#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random networks under random formats, policies, machines and options: every
planned tensor of the emulator against the numpy reference.

usage: random_formats.py [--seeds=0:20] [--seconds=N] [--keep=DIR]

A seed decides a network (random_network.py), the formats of all its products
(W 3 to 16, B 8 to 64, axis or tensor, D 0 to 15, each operand its own), the
scale-exponent policy, the machine (built in, or sizes drawn) and the options that
must not change a bit. Under policies with state there are four runs with inputs
of other sizes, each given what the last one left, compared as well. Fails if one bit differs, a tool fails in any other way
than by saying that something does not fit (exit codes 3 and 5, counted), or
nothing was compared. With --seconds seeds are taken until the time is over;
--keep keeps the files of failures.
"""

import os
import random
import subprocess
import sys

import numpy as np
import onnx

import common
import numerics_model
import random_network
import seed_sweep

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
             "pe:cell_digit_bits": [8, 16], "pe:narrow_bits": [3, 4, 5],
             "pe:shadow_set": ["true", "false"],
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
                "--weights=" + numerics_model.any_format(draw, BLOCKS, weights=True)]
    return ["--format=" + numerics_model.any_format(draw, BLOCKS, weights=True)]


def stateful_policy(seed):
    """Exponents from earlier runs, or None; drawn apart from all else, so that a
    seed keeps its network and formats."""
    draw = random.Random(f"state {seed}")
    if draw.random() < 0.6:
        return None
    k = draw.choice([0, 1, 2.5, 3, 4, 6])
    count = draw.choice([0, 1, 37, 512, 8192])
    policy = f"stats(k={k},n={count})" if draw.random() < 0.5 else \
        f"predict(k={k},depth={draw.choice([1, 2, 8])})"
    if draw.random() < 0.2 and policy.startswith("stats"):
        policy = policy[:-1] + ",lead=ceil)"
    if draw.random() < 0.3:
        policy = f"error(t={draw.choice([0, 3, 4, 8, 20])},n={count})"
    return stored(draw, policy)


def stored(draw, policy):
    """The policy, maybe one of the stored exponents."""
    if draw.random() < 0.4:
        return policy
    items = ["overflow=" + draw.choice(["saturate", "wrap", "repair"])]
    if not policy.startswith("error"):
        items.insert(0, "at=store")
    name, _, parameters = policy.rstrip(")").partition("(")
    return f"{name}({','.join(filter(None, [parameters, *items]))})"


def options(draw, model, calibration, folder, place):
    chosen = formats(draw, model, folder) + ["--machine=" + machine(draw, folder)]
    policy = draw.choice(["runmax"] * 4 + ["fixed", "table", f"fixed(e={draw.randint(-25, 5)})"])
    if policy != "runmax":
        policy = stored(place, policy)
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
    chosen = options(draw, model, os.path.join(folder, "calibrate.npz"), folder,
                     random.Random(f"place {seed}"))
    policy = stateful_policy(seed)
    runs = 1
    if policy and not any(option.startswith("--scale=") for option in chosen):
        chosen.append(f"--scale={policy}")
        runs = 4
    with open(os.path.join(folder, "options"), "w", encoding="utf-8") as file:
        file.write("\n".join(chosen) + "\n")
    text = " ".join(o.replace(folder, "") for o in chosen)
    done = tool("ashlarc", model, "-o", os.path.join(folder, "model.ash"),
                f"--dump-plan={folder}/plan", *chosen)
    if done.returncode in (UNSUPPORTED, CAPACITY):
        return "refused", f"{text}: {done.stderr.strip().replace(folder, '')}"
    if done.returncode:
        return "FAIL", f"{text}: ashlarc {done.returncode}: {done.stderr.strip()}"
    outcome, said = compare(folder, inputs, runs, draw.choice([1, 2]))
    return outcome, f"{text}: {said}"


def compare(folder, inputs, runs, threads):
    """(outcome, text) of the compiled network against the reference."""
    for run_index in range(runs):
        sample = numerics_model.scaled_inputs(inputs, run_index, folder)
        machine, reference = numerics_model.commands(folder, sample, run_index, runs, threads)
        for command in (machine, reference):
            done = subprocess.run(command, text=True, capture_output=True, timeout=600)
            said = f"run {run_index}: {(done.stdout + done.stderr).strip()}"
            if done.returncode:
                return "FAIL", f"exit code {done.returncode}, {said}"
        wrong = numerics_model.states_differ(folder, run_index) if runs > 1 else []
        if wrong:
            return "FAIL", f"run {run_index}: another exponent for the next run: {wrong}"
    return "equal", said


if __name__ == "__main__":
    sys.exit(seed_sweep.main(__doc__, "networks", check))
