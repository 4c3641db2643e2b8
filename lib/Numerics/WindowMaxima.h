// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Maxima of windows of encoded elements, made of the kernels of a set. Included
// once by each instruction-set file, as RowKernels.h.

#ifndef ASHLAR_LIB_NUMERICS_WINDOWMAXIMA_H
#define ASHLAR_LIB_NUMERICS_WINDOWMAXIMA_H

#include "ashlar/Numerics/Kernels.h"

namespace ashlar::numerics {

/// Columns at a time: their floats stay in the first cache level.
inline constexpr size_t kWindowChunk = 256;

static inline void fillLowest(float *out, size_t n) {
  for (size_t t = 0; t < n; ++t)
    out[t] = -__builtin_inff();
}

template <decltype(KernelTable::decode8) Decode,
          decltype(KernelTable::reduceStep) Reduce,
          decltype(KernelTable::gather32) Gather>
static void windowMaxima(const int8_t *const *mant, const int8_t *const *cells,
                         const MaxWindows &windows, float *columns,
                         float *out) {
  float chunk[kWindowChunk];
  const auto sizeAt = [](size_t t, size_t end) {
    return end - t < kWindowChunk ? end - t : kWindowChunk;
  };
  fillLowest(columns, windows.columns);
  for (size_t line = 0; line < windows.lines; ++line)
    for (size_t t = 0; t < windows.columns; t += kWindowChunk) {
      const size_t n = sizeAt(t, windows.columns);
      Decode(mant[line] + t, cells[line] + t, n, windows.mantissa, chunk);
      Reduce(Reduction::Max, chunk, n, columns + t);
    }
  fillLowest(out, windows.width);
  const auto stride = static_cast<ptrdiff_t>(windows.step * sizeof(float));
  for (const WindowTap *tap = windows.taps;
       tap != windows.taps + windows.tapCount; ++tap)
    for (size_t i = 0; i < tap->count; i += kWindowChunk) {
      const size_t n = sizeAt(i, tap->count);
      Gather(columns + tap->column + i * windows.step, stride, n, chunk);
      Reduce(Reduction::Max, chunk, n, out + tap->begin + i);
    }
}

} // namespace ashlar::numerics

#endif // ASHLAR_LIB_NUMERICS_WINDOWMAXIMA_H
