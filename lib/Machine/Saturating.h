// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Arithmetic of the cycle formulas: operands may come from a hostile program,
// so every product and sum stops at maxCycles.

#ifndef ASHLAR_LIB_MACHINE_SATURATING_H
#define ASHLAR_LIB_MACHINE_SATURATING_H

#include "ashlar/Machine/Cycles.h"
#include "llvm/ADT/ArrayRef.h"
#include <algorithm>
#include <cstdint>

namespace ashlar::machine::saturating {

inline uint64_t limited(uint64_t value) { return std::min(value, maxCycles); }

inline uint64_t mul(uint64_t a, uint64_t b) {
  uint64_t result;
  if (__builtin_mul_overflow(a, b, &result))
    return maxCycles;
  return limited(result);
}

inline uint64_t add(uint64_t a, uint64_t b) {
  uint64_t result;
  if (__builtin_add_overflow(a, b, &result))
    return maxCycles;
  return limited(result);
}

/// ceil(a / b). A zero divisor cannot pass validate(); treating it as one
/// keeps unvalidated descriptions from trapping.
inline uint64_t ceilDiv(uint64_t a, uint64_t b) {
  b = std::max<uint64_t>(b, 1);
  return a / b + (a % b != 0 ? 1 : 0);
}

/// ceil(a * b / c) without losing the upper half of the product.
inline uint64_t ceilMulDiv(uint64_t a, uint64_t b, uint64_t c) {
  c = std::max<uint64_t>(c, 1);
  const auto product = static_cast<unsigned __int128>(a) * b;
  const auto quotient = product / c + (product % c != 0 ? 1 : 0);
  return quotient > maxCycles ? maxCycles : static_cast<uint64_t>(quotient);
}

inline uint64_t product(llvm::ArrayRef<uint64_t> counts) {
  uint64_t result = 1;
  for (uint64_t count : counts)
    result = mul(result, count);
  return result;
}

} // namespace ashlar::machine::saturating

#endif // ASHLAR_LIB_MACHINE_SATURATING_H
