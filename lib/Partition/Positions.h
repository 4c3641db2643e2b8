// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Positions of a plane as numbers.

#ifndef ASHLAR_LIB_PARTITION_POSITIONS_H
#define ASHLAR_LIB_PARTITION_POSITIONS_H

#include "llvm/Support/MathExtras.h"
#include <cstdint>

namespace ashlar::partition {

/// Bits needed for a position in [0, size); size >= 1.
inline unsigned indexBits(int64_t size) {
  return llvm::Log2_64_Ceil(static_cast<uint64_t>(size));
}

} // namespace ashlar::partition

#endif // ASHLAR_LIB_PARTITION_POSITIONS_H
