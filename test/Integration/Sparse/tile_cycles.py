# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Cycles of a convolution on the sparse cluster, from its definition.

Follows a disassembled program for the tiles, channels and results that its
instructions name, and counts the non-zero coefficients in the weights that the
numpy reference encodes: what each tcc.run and dma.tile should take by the
formulas of docs/Machine.md, without reading a coefficient stream.
"""

import math
import re

ONE = ("kH", "kW", "sH", "sW", "dH", "dW", "images", "tileH", "tileW", "gridN",
       "gridH", "gridW", "copies", "groups", "channels", "cols", "endN", "endH",
       "endW", "inN", "inH", "inW", "count", "regions", "n0", "n1", "n2")


def instructions(text):
    """(mnemonic, fields) of each line; absent fields have their defaults."""
    for line in text.splitlines():
        words = line.split(";")[0].split()
        if not words:
            continue
        fields = {}
        for word in words[1:]:
            name, _, value = word.partition("=")
            fields[name] = int(value) if re.fullmatch(r"-?\d+", value) else value
        yield words[0], fields


def get(fields, name):
    return fields.get(name, 1 if name in ONE else 0)


def phases(kernel, stride, dilation):
    """Phase -> halo of one axis."""
    halos = {}
    for tap in range(kernel):
        at = tap * dilation
        halos[at % stride] = max(halos.get(at % stride, 0), at // stride)
    return halos


class Tables:
    """The tiles of every unit, as tcc.tile writes them."""

    def __init__(self, units):
        self.units, self.tables = units, {}

    def write(self, fields):
        f = lambda name: get(fields, name)
        table = f("table")
        if f("clear") or table not in self.tables:
            self.tables[table] = [None] * self.units
        unit = f("unit")
        for group in range(f("copies")):
            for a in range(f("gridN")):
                for i in range(f("gridH")):
                    for j in range(f("gridW")):
                        n = f("n0") if "n0" in fields else 0
                        n += a * f("images")
                        y = fields.get("y0", 0) + i * f("tileH")
                        x = fields.get("x0", 0) + j * f("tileW")
                        size = (min(f("images"), f("endN") - n),
                                min(f("tileH"), f("endH") - y),
                                min(f("tileW"), f("endW") - x))
                        if min(size) > 0:
                            self.tables[table][unit] = (group, (n, y, x), size)
                        unit += 1

    def active(self, table):
        return [tile for tile in self.tables[table] if tile]


class Layer:
    """Follows one convolution; `mask` is (outputs, channels of a group, taps)
    of aligned weights that are not zero."""

    def __init__(self, machine, mask, groups, dead_tiles=0):
        self.dead_tiles = dead_tiles  # leading channel tiles never loaded
        self.machine, self.mask, self.groups = machine, mask, groups
        self.tables = Tables(machine["tcus"])
        self.slots = {}  # set -> mantissa address -> load, channel
        self.runs, self.loads = [], []
        self.loaded, self.live = 0, 0  # channels x tiles
        self.pending = []  # runs since the last start of sums
        self.dense_runs = []  # the same runs if their streams hold zeros
        self.columns = {}  # place of a drain -> first output

    def follow(self, text):
        program = list(instructions(text))
        # Where the first channel tile that is loaded lies.
        self.base = min((get(fields, "offset") for name, fields in program
                         if name == "dma.tile"), default=0)
        for name, fields in program:
            if name == "tcc.tile":
                self.tables.write(fields)
            elif name == "dma.tile":
                self.load(fields)
            elif name == "tcc.run":
                tiles = self.tables.active(get(fields, "table"))
                channels = self.channels_of(fields)
                self.pending.append((len(self.runs), fields, tiles, channels))
                self.runs.append(None)
                self.dense_runs.append(None)
            elif name == "act.drain" and fields.get("fromTcu"):
                self.drain(fields)
        return self

    def load(self, fields):
        f = lambda name: get(fields, name)
        tiles = self.tables.active(f("table"))
        rows = phases(f("kH"), f("sH"), f("dH")).values()
        cols = phases(f("kW"), f("sW"), f("dW")).values()
        wide = 2 if f("mantissa") > 8 else 1
        block, part = f("block"), f("part")
        planes = (part % block + f("channels") - 1) // block + 1
        total, seen = 0, set()
        for group, place, (images, h, w) in tiles:
            first = part + group * f("groupStep")
            if (first, place) in seen:
                continue
            seen.add((first, place))
            elements = (images * sum(h + halo for halo in rows) *
                        sum(w + halo for halo in cols))
            total += elements * (f("channels") * wide + planes)
        self.loads.append(math.ceil(total / self.machine["onchip"]))
        self.loaded += f("channels") * len(seen)
        slot = (f("images") * sum(f("tileH") + halo for halo in rows) *
                sum(f("tileW") + halo for halo in cols)) * wide
        for i in range(f("channels")):
            self.slots.setdefault(f("set"), {})[f("mantissas") + i * slot] = (
                part + i, f("offset"), f("srcTileStride"), f("groupStep"))
        self.slot_bytes = slot

    def channels_of(self, fields):
        """Per slot of a run: (channel or None, step between groups)."""
        held = self.slots[get(fields, "set")]
        base = self.base
        channels = []
        for i in range(get(fields, "channels")):
            load = held.get(get(fields, "mantissas") + i * self.slot_bytes)
            if load is None:
                channels.append((None, 0))
                continue
            part, offset, stride, step = load
            tiles = (offset - base) // stride if stride else 0
            tiles += self.dead_tiles
            channels.append((part + tiles * self.machine["partitions"], step))
        return channels

    def drain(self, fields):
        place = (get(fields, "dstPart"), get(fields, "dstOffset"))
        if place not in self.columns:
            self.columns[place] = sum(c for _, c in self.columns.values()), \
                get(fields, "cols")
        first, count = self.columns[place]
        lanes = get(fields, "groupLanes") or count
        group = get(fields, "group")
        shares = [range(own, min(own + lanes, first + count))
                  for own in range(first, first + count, lanes)]
        if get(fields, "mapped"):
            shares = self.share_out(range(first, first + count), lanes)
        for outputs in shares:
            for index, run, tiles, channels in self.pending:
                for kept, dense in ((self.runs, False), (self.dense_runs, True)):
                    cycles = self.run_cycles(dict(run, dense=dense), tiles,
                                             channels, group, outputs)
                    kept[index] = max(kept[index] or 0, cycles)
            group += 1
        if group >= self.last_groups():
            self.pending = []

    def share_out(self, outputs, lanes):
        """Outputs of each group: those with the most coefficients first, each
        to the group that has the fewest and room for it; in their order
        where that is no better."""
        weight = {o: int(self.mask[o].sum()) for o in outputs}
        groups = [[] for _ in range(len(outputs) // lanes)]
        for output in sorted(outputs, key=lambda o: -weight[o]):
            open_groups = [group for group in groups if len(group) < lanes]
            min(open_groups, key=lambda group: sum(weight[o] for o in group)
                ).append(output)
        plain = [list(outputs[i:i + lanes])
                 for i in range(0, len(outputs), lanes)]
        most = lambda shares: max(sum(weight[o] for o in share)
                                  for share in shares)
        return groups if most(groups) < most(plain) else plain

    def last_groups(self):
        return max((get(run, "groups") for _, run, _, _ in self.pending),
                   default=1)

    def run_cycles(self, run, tiles, channels, group, outputs):
        """Cycles of a run for the units of one group."""
        lanes = self.machine["lanes"]
        wide = get(run, "tileW")
        at_once = max(1, lanes // wide)
        passes = (math.ceil((get(run, "mantissa") - 1) / self.machine["digit"]) *
                  math.ceil((self.machine["weight_bits"] - 1) / self.machine["digit"]))
        counts, places = self.coefficients(channels, group, outputs)
        # A stream of many coefficients may hold its zeros too: they take their
        # turn in the decoder.
        decoded = sum(counts)
        if run.get("dense") and 2 * decoded > places:
            decoded = places
        best = math.ceil(decoded / self.machine["broadcast"])
        for own, _, (images, rows, cols) in tiles:
            if own != group:
                continue
            lines = images * rows
            steps = math.ceil(cols / lanes) * math.ceil(lines / at_once)
            side = max(1, min(self.machine["per_step"],
                              lanes // (lines * wide)))
            best = max(best, sum(math.ceil(n / side) for n in counts) *
                       steps * passes)
        return best

    def coefficients(self, channels, group, outputs):
        """Per channel the coefficients that are not zero; all, zeros too."""
        per_group = self.mask.shape[0] // self.groups
        depth = self.mask.shape[1]
        counts, places = [], 0
        for channel, step in channels:
            if channel is None:
                counts.append(0)
                continue
            channel += group * step
            kernels = [o for o in outputs if o // per_group == channel // depth]
            own = self.mask[kernels, channel % depth]
            counts.append(int(own.sum()))
            places += own.size
        return counts, places
