// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which thread computes which drain. The drains of a layer are cut into one run
// of neighbours for each thread, by windows or by columns: with windows every
// thread loads the layer's weights, with columns it packs the layer's moving
// operands. The cheaper cut is taken. Drains of the sparse cluster are cut by
// their tiles.

#ifndef ASHLAR_LIB_EMULATOR_PARALLEL_SHARES_H
#define ASHLAR_LIB_EMULATOR_PARALLEL_SHARES_H

#include "../Execute/OperandReuse.h"
#include "Products.h"
#include "TileSums.h"
#include "llvm/ADT/ArrayRef.h"
#include <cstdint>
#include <vector>

namespace ashlar::emulator {

/// What the shares of a program are cut by.
struct ShareInput {
  const Products &products;
  /// Null where the cluster belongs to the first list.
  const TileSums *tileSums;
  const OperandReuse &reuse;
  llvm::ArrayRef<isa::Instruction> code;
  llvm::ArrayRef<uint32_t> nodes; ///< Of the instructions; may be shorter.
  /// Nanoseconds of each instruction; of a matmul those of packing.
  llvm::ArrayRef<float> times;
};

/// By instruction, the threads that execute it: loads, swaps, matmuls and
/// drains of the array, and what `tileSums` follows. 0 for others.
std::vector<ThreadSet> cutShares(const ShareInput &input, unsigned threads);

} // namespace ashlar::emulator

#endif // ASHLAR_LIB_EMULATOR_PARALLEL_SHARES_H
