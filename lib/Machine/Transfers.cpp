// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Costs of copies from the formulas of one descriptor.

#include "ashlar/Machine/Transfers.h"
#include "Saturating.h"
#include "llvm/ADT/STLExtras.h"
#include <algorithm>
#include <array>
#include <cstdlib>
#include <tuple>

using namespace ashlar::machine;
using namespace ashlar::machine::saturating;

namespace {

/// Iterations that make parts of a loop even.
constexpr int64_t evenParts = 4;
/// A field of a descriptor counts up to here.
constexpr int64_t mostIterations = (int64_t(1) << 20) - 1;

/// One descriptor: the innermost loops of a copy.
struct Descriptor {
  llvm::SmallVector<uint64_t, 8> counts;
  llvm::SmallVector<int64_t, 8> strides[2];

  explicit Descriptor(llvm::ArrayRef<TransferLoop> loops) {
    for (const TransferLoop &loop : loops) {
      counts.push_back(static_cast<uint64_t>(loop.extent));
      for (int side : {0, 1})
        strides[side].push_back(loop.stride[side]);
    }
  }

  DmaSide side(const Transfer &transfer, int which) const {
    const TransferSide &own = transfer.sides[which];
    return {own.inDram,   counts, strides[which], transfer.elementBytes,
            own.rowBytes, 0};
  }

  /// Cycles of the busiest bank.
  uint64_t claim(const Description &machine, const Transfer &transfer) const {
    if (machine.sb.banks == 0)
      return 0;
    BankAccesses banks(machine.sb.banks, 0);
    for (int which : {0, 1}) {
      if (!transfer.sides[which].inStateBuffer)
        continue;
      PortPattern pattern;
      pattern.base = transfer.sides[which].base;
      pattern.elementBytes = transfer.elementBytes;
      for (auto [count, stride] : llvm::zip(counts, strides[which]))
        pattern.add(count, stride);
      addLinearAccesses(machine, pattern, banks);
    }
    return bankCycles(machine, *llvm::max_element(banks));
  }
};

/// What is compared: cycles, then what is left of the ports.
std::pair<uint64_t, uint64_t> rank(const TransferCost &cost, uint64_t queues) {
  return {cost.cycles(queues), cost.claim};
}

} // namespace

uint64_t TransferCost::cycles(uint64_t queues) const {
  const uint64_t shared =
      ceilDiv(issue, std::clamp<uint64_t>(queues, 1, descriptors));
  return std::max({shared, dram, claim});
}

void ashlar::machine::mergeLoops(TransferLoops &loops, int64_t mostCount) {
  TransferLoops merged;
  for (const TransferLoop &loop : loops) {
    TransferLoop *outer = merged.empty() ? nullptr : &merged.back();
    const bool continues = outer &&
                           outer->stride[0] == loop.stride[0] * loop.extent &&
                           outer->stride[1] == loop.stride[1] * loop.extent &&
                           outer->extent * loop.extent <= mostCount;
    if (!continues) {
      merged.push_back(loop);
      continue;
    }
    outer->extent *= loop.extent;
    std::copy(std::begin(loop.stride), std::end(loop.stride), outer->stride);
  }
  loops = std::move(merged);
}

void ashlar::machine::sortBySide(llvm::MutableArrayRef<TransferLoop> loops,
                                 int which) {
  llvm::sort(loops, [which](const TransferLoop &a, const TransferLoop &b) {
    const int64_t left = std::abs(a.stride[which]);
    const int64_t right = std::abs(b.stride[which]);
    return left != right ? left > right : a.place < b.place;
  });
}

uint64_t ashlar::machine::transferRuns(const Transfer &transfer) {
  const Descriptor all(transfer.loops);
  return std::max(onchipRuns(all.side(transfer, 0)),
                  onchipRuns(all.side(transfer, 1)));
}

TransferCost ashlar::machine::transferCost(const Description &machine,
                                           const Transfer &transfer) {
  TransferLoops loops = transfer.loops;
  mergeLoops(loops, mostIterations);
  TransferCost cost;
  const size_t outer =
      loops.size() > transferDims ? loops.size() - transferDims : 0;
  for (const TransferLoop &loop : llvm::ArrayRef(loops).take_front(outer))
    cost.descriptors =
        mul(cost.descriptors, static_cast<uint64_t>(loop.extent));
  const Descriptor one(llvm::ArrayRef(loops).drop_front(outer));
  const Timing time =
      dmaCopy(machine, one.side(transfer, 0), one.side(transfer, 1));
  const uint64_t claim = one.claim(machine, transfer);
  cost.issue = mul(cost.descriptors, withPorts(time, claim).issue);
  cost.dram = mul(cost.descriptors, time.dram);
  cost.claim = mul(cost.descriptors, claim);
  return cost;
}

TransferCost ashlar::machine::orderLoops(const Description &machine,
                                         Transfer &transfer, uint64_t queues) {
  TransferCost best = transferCost(machine, transfer);
  if (!ordersMatter(machine))
    return best;
  Transfer other = transfer;
  auto consider = [&] {
    const TransferCost cost = transferCost(machine, other);
    if (rank(cost, queues) >= rank(best, queues))
      return;
    best = cost;
    transfer.loops = other.loops;
  };
  const TransferLoops given = transfer.loops;
  for (int order : {-1, 0, 1}) {
    TransferLoops sorted = given;
    if (order >= 0)
      sortBySide(sorted, order);
    other.loops = sorted;
    consider();
    if (machine.sb.banks == 0)
      continue;
    // Descriptors that are made one for each index of a partition meet at the
    // same ports, where one would have served them side by side.
    TransferLoops merged = sorted;
    mergeLoops(merged, mostIterations);
    if (merged.size() <= transferDims)
      continue;
    for (size_t i = 1; i < merged.size(); ++i) {
      other.loops = merged;
      std::rotate(other.loops.begin(), other.loops.begin() + i,
                  other.loops.begin() + i + 1);
      consider();
    }
  }
  return best;
}

size_t ashlar::machine::loopToCut(const Description &machine,
                                  const Transfer &transfer, int64_t parts,
                                  uint64_t queues) {
  const TransferLoops &loops = transfer.loops;
  const auto *even = llvm::find_if(loops, [&](const TransferLoop &loop) {
    return loop.extent >= evenParts * parts;
  });
  if (machine.sb.banks == 0 || even == loops.end())
    return static_cast<size_t>(even - loops.begin());
  auto cyclesOf = [&](size_t cut) {
    Transfer part = transfer;
    part.loops[cut].extent = static_cast<int64_t>(
        ceilDiv(static_cast<uint64_t>(loops[cut].extent), parts));
    TransferCost cost = transferCost(machine, part);
    const uint64_t count = ceilDiv(static_cast<uint64_t>(loops[cut].extent),
                                   part.loops[cut].extent);
    cost.descriptors = mul(cost.descriptors, count);
    cost.issue = mul(cost.issue, count);
    cost.dram = mul(cost.dram, count);
    cost.claim = mul(cost.claim, count);
    return rank(cost, queues);
  };
  auto best = static_cast<size_t>(even - loops.begin());
  auto least = cyclesOf(best);
  for (size_t i = best + 1; i < loops.size(); ++i)
    if (loops[i].extent >= evenParts * parts)
      if (auto own = cyclesOf(i); own < least) {
        least = own;
        best = i;
      }
  return best;
}
