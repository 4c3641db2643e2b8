// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Copies of any number of loops, and their cost on the queues, in DRAM and at
// the ports of the state buffer. Code generation orders and cuts its copies by
// these costs; predictors use them for the same copies before addresses exist.

#ifndef ASHLAR_MACHINE_TRANSFERS_H
#define ASHLAR_MACHINE_TRANSFERS_H

#include "ashlar/Machine/Cycles.h"
#include "ashlar/Machine/Ports.h"
#include "llvm/ADT/SmallVector.h"
#include <cstddef>

namespace ashlar::machine {

/// Loops that one descriptor of a copy holds.
inline constexpr size_t transferDims = 5;
/// The most iterations that one loop of an instruction counts.
inline constexpr int64_t mostIterations = (int64_t(1) << 20) - 1;

/// A loop of a copy, in bytes of both sides: 0 is read, 1 is written.
struct TransferLoop {
  int64_t extent = 1;
  int64_t stride[2] = {0, 0};
  size_t place = 0; ///< In the nest that was given; equal strides keep it.
};
using TransferLoops = llvm::SmallVector<TransferLoop, 8>;

/// Where a side of a copy lies.
struct TransferSide {
  bool inDram = false;
  bool inStateBuffer = false; ///< Uses its ports.
  /// Bytes from one partition to the next; 0: addresses are all that counts.
  uint64_t rowBytes = 0;
  int64_t base = 0; ///< Address of the first element, as far as known.
};

/// A copy, outermost loop first.
struct Transfer {
  TransferSide sides[2];
  uint64_t elementBytes = 1;
  TransferLoops loops;
};

/// The total cost of the descriptors of a copy.
struct TransferCost {
  uint64_t descriptors = 0;
  uint64_t issue = 0; ///< Cycles of queues.
  uint64_t dram = 0;  ///< Cycles of DRAM.
  uint64_t claim = 0; ///< Cycles of the busiest bank of the state buffer.

  /// Cycles if \p queues queues share the descriptors and nothing else uses
  /// the machine: DRAM and a bank serve one descriptor after the other.
  uint64_t cycles(uint64_t queues) const;
  /// Adds the descriptors of \p other.
  void add(const TransferCost &other);
};

/// True if the order of a copy's loops has a price besides DRAM's bursts.
inline bool ordersMatter(const Description &machine) {
  return machine.dma.runsPerCycle > 0 || machine.sb.banks > 0;
}

/// Merges loops that are contiguous on both sides, as long as the product of
/// their iterations is at most \p mostCount.
void mergeLoops(TransferLoops &loops, int64_t mostCount);

/// Sorts loops so that runs of side \p which are innermost.
void sortBySide(llvm::MutableArrayRef<TransferLoop> loops, int which);

/// Runs that the byte network of a queue forms, on the side of \p transfer on
/// the chip that has more of them.
uint64_t transferRuns(const Transfer &transfer);

/// Costs of transfers on one machine. Comparisons of loop orders and cuts ask
/// for similar transfers again and again, so one object serves them all; it
/// belongs to one thread.
class TransferCosts {
public:
  explicit TransferCosts(const Description &machine) : machine(machine) {}

  const Description &description() const { return machine; }

  /// The cost of \p transfer in its loop order. Every iteration of the outer
  /// loops that a descriptor cannot hold is a descriptor of its own.
  TransferCost of(const Transfer &transfer);

  /// The cost of \p transfer cut into \p parts parts along loop \p cut; that
  /// of the whole if there is no such loop.
  TransferCost ofParts(const Transfer &transfer, size_t cut, int64_t parts);

  /// Puts the loops of \p transfer into the order that takes the fewest cycles
  /// on \p queues queues, cut into \p parts parts, and returns its cost. The
  /// candidates:
  ///
  /// - the given order;
  /// - the orders in which the runs of one side are innermost;
  /// - each of these with one of the loops that a descriptor cannot hold
  ///   outermost.
  ///
  /// Among equal orders, the given one wins; inside the chip the one that
  /// leaves more of the ports to others. If orders do not matter on the
  /// machine, the given one stays.
  TransferCost orderLoops(Transfer &transfer, int64_t parts, uint64_t queues);

  /// The loop of \p transfer along which it is cut into \p parts parts (fewer
  /// if the loop has fewer iterations) for \p queues queues; the number of
  /// loops if there is none. In order of preference:
  ///
  /// - the outermost loop with enough iterations for even parts; inside the
  ///   chip, where ports decide, the one whose parts take the fewest cycles;
  /// - where no loop has that many and orders matter, the loop whose uneven
  ///   parts take fewer cycles than the whole.
  size_t loopToCut(const Transfer &transfer, int64_t parts, uint64_t queues);

private:
  size_t cutBetweenBursts(const Transfer &transfer, size_t best, int64_t parts);
  TransferCost inParts(const Transfer &transfer, int64_t parts,
                       uint64_t queues);

  const Description &machine;
  SlowPatterns slow;
};

} // namespace ashlar::machine

#endif // ASHLAR_MACHINE_TRANSFERS_H
