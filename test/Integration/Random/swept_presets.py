#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Shared models on presets of which a few parameters were changed, as a sweep does.

usage: swept_presets.py [--seeds=0:20] [--seconds=N] [--keep=DIR] [--verbose]

A seed decides a preset, one to four parameters (random_machines.py, and numbers of
partitions up to the most that a machine may have), a shared model and options. Fails if

- ashlarc ends in any other way than with a program or by saying what does not fit
  (exit codes 2, 3 and 5; 4 if the machine contradicts itself), or takes more than a
  minute of processor time,
- ashlar-run does not run the program,
- an output differs in a bit from that of the same model on a1, where both have the same
  numeric plan,
- nothing was compared.
"""

import functools
import glob
import os
import random
import subprocess
import sys
import tempfile

import numpy as np

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

import common  # noqa: E402
import random_machines  # noqa: E402
import seed_sweep  # noqa: E402

PRESETS = ["a1", "a1", "a1-ideal", "a1-iso", "a1-edge", "a1-tiny"]
PARTITIONS = [8, 16, 40, 64, 96, 120, 128, 160, 256, 512, 1000, 1024, 2048, 4088]
LARGEST, LARGEST_ON_TINY = 16 << 20, 2 << 20  # bytes of a model
OPTIONS = {
    "sparse": ["off", "tile", "auto"], "fold-w": ["off", "stride", "lane", "both"],
    "format": ["bfp16", "bfp12"], "scale": ["fixed(e=-4)"], "residual": ["bf16", "f32"],
    "function-engine": ["shared", "vector", "drain"], "pool-drain": ["on"], "pack-rows": ["apart", "off"],
}


def models(preset):
    """The light ones are small files of large networks: too much for a1-tiny."""
    tiny = preset == "a1-tiny"
    paths = glob.glob(os.path.join(common.MODELS, "*.onnx"))
    if not tiny:
        paths += glob.glob(os.path.join(common.MODELS, "light", "*.onnx"))
    return [path for path in sorted(paths)
            if os.path.getsize(path) <= (LARGEST_ON_TINY if tiny else LARGEST)]


def draw_machine(draw, preset):
    values = {**random_machines.SIZES, **random_machines.PRICES, "sb.partitions": PARTITIONS,
              "pe.rows": random_machines.EXTENTS, "pe.columns": random_machines.EXTENTS,
              "vec.psum_lanes": [4, 64, 100]}
    names = draw.sample(sorted(values), draw.choice([1, 1, 2, 3]))
    if draw.random() < 0.4:
        names[0] = "sb.partitions"
    elif draw.random() < 0.3:
        names[0] = "vec.psum_lanes"
    machine = random_machines.Machine.read(preset).changed(
        {name: draw.choice(values[name]) for name in names})
    # Rows and columns of the array have a partition each.
    for side in ("pe.rows", "pe.columns"):
        if machine.number(side) > machine.number("sb.partitions"):
            machine = machine.changed({side: machine.number("sb.partitions")})
    if machine.number("pe.rows") % machine.number("pe.row_group_granularity"):
        machine = machine.changed({"pe.row_group_granularity": 1})
    return machine


def draw_options(draw):
    return [f"--{name}={draw.choice(values)}" for name, values in OPTIONS.items()
            if draw.random() < 0.2]


def compile_model(model, machine, options, folder):
    """(exit code, what it said) of ashlarc, which leaves m.ash and plan."""
    done = subprocess.run(
        [common.tool("ashlarc"), model, f"--machine={machine}", "-o",
         os.path.join(folder, "m.ash"), f"--dump-plan={os.path.join(folder, 'plan')}", *options],
        text=True, capture_output=True, preexec_fn=random_machines.limit_time)
    return done.returncode, done.stderr.strip()


def outputs(folder):
    """Bytes of the outputs by name."""
    path = os.path.join(folder, "out.npz")
    common.run_tool("ashlar-run", os.path.join(folder, "m.ash"), "--random-inputs=1",
                    f"--outputs={path}", "--quiet", "--no-cache")
    with np.load(path) as arrays:
        return {name: arrays[name].tobytes() for name in arrays}


def plan_of(folder):
    with open(os.path.join(folder, "plan", "plan.json"), "rb") as file:
        return file.read()


@functools.lru_cache(maxsize=None)
def on_a1(model, *options):
    """(numeric plan, outputs) of a model on a1, or nothing if it is refused."""
    with tempfile.TemporaryDirectory() as folder:
        code, _ = compile_model(model, "a1", options, folder)
        return (plan_of(folder), outputs(folder)) if code == 0 else None


def check(seed, folder):
    draw = random.Random(seed)
    preset = draw.choice(PRESETS)
    machine, options = draw_machine(draw, preset), draw_options(draw)
    model = draw.choice(models(preset))
    path = machine.write(os.path.join(folder, "machine.yaml"))
    changes = machine.difference(random_machines.Machine.read(preset))
    name = f"{os.path.basename(model)} on {preset} {changes} {' '.join(options)}: "
    code, said = compile_model(model, path, options, folder)
    if code in (2, 3, 4, 5):
        return "refused", f"{name}exit code {code}: {said[:300]}"
    if code:
        raise seed_sweep.Mismatch(f"{name}ashlarc: exit code {code}: {said[:400]}")
    own, reference = outputs(folder), on_a1(model, *options)
    if reference is None or reference[0] != plan_of(folder):
        return "another plan", name
    if reference[1] != own:
        return "FAIL", f"{name}outputs differ from those of a1, with the same numeric plan"
    return "equal", name


if __name__ == "__main__":
    sys.exit(seed_sweep.main(__doc__, "swept presets", check))
