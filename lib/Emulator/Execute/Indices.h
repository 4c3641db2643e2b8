// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Run-time indices, as vec.gather and dma.gather read them.

#ifndef ASHLAR_LIB_EMULATOR_EXECUTE_INDICES_H
#define ASHLAR_LIB_EMULATOR_EXECUTE_INDICES_H

#include "Engine.h"
#include <cstring>
#include <fmt/format.h>

namespace ashlar::emulator {

/// The index at \p from, which is an i32 or an i64.
inline int64_t readIndex(isa::ElemType type, const uint8_t *from) {
  if (type == isa::ElemType::I32) {
    int32_t narrow;
    std::memcpy(&narrow, from, sizeof(narrow));
    return narrow;
  }
  int64_t wide;
  std::memcpy(&wide, from, sizeof(wide));
  return wide;
}

/// The finding that an index, the one at linear SB address \p address that
/// element \p position requests, lies outside [-size, size); none if it does
/// not.
inline std::optional<RunFinding>
indexOutside(int64_t index, int64_t size, uint64_t position, uint64_t address) {
  if (index >= -size && index < size)
    return std::nullopt;
  return RunFinding{FaultKind::OutOfRange,
                    fmt::format("index {} at position {}, expected {} to {}",
                                index, position, -size, size - 1),
                    address};
}

} // namespace ashlar::emulator

#endif // ASHLAR_LIB_EMULATOR_EXECUTE_INDICES_H
