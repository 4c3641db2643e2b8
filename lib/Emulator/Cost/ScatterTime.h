// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Time of tcc.run in scatter mode: one unit, channel after channel. With the
// data it is exact; without, every datum counts as non-zero.

#ifndef ASHLAR_LIB_EMULATOR_COST_SCATTERTIME_H
#define ASHLAR_LIB_EMULATOR_COST_SCATTERTIME_H

#include "../State/Tiles.h"
#include "Costs.h"
#include "Scatter.h"
#include "ashlar/Isa/CoefficientStream.h"
#include "ashlar/Machine/Description.h"
#include "ashlar/Machine/TileGeometry.h"

#include <map>

namespace ashlar::emulator {

/// The stream of a group as kernel slices.
struct ScatterStream {
  /// Weights that meet the blocks of one phase: those of one kernel, or with a
  /// single tap those of all kernels.
  struct Slice {
    uint32_t rowPhase = 0, colPhase = 0;
    uint64_t weights = 0;
    uint64_t times = 1; ///< Kernels alike, where only counts matter.
    uint64_t most = 0;  ///< Weights of one kernel and tap phase.
    /// Where banks matter: of kernels of one tap the entries between their
    /// accumulators and the first one's, of others the taps, in order.
    std::vector<uint32_t> entries, taps;
    std::vector<ScatterItem> items; ///< Where positions matter.
  };

  /// Decodes a checked stream.
  ScatterStream(const machine::Description &machine, const isa::TccRun &op,
                llvm::ArrayRef<uint8_t> stream);

  std::vector<std::vector<Slice>> channels;
  uint64_t entries = 0;    ///< Coefficients, zeros of dense streams included.
  uint64_t weightBits = 0; ///< Of a mantissa.
  uint64_t bytes = 0;      ///< Of the stream.

private:
  std::vector<Slice> slicesOf(const machine::Description &machine,
                              const isa::TccRun &op,
                              const machine::TileGeometry &geometry,
                              llvm::ArrayRef<isa::Coefficient> coefficients);
};

class ScatterTime {
public:
  /// A unit of \p lanes multipliers that take \p passes passes for a product.
  ScatterTime(const machine::Description &machine, const isa::TccRun &op,
              const TileEntry &entry, uint64_t lanes, uint64_t passes);

  /// Adds a channel: `isZero(element)` requests an element of its slot.
  /// Capacity error if products wait that the queues cannot hold.
  llvm::Error channel(llvm::function_ref<bool(uint64_t)> isZero,
                      llvm::ArrayRef<ScatterStream::Slice> slices);

  /// Products, and the cycles of one pass over them alone.
  const ScatterCounters &counters() const { return total; }
  /// Elements read to find those that are not zero: a block once for each slice
  /// of weights that meets it.
  uint64_t searched() const { return elements; }
  /// Cycles of the channels so far: of the products in all their passes, of
  /// finding the data, and of sums that wait for the one before.
  uint64_t cycles() const { return busy; }

private:
  struct Block {
    uint32_t rowPhase = 0, colPhase = 0;
    uint64_t data = 0;
    std::vector<ScatterItem> items; ///< Where positions matter.
    uint64_t window = 0;            ///< Entries of the results that it reaches.
    uint64_t image = 0;
    /// Sums under each tap that a slice has requested.
    std::map<uint32_t, machine::BankCounts> sums;
  };

  void collect(llvm::function_ref<bool(uint64_t)> isZero);
  void collectPhase(llvm::function_ref<bool(uint64_t)> isZero, uint64_t image,
                    uint32_t rowPhase, uint32_t colPhase);
  llvm::Error slice(const ScatterStream::Slice &slice);
  /// Cycles of the products alone.
  const machine::BankCounts &sumsUnder(Block &block, uint32_t tap) const;
  uint64_t bankSums(Block &block, const ScatterStream::Slice &slice);
  llvm::Expected<uint64_t> products(const Block &block,
                                    const ScatterStream::Slice &slice);

  const machine::Description &machine;
  const isa::TccRun &op;
  const TileEntry &entry;
  const machine::TileGeometry geometry;
  const ScatterUnit unit;
  const bool oneTap;
  const uint64_t passes;
  std::vector<Block> blocks;
  machine::BankCounts counts; ///< Of the slice under consideration.
  uint64_t latency = 0;       ///< Of the open channel's sums.
  ScatterCounters total;
  uint64_t elements = 0;
  uint64_t busy = 0;
};

/// Cycles and products of a scattering tcc.run: the slowest unit, at least the
/// decoding of its stream. `streamOf(group)` gives checked streams;
/// `isZero(unit, channel, element)` asks the tiles; `each(unit, cycles,
/// products)` hears what every unit does.
Cost scatterCost(const machine::Description &machine, const isa::TccRun &op,
                 const TileTable &table,
                 llvm::function_ref<llvm::ArrayRef<uint8_t>(uint32_t)> streamOf,
                 llvm::function_ref<bool(uint64_t, uint64_t, uint64_t)> isZero,
                 llvm::function_ref<void(uint64_t, uint64_t, uint64_t)> each);

/// An upper bound for all data, which the loader knows before a run.
Cost scatterBound(
    const machine::Description &machine, const isa::TccRun &op,
    const TileTable &table,
    llvm::function_ref<llvm::ArrayRef<uint8_t>(uint32_t)> streamOf);

} // namespace ashlar::emulator

#endif // ASHLAR_LIB_EMULATOR_COST_SCATTERTIME_H
