#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Networks on random machines: bits, cycles and refusals.

usage: random_machines.py [--seeds=0:20] [--seconds=N] [--keep=DIR] [--verbose]

A seed decides a machine (arrays of any shape up to 256 x 128, memories, queues,
lanes, costs, sparse cluster, registers), a network (random_network.py, or a shared
model, pruned or not) and options that must not change a bit. Fails if

- a planned tensor differs from the numpy reference (reference.py),
- a tool ends in any other way than by saying what does not fit (exit codes 2, 3
  and 5, counted), or takes more than a minute of processor time,
- a report's numbers cannot be true (report_rules.py),
- the same instructions take more cycles after more bandwidth, more lanes, cheaper
  operations or less latency (docs/Machine.md, section 8), or give other results,
- the network compiled for a machine that is better in all of that, and has a
  bigger array, takes more than LARGEST_LOSS times the cycles, besides those in
  which the bigger array fills once for every node,
- nothing was compared.

With --seconds seeds are taken until the time is over; --keep keeps the files of
failures.
"""

import json
import os
import random
import re
import resource
import shutil
import subprocess
import sys

import numpy as np
import onnx

import common
import random_formats
import random_network
import report_rules
import seed_sweep

USAGE, UNSUPPORTED, CAPACITY = 2, 3, 5
LIMIT, LONGEST = 60, 900  # seconds of one tool: processor time, in all
LARGEST_LOSS = 1.25
LARGE_PROGRAM = 16 << 20  # bytes: as text, minutes
SHORT_BANK = 16  # entries: every few steps wait for a drain, which nothing predicts
SLOW_FETCH = 16  # bytes a cycle: the number of instructions decides, which nothing predicts
SHARED = ["mnist_cnn"] * 3 + ["resnet8_cifar10", "kws_dscnn"] * 2 + ["kwt1_ln17"]

EXTENTS = [1, 3, 4, 6, 8, 8, 12, 16, 16, 20, 24, 32, 32, 48, 64, 64, 100, 128]
SIZES = {
    "dram.bytes_per_cycle": [1, 3, 8, 32, 64, 200, 1024],
    "dram.latency": [0, 1, 20, 200, 5000], "dram.burst_bytes": [1, 16, 64, 512],
    "dma.queues": [1, 2, 3, 4], "dma.onchip_bytes_per_cycle": [1, 8, 48, 128, 1024],
    "sb.bytes_per_partition": [1024, 4096, 8192, 16384, 32768, 65536, 131072],
    "pe.cell_digit_bits": [1, 3, 4, 8, 8, 16], "pe.load_rows_per_cycle": [1, 2, 5, 16],
    "pe.shadow_set": ["true", "false"], "pe.narrow_bits": [0, 0, 3, 4, 5],
    "psum.banks": [1, 2, 3, 4, 8], "psum.entries_per_bank": [1, 7, 32, 64, 100, 512, 2048],
    "act.lanes": [1, 3, 4, 16, 64, 256], "act.latency": [0, 4, 32, 500],
    "vec.lanes": [1, 5, 8, 16, 128, 1000], "vec.latency": [0, 4, 32, 500],
    "sparse.tcus": [1, 2, 3, 4, 7, 16, 32], "sparse.lanes": [1, 7, 16, 64, 128, 300],
    "sparse.coefficients_per_step": [1, 2, 3, 8], "sparse.fmu_bytes": [64, 1000, 4096, 65536],
    "sparse.fmu_sets": [1, 2, 3], "sparse.wm_bytes": [512, 8192, 65536, 524288],
    "sparse.wm_banks": [1, 2, 4, 16], "sparse.wm_broadcast": [1, 2, 4],
    "sparse.accumulator_entries": [1, 64, 100, 512, 8192],
    "sparse.accumulate_latency": [1, 2, 5], "sparse.tile_tables": [1, 2, 16],
    "sparse.count_entries": [1, 16, 200, 4096, 65536],
    "sparse.counts_per_cycle": [1, 4, 16], "sparse.part_cycles": [0, 32, 1000],
    "sparse.queue_depth": [0, 0, 1, 16, 1000],
    "sparse.binding": ["static", "2x2", "mesh", "benes"],
    "xr.registers": [1, 8, 40, 64, 200, 1024], "sr.registers": [1, 2, 16],
}

PRICES = {
    "dma.setup_cycles": [0, 8, 100], "dma.onchip_latency": [0, 32, 500],
    "dma.runs_per_cycle": [0, 1, 4, 16], "dma.decoded_codes_per_cycle": [0, 1, 64],
    "sb.banks": [0, 1, 2, 8, 256], "sb.ports": [1, 2, 5], "sb.port_bytes": [1, 2, 16, 256],
    "pe.groups_wait": ["true", "false"],
    "psum.write_ports": [0, 1, 2, 4], "psum.read_bytes_per_cycle": [0, 8, 100, 512],
    "fetch.bytes_per_cycle": [0, 1, 4, 13, 32], "fetch.buffer_bytes": [1024, 1025, 4096, 65536],
    "sparse.narrow_tcus": [0, 0, 1, 3, 8], "sparse.narrow_lanes": [1, 5, 16, 64, 100],
    "sparse.accumulator_banks": [0, 1, 8, 64, 256], "sparse.scan_positions": [0, 1, 16, 128],
    "sparse.fmu_write_bytes": [0, 1, 16, 64], "sparse.route_bytes": [0, 1, 64],
    "dram.misaligned_bursts": ["true", "false"],
}

# Parameters of which more, or less, never costs a cycle of fixed instructions.
MORE = ["dram.bytes_per_cycle", "dma.onchip_bytes_per_cycle", "pe.load_rows_per_cycle",
        "sb.ports", "act.lanes", "vec.lanes", "sparse.lanes", "sparse.coefficients_per_step",
        "sparse.wm_broadcast", "sparse.counts_per_cycle"]
MULTIPLIERS = ["sparse.lanes", "sparse.coefficients_per_step"]
LESS = ["dram.latency", "act.latency", "vec.latency", "sparse.accumulate_latency",
        "sparse.part_cycles", "dma.setup_cycles", "dma.onchip_latency"]
SMALL = ["sparse.coefficients_per_step", "sparse.wm_broadcast", "sb.ports"]
CLUSTER_PRICES = ["sparse.accumulator_banks", "sparse.scan_positions", "sparse.fmu_write_bytes",
                  "sparse.route_bytes", "sparse.window_shift"]
COSTS = ["cheap", "medium", "expensive", "very_expensive"]
# The same where 0 means as much as can be used.
MORE_OR_ALL = ["psum.write_ports", "psum.read_bytes_per_cycle", "fetch.bytes_per_cycle"]


class Machine:
    """Parameters by `section.key`, as text."""

    def __init__(self, values):
        self.values = values

    @staticmethod
    def read(name):
        values, section = {}, ""
        for line in common.run_tool("ashlarc", f"--dump-machine={name}").stdout.splitlines():
            key, _, value = line.split("#")[0].strip().partition(":")
            if not line.startswith(" "):
                section = key + "."
            if value.strip():
                values[(section if line.startswith(" ") else "") + key] = value.strip()
        return Machine(values)

    def number(self, key):
        return int(self.values[key])

    def changed(self, changes):
        return Machine({**self.values, **{k: str(v) for k, v in changes.items()}})

    def text(self, without=None):
        """YAML; `without` parameters of some prefixes, for seeds that are older than those."""
        lines, section = [], None
        for key, value in self.values.items():
            if without and key.startswith(tuple(without)):
                continue
            head, _, tail = key.rpartition(".")
            if head and head != section:
                lines.append(head + ":")
            section = head
            lines.append(f"  {tail}: {value}" if head else f"{tail}: {value}")
        return "\n".join(lines) + "\n"

    def write(self, path):
        with open(path, "w", encoding="utf-8") as file:
            file.write(self.text())
        return path

    def difference(self, other):
        return {k: v for k, v in self.values.items() if other.values[k] != v}


def array(draw, changes, group):
    """Partitions, rows and columns that go together."""
    multiple = lambda n: max(group, n - n % group)
    if draw.random() < 0.1:
        rows, columns = 256, 128
    else:
        rows, columns = draw.choice(EXTENTS), draw.choice(EXTENTS)
    least = -(-max(rows, columns) // group) * group
    changes["pe.rows"], changes["pe.columns"] = rows, columns
    changes["sb.partitions"] = draw.choice([least, least, multiple(least * 2), multiple(least * 5)])
    divisors = [d for d in range(1, rows + 1) if rows % d == 0]
    changes["pe.row_group_granularity"] = draw.choice(divisors)


def entries(machine):
    """Of a column of PSUM: no more can be written in a cycle."""
    return machine.number("psum.banks") * machine.number("psum.entries_per_bank")


def consistent(machine):
    """The machine with parameters that go together."""
    # Two magnitudes of one bit less than an operand share a digit.
    narrow = machine.number("pe.cell_digit_bits") // 2 + 1
    if machine.number("pe.narrow_bits") > narrow:
        machine = machine.changed({"pe.narrow_bits": narrow if narrow >= 3 else 0})
    if machine.number("sparse.wm_bytes") % machine.number("sparse.wm_banks"):
        machine = machine.changed({"sparse.wm_banks": 1})
    # Narrow units are some of all units, and narrower than the others.
    for part, whole in (("narrow_tcus", "tcus"), ("narrow_lanes", "lanes")):
        limit = machine.number(f"sparse.{whole}")
        if machine.number(f"sparse.{part}") > limit:
            machine = machine.changed({f"sparse.{part}": limit})
    return machine


def draw_machine(draw):
    """A machine that the compiler accepts: each parameter changed by chance, often
    few of them, so that single ones are seen to matter."""
    base = Machine.read(draw.choice(["a1", "a1", "a1-tiny"]))
    share = draw.choice([0.05, 0.15, 0.5])
    changes = {key: draw.choice(values) for key, values in SIZES.items()
               if draw.random() < share}
    group = draw.choice([1, 2, 4, 8, 16])
    if draw.random() < 0.6:
        changes["xm_group"] = group
        array(draw, changes, group)
    machine = base.changed(changes)
    return draw_prices(random.Random(machine.text(without=("host.", "sparse.window_shift"))), machine, share)


def draw_prices(draw, machine, share):
    """The machine with prices; DRAM's banks are dram_banks.py's. The draw is of its own,
    so that seeds keep the rest of their machines."""
    changes = {key: draw.choice(values) for key, values in PRICES.items()
               if draw.random() < share}
    if draw.random() < share:
        costs = sorted(draw.choice([1, 2, 4, 9]) for _ in COSTS)
        changes.update({f"act.cost_{cost}": cycles for cost, cycles in zip(COSTS, costs)})
    if draw.random() < share:
        changes["dram.model"] = "efficiency"
        changes["dram.efficiency"] = draw.choice([1, 33, 60, 90, 99, 100])
    if draw.random() < 0.1:
        changes["sparse.tcus"] = 0
    if draw.random() < share:
        changes["sparse.window_shift"] = draw.choice([0, 1, 2])
    machine = consistent(machine.changed(changes))
    if machine.number("psum.write_ports") > entries(machine):
        machine = machine.changed({"psum.write_ports": 1})
    return machine


def draw_network(draw, seed, folder):
    """Writes model.onnx, in.npz and calibrate.npz; what it is."""
    path = os.path.join(folder, "model.onnx")
    what = "random"
    if draw.random() < 0.8:
        network, samples = random_network.build(seed, 2)
        onnx.save(network, path)
    else:
        what = draw.choice(SHARED)
        source = common.model_path(what)
        shutil.copy(source, path)
        arrays, _ = common.dev_inputs(what, 2)
        name = common.graph_inputs(source)[0]
        samples = [{name: arrays[:1]}, {name: arrays[1:]}]
    if draw.random() < 0.5:
        density = draw.choice([0.02, 0.1, 0.3, 0.6])
        common.run_tool("ashlar-prune", path, "-o", path + ".pruned", f"--density={density}")
        os.replace(path + ".pruned", path)
        what += f" at density {density}"
    for name, arrays in zip(("calibrate.npz", "in.npz"), samples):
        np.savez(os.path.join(folder, name), **arrays)
    return what


def draw_options(draw, model, folder):
    kind, chosen = draw.random(), []
    if kind < 0.4:
        chosen = random_formats.formats(draw, model, folder)
    elif kind < 0.6:
        chosen = ["--format=bfp16"]
    for option, values in (
            ("sparse", ["off", "tile", "tile", "scatter", "scatter", "auto"]),
            ("fold-w", ["off", "stride", "lane", "both"]),
            ("pci-policy", ["cycles", "source"]), ("classify", ["cost", "majority", "threshold"]),
            ("transpose", ["auto", "pe", "dma", "copy"]), ("scatter-unit", "ABCD"),
            ("partition", ["p2", "p1", "rows", "uniform"]),
            ("partition-metric", ["nnz", "density", "zeros"]),
            ("partition-cuts", ["profile", "runtime", "always", "always-profile"]),
            ("residual", ["bfp", "bf16", "f32"]),
            ("scale", ["fixed", "table", "stats", "predict"])):
        if draw.random() < 0.4:
            chosen.append(f"--{option}={draw.choice(values)}")
    if draw.random() < 0.5 or "--scale=fixed" in chosen or "--scale=table" in chosen:
        chosen.append(f"--calibrate={os.path.join(folder, 'calibrate.npz')}")
    return chosen


class Refusal(Exception):
    """What does not fit."""


def limit_time():
    resource.setrlimit(resource.RLIMIT_CPU, (LIMIT, LIMIT))


def tool(name, *arguments, may_refuse=False):
    done = subprocess.run([common.tool(name), *map(str, arguments)], text=True,
                          capture_output=True, timeout=LONGEST, preexec_fn=limit_time)
    said = done.stderr.strip()
    if may_refuse and done.returncode in (USAGE, UNSUPPORTED, CAPACITY) and said:
        raise Refusal(f"exit code {done.returncode}: {said[:300]}")
    if done.returncode:
        raise seed_sweep.Mismatch(f"{name} {' '.join(map(str, arguments))}: exit code "
                                  f"{done.returncode}: {said[:600]}")
    return done.stdout


def cycles(program, inputs, folder):
    """(cycles, nodes, bytes of the outputs) of a run."""
    report, outputs = (os.path.join(folder, n) for n in ("report.json", "again.npz"))
    tool("ashlar-run", program, f"--inputs={inputs}", f"--report={report}", "--quiet",
         f"--outputs={outputs}", "--threads=2")
    with np.load(outputs) as arrays:
        data = {name: arrays[name].tobytes() for name in arrays}
    with open(report, encoding="utf-8") as file:
        contents = json.load(file)
    if broken := report_rules.check_run(contents):
        raise seed_sweep.Mismatch("the report: " + "; ".join(broken[:5]))
    return contents["total_cycles"], len(contents["nodes"]), data


def bank_bytes(machine):
    share = -(-machine.number("sb.bytes_per_partition") // machine.number("sb.banks"))
    port = machine.number("sb.port_bytes")
    return -(-share // port) * port


def better_ports(draw, machine, share):
    """Changes of what 0 makes free. Banks move where their sizes change, so they are
    cut in half, and ports become wider, only where the others stay as they are."""
    changes = {}
    if (runs := machine.number("dma.runs_per_cycle")) and draw.random() < share:
        changes["dma.runs_per_cycle"] = draw.choice([0, runs + 1, 3 * runs])
    if not (banks := machine.number("sb.banks")):
        return changes
    if draw.random() < share / 4:
        changes["sb.banks"] = 0
    elif draw.random() < share and 2 * banks <= 256:
        halves = machine.changed({"sb.banks": 2 * banks})
        if 2 * bank_bytes(halves) == bank_bytes(machine):
            changes["sb.banks"] = 2 * banks
    now = machine.changed(changes)
    wider = now.changed({"sb.port_bytes": 2 * now.number("sb.port_bytes")})
    if draw.random() < share and (not now.number("sb.banks") or
                                  bank_bytes(wider) == bank_bytes(now)):
        changes["sb.port_bytes"] = wider.number("sb.port_bytes")
    return changes


def better(draw, machine, share):
    """The machine with more bandwidth, lanes and less latency."""
    changes = {}
    # Units that scatter into short queues run streams made for their multipliers,
    # wider windows meet in accumulator banks, and the machine cuts by the
    # multipliers of its units where they differ.
    bound = any(machine.number(f"sparse.{key}") > 0
                for key in ("queue_depth", "accumulator_banks", "narrow_tcus"))
    for key in MORE:
        if draw.random() < share and not (bound and key in MULTIPLIERS):
            limit = 64 if key in SMALL else 4095
            more = machine.number(key) * draw.choice([1, 2, 3, 10]) + draw.choice([0, 1])
            changes[key] = min(more, max(limit, machine.number(key)))
    for key in MORE_OR_ALL:
        now = machine.number(key)
        if now and draw.random() < share:
            more = draw.choice([0, now + 1, now * 3])
            changes[key] = more if key != "psum.write_ports" or more <= entries(machine) else 0
    if draw.random() < share:
        changes["fetch.buffer_bytes"] = machine.number("fetch.buffer_bytes") * draw.choice([1, 2, 9])
    for key in LESS:
        if draw.random() < share:
            least = 1 if key == "sparse.accumulate_latency" else 0
            changes[key] = max(least, machine.number(key) // draw.choice([1, 2, 3, 1000]))
    if draw.random() < share:
        changes["pe.groups_wait"] = "false"
    changes.update(better_ports(draw, machine, share))
    if share == 1:
        changes["dram.efficiency"] = min(100, machine.number("dram.efficiency") + 7)
        changes["dram.misaligned_bursts"] = "false"
    for key in CLUSTER_PRICES:  # 0 is the best
        now = machine.number(key)
        if now > 0 and draw.random() < share:
            changes[key] = draw.choice([0, 2 * now, 4 * now])
    if draw.random() < share:
        changes["dram.burst_bytes"] = max(1, machine.number("dram.burst_bytes") // 4)
    if draw.random() < share:
        digits = machine.number("pe.cell_digit_bits")
        changes["pe.cell_digit_bits"] = min(16, digits * draw.choice([1, 2, 3]))
    for engine in "vec", "act":
        known = 1
        for cost in COSTS if draw.random() < share else []:
            now = machine.number(f"{engine}.cost_{cost}")
            known = changes[f"{engine}.cost_{cost}"] = max(known, draw.randint(1, now))
            known = changes[f"{engine}.cost_{cost}"] = min(known, now)
    return machine.changed(changes)


def check_honesty(draw, machine, folder, inputs, found):
    """The same instructions on better machines."""
    text = tool("ashlar-dis", os.path.join(folder, "model.ash"))
    before, _, data = found
    for share in (0.1, 0.3, 1):
        other = better(draw, machine, share)
        quoted = other.text().replace("\n", "\\n").replace("'", "")
        changed = re.sub(r"(?m)^\.machine .*$", lambda _: f'.machine yaml="{quoted}"', text, count=1)
        source, program = (os.path.join(folder, n) for n in ("better.s", "better.ash"))
        with open(source, "w", encoding="utf-8") as file:
            file.write(changed)
        tool("ashlar-as", source, "-o", program)
        after, _, others = cycles(program, inputs, folder)
        what = f"the same instructions on a machine with {other.difference(machine)}"
        if others != data:
            raise seed_sweep.Mismatch(f"{what} give other results")
        if after > before:
            raise seed_sweep.Mismatch(f"{what} take {after} cycles, before {before}")


def check_bigger(draw, machine, folder, inputs, chosen, found):
    """The network compiled for a better machine with a bigger array."""
    if (machine.number("psum.entries_per_bank") < SHORT_BANK or
            0 < machine.number("fetch.bytes_per_cycle") < SLOW_FETCH):
        return f"cycles {found[0]}"
    other = better(draw, machine, 1)
    names = ["sb.partitions", "pe.rows", "pe.columns"]
    if 2 * other.number("sb.partitions") <= 512:
        other = other.changed({name: 2 * other.number(name) for name in names})
    path = other.write(os.path.join(folder, "bigger.yaml"))
    program = os.path.join(folder, "bigger.ash")
    try:
        tool("ashlarc", os.path.join(folder, "model.onnx"), "-o", program, *chosen,
             f"--machine={path}", may_refuse=True)
    except Refusal as why:
        return f"refused for a bigger machine: {why}"
    after, _, _ = cycles(program, inputs, folder)
    size = lambda m: m.number("pe.rows") + m.number("pe.columns")
    fills = found[1] * (size(other) - size(machine))
    if after > LARGEST_LOSS * found[0] + fills:
        raise seed_sweep.Mismatch(
            f"compiled for a machine with {other.difference(machine)}: {after} "
            f"cycles, for the smaller one {found[0]}")
    return f"cycles {found[0]}, bigger machine {after}"


def check(seed, folder):
    """(outcome, text): 'equal' or 'refused'."""
    draw = random.Random(seed)
    machine = draw_machine(draw)
    machine.write(os.path.join(folder, "machine.yaml"))
    model = os.path.join(folder, "model.onnx")
    what = draw_network(draw, seed, folder)
    chosen = draw_options(draw, model, folder)
    with open(os.path.join(folder, "options"), "w", encoding="utf-8") as file:
        file.write(" ".join(chosen).replace(folder + "/", "") + "\n")
    try:
        tool("ashlarc", model, "-o", os.path.join(folder, "model.ash"), *chosen,
             f"--machine={folder}/machine.yaml", f"--dump-plan={folder}/plan", may_refuse=True)
    except Refusal as why:
        return "refused", f"{what}: {why}".replace(folder, "")
    inputs = os.path.join(folder, "in.npz")
    outcome, said = random_formats.compare(folder, inputs, 1, draw.choice([1, 2]))
    if outcome == "FAIL":
        raise seed_sweep.Mismatch(said)
    program = os.path.join(folder, "model.ash")
    found = cycles(program, inputs, folder)
    if os.path.getsize(program) > LARGE_PROGRAM:
        return "equal", f"{what}: cycles {found[0]}"
    check_honesty(draw, machine, folder, inputs, found)
    return "equal", f"{what}: " + check_bigger(draw, machine, folder, inputs, chosen, found)


if __name__ == "__main__":
    sys.exit(seed_sweep.main(__doc__, "machines", check))
