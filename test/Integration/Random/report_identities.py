#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Reports whose numbers cannot be true: sums that differ, engines above their peak.

usage: report_identities.py [--seeds=0:20] [--seconds=N] [--keep=DIR] [--verbose]

A seed decides network, machine and options as in random_machines.py; every fourth
network is one of integers (quantized.py), every fifth machine is huge or starving.
The reports of compiler and run must keep report_rules.py, hold all parameters of
the machine and give it the name that its description has, or its file's.
"""

import json
import os
import random
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

import quantized  # noqa: E402
import random_machines  # noqa: E402
import report_rules  # noqa: E402
import seed_sweep  # noqa: E402

HUGE = {"pe.rows": 512, "pe.columns": 512, "sb.partitions": 512, "psum.entries_per_bank": 4096,
        "act.lanes": 512, "vec.lanes": 1024, "sparse.tcus": 64, "sparse.lanes": 1024,
        "dram.bytes_per_cycle": 4096, "dma.onchip_bytes_per_cycle": 4096}
STARVING = {"act.lanes": 1, "vec.lanes": 1, "dram.bytes_per_cycle": 1, "pe.cell_digit_bits": 3,
            "dma.onchip_bytes_per_cycle": 1, "sparse.tcus": 1, "sparse.lanes": 1,
            "pe.shadow_set": "false", "dma.queues": 1}


def draw_machine(draw):
    kind = draw.random()
    if kind < 0.1:
        return random_machines.Machine.read("a1").changed(HUGE)
    if kind < 0.2:
        return random_machines.Machine.read(draw.choice(["a1", "a1-tiny"])).changed(STARVING)
    return random_machines.draw_machine(draw)


def draw_integers(seed, folder):
    """Writes a network of integer operators; no options belong to it."""
    net, x = quantized.build(seed)
    quantized.save(net, os.path.join(folder, "model.onnx"), x)


def read(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def parameters(machine):
    """The report's object as `section.key` -> text."""
    flat = {}
    for key, value in machine.items():
        entries = value.items() if isinstance(value, dict) else [("", value)]
        for name, entry in entries:
            text = str(entry).lower() if isinstance(entry, bool) else str(entry)
            flat[f"{key}.{name}" if name else key] = text
    return flat


def check(seed, folder):
    draw = random.Random(seed)
    machine = draw_machine(draw)
    named = draw.random() < 0.5
    lines = machine.text().splitlines()
    path = os.path.join(folder, "my machine.yaml")
    with open(path, "w", encoding="utf-8") as file:
        file.write("\n".join(l for l in lines if named or not l.startswith("name:")) + "\n")
    model = os.path.join(folder, "model.onnx")
    chosen = []
    if draw.random() < 0.25:
        draw_integers(seed, folder)
        what = "integers"
    else:
        what = random_machines.draw_network(draw, seed, folder)
        chosen = random_machines.draw_options(draw, model, folder)
    program, compiled, ran = (os.path.join(folder, n) for n in ("m.ash", "c.json", "r.json"))
    try:
        random_machines.tool("ashlarc", model, "-o", program, *chosen, f"--machine={path}",
                             f"--report={compiled}", may_refuse=True)
    except random_machines.Refusal as why:
        return "refused", f"{what}: {why}".replace(folder, "")
    random_machines.tool("ashlar-run", program, "--random-inputs=1", f"--report={ran}", "--quiet",
                         "--threads=2")
    first, second = read(compiled), read(ran)
    broken = report_rules.check_compile(first) + report_rules.check_run(second)
    expected = dict(machine.values)
    expected["name"] = expected["name"].strip("'") if named else "my machine"
    for report in (first, second):
        if report["machine"] != expected["name"]:
            broken.append(f"machine '{report['machine']}', expected '{expected['name']}'")
        found = parameters(report["machine_parameters"])
        if found != expected:
            broken.append(f"parameters {dict(found.items() ^ expected.items())}")
    if broken:
        raise seed_sweep.Mismatch("; ".join(broken[:5]))
    return "equal", what


if __name__ == "__main__":
    sys.exit(seed_sweep.main(__doc__, "reports", check))
