// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the instruction-set files of the kernel library share with the
// dispatcher. Built for the baseline instruction set, so every file may call
// it.

#ifndef ASHLAR_LIB_NUMERICS_INTERNAL_H
#define ASHLAR_LIB_NUMERICS_INTERNAL_H

#include "ashlar/Numerics/Kernels.h"

namespace ashlar::numerics {

/// Element i after `from`, whose address is a byte of a memory: descriptors
/// may place mantissas of two bytes anywhere.
template <typename T>
static inline T loadAt(const T *from, size_t i) {
  T value;
  __builtin_memcpy(&value, reinterpret_cast<const char *>(from) + i * sizeof(T),
                   sizeof(T));
  return value;
}

/// Writes element i after `to`, at any address as well.
template <typename T>
static inline void storeAt(T *to, size_t i, T value) {
  __builtin_memcpy(reinterpret_cast<char *>(to) + i * sizeof(T), &value,
                   sizeof(T));
}

/// Reference encode of the columns base..base+n-1.
template <typename Out>
void scalarEncode(const float *const *rows, size_t base, size_t n,
                  BlockColumns<Out> to);
/// Reference encode of blocks one after another.
void scalarEncodeLine(const float *values, size_t n, size_t block, int mantissa,
                      int16_t *mant, int8_t *cells, EncodeStats *stats);

/// Thread-local scratch of at least `size` bytes, 64-byte aligned; valid until
/// the next call on the same thread.
uint8_t *gemmScratch(size_t size);
/// What a product makes of a set in blocks for an operand that is not: the set,
/// and its values on the way. Thread-local.
PackedStationary &widenedSet();
PackedBuffer &widenedValues();

/// Packing of a moving operand for tables that gain nothing from a layout of
/// their own: rows without gaps.
void startMovingPlain(size_t rows, size_t steps, OperandWidth width,
                      PackedMoving &out);
void packMovingPlain(const IntegerMatrix &values, const MovingRange &range,
                     PackedMoving &out);
/// Columns of such an operand from `first` on.
IntegerMatrix plainSteps(const PackedMoving &moving, size_t first);

/// Aligns the valid steps of `count` rows and zeroes the others; row i goes to
/// out + i * outPitch elements.
template <decltype(KernelTable::alignGroup8To16) Align>
static void alignValid(const StoredRows &rows, size_t count, size_t steps,
                       int16_t *out, size_t outPitch, uint64_t *saturated) {
  for (size_t t = 0, end; t < steps; t = end) {
    const bool valid = rows.isValid(t);
    for (end = t + 1; end < steps && rows.isValid(end) == valid;)
      ++end;
    if (valid)
      Align({rows.mant + t, rows.pitch}, count, rows.cells + t, end - t,
            rows.alignment, {out + t, static_cast<ptrdiff_t>(outPitch)},
            saturated);
    for (size_t i = 0; !valid && i < count; ++i)
      __builtin_memset(out + i * outPitch + t, 0, (end - t) * sizeof(int16_t));
  }
}

/// The packStored of such a table.
template <decltype(KernelTable::alignGroup8To16) Align>
static void packStoredPlain(const StoredRows &rows, const MovingRange &range,
                            PackedMoving &out, uint64_t *saturated) {
  auto *to = reinterpret_cast<int16_t *>(out.bytes) + range.row * out.steps +
             range.first;
  alignValid<Align>(rows, range.rows, range.steps, to, out.steps, saturated);
}

/// The gemmPacked of such a table.
template <decltype(KernelTable::gemm) Gemm>
static void gemmPlain(const PackedProduct *products, size_t count, size_t first,
                      size_t steps, int64_t *acc, size_t accPitch,
                      bool accumulate) {
  for (size_t i = 0; i < count; ++i)
    Gemm(*products[i].stationary, plainSteps(*products[i].moving, first), steps,
         acc, accPitch, accumulate || i > 0);
}

/// The drain8 of a table: so few columns at a time that all floats of a block
/// stay in the first cache level.
template <decltype(KernelTable::epilogue) Epilogue,
          decltype(KernelTable::encode8) Encode>
static void drainRows(const int64_t *const *acc, const EpilogueRow *rows,
                      size_t n, BlockColumns<int8_t> blocks) {
  constexpr size_t columns = 64;
  alignas(64) float values[kDrainRows * columns];
  const float *from[kDrainRows];
  int8_t *to[kDrainRows];
  for (size_t base = 0; base < n; base += columns) {
    const size_t width = n - base < columns ? n - base : columns;
    for (size_t i = 0; i < blocks.count; ++i) {
      float *out = values + i * columns;
      if (rows[i].residual && base > 0) {
        EpilogueRow row = rows[i];
        row.residual += base;
        Epilogue(acc[i] + base, width, row, out);
      } else {
        Epilogue(acc[i] + base, width, rows[i], out);
      }
      from[i] = out;
      to[i] = blocks.mant[i] + base;
    }
    Encode(
        from, width,
        {blocks.count, blocks.mantissa, to, blocks.cells + base, blocks.stats});
  }
}

extern const KernelTable scalarTable;
#if defined(__x86_64__)
extern const KernelTable avx2Table;
extern const KernelTable avx512Table;
extern const KernelTable avx512VnniTable;
extern const KernelTable amxTable;
#endif

} // namespace ashlar::numerics

#endif // ASHLAR_LIB_NUMERICS_INTERNAL_H
