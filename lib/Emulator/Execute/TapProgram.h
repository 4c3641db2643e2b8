// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The coefficient stream of one group as the host computes it: coefficients of
// all channels that add to the same region together, in chunks whose sums are
// exact in 32 bits. The loader decodes the streams that it knows, a run what is
// left; whoever needs the same bytes at the same places finds them again: all
// tiles of a layer, runs, and copies of the program.

#ifndef ASHLAR_LIB_EMULATOR_EXECUTE_TAPPROGRAM_H
#define ASHLAR_LIB_EMULATOR_EXECUTE_TAPPROGRAM_H

#include "ashlar/Isa/CoefficientStream.h"
#include "ashlar/Isa/Instruction.h"
#include "ashlar/Numerics/Kernels.h"
#include "llvm/ADT/ArrayRef.h"
#include <cstdint>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

namespace ashlar::emulator {

/// What gives coefficients their places, the same for all tiles of a layer.
struct TapLayout {
  explicit TapLayout(const isa::TccRun &op);
  bool operator==(const TapLayout &) const = default;

  uint32_t channels, regions, regionStride;
  bool issueZeros;
  uint64_t slotElements, kernelWidth;
  std::vector<uint64_t> tapElements; ///< By ky * kernelWidth + kx.
};

/// A coefficient with the places that it names.
struct Tap {
  uint32_t channel;
  uint64_t element; ///< Of the channel's slot, for the first result of a tile.
  uint64_t entry;   ///< Accumulator of that result, from the first region on.
  int64_t value;
  isa::Coefficient coefficient;
};

/// What a decoded stream has to hold.
enum class TapForm : uint8_t {
  Chunks,  ///< What elements of 16 bits take.
  Ordered, ///< The coefficients in the order of the stream as well.
};

/// A decoded stream.
class TapProgram {
public:
  /// Coefficients that add to the accumulators from `entry` on, counted from
  /// the first region.
  struct Chunk {
    uint64_t entry = 0;
    size_t firstPair = 0, pairs = 0;
    int shift = 0;
    uint32_t firstChannel = 0, endChannel = 0;
  };

  /// Decodes \p bytes, which the loader has found to be a stream.
  TapProgram(TapLayout layout, TapForm form, llvm::ArrayRef<uint8_t> bytes);

  /// Whether this is what the same arguments would make, or more.
  bool serves(const TapLayout &layout, TapForm form,
              llvm::ArrayRef<uint8_t> bytes) const;
  /// The coefficients of a channel in the order of the stream, if ordered.
  llvm::ArrayRef<Tap> of(uint64_t channel) const {
    const uint64_t begin = channel == 0 ? 0 : ends[channel - 1];
    return llvm::ArrayRef<Tap>(taps).slice(begin, ends[channel] - begin);
  }
  /// Whether a channel has coefficients.
  bool uses(uint64_t channel) const { return used[channel]; }
  /// Coefficients that are issued.
  uint64_t size() const { return issued; }
  /// Bytes of host memory, about.
  uint64_t hostBytes() const;

  llvm::ArrayRef<Chunk> chunks() const { return allChunks; }
  numerics::TileTaps tapsOf(const Chunk &chunk) const {
    return {elements.data() + 2 * chunk.firstPair,
            values.data() + chunk.firstPair, chunk.pairs, chunk.shift};
  }
  /// Coefficients of more than 16 bits, in no chunk.
  llvm::ArrayRef<Tap> wide() const { return wideTaps; }

private:
  class Builder;

  TapLayout ownLayout;
  TapForm ownForm;
  std::vector<uint8_t> ownBytes;
  uint64_t issued = 0;
  std::vector<bool> used; ///< By channel.
  std::vector<Tap> taps;
  std::vector<uint64_t> ends;
  std::vector<uint32_t> elements, values;
  std::vector<Chunk> allChunks;
  std::vector<Tap> wideTaps;
};

/// The form that runs of an instruction take; an observer takes all.
TapForm formOf(const isa::TccRun &op);

/// Decoded streams, found by what they are made of. Several threads may ask.
class TapPrograms {
public:
  std::shared_ptr<const TapProgram> find(const TapLayout &layout, TapForm form,
                                         llvm::ArrayRef<uint8_t> bytes);
  /// Whether streams that find() decodes are kept no more.
  bool isFull() const;

private:
  /// What one thread decodes, while others that ask for the same wait for it.
  struct Stream {
    std::once_flag once;
    std::shared_ptr<const TapProgram> program;
  };

  mutable std::mutex mutex; ///< Of all below.
  /// By a hash: of two with the same one, the first is kept.
  std::unordered_map<uint64_t, std::shared_ptr<Stream>> kept;
  uint64_t size = 0; ///< Bytes kept.
};

} // namespace ashlar::emulator

#endif // ASHLAR_LIB_EMULATOR_EXECUTE_TAPPROGRAM_H
