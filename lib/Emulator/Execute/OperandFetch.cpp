// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Rows of stored elements through the alignment kernels.

#include "OperandFetch.h"

#include <cstring>

using namespace ashlar;
using namespace ashlar::emulator;
using isa::ElemType;
using isa::OperandMode;
using numerics::OperandWidth;

template <typename From, typename To>
static void extend(const uint8_t *raw, uint64_t n, To *out, To zero = 0) {
  for (uint64_t i = 0; i < n; ++i) {
    From value;
    std::memcpy(&value, raw + i * sizeof(From), sizeof(From));
    out[i] = static_cast<To>(value - zero);
  }
}

/// Integer mode: elements as stored, minus the zero point of bytes. The
/// verifier admits 8 and 16 bits only.
static void fetchIntegers(const Fetch &fetch, const uint8_t *raw, uint64_t n,
                          void *out) {
  const auto zero = static_cast<int16_t>(fetch.zero);
  switch (fetch.type) {
  case ElemType::I8:
    return extend<int8_t>(raw, n, static_cast<int16_t *>(out), zero);
  case ElemType::U8:
  case ElemType::Bool:
    return extend<uint8_t>(raw, n, static_cast<int16_t *>(out), zero);
  case ElemType::I16:
    return extend<int16_t>(raw, n, static_cast<int32_t *>(out));
  default:
    return extend<uint16_t>(raw, n, static_cast<int32_t *>(out));
  }
}

/// Aligns n gathered elements to `out` of the fetch's width.
static void fetchRow(const numerics::KernelTable &kernels, const Fetch &fetch,
                     const uint8_t *raw, const int8_t *cells, uint64_t n,
                     void *out, uint64_t &saturated) {
  if (fetch.mode != OperandMode::Bfp)
    return fetchIntegers(fetch, raw, n, out);
  const auto *narrow = reinterpret_cast<const int8_t *>(raw);
  const auto *wide = reinterpret_cast<const int16_t *>(raw);
  const bool narrowOut = fetch.width() == OperandWidth::Int16;
  if (fetch.type == ElemType::Ubfp) {
    auto *words = Scratch::ofThisThread().get<int16_t>(Scratch::Signed, n);
    for (uint64_t i = 0; i < n; ++i)
      words[i] = numerics::fetchUnsigned(raw[i], fetch.alignment.mantissa);
    wide = words;
  }
  if (fetch.alignment.mantissa <= 8 && fetch.type == ElemType::Bfp && narrowOut)
    kernels.align8To16(narrow, cells, n, fetch.alignment,
                       static_cast<int16_t *>(out), &saturated);
  else if (fetch.alignment.mantissa <= 8 && fetch.type == ElemType::Bfp)
    kernels.align8To32(narrow, cells, n, fetch.alignment,
                       static_cast<int32_t *>(out), &saturated);
  else if (narrowOut)
    kernels.align16To16(wide, cells, n, fetch.alignment,
                        static_cast<int16_t *>(out), &saturated);
  else
    kernels.align16To32(wide, cells, n, fetch.alignment,
                        static_cast<int32_t *>(out), &saturated);
}

void emulator::fetchRows(const numerics::KernelTable &kernels,
                         const Fetch &fetch, const RawRows &rows, uint64_t n,
                         numerics::PitchedRows<uint8_t> out,
                         uint64_t &saturated) {
  if (fetch.mode == OperandMode::Bfp && fetch.type == ElemType::Bfp &&
      fetch.alignment.mantissa <= 8 && fetch.width() == OperandWidth::Int16) {
    kernels.alignGroup8To16({reinterpret_cast<const int8_t *>(rows.first),
                             static_cast<ptrdiff_t>(rows.pitch)},
                            rows.count, rows.cells, n, fetch.alignment,
                            {reinterpret_cast<int16_t *>(out.first), out.pitch},
                            &saturated);
    return;
  }
  const uint64_t outBytes =
      static_cast<uint64_t>(out.pitch) * widthBytes(fetch.width());
  for (uint64_t i = 0; i < rows.count; ++i)
    fetchRow(kernels, fetch, rows.first + i * rows.pitch, rows.cells, n,
             out.first + i * outBytes, saturated);
}
