// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Time of tcc.run in scatter mode: one unit, channel after channel. With the
// data it is exact; without, every datum counts as non-zero.

#ifndef ASHLAR_LIB_EMULATOR_SCATTERTIME_H
#define ASHLAR_LIB_EMULATOR_SCATTERTIME_H

#include "Costs.h"
#include "Scatter.h"
#include "Tiles.h"
#include "ashlar/Isa/CoefficientStream.h"
#include "ashlar/Machine/Description.h"
#include "ashlar/Machine/TileGeometry.h"

namespace ashlar::emulator {

/// The stream of a group as kernel slices.
struct ScatterStream {
  /// Weights that meet the blocks of one phase: those of one kernel, or with a
  /// single tap those of all kernels.
  struct Slice {
    uint32_t rowPhase = 0, colPhase = 0;
    uint64_t weights = 0;
    uint64_t times = 1; ///< Kernels alike, where only counts matter.
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
  static std::vector<Slice>
  slicesOf(const machine::TileGeometry &geometry,
           llvm::ArrayRef<isa::Coefficient> coefficients, bool closed);
};

class ScatterTime {
public:
  ScatterTime(const machine::Description &machine, const isa::TccRun &op,
              const TileEntry &entry);

  /// Adds a channel: `isZero(element)` asks for an element of its slot.
  /// Capacity error if products wait that the queues cannot hold.
  llvm::Error channel(llvm::function_ref<bool(uint64_t)> isZero,
                      llvm::ArrayRef<ScatterStream::Slice> slices);

  const ScatterCounters &counters() const { return total; }
  /// Elements read to find those that are not zero: a block once for each slice
  /// of weights that meets it.
  uint64_t searched() const { return elements; }

private:
  struct Block {
    uint32_t rowPhase = 0, colPhase = 0;
    uint64_t data = 0;
    std::vector<ScatterItem> items; ///< Where positions matter.
  };

  void collect(llvm::function_ref<bool(uint64_t)> isZero);
  void collectPhase(llvm::function_ref<bool(uint64_t)> isZero, uint64_t image,
                    uint32_t rowPhase, uint32_t colPhase);
  llvm::Error slice(const ScatterStream::Slice &slice);

  const isa::TccRun &op;
  const TileEntry &entry;
  const machine::TileGeometry geometry;
  const ScatterUnit unit;
  const bool oneTap;
  std::vector<Block> blocks;
  ScatterCounters total;
  uint64_t elements = 0;
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

#endif // ASHLAR_LIB_EMULATOR_SCATTERTIME_H
