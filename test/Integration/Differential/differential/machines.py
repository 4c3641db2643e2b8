# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Machines: built in, random, and ones where a single thing is scarce or uneven."""

import functools
import os
import random

import random_machines

WIDE = ["a1", "a1-tiny", "fig3-4x4"]  # which wide convolutions run on
MOST_TILES, MOST_DRAINS = 3000, 15000
BUILT_IN = ["a1", "a1-tiny", "fig3-4x4", "fig4-128x64"]


@functools.lru_cache(None)
def base(name):
    return random_machines.Machine.read(name)


def uneven(draw):
    """Partitions that are no multiple of a block, arrays of odd extents."""
    group = draw.choice([1, 1, 1, 2, 4])
    rows = draw.choice([3, 5, 6, 7, 9, 12, 13, 15, 17, 20, 24, 28, 31, 33, 44, 60, 100, 127])
    columns = draw.choice([1, 3, 5, 8, 13, 16, 16, 16, 31, 32, 48, 64])
    partitions = -(-max(rows, columns) // group) * group
    partitions += group * draw.choice([0, 0, 0, 1, 3])
    return {"xm_group": group, "sb.partitions": partitions, "pe.rows": rows, "pe.columns": columns,
            "pe.row_group_granularity": draw.choice([d for d in range(1, rows + 1)
                                                     if rows % d == 0])}


def starving(draw):
    """Memories from a few tiles to plenty."""
    return {"sb.bytes_per_partition": 64 * draw.choice([16, 24, 32, 40, 48, 64, 80, 96, 128, 200,
                                                        256, 400, 512])}


def tiny_accumulators(draw):
    banks, entries = draw.choice([1, 1, 2, 3]), draw.choice([1, 2, 5, 8, 16, 33])
    return {"psum.banks": banks, "psum.entries_per_bank": entries,
            "psum.write_ports": min(banks * entries, 4)}


def few_lanes(draw):
    return {"vec.lanes": draw.choice([1, 3, 5]), "act.lanes": draw.choice([1, 3, 4]),
            "dma.queues": draw.choice([1, 2])}


def square(draw):
    rows, columns = draw.choice([(3, 5), (4, 4), (8, 8), (16, 16), (32, 8), (64, 64), (128, 128)])
    most = max(rows, columns)
    group = draw.choice([g for g in (1, 2, 4, 8) if most % g == 0])
    return {"xm_group": group, "sb.partitions": most, "pe.rows": rows, "pe.columns": columns,
            "pe.row_group_granularity": 1}


CHANGES = [uneven, starving, tiny_accumulators, few_lanes, square]


def odd(draw, changes=None):
    """One to three changes of a built-in machine."""
    machine = base(draw.choice(["a1", "a1-tiny"]))
    for change in changes or draw.sample(CHANGES, draw.choice([1, 1, 2, 3])):
        machine = machine.changed(change(draw))
    return machine


def small(draw):
    """A small array with little memory."""
    changes = [starving] + ([uneven] if draw.random() < 0.5 else [square] if draw.random() < 0.4
                            else [])
    if draw.random() < 0.2:
        changes.append(tiny_accumulators)
    return odd(draw, changes)


# Grammars whose machines are small.
SMALL = ("starving-convs", "pools")


def any_kind(chance, only):
    """(machine or the name of a built-in one, its kind)"""
    kind = chance.random()
    if only in SMALL and kind < 0.85:
        return small(chance), "starving"
    if kind < 0.35:
        name = chance.choice(BUILT_IN)
        return name, name
    if kind < 0.6:
        return random_machines.draw_machine(chance), "random"
    return (small(chance), "starving") if kind < 0.75 else (odd(chance), "odd")


def draw(rng, folder, name, weights, work, only=None):
    """(what --machine takes, its kind); a drawn machine is written to file `name`. It does
    not split `weights` numbers, or `work` products, into so many tiles that the program
    gets huge."""
    chance = random.Random(int(rng.integers(1 << 62)))
    while True:
        machine, kind = any_kind(chance, only)
        known = base(machine) if isinstance(machine, str) else machine
        cells = known.number("pe.rows") * known.number("pe.columns")
        entries = known.number("psum.banks") * known.number("psum.entries_per_bank")
        if cells * MOST_TILES >= weights and cells * entries * MOST_DRAINS >= work:
            if known is not machine:
                return machine, kind
            machine.write(os.path.join(folder, name))
            return name, kind
