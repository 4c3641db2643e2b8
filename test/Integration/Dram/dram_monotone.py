#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""One program on machines whose DRAM with banks is better in one parameter.

usage: dram_monotone.py [--seeds=0:20] [--seconds=N] [--keep=DIR] [--verbose]

Programs and networks are those of dram_banks.py. Without refresh, more bytes per
cycle, a shorter latency, precharge, activation or column access and a faster copy queue
never cost a cycle (docs/Machine.md 8): a failure if one does. With refresh, and for the
other parameters, the text says how often the better machine was slower, and by how
much at most.
"""

import os
import random
import re
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

import dram_banks  # noqa: E402
import random_machines  # noqa: E402
import seed_sweep  # noqa: E402

TIMES = ["dram.activate_cycles", "dram.precharge_cycles", "dram.column_cycles"]
RATES = ["dram.bytes_per_cycle", "dma.onchip_bytes_per_cycle"]


def steps(machine, draw):
    """[(parameter, changes, whether it is a promise without refresh)]"""
    found = [(key, {key: machine.number(key) * draw.choice([2, 3]) + draw.choice([0, 1])}, True)
             for key in RATES]
    found += [(key, {key: machine.number(key) // 2}, True) for key in TIMES]
    prepare = sum(machine.number(key) for key in TIMES)
    found.append(("dram.latency", {"dram.latency": max(prepare, machine.number("dram.latency") // 2)},
                  True))
    found.append(("dram.refresh_cycles",
                  {"dram.refresh_cycles": machine.number("dram.refresh_cycles") // 2}, False))
    for key in ("dram.banks", "dram.row_bytes"):
        found.append((key, {key: machine.number(key) * 2}, False))
    found.append(("dram.refresh_interval", {"dram.refresh_interval": 0}, False))
    found.append(("dram.misaligned_bursts", {"dram.misaligned_bursts": "false"}, False))
    return found


def cycles(text, machine, inputs, folder):
    quoted = machine.text().replace("\n", "\\n").replace("'", "")
    source, program, report = (os.path.join(folder, n) for n in ("p.s", "p.ash", "p.json"))
    changed = re.sub(r"(?m)^\.machine .*$", lambda _: f'.machine yaml="{quoted}"', text, count=1)
    with open(source, "w", encoding="utf-8") as file:
        file.write(changed)
    random_machines.tool("ashlar-as", source, "-o", program)
    random_machines.tool("ashlar-run", program, inputs, "--quiet", f"--report={report}")
    return dram_banks.read(report)["total_cycles"]


class Account:
    """How often each parameter was slower, with refresh and without."""
    runs, slower, worst = {}, {}, {}

    @classmethod
    def add(cls, key, before, after):
        cls.runs[key] = cls.runs.get(key, 0) + 1
        cls.slower[key] = cls.slower.get(key, 0) + (after > before)
        cls.worst[key] = max(cls.worst.get(key, 0), after / before - 1)

    @classmethod
    def text(cls):
        return "\n".join(f"{'  '.join(key)}: slower in {cls.slower[key]} of {cls.runs[key]}, "
                         f"by {100 * cls.worst[key]:.2f} % at most"
                         for key in sorted(cls.runs))


def check(seed, folder):
    draw = random.Random(seed)
    make = dram_banks.draw_network if seed % 5 == 4 else dram_banks.draw_program
    binary, what = make(seed, folder)
    text = random_machines.tool("ashlar-dis", binary)
    drawn = random_machines.Machine.read(os.path.join(folder, "banks.yaml"))
    inputs = f"--random-inputs={seed}"
    for refresh in (False, True):
        machine = drawn
        if not refresh:
            machine = drawn.changed({"dram.refresh_interval": 0})
        elif drawn.number("dram.refresh_interval") == 0:
            machine = drawn.changed({"dram.refresh_interval": 3900, "dram.refresh_cycles": 280})
        before = cycles(text, machine, inputs, folder)
        for key, changes, promise in steps(machine, draw):
            after = cycles(text, machine.changed(changes), inputs, folder)
            Account.add(("refresh" if refresh else "none   ", key), before, after)
            if promise and not refresh and after > before:
                raise seed_sweep.Mismatch(f"{what}: {changes} takes {after} cycles, "
                                           f"before {before}")
    return "equal", what


if __name__ == "__main__":
    failed = seed_sweep.main(__doc__, "programs", check)
    print(Account.text())
    sys.exit(failed)
