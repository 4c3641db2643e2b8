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
  uint64_t claim(const Description &machine, const Transfer &transfer,
                 SlowPatterns &slow) const {
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
      addLinearAccesses(machine, pattern, banks, &slow);
    }
    return bankCycles(machine, *llvm::max_element(banks));
  }
};

bool usesDram(const Transfer &transfer) {
  return transfer.sides[0].inDram || transfer.sides[1].inDram;
}

/// What is compared: cycles, then inside the chip what others cannot use of the
/// ports meanwhile. What goes to DRAM leaves, and what comes from there
/// arrives, in the order of the loops: it changes for fewer cycles alone.
std::pair<uint64_t, uint64_t> rank(const Transfer &transfer,
                                   const TransferCost &cost, uint64_t queues) {
  return {cost.cycles(queues), usesDram(transfer) ? 0 : cost.claim};
}

} // namespace

uint64_t TransferCost::cycles(uint64_t queues) const {
  const uint64_t shared =
      ceilDiv(issue, std::max<uint64_t>(std::min(queues, descriptors), 1));
  return std::max({shared, dram, claim});
}

void TransferCost::add(const TransferCost &other) {
  descriptors = saturating::add(descriptors, other.descriptors);
  issue = saturating::add(issue, other.issue);
  dram = saturating::add(dram, other.dram);
  claim = saturating::add(claim, other.claim);
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

TransferCost TransferCosts::of(const Transfer &transfer) {
  TransferLoops loops = transfer.loops;
  mergeLoops(loops, mostIterations);
  TransferCost cost;
  cost.descriptors = 1;
  const size_t outer =
      loops.size() > transferDims ? loops.size() - transferDims : 0;
  for (const TransferLoop &loop : llvm::ArrayRef(loops).take_front(outer))
    cost.descriptors =
        mul(cost.descriptors, static_cast<uint64_t>(loop.extent));
  const Descriptor one(llvm::ArrayRef<TransferLoop>(loops).drop_front(outer));
  const Timing time =
      dmaCopy(machine, one.side(transfer, 0), one.side(transfer, 1));
  const uint64_t claim = one.claim(machine, transfer, slow);
  cost.issue = mul(cost.descriptors, withPorts(time, claim).issue);
  cost.dram = mul(cost.descriptors, time.dram);
  cost.claim = mul(cost.descriptors, claim);
  return cost;
}

TransferCost TransferCosts::ofParts(const Transfer &transfer, size_t cut,
                                    int64_t parts) {
  if (cut >= transfer.loops.size() || parts < 2)
    return of(transfer);
  Transfer part = transfer;
  const auto extent = static_cast<uint64_t>(transfer.loops[cut].extent);
  const uint64_t size = ceilDiv(extent, static_cast<uint64_t>(parts));
  part.loops[cut].extent = static_cast<int64_t>(size);
  TransferCost cost = of(part);
  const uint64_t count = ceilDiv(extent, size);
  for (uint64_t *term :
       {&cost.descriptors, &cost.issue, &cost.dram, &cost.claim})
    *term = mul(*term, count);
  return cost;
}

/// The loop along which a transfer with DRAM is cut instead of loop \p best,
/// whose parts would take more bursts than the whole: the next one whose parts
/// do not, of enough iterations if there is one; none if all do.
size_t TransferCosts::cutBetweenBursts(const Transfer &transfer, size_t best,
                                       int64_t parts) {
  constexpr uint64_t worth = 16;
  const uint64_t whole = of(transfer).dram;
  auto wastes = [&](size_t cut) {
    const uint64_t dram = ofParts(transfer, cut, parts).dram;
    return dram > whole && (dram - whole) * worth > whole;
  };
  const TransferLoops &loops = transfer.loops;
  if (!wastes(best))
    return best;
  for (const int64_t least : {evenParts * parts, int64_t(2)})
    for (size_t i = 0; i < loops.size(); ++i)
      if (loops[i].extent >= least && !wastes(i))
        return i;
  return loops.size();
}

size_t TransferCosts::loopToCut(const Transfer &transfer, int64_t parts,
                                uint64_t queues) {
  const TransferLoops &loops = transfer.loops;
  auto isEven = [&](const TransferLoop &loop) {
    return loop.extent >= evenParts * parts;
  };
  auto best = static_cast<size_t>(llvm::find_if(loops, isEven) - loops.begin());
  const bool even = best < loops.size();
  // The first part of a store leaves as soon as its results are made, the
  // first of a load is there before the last: outermost is in their order.
  const bool ordered = even ? usesDram(transfer) || machine.sb.banks == 0
                            : transfer.sides[1].inDram;
  if (parts > 1 && even && usesDram(transfer)) {
    const size_t other = cutBetweenBursts(transfer, best, parts);
    // Parts of a load go to queues that may have more to do than DRAM.
    const bool better = transfer.sides[1].inDram ||
                        (other < loops.size() &&
                         ofParts(transfer, other, parts).cycles(queues) <
                             ofParts(transfer, best, parts).cycles(queues));
    return better ? other : best;
  }
  if (parts < 2 || ordered || !ordersMatter(machine))
    return best;
  // Uneven parts are better than a queue that works alone.
  uint64_t least = even ? ofParts(transfer, best, parts).cycles(queues)
                        : of(transfer).cycles(queues);
  for (size_t i = even ? best + 1 : 0; i < loops.size(); ++i) {
    if (even && !isEven(loops[i]))
      continue;
    const uint64_t own = ofParts(transfer, i, parts).cycles(queues);
    if (own < least) {
      least = own;
      best = i;
    }
  }
  return best;
}

/// The cost of \p transfer in its order, cut where it is best.
TransferCost TransferCosts::inParts(const Transfer &transfer, int64_t parts,
                                    uint64_t queues) {
  Transfer merged = transfer;
  mergeLoops(merged.loops, mostIterations);
  const size_t cut =
      parts > 1 ? loopToCut(merged, parts, queues) : merged.loops.size();
  return ofParts(merged, cut, parts);
}

/// The orders of loops that are compared: given, by the runs of either side,
/// and each of these with any one loop outermost that descriptors cannot hold.
/// One descriptor for each index of a partition would meet others at the same
/// ports, where one for all would have served them side by side.
static llvm::SmallVector<TransferLoops, 8>
ordersOf(const Description &machine, const TransferLoops &given) {
  llvm::SmallVector<TransferLoops, 8> orders;
  for (int order : {-1, 0, 1}) {
    orders.push_back(given);
    if (order >= 0)
      sortBySide(orders.back(), order);
    TransferLoops merged = orders.back();
    mergeLoops(merged, mostIterations);
    if (machine.sb.banks == 0 || merged.size() <= transferDims)
      continue;
    for (auto *first = merged.begin() + 1; first != merged.end(); ++first) {
      orders.push_back(merged);
      auto *moved = orders.back().begin() + (first - merged.begin());
      std::rotate(orders.back().begin(), moved, moved + 1);
    }
  }
  return orders;
}

TransferCost TransferCosts::orderLoops(Transfer &transfer, int64_t parts,
                                       uint64_t queues) {
  TransferCost best = inParts(transfer, parts, queues);
  if (!ordersMatter(machine))
    return best;
  Transfer other = transfer;
  for (const TransferLoops &order : ordersOf(machine, transfer.loops)) {
    other.loops = order;
    const TransferCost cost = inParts(other, parts, queues);
    if (rank(other, cost, queues) >= rank(other, best, queues))
      continue;
    best = cost;
    transfer.loops = order;
  }
  return best;
}
