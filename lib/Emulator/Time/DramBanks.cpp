// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Bursts in banks. All times are sums and maxima of times before, so without
// refresh a better machine is never slower; refresh comes at fixed cycles, and
// what comes earlier may meet one that it missed before.

#include "DramBanks.h"

#include "ashlar/Machine/Cycles.h"
#include "ashlar/Machine/Dram.h"
#include <algorithm>
#include <bit>

using namespace ashlar;
using namespace ashlar::emulator;

DramBanks::DramBanks(const machine::Description &machine)
    : machine(machine), dram(machine.dram), rate(dram.bytesPerCycle),
      rowShift(static_cast<unsigned>(std::countr_zero(dram.rowBytes))),
      opening(Time(dram.activateCycles + dram.columnCycles) * rate),
      closing(Time(dram.prechargeCycles) * rate),
      active(dram.refreshInterval ? dram.refreshInterval - dram.refreshCycles
                                  : 0),
      banks(dram.banks) {}

/// Cycles before \p cycle in which no refresh runs: each interval ends with it.
uint64_t DramBanks::activeCycles(uint64_t cycle) const {
  if (!active)
    return cycle;
  return cycle / dram.refreshInterval * active +
         std::min(cycle % dram.refreshInterval, active);
}

/// The cycle before which \p end has come.
uint64_t DramBanks::wallCycles(Time end) const {
  const Time cycles = (end + rate - 1) / rate;
  const auto whole =
      static_cast<uint64_t>(std::min<Time>(cycles, Time(machine::maxCycles)));
  if (!active || whole == 0)
    return whole;
  return whole + (whole - 1) / active * dram.refreshCycles;
}

void DramBanks::begin(uint64_t cycle) {
  granted = cycle;
  served = {};
  const uint64_t now = activeCycles(granted);
  start = bus = Time(now) * rate;
  if (!active)
    return;
  period = now / active;
  nextRefresh = Time(period + 1) * active * rate;
}

void DramBanks::refresh() {
  ++period;
  bus = std::max(bus, nextRefresh);
  nextRefresh += Time(active) * rate;
}

void DramBanks::access(uint64_t address, uint64_t bursts) {
  const uint64_t index = address >> rowShift;
  Bank &bank = banks[index % banks.size()];
  const uint64_t row = index / banks.size();
  const Time burst = dram.burstBytes;
  while (bursts > 0) {
    // A row is prepared as soon as its bank is free: from its last data on, or
    // from the end of the last refresh.
    const bool closed = bank.row == noRow || bank.period != period;
    const bool hit = !closed && bank.row == row;
    Time begin = bus;
    if (closed && period > 0)
      begin = std::max(begin, Time(period) * active * rate + opening);
    else if (!closed && !hit)
      begin = std::max(begin, bank.free + closing + opening);
    // A burst that would not end before the refresh comes after it.
    uint64_t fit = bursts;
    if (active && begin + burst * bursts > nextRefresh)
      fit = begin < nextRefresh
                ? static_cast<uint64_t>((nextRefresh - begin) / burst)
                : 0;
    if (fit > 0) {
      served.activations += !hit;
      served.hits += fit - !hit;
      bank.row = row;
      bank.period = period;
      bus = bank.free = begin + burst * fit;
      bursts -= fit;
    }
    if (bursts > 0)
      refresh();
  }
}

/// Neighbouring bursts, row by row.
void DramBanks::contiguous(uint64_t address, uint64_t bursts) {
  const uint64_t perRow = dram.rowBytes / dram.burstBytes;
  while (bursts > 0) {
    const uint64_t inRow =
        std::min(bursts, perRow - address % dram.rowBytes / dram.burstBytes);
    access(address, inRow);
    address += inRow * dram.burstBytes;
    bursts -= inRow;
  }
}

void DramBanks::serve(const DramLine &line) {
  const uint64_t burst = dram.burstBytes, row = dram.rowBytes;
  const uint64_t distance =
      line.stride < 0 ? uint64_t(0) - static_cast<uint64_t>(line.stride)
                      : static_cast<uint64_t>(line.stride);
  uint64_t address = line.address, left = line.runs;
  // Of a run, wherever in a burst it starts.
  const uint64_t longest =
      machine::runBursts(machine, burst - 1, line.bytes) * burst;
  while (left > 0) {
    const uint64_t offset = address % row, place = offset / burst * burst;
    // Runs that lie in this row with all their bursts.
    uint64_t together = 1;
    if (left > 1 && place + longest <= row) {
      if (distance == 0)
        together = left;
      else if (line.stride < 0)
        together = offset / distance + 1;
      else
        together = (row - longest + burst - 1 - offset) / distance + 1;
      together = std::min(together, left);
    }
    if (together == 1)
      contiguous(address / burst * burst,
                 machine::runBursts(machine, address, line.bytes));
    else
      access(address, machine::runsBursts(machine, address, together,
                                          line.stride, line.bytes));
    address += together * static_cast<uint64_t>(line.stride);
    left -= together;
  }
}

DramBanks::Served DramBanks::end() {
  const uint64_t finish = wallCycles(bus);
  served.cycles = std::max(finish, granted) - granted;
  const Time data = (bus - start + rate - 1) / rate;
  served.refresh = served.cycles -
                   static_cast<uint64_t>(std::min<Time>(data, served.cycles));
  return served;
}
