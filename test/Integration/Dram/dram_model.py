# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""DRAM with banks, burst by burst: an independent model of `dram.model: banked`.

Written from docs/Machine.md alone. Time is in units of which one byte takes one, so
that everything is a whole number: a cycle has bytes_per_cycle of them.
"""


def requests(path):
    """[(write, address)] of a file that ashlar-run --dram-trace wrote."""
    found = []
    with open(path, encoding="ascii") as file:
        for line in file:
            kind, address = line.split()
            found.append(({"LD": False, "ST": True}[kind], int(address, 16)))
    return found


class Banks:
    """Rows of all banks, and the refreshes that close them."""

    def __init__(self, dram):
        self.dram = dram
        self.rate = dram["bytes_per_cycle"]
        self.rows, self.free = {}, {}  # by bank: row that is open, end of its last data
        self.refreshed = 0  # refreshes that are over
        self.activations = self.hits = 0

    def units(self, cycles):
        return cycles * self.rate

    def next_refresh(self):
        """Begin of the next one, or None."""
        interval, length = self.dram["refresh_interval"], self.dram["refresh_cycles"]
        if not interval:
            return None
        return self.units((self.refreshed + 1) * interval - length)

    def last_refresh(self):
        """End of the last one; 0 before the first."""
        return self.units(self.refreshed * self.dram["refresh_interval"])

    def refresh(self):
        self.refreshed += 1
        self.rows, self.free = {}, {}

    def burst(self, address, bus):
        """End of a burst that finds the bus free at `bus`."""
        dram = self.dram
        index = address // dram["row_bytes"]
        bank, row = index % dram["banks"], index // dram["banks"]
        size = dram["burst_bytes"]
        while True:
            while self.next_refresh() is not None and bus >= self.next_refresh():
                self.refresh()
            bus = max(bus, self.last_refresh())
            found = self.rows.get(bank)
            begin = bus
            opening = self.units(dram["activate_cycles"] + dram["column_cycles"])
            if found is None and self.refreshed:
                begin = max(bus, self.last_refresh() + opening)
            elif found is not None and found != row:
                closing = self.units(dram["precharge_cycles"])
                begin = max(bus, self.free[bank] + closing + opening)
            if self.next_refresh() is None or begin + size <= self.next_refresh():
                break
            # It would not end in time, so it starts anew when the refresh is over.
            self.refresh()
            bus = max(bus, self.last_refresh())
        if found == row:
            self.hits += 1
        else:
            self.activations += 1
        self.rows[bank] = row
        self.free[bank] = begin + size
        return begin + size

    def refresh_between(self, begin, end):
        """Cycles of refresh from cycle `begin` to cycle `end`."""
        interval, length = self.dram["refresh_interval"], self.dram["refresh_cycles"]
        if not interval:
            return 0
        inside = 0
        for number in range(begin // interval, end // interval + 1):
            first, last = (number + 1) * interval - length, (number + 1) * interval
            inside += max(0, min(end, last) - max(begin, first))
        return inside


def walk(dram, trace, transfers):
    """Serves `transfers`, [(cycle granted, bursts)], of all of `trace`.

    ([cycles of each], opened rows, bursts that found theirs open, cycles of refresh)
    """
    banks = Banks(dram)
    cycles, refresh, at = [], 0, 0
    for granted, bursts in transfers:
        bus = banks.units(granted)
        for _, address in trace[at:at + bursts]:
            bus = banks.burst(address, bus)
        at += bursts
        end = -(-bus // banks.rate)
        cycles.append(end - granted)
        refresh += banks.refresh_between(granted, end)
    assert at == len(trace), f"{len(trace)} requests, the transfers have {at}"
    return cycles, banks.activations, banks.hits, refresh
