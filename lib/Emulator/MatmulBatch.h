// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Matmuls whose products the host has not computed yet. Their operands are
// packed, hence independent of the memories, and nobody sees PSUM before the
// next drain. Computing all of them then has two advantages over computing each
// by itself: the accumulators of a few steps stay in the host's first cache
// level while all row tiles are added, and the threads meet once per drain.

#ifndef ASHLAR_LIB_EMULATOR_MATMULBATCH_H
#define ASHLAR_LIB_EMULATOR_MATMULBATCH_H

#include "OperandReuse.h"
#include "ashlar/Numerics/Kernels.h"
#include "llvm/ADT/SmallVector.h"
#include <cstdint>
#include <memory>
#include <vector>

namespace ashlar::emulator {

struct Engine;

/// One set of stationary operands inside the array.
struct StationarySet {
  numerics::PackedStationary packed;
  std::vector<uint64_t> raw; ///< Select mode: words as stored, rows x cols.
  uint64_t rows = 0, cols = 0;
};

/// Stationary sets that may still be needed. Storage is kept for reuse.
class StationarySets {
public:
  StationarySet &shadow() { return *shadowSet; }
  StationarySet &active() { return *activeSet; }
  /// The shadow set becomes active; the old active set keeps its contents
  /// until recycle().
  void swap();
  /// Nobody refers to inactive sets any more.
  void recycle();

private:
  using Pointer = std::unique_ptr<StationarySet>;
  Pointer shadowSet = std::make_unique<StationarySet>();
  Pointer activeSet = std::make_unique<StationarySet>();
  std::vector<Pointer> retired, unused;
};

/// Matmuls waiting for the next drain.
class MatmulBatch {
public:
  struct Matmul {
    const StationarySet *set;
    OperandCache::Slot *operand;
    bool accumulate;
  };

  bool empty() const { return pending == 0; }
  /// Appends a matmul of `steps` entries from `entry` on. False if that needs
  /// a flush first: the entries overlap those of another one only partly, or
  /// too many operands would be kept.
  bool add(uint64_t entry, uint64_t steps, const Matmul &matmul);
  /// Computes everything.
  void flush(Engine &engine);

private:
  /// Matmuls into the same entries, in program order.
  struct Target {
    uint64_t entry = 0, steps = 0;
    llvm::SmallVector<Matmul, 8> matmuls;
  };
  std::vector<Target> targets;
  unsigned pending = 0;
};

} // namespace ashlar::emulator

#endif // ASHLAR_LIB_EMULATOR_MATMULBATCH_H
