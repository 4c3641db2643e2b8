// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Bursts of runs and their time in DRAM.

#include "ashlar/Machine/Dram.h"
#include "Saturating.h"

#include "llvm/ADT/SmallVector.h"
#include <numeric>

using namespace ashlar::machine;
using namespace ashlar::machine::saturating;

/// Model `banked` without addresses. Each visit prepares its row (precharge,
/// activation, column access) in a bank while others transfer: the bus is busy
/// for the data, each of the banks for its share of data and preparations.
/// Refresh stretches everything.
static uint64_t bankedCycles(const Dram &dram, uint64_t burstBytes,
                             uint64_t rows) {
  const uint64_t data = ceilDiv(burstBytes, dram.bytesPerCycle);
  const uint64_t prepare =
      add(add(dram.prechargeCycles, dram.activateCycles), dram.columnCycles);
  const uint64_t bank = ceilDiv(add(mul(rows, prepare), data), dram.banks);
  const uint64_t cycles = std::max(data, bank);
  if (dram.refreshInterval <= dram.refreshCycles)
    return cycles;
  return ceilMulDiv(cycles, dram.refreshInterval,
                    dram.refreshInterval - dram.refreshCycles);
}

uint64_t ashlar::machine::dramCycles(const Description &machine,
                                     uint64_t burstBytes, uint64_t rows) {
  const Dram &dram = machine.dram;
  switch (dram.kind()) {
  case DramModel::Ideal:
    break;
  case DramModel::Efficiency:
    return ceilMulDiv(burstBytes, 100,
                      mul(dram.bytesPerCycle, dram.efficiency));
  case DramModel::Banked:
    return bankedCycles(dram, burstBytes, rows);
  }
  return ceilDiv(burstBytes, dram.bytesPerCycle);
}

uint64_t ashlar::machine::dramStreamCycles(const Description &machine,
                                           uint64_t bytes) {
  return dramCycles(machine, bytes, ceilDiv(bytes, machine.dram.rowBytes));
}

uint64_t ashlar::machine::dramPercent(const Description &machine) {
  const Dram &dram = machine.dram;
  switch (dram.kind()) {
  case DramModel::Ideal:
    break;
  case DramModel::Efficiency:
    return std::max<uint64_t>(dram.efficiency, 1);
  case DramModel::Banked:
    if (dram.refreshInterval > dram.refreshCycles)
      return std::max<uint64_t>(
          100 * (dram.refreshInterval - dram.refreshCycles) /
              dram.refreshInterval,
          1);
    break;
  }
  return 100;
}

uint64_t ashlar::machine::runBursts(const Description &machine,
                                    uint64_t address, uint64_t bytes) {
  const uint64_t burst = std::max<uint64_t>(machine.dram.burstBytes, 1);
  const uint64_t before = machine.dram.countsMisaligned ? address % burst : 0;
  return bytes == 0 ? 0 : ceilDiv(add(before, bytes), burst);
}

namespace {

/// How many starts of runs lie where in a burst. Strides that are multiples of
/// `unit`, the largest common divisor of all of them and the burst, reach only
/// every unit-th byte.
class StartsInBurst {
public:
  StartsInBurst(uint64_t burst, uint64_t unit, uint64_t address)
      : unit(unit), phase(address % unit), starts(burst / unit, 0) {
    starts[address % burst / unit] = 1;
  }

  /// Every start becomes \p count of them, \p stride bytes apart.
  void repeat(uint64_t count, uint64_t stride);

  /// Starts at byte \p from of a burst or after it.
  uint64_t countFrom(uint64_t from) const {
    uint64_t sum = 0;
    for (size_t i = 0; i < starts.size(); ++i)
      if (i * unit + phase >= from)
        sum += starts[i];
    return sum;
  }

private:
  uint64_t unit, phase;
  llvm::SmallVector<uint64_t, 64> starts; ///< Of byte phase + i * unit.
};

} // namespace

void StartsInBurst::repeat(uint64_t count, uint64_t stride) {
  const uint64_t size = starts.size(), step = stride / unit % size;
  // Steps lead round a cycle of places: `whole` times past each of them, then
  // over `rest` more. A window of that many slides along the cycle.
  const uint64_t cycle = size / std::gcd(step, size);
  const uint64_t whole = count / cycle, rest = count % cycle;
  llvm::SmallVector<uint64_t, 64> place(cycle), result(size, 0);
  for (uint64_t first = 0; first < size / cycle; ++first) {
    uint64_t all = 0, window = 0;
    for (uint64_t i = 0; i < cycle; ++i) {
      place[i] = (first + i * step) % size;
      all += starts[place[i]];
    }
    for (uint64_t i = cycle - rest; i < cycle; ++i)
      window += starts[place[i]];
    for (uint64_t i = 0; i < cycle; ++i) {
      if (rest > 0)
        window += starts[place[i]] - starts[place[(i + cycle - rest) % cycle]];
      result[place[i]] = whole * all + window;
    }
  }
  starts = std::move(result);
}

uint64_t ashlar::machine::runsBursts(const Description &machine,
                                     uint64_t address,
                                     llvm::ArrayRef<uint64_t> counts,
                                     llvm::ArrayRef<int64_t> strides,
                                     uint64_t runBytes) {
  const uint64_t burst = std::max<uint64_t>(machine.dram.burstBytes, 1);
  const uint64_t runs = product(counts);
  const uint64_t bursts = mul(runs, ceilDiv(runBytes, burst));
  if (!machine.dram.countsMisaligned || runBytes == 0 || runs == 0 ||
      runs == maxCycles || (runBytes - 1) % burst == 0)
    return bursts;
  // A run that starts from here on reaches into one burst more.
  const uint64_t from = burst - (runBytes - 1) % burst;
  uint64_t unit = burst, fixed = 1;
  const size_t rank = std::min(counts.size(), strides.size());
  for (size_t i = 0; i < rank; ++i)
    if (counts[i] > 1)
      unit = std::gcd(unit, static_cast<uint64_t>(strides[i]) % burst);
  StartsInBurst starts(burst, unit, address);
  for (size_t i = 0; i < rank; ++i) {
    const uint64_t stride = static_cast<uint64_t>(strides[i]) % burst;
    if (stride == 0)
      fixed *= counts[i];
    else
      starts.repeat(counts[i], stride);
  }
  return add(bursts, fixed * starts.countFrom(from));
}

uint64_t ashlar::machine::rowVisits(const Description &machine,
                                    llvm::ArrayRef<uint64_t> counts,
                                    llvm::ArrayRef<int64_t> strides,
                                    uint64_t runBytes) {
  const uint64_t row = std::max<uint64_t>(machine.dram.rowBytes, 1);
  uint64_t visits = ceilDiv(runBytes, row), span = runBytes;
  for (size_t i = std::min(counts.size(), strides.size()); i-- > 0;) {
    if (counts[i] <= 1)
      continue;
    const uint64_t stride =
        strides[i] < 0 ? uint64_t(0) - static_cast<uint64_t>(strides[i])
                       : static_cast<uint64_t>(strides[i]);
    // What repeats inside one row, or follows close by, opens each row once.
    const uint64_t wider = add(mul(counts[i] - 1, stride), span);
    if (visits <= 1 && stride < row)
      visits = ceilDiv(wider, row);
    else
      visits = mul(visits, counts[i]);
    span = wider;
  }
  return visits;
}
