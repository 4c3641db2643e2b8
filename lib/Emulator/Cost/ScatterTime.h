// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Time of tcc.run in scatter mode: one unit, channel after channel. With the
// data it is exact; without, every datum counts as non-zero.

#ifndef ASHLAR_LIB_EMULATOR_COST_SCATTERTIME_H
#define ASHLAR_LIB_EMULATOR_COST_SCATTERTIME_H

#include "../State/Tiles.h"
#include "Costs.h"
#include "LatestStreams.h"
#include "Scatter.h"
#include "ashlar/Isa/CoefficientStream.h"
#include "ashlar/Machine/Description.h"
#include "ashlar/Machine/TileGeometry.h"

#include <array>
#include <map>

namespace ashlar::emulator {

/// What a unit does in one instruction.
struct TimedWork {
  uint64_t products = 0, searched = 0, cycles = 0;
};

/// Units without data that have been timed on one stream: tiles of a layer are
/// of few kinds, and there may be thousands of them.
class TimedUnits {
public:
  /// What decides the work of a unit besides the machine and the form of the
  /// stream: extents of its tile, lanes and passes, and the plan of all tiles.
  using Kind = std::array<uint64_t, 10>;
  static Kind kindOf(const isa::TccRun &op, const TileEntry &entry,
                     uint64_t lanes, uint64_t passes);

  /// The work of a kind that is known, or null.
  const TimedWork *find(const Kind &kind) const;
  const TimedWork &keep(const Kind &kind, const TimedWork &work);

private:
  std::map<Kind, TimedWork> known;
};

/// The stream of a group as kernel slices.
struct ScatterStream {
  /// Weights that meet the blocks of one phase: those of one kernel, or with a
  /// single tap those of all kernels.
  struct Slice {
    uint32_t rowPhase = 0, colPhase = 0;
    uint64_t weights = 0;
    uint64_t times = 1; ///< Kernels alike, where only counts matter.
    uint64_t most = 0;  ///< Weights of one kernel and tap phase.
    /// Cycles in which the window moves on between the weights of a kernel.
    uint64_t moves = 0;
    /// Where banks matter: of kernels of one tap the entries between their
    /// accumulators and the first one's, of others the taps, in order.
    std::vector<uint32_t> entries, taps;
    std::vector<ScatterItem> items; ///< Where positions matter.

    bool operator==(const Slice &) const = default;
  };

  /// What an instruction says about the kernels of its stream.
  struct Form {
    uint64_t kH = 0, kW = 0, sH = 0, sW = 0, dH = 0, dW = 0;
    uint64_t variant = 0;
    int64_t regionStride = 0;
    bool operator==(const Form &) const = default;
  };
  static Form formOf(const isa::TccRun &op);

  /// Decodes a checked stream.
  ScatterStream(const machine::Description &machine, const isa::TccRun &op,
                llvm::ArrayRef<uint8_t> stream);

  std::vector<std::vector<Slice>> channels;
  /// Channels with the same slices as the one before.
  std::vector<bool> repeats;
  /// Slices of all channels that differ from the one before, and what they name
  /// where banks matter.
  uint64_t slices = 0, places = 0;
  uint64_t entries = 0;    ///< Coefficients, zeros of dense streams included.
  uint64_t weightBits = 0; ///< Of a mantissa.
  uint64_t bytes = 0;      ///< Of the stream.
  /// What is known about units that run it, as long as it is kept itself.
  std::shared_ptr<TimedUnits> timed = std::make_shared<TimedUnits>();

private:
  std::vector<Slice> slicesOf(const machine::Description &machine,
                              const isa::TccRun &op,
                              const machine::TileGeometry &geometry,
                              llvm::ArrayRef<isa::Coefficient> coefficients);
};

/// Decoded streams of one machine.
using ScatterStreams = LatestStreams<ScatterStream::Form, ScatterStream>;

class ScatterTime {
public:
  /// A unit of \p lanes multipliers that take \p passes passes for a product.
  ScatterTime(const machine::Description &machine, const isa::TccRun &op,
              const TileEntry &entry, uint64_t lanes, uint64_t passes);

  /// The data of the channels that follow: `isZero(element)` requests an
  /// element of a slot.
  void collect(llvm::function_ref<bool(uint64_t)> isZero);
  /// Every datum counts, in all channels from now on.
  void collectAll();
  /// Adds a channel of the collected data.
  /// Capacity error if products wait that the queues cannot hold.
  llvm::Error channel(llvm::ArrayRef<ScatterStream::Slice> slices);
  /// Adds a channel with the data and the slices of the last one.
  void repeat();

  /// Steps of about a nanosecond for the channels of \p stream, all on the data
  /// that were collected.
  uint64_t steps(const ScatterStream &stream) const;

  uint64_t products() const { return total.products; }
  /// Elements read to find those that are not zero: a block once for each slice
  /// of weights that meets it.
  uint64_t searched() const { return total.searched; }
  /// Cycles of the channels so far: of the products in all their passes, of
  /// finding the data, and of sums that wait for the one before.
  uint64_t cycles() const { return total.cycles; }

private:
  /// Sums under one tap, counted when a slice first requests them.
  struct TapSums {
    bool known = false;
    machine::BankCounts counts;
  };
  struct Block {
    uint32_t rowPhase = 0, colPhase = 0;
    uint64_t image = 0;
    uint64_t window = 0; ///< Entries of the results that it reaches.
    uint64_t times = 1;  ///< Blocks that take the same time.
    uint64_t data = 0;
    std::vector<ScatterItem> items; ///< Where positions matter.
    std::vector<TapSums> sums;      ///< By tap.
  };
  /// A product that adds to no result.
  static constexpr uint64_t noEntry = ~uint64_t(0);
  /// The results of a unit in one image under one tap.
  struct Results {
    uint64_t rows, cols; ///< Of the unit's own.
    uint64_t rowShift, colShift;
    uint64_t pitch; ///< Entries from row to row.
    uint64_t first; ///< Of the image, from the first one of a region.

    /// The entry that a datum meets, or noEntry.
    uint64_t entryOf(const ScatterItem &datum) const {
      // Unsigned: what lies before the first result is beyond the last one.
      const uint64_t y = static_cast<uint64_t>(datum.row) - rowShift;
      const uint64_t x = static_cast<uint64_t>(datum.col) - colShift;
      return y < rows && x < cols ? first + y * pitch + x : noEntry;
    }
  };
  /// A phase plane of an image, cut into blocks.
  struct Plane {
    uint64_t firstBlock = 0;
    uint64_t rows = 0, cols = 0;
    uint64_t height = 0, width = 0; ///< Of a block.
    uint64_t across = 0;            ///< Blocks of a row.
    uint64_t origin = 0;            ///< First element in its slot.
    Block like;                     ///< What its blocks have in common.
  };
  /// What all channels add to.
  struct Sums {
    uint64_t products = 0, searched = 0, cycles = 0;
  };

  void addPlane(uint64_t image, uint32_t rowPhase, uint32_t colPhase);
  bool needsPlaces() const;
  uint64_t sumsEach(const Block &block, const ScatterStream::Slice &slice);
  /// The accumulators that the data of a block meet under a tap.
  Results resultsOf(const Block &block, uint32_t tap) const;
  void collectPlane(const Plane &plane,
                    llvm::function_ref<bool(uint64_t)> isZero);
  llvm::Error slice(const ScatterStream::Slice &slice);
  const machine::BankCounts &sumsUnder(Block &block, uint32_t tap) const;
  uint64_t bankSums(Block &block, const ScatterStream::Slice &slice);
  /// Cycles of the products alone.
  llvm::Expected<uint64_t> multiply(const Block &block,
                                    const ScatterStream::Slice &slice);

  const machine::Description &machine;
  const isa::TccRun &op;
  const TileEntry &entry;
  const machine::TileGeometry geometry;
  const ScatterUnit unit;
  const bool oneTap;
  const uint64_t passes;
  std::vector<Plane> planes;
  std::vector<Block> blocks;
  machine::BankCounts counts;     ///< Of the slice under consideration.
  std::vector<uint32_t> inBank;   ///< The same where sums are few; 0 between.
  std::vector<uint32_t> counted;  ///< Banks that have any of them.
  uint64_t pass = 0, latency = 0; ///< Of the open channel's products and sums.
  Sums total, before;             ///< Before: without the last channel.
};

/// A stream from those that are known, or decoded and known from now on.
std::shared_ptr<const ScatterStream>
findStream(const machine::Description &machine, const isa::TccRun &op,
           llvm::ArrayRef<uint8_t> bytes, ScatterStreams &known);

/// Cycles and products of a scattering tcc.run: the slowest unit, at least the
/// decoding of its stream. `streamOf(group)` gives checked streams, which are
/// decoded unless `known` has them; `isZero(unit, channel, element)` asks the
/// tiles; `each(unit, cycles, products)` hears what every unit does.
Cost scatterCost(const machine::Description &machine, const isa::TccRun &op,
                 const TileTable &table, ScatterStreams &known,
                 llvm::function_ref<llvm::ArrayRef<uint8_t>(uint32_t)> streamOf,
                 llvm::function_ref<bool(uint64_t, uint64_t, uint64_t)> isZero,
                 llvm::function_ref<void(uint64_t, uint64_t, uint64_t)> each);

/// The instruction whose time without data is an upper bound for that of \p op
/// with any, which the loader knows before a run.
isa::TccRun boundingRun(const machine::Description &machine,
                        const isa::TccRun &op);

/// Steps of about a nanosecond that scatterCost takes without data, for streams
/// that are known: those of the units that have not been timed yet.
uint64_t
scatterSteps(const machine::Description &machine, const isa::TccRun &op,
             const TileTable &table,
             llvm::function_ref<const ScatterStream &(uint32_t)> streamOf);

} // namespace ashlar::emulator

#endif // ASHLAR_LIB_EMULATOR_COST_SCATTERTIME_H
