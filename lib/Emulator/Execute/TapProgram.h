// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The coefficient stream of one group as the host computes it: coefficients of
// all channels that add to the same region together, in chunks whose sums are
// exact in 32 bits. The loader decodes the streams that it knows, a run what is
// left; runs and copies of the program find them again as long as their bytes
// are the same.

#ifndef ASHLAR_LIB_EMULATOR_EXECUTE_TAPPROGRAM_H
#define ASHLAR_LIB_EMULATOR_EXECUTE_TAPPROGRAM_H

#include "ashlar/Isa/CoefficientStream.h"
#include "ashlar/Isa/Instruction.h"
#include "ashlar/Machine/TileGeometry.h"
#include "ashlar/Numerics/Kernels.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/DenseMap.h"
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace ashlar::emulator {

/// A coefficient with the places that it names.
struct Tap {
  uint32_t channel;
  uint64_t element; ///< Of the channel's slot, for the first result of a tile.
  uint64_t entry;   ///< Accumulator of that result.
  int64_t value;
  isa::Coefficient coefficient;
};

/// A decoded stream.
class TapProgram : public isa::StreamVisitor {
public:
  /// Coefficients that add to the accumulators from `entry` on.
  struct Chunk {
    uint64_t entry = 0;
    size_t firstPair = 0, pairs = 0;
    int shift = 0;
    uint32_t firstChannel = 0, endChannel = 0;
  };

  TapProgram(const isa::TccRun &op, const machine::TileGeometry &geometry);
  /// Decodes \p bytes, which the loader has found to be a stream.
  void decode(llvm::ArrayRef<uint8_t> bytes);

  void coefficient(uint32_t channel, const isa::Coefficient &entry) override;
  void endChannel(uint32_t) override { ends.push_back(taps.size()); }

  /// The coefficients of a channel in the order of the stream.
  llvm::ArrayRef<Tap> of(uint64_t channel) const {
    const uint64_t begin = channel == 0 ? 0 : ends[channel - 1];
    return llvm::ArrayRef<Tap>(taps).slice(begin, ends[channel] - begin);
  }
  uint64_t size() const { return taps.size(); }

  llvm::ArrayRef<Chunk> chunks() const { return allChunks; }
  numerics::TileTaps tapsOf(const Chunk &chunk) const {
    return {elements.data() + 2 * chunk.firstPair,
            values.data() + chunk.firstPair, chunk.pairs, chunk.shift};
  }
  /// Coefficients of more than 16 bits, in no chunk.
  llvm::ArrayRef<const Tap *> wide() const { return wideTaps; }

private:
  void close(llvm::ArrayRef<const Tap *> chunk);
  void chunkRegion(llvm::ArrayRef<const Tap *> region);
  std::vector<const Tap *> byRegion();

  const isa::TccRun op;
  const uint64_t slotElements;
  uint64_t kernelWidth;
  std::vector<uint64_t> tapElements; ///< By ky * kernelWidth + kx.
  std::vector<Tap> taps;
  std::vector<uint64_t> ends;
  std::vector<uint32_t> elements, values;
  std::vector<Chunk> allChunks;
  std::vector<const Tap *> wideTaps;
};

/// The decoded streams of a program's instructions.
class TapPrograms {
public:
  /// The stream of \p group of instruction \p index.
  std::shared_ptr<const TapProgram> find(uint32_t index, const isa::TccRun &op,
                                         const machine::TileGeometry &geometry,
                                         uint32_t group,
                                         llvm::ArrayRef<uint8_t> bytes);
  /// Whether streams that find() decodes are kept no more.
  bool isFull() const;

private:
  struct Kept {
    std::vector<uint8_t> bytes;
    std::shared_ptr<const TapProgram> program;
  };
  llvm::DenseMap<std::pair<uint32_t, uint32_t>, Kept> kept;
  uint64_t size = 0; ///< Coefficients kept.
};

} // namespace ashlar::emulator

#endif // ASHLAR_LIB_EMULATOR_EXECUTE_TAPPROGRAM_H
