// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Operand fetch of the PE array: stored elements become integers aligned to
// their scale exponent (docs/Numerics.md 3).

#ifndef ASHLAR_LIB_EMULATOR_EXECUTE_OPERANDFETCH_H
#define ASHLAR_LIB_EMULATOR_EXECUTE_OPERANDFETCH_H

#include "Engine.h"
#include "TensorRows.h"

namespace ashlar::emulator {

/// How a row of stored elements becomes aligned integers.
struct Fetch {
  isa::ElemType type = isa::ElemType::Bfp;
  isa::OperandMode mode = isa::OperandMode::Bfp;
  numerics::Alignment alignment; ///< Mode bfp.
  int zero = 0;                  ///< Mode int: subtracted from every element.

  unsigned bytes() const {
    return storedBytes(type, static_cast<unsigned>(alignment.mantissa));
  }
  numerics::OperandWidth width() const {
    if (mode == isa::OperandMode::Bfp)
      return alignment.mantissa - 1 + alignment.range <= 15
                 ? numerics::OperandWidth::Int16
                 : numerics::OperandWidth::Int32;
    return type == isa::ElemType::I8 || type == isa::ElemType::U8 ||
                   type == isa::ElemType::Bool
               ? numerics::OperandWidth::Int16
               : numerics::OperandWidth::Int32;
  }
};

template <typename Op>
Fetch fetchOf(const Op &op, Memory &memory) {
  Fetch fetch;
  fetch.type = op.type;
  fetch.mode = op.mode;
  fetch.alignment.mantissa = static_cast<int>(op.mantissa);
  fetch.alignment.range = static_cast<int>(op.range);
  if constexpr (requires { op.zero; })
    fetch.zero = static_cast<int>(op.zero);
  if (fetch.mode == isa::OperandMode::Bfp)
    fetch.alignment.scale =
        numerics::scaleOrDefault(memory.xr(op.xr), fetch.alignment.mantissa);
  return fetch;
}

/// Bytes of an aligned integer.
inline uint64_t widthBytes(numerics::OperandWidth width) {
  return width == numerics::OperandWidth::Int16 ? 2 : 4;
}

/// Stored rows that share their cells; row i is first + i * pitch bytes.
struct RawRows {
  const uint8_t *first = nullptr;
  uint64_t pitch = 0;
  uint64_t count = 0;
  const int8_t *cells = nullptr;
};

/// Aligns n elements of each row. Row i goes to out.first + i * out.pitch
/// elements.
void fetchRows(const numerics::KernelTable &kernels, const Fetch &fetch,
               const RawRows &rows, uint64_t n,
               numerics::PitchedRows<uint8_t> out, uint64_t &saturated);

/// Partitions from p on, at most `rows`, that lie in one group of cells.
inline uint64_t groupRows(const Memory &memory, uint64_t p, uint64_t rows) {
  const uint64_t group = memory.partitionsPerCell();
  return std::min(rows, group - p % group);
}

} // namespace ashlar::emulator

#endif // ASHLAR_LIB_EMULATOR_EXECUTE_OPERANDFETCH_H
