// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Maxima of windows of encoded elements, 16 at a time: all lines of a column,
// and all columns of a result, stay in a register.

#ifndef ASHLAR_LIB_NUMERICS_WINDOWMAXIMAAVX512_H
#define ASHLAR_LIB_NUMERICS_WINDOWMAXIMAAVX512_H

#include "RowsAvx512.h"
#include "WindowMaxima.h"

#include <immintrin.h>

namespace ashlar::numerics {

/// The second of equal values, as reduceStep() gives; a NaN wins.
ASHLAR_INLINE __m512 greaterLanes(__m512 x, __m512 y) {
  return _mm512_mask_mov_ps(_mm512_max_ps(x, y),
                            _mm512_cmp_ps_mask(x, y, _CMP_UNORD_Q),
                            _mm512_castsi512_ps(_mm512_set1_epi32(0x7fc00000)));
}

/// The columns that results [t, t + 16) take at a position of the window;
/// lanes that have none hold anything.
ASHLAR_INLINE __m512 tapLanes(const float *columns, const WindowTap &tap,
                              size_t step, size_t t) {
  const __m512i even = _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20,
                                         22, 24, 26, 28, 30);
  const float *from =
      columns + static_cast<ptrdiff_t>(tap.column) +
      (static_cast<ptrdiff_t>(t) - static_cast<ptrdiff_t>(tap.begin)) *
          static_cast<ptrdiff_t>(step);
  const __m512 low = _mm512_loadu_ps(from);
  return step == 1
             ? low
             : _mm512_permutex2var_ps(low, even, _mm512_loadu_ps(from + 16));
}

/// Lanes of results [t, t + 16) that lie in [begin, begin + count).
ASHLAR_INLINE __mmask16 tapMask(const WindowTap &tap, size_t t) {
  const size_t end = tap.begin + tap.count;
  if (end <= t || tap.begin >= t + 16)
    return 0;
  const __mmask16 before =
      tap.begin > t ? lanes16(tap.begin - t) : static_cast<__mmask16>(0);
  return static_cast<__mmask16>(lanes16(end - t) & ~before);
}

template <decltype(KernelTable::reduceStep) Reduce,
          decltype(KernelTable::gather32) Gather>
static void
windowMaximaLanes(const int8_t *const *mant, const int8_t *const *cells,
                  const MaxWindows &windows, float *columns, float *out) {
  // Before `begin` lie fewer results than the slack has places.
  constexpr size_t mostBefore = kWindowSlack / 2;
  bool fits = windows.step <= 2;
  for (const WindowTap *tap = windows.taps;
       tap != windows.taps + windows.tapCount; ++tap)
    fits = fits && tap->begin <= mostBefore;
  if (!fits)
    return windowMaxima<decode8Lanes, Reduce, Gather>(mant, cells, windows,
                                                      columns, out);
  const __m512 lowest = _mm512_set1_ps(-__builtin_inff());
  const Decode8Lanes decode(windows.mantissa);
  for (size_t t = 0; t < windows.columns; t += 16) {
    const __mmask16 mask = lanes16(windows.columns - t);
    __m512 most = lowest;
    for (size_t line = 0; line < windows.lines; ++line)
      most = greaterLanes(most, decode(mant[line] + t, cells[line] + t, mask));
    _mm512_storeu_ps(columns + t, most);
  }
  for (size_t t = 0; t < windows.width; t += 16) {
    __m512 most = lowest;
    for (const WindowTap *tap = windows.taps;
         tap != windows.taps + windows.tapCount; ++tap)
      if (const __mmask16 mask = tapMask(*tap, t))
        most = _mm512_mask_mov_ps(
            most, mask,
            greaterLanes(most, tapLanes(columns, *tap, windows.step, t)));
    _mm512_mask_storeu_ps(out + t, lanes16(windows.width - t), most);
  }
}

} // namespace ashlar::numerics

#endif // ASHLAR_LIB_NUMERICS_WINDOWMAXIMAAVX512_H
