// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Row kernels as plain loops for the compiler's vectoriser. Included once by
// each instruction-set file; internal linkage keeps the instances
// apart, because the linker must not share code built for different machines.
// For the same reason nothing here calls a library template.

#ifndef ASHLAR_LIB_NUMERICS_ROWKERNELS_H
#define ASHLAR_LIB_NUMERICS_ROWKERNELS_H

#include "Internal.h"
#include "RoundingErrors.h"
#include "Scalar.h"
#include "WindowMaxima.h"

#include "ashlar/Numerics/Kernels.h"

// Outputs are inputs or disjoint from them (Kernels.h), so that no run-time
// alias check is wanted: it would send in-place calls to a scalar loop.
#if defined(__clang__) && defined(__AVX512VL__)
// Masks do the last steps: rows of small maps have 7 to 56 of them.
#define ASHLAR_VECTOR_LOOP                                                     \
  _Pragma("clang loop vectorize(assume_safety) vectorize_predicate(enable)")
#elif defined(__clang__)
#define ASHLAR_VECTOR_LOOP _Pragma("clang loop vectorize(assume_safety)")
#else
#define ASHLAR_VECTOR_LOOP _Pragma("GCC ivdep")
#endif

namespace ashlar::numerics {

using namespace elementary;

/// Columns handled at a time; their scratch rows stay in the first cache level.
constexpr size_t kChunk = 256;

template <typename T>
ASHLAR_INLINE T least(T a, T b) {
  return a < b ? a : b;
}
template <typename T>
ASHLAR_INLINE T greatest(T a, T b) {
  return a > b ? a : b;
}

/// 2^k for -126 <= k <= 127.
ASHLAR_INLINE float powerOfTwo(int32_t k) {
  return floatOf(static_cast<uint32_t>(k + 127) << 23);
}

ASHLAR_INLINE int32_t fetch(int32_t stored, int drop, int32_t limit) {
  int32_t m =
      static_cast<int32_t>(static_cast<uint32_t>(stored) << drop) >> drop;
  return greatest(m, -limit);
}

//===----------------------------------------------------------------------===//
// Align
//===----------------------------------------------------------------------===//

static inline int32_t maxCell(const int8_t *cells, size_t n) {
  int8_t top = -128;
  ASHLAR_VECTOR_LOOP
  for (size_t t = 0; t < n; ++t)
    top = greatest(top, cells[t]);
  return top;
}

/// No element lies above the scale: nothing saturates.
template <typename In, typename Out>
static void alignBelow(const In *mant, const int8_t *cells, size_t n,
                       int offset, int drop, int32_t limit, int range,
                       Out *out) {
  ASHLAR_VECTOR_LOOP
  for (size_t t = 0; t < n; ++t) {
    int32_t m = fetch(loadAt(mant, t), drop, limit);
    int32_t s = offset - cells[t];
    // Past 20 places every mantissa has rounded to zero.
    int32_t over = least(greatest(s - range, 0), 20);
    int32_t left = greatest(range - s, 0);
    int32_t odd = (m >> over) & (over > 0 ? 1 : 0);
    int32_t bias = ((int32_t(1) << over) - 1) >> 1;
    int32_t rounded = (m + bias + odd) >> over;
    out[t] = static_cast<Out>(static_cast<uint32_t>(rounded) << left);
  }
}

template <typename In, typename Out>
static void alignRow(const In *mant, const int8_t *cells, size_t n,
                     Alignment alignment, Out *out, uint64_t *saturated) {
  const auto [scale, mantissa, range] = alignment;
  int32_t limit = (int32_t(1) << (mantissa - 1)) - 1;
  int offset = scale + mantissa - 2; // s = offset - cell
  if (maxCell(cells, n) <= offset) {
    alignBelow(mant, cells, n, offset, 32 - mantissa, limit, range, out);
    return;
  }
  for (size_t t = 0; t < n; ++t)
    out[t] =
        static_cast<Out>(align(fetchMantissa(loadAt(mant, t), mantissa),
                               cells[t], scale, mantissa, range, *saturated));
}

static inline void alignGroup(PitchedRows<const int8_t> mant, size_t rows,
                              const int8_t *cells, size_t n,
                              Alignment alignment, PitchedRows<int16_t> out,
                              uint64_t *saturated) {
  for (size_t i = 0; i < rows;
       ++i, mant.first += mant.pitch, out.first += out.pitch)
    alignRow(mant.first, cells, n, alignment, out.first, saturated);
}

template <typename T>
static void gatherRow(const void *src, ptrdiff_t stride, size_t n, void *out) {
  const char *from = static_cast<const char *>(src);
  T *to = static_cast<T *>(out);
  for (size_t t = 0; t < n; ++t)
    __builtin_memcpy(to + t, from + static_cast<ptrdiff_t>(t) * stride,
                     sizeof(T));
}

//===----------------------------------------------------------------------===//
// Accumulators and decode
//===----------------------------------------------------------------------===//

/// All values fit 53 bits: int64 to double is exact, the scaling is exact (the
/// product stays normal), and the narrowing is the only rounding.
static inline void accNarrow(const int64_t *acc, size_t n, double factor,
                             float *out) {
  ASHLAR_VECTOR_LOOP
  for (size_t t = 0; t < n; ++t)
    out[t] = static_cast<float>(static_cast<double>(acc[t]) * factor);
}

static inline void accRow(const int64_t *acc, size_t n, int exponent,
                          float *out) {
  bool scalable = exponent >= -900 && exponent <= 900;
  double factor =
      scalable ? doubleOf(static_cast<uint64_t>(exponent + 1023) << 52) : 0;
  for (size_t base = 0; base < n; base += kChunk) {
    size_t count = least(kChunk, n - base);
    const int64_t *from = acc + base;
    uint64_t used = 0;
    ASHLAR_VECTOR_LOOP
    for (size_t t = 0; t < count; ++t)
      used |= static_cast<uint64_t>(from[t] ^ (from[t] >> 63));
    if (scalable && (used >> 53) == 0) {
      accNarrow(from, count, factor, out + base);
      continue;
    }
    for (size_t t = 0; t < count; ++t)
      out[base + t] = accToFloat(from[t], exponent);
  }
}

/// m * 2^e in two exact factors, because 2^e alone may be denormal.
template <typename In>
static void decodeRow(const In *mant, const int8_t *cells, size_t n,
                      int mantissa, float *out) {
  int32_t limit = (int32_t(1) << (mantissa - 1)) - 1;
  int drop = 32 - mantissa;
  ASHLAR_VECTOR_LOOP
  for (size_t t = 0; t < n; ++t) {
    int32_t e = cells[t] - (mantissa - 2);
    int32_t high = greatest(e, -126);
    float m = static_cast<float>(fetch(loadAt(mant, t), drop, limit));
    out[t] = (m * powerOfTwo(high)) * powerOfTwo(e - high);
  }
}

//===----------------------------------------------------------------------===//
// Encode
//===----------------------------------------------------------------------===//

/// Largest magnitude bits per column; returns the OR-able largest of all.
static inline uint32_t columnMaxima(const float *const *rows, size_t count,
                                    size_t base, size_t n, uint32_t *maxima) {
  for (size_t t = 0; t < n; ++t)
    maxima[t] = 0;
  for (size_t i = 0; i < count; ++i) {
    const float *row = rows[i] + base;
    ASHLAR_VECTOR_LOOP
    for (size_t t = 0; t < n; ++t)
      maxima[t] = greatest(maxima[t], bitsOf(row[t]) & 0x7fffffffu);
  }
  uint32_t top = 0;
  ASHLAR_VECTOR_LOOP
  for (size_t t = 0; t < n; ++t)
    top = greatest(top, maxima[t]);
  return top;
}

/// Cells and the two exact scale factors of each column. Returns true if a
/// non-zero column has the least cell (denormals: the slow path decides).
static inline bool columnCells(const uint32_t *maxima, size_t n, int mantissa,
                               int8_t *cells, float *first, float *second,
                               int32_t *topCell) {
  int32_t denormal = 0, top = -128;
  ASHLAR_VECTOR_LOOP
  for (size_t t = 0; t < n; ++t) {
    int32_t x = static_cast<int32_t>(maxima[t] >> 23) - 127;
    denormal |= static_cast<int32_t>(x == -127) & (maxima[t] != 0);
    x = maxima[t] == 0 ? -128 : x;
    top = greatest(top, x);
    cells[t] = static_cast<int8_t>(x);
    int32_t k = mantissa - 2 - x; // value * 2^k is the mantissa
    int32_t low = least(k, 127);
    first[t] = powerOfTwo(low);
    second[t] = powerOfTwo(k - low);
  }
  *topCell = top;
  return denormal != 0;
}

struct RowCounts {
  uint32_t saturated = 0;
  uint32_t underflow = 0;
};

/// Scaling up is exact; scaling down loses bits only of values far below one
/// half, which become zero either way. Adding 1.5 * 2^23 rounds to even.
template <typename Out>
static RowCounts encodeRow(const float *row, size_t n, int32_t limit,
                           const float *first, const float *second, Out *out) {
  uint32_t saturated = 0, underflow = 0;
  ASHLAR_VECTOR_LOOP
  for (size_t t = 0; t < n; ++t) {
    float scaled = (row[t] * first[t]) * second[t];
    float shifted = scaled + 0x1.8p23f;
    int32_t m = static_cast<int32_t>(bitsOf(shifted) - bitsOf(0x1.8p23f));
    int32_t limited = greatest(least(m, limit), -limit);
    saturated += m != limited;
    underflow += (m == 0) & ((bitsOf(row[t]) & 0x7fffffffu) != 0);
    storeAt(out, t, static_cast<Out>(limited));
  }
  return {saturated, underflow};
}

template <typename Out>
static void encodeRows(const float *const *rows, size_t n,
                       BlockColumns<Out> to) {
  const auto [count, mantissa, mant, cells, stats] = to;
  int32_t limit = (int32_t(1) << (mantissa - 1)) - 1;
  alignas(64) uint32_t maxima[kChunk];
  alignas(64) float first[kChunk], second[kChunk];
  for (size_t base = 0; base < n; base += kChunk) {
    size_t width = least(kChunk, n - base);
    int32_t topCell;
    if (columnMaxima(rows, count, base, width, maxima) >= 0x7f800000u ||
        columnCells(maxima, width, mantissa, cells + base, first, second,
                    &topCell)) {
      // Reference order: non-finite values and denormal maxima.
      scalarEncode(rows, base, width, to);
      continue;
    }
    for (size_t i = 0; i < count; ++i) {
      RowCounts counts = encodeRow(rows[i] + base, width, limit, first, second,
                                   mant[i] + base);
      stats->counters.saturated += counts.saturated;
      stats->counters.underflow += counts.underflow;
    }
    if (topCell != kZeroBlock)
      stats->maxExponent = greatest(
          stats->maxExponent, static_cast<int16_t>(topCell - (mantissa - 2)));
  }
}

/// Values of a block handled at a time: loops of this constant length become
/// whole vectors, however short the block is.
constexpr size_t kLineStep = 16;

/// Bits of the largest magnitude.
static inline uint32_t blockMaximum(const float *values, size_t n) {
  uint32_t maxima[kLineStep] = {};
  size_t t = 0;
  for (; t + kLineStep <= n; t += kLineStep)
    for (size_t j = 0; j < kLineStep; ++j)
      maxima[j] = greatest(maxima[j], bitsOf(values[t + j]) & 0x7fffffffu);
  uint32_t top = 0;
  for (size_t j = 0; j < kLineStep; ++j)
    top = greatest(top, maxima[j]);
  for (; t < n; ++t)
    top = greatest(top, bitsOf(values[t]) & 0x7fffffffu);
  return top;
}

/// encodeRow() of a row whose factors are the same everywhere.
static inline RowCounts encodeSteps(const float *values, size_t n,
                                    int32_t limit, float first, float second,
                                    int16_t *mant) {
  uint32_t saturated = 0, underflow = 0;
  ASHLAR_VECTOR_LOOP
  for (size_t t = 0; t < n; ++t) {
    float scaled = (values[t] * first) * second;
    float shifted = scaled + 0x1.8p23f;
    int32_t m = static_cast<int32_t>(bitsOf(shifted) - bitsOf(0x1.8p23f));
    int32_t limited = greatest(least(m, limit), -limit);
    saturated += m != limited;
    underflow += (m == 0) & ((bitsOf(values[t]) & 0x7fffffffu) != 0);
    mant[t] = static_cast<int16_t>(limited);
  }
  return {saturated, underflow};
}

static inline void encodeLine(const float *values, size_t n, size_t block,
                              int mantissa, int16_t *mant, int8_t *cells,
                              EncodeStats *stats) {
  const int32_t limit = (int32_t(1) << (mantissa - 1)) - 1;
  for (size_t base = 0; base < n; base += block, ++cells) {
    const size_t count = least(block, n - base);
    const float *from = values + base;
    int16_t *to = mant + base;
    const uint32_t top = blockMaximum(from, count);
    if (top == 0) {
      __builtin_memset(to, 0, count * sizeof(int16_t));
      *cells = kZeroBlock;
      continue;
    }
    const int32_t x = static_cast<int32_t>(top >> 23) - 127;
    if (x == 128 || x == -127) {
      scalarEncodeLine(from, count, block, mantissa, to, cells, stats);
      continue;
    }
    *cells = static_cast<int8_t>(x);
    const int32_t k = mantissa - 2 - x; // value * 2^k is the mantissa
    const int32_t low = least(k, 127);
    const float first = powerOfTwo(low), second = powerOfTwo(k - low);
    size_t t = 0;
    for (; t + kLineStep <= count; t += kLineStep) {
      const RowCounts counts =
          encodeSteps(from + t, kLineStep, limit, first, second, to + t);
      stats->counters.saturated += counts.saturated;
      stats->counters.underflow += counts.underflow;
    }
    const RowCounts rest =
        encodeSteps(from + t, count - t, limit, first, second, to + t);
    stats->counters.saturated += rest.saturated;
    stats->counters.underflow += rest.underflow;
    stats->maxExponent =
        greatest(stats->maxExponent, static_cast<int16_t>(x - (mantissa - 2)));
  }
}

//===----------------------------------------------------------------------===//
// Elementwise
//===----------------------------------------------------------------------===//

using UnaryLoop = void (*)(const float *, size_t, float, float, float *);
using BinaryLoop = void (*)(const float *, const float *, size_t, float *);
using ImmediateLoop = void (*)(const float *, float, size_t, float *);

template <Function F>
static void unaryLoop(const float *in, size_t n, float alpha, float beta,
                      float *out) {
  ASHLAR_VECTOR_LOOP
  for (size_t t = 0; t < n; ++t)
    out[t] = scalarUnary(F, in[t], alpha, beta);
}

template <BinaryFunction F>
static void binaryLoop(const float *a, const float *b, size_t n, float *out) {
  if constexpr (F == BinaryFunction::Pow || F == BinaryFunction::Mod) {
    for (size_t t = 0; t < n; ++t)
      out[t] = apply(F, a[t], b[t]);
  } else {
    ASHLAR_VECTOR_LOOP
    for (size_t t = 0; t < n; ++t)
      out[t] = basicBinary(F, a[t], b[t]);
  }
}

template <BinaryFunction F>
static void immediateLoop(const float *a, float b, size_t n, float *out) {
  if constexpr (F == BinaryFunction::Pow || F == BinaryFunction::Mod) {
    for (size_t t = 0; t < n; ++t)
      out[t] = apply(F, a[t], b);
  } else {
    ASHLAR_VECTOR_LOOP
    for (size_t t = 0; t < n; ++t)
      out[t] = basicBinary(F, a[t], b);
  }
}

#define ASHLAR_FOUR(loop, type, k)                                             \
  loop<static_cast<type>(k)>, loop<static_cast<type>((k) + 1)>,                \
      loop<static_cast<type>((k) + 2)>, loop<static_cast<type>((k) + 3)>

constexpr UnaryLoop kUnaryLoops[] = {ASHLAR_FOUR(unaryLoop, Function, 0),
                                     ASHLAR_FOUR(unaryLoop, Function, 4),
                                     ASHLAR_FOUR(unaryLoop, Function, 8),
                                     ASHLAR_FOUR(unaryLoop, Function, 12),
                                     ASHLAR_FOUR(unaryLoop, Function, 16),
                                     ASHLAR_FOUR(unaryLoop, Function, 20),
                                     ASHLAR_FOUR(unaryLoop, Function, 24),
                                     ASHLAR_FOUR(unaryLoop, Function, 28),
                                     ASHLAR_FOUR(unaryLoop, Function, 32),
                                     unaryLoop<Function::Acosh>,
                                     unaryLoop<Function::Atanh>};
static_assert(sizeof(kUnaryLoops) / sizeof(kUnaryLoops[0]) == kFunctionCount);

constexpr BinaryLoop kBinaryLoops[] = {
    ASHLAR_FOUR(binaryLoop, BinaryFunction, 0),
    ASHLAR_FOUR(binaryLoop, BinaryFunction, 4),
    ASHLAR_FOUR(binaryLoop, BinaryFunction, 8),
    ASHLAR_FOUR(binaryLoop, BinaryFunction, 12),
    binaryLoop<BinaryFunction::Mod>};
constexpr ImmediateLoop kImmediateLoops[] = {
    ASHLAR_FOUR(immediateLoop, BinaryFunction, 0),
    ASHLAR_FOUR(immediateLoop, BinaryFunction, 4),
    ASHLAR_FOUR(immediateLoop, BinaryFunction, 8),
    ASHLAR_FOUR(immediateLoop, BinaryFunction, 12),
    immediateLoop<BinaryFunction::Mod>};
static_assert(sizeof(kBinaryLoops) / sizeof(kBinaryLoops[0]) ==
              kBinaryFunctionCount);

static inline void unaryRow(Function function, const float *in, size_t n,
                            float alpha, float beta, float *out) {
  kUnaryLoops[static_cast<unsigned>(function)](in, n, alpha, beta, out);
}
static inline void binaryRow(BinaryFunction function, const float *a,
                             const float *b, size_t n, float *out) {
  kBinaryLoops[static_cast<unsigned>(function)](a, b, n, out);
}
static inline void immediateRow(BinaryFunction function, const float *a,
                                float b, size_t n, float *out) {
  kImmediateLoops[static_cast<unsigned>(function)](a, b, n, out);
}

static inline void squareStep(const float *in, size_t n, float *acc) {
  ASHLAR_VECTOR_LOOP
  for (size_t t = 0; t < n; ++t)
    acc[t] = canonical(acc[t] + in[t] * in[t]);
}
static inline void magnitudeStep(const float *in, size_t n, float *acc) {
  ASHLAR_VECTOR_LOOP
  for (size_t t = 0; t < n; ++t)
    acc[t] = canonical(acc[t] + magnitude(in[t]));
}

static inline void reduceRow(Reduction reduction, const float *in, size_t n,
                             float *acc) {
  switch (reduction) {
  case Reduction::Sum:
  case Reduction::Mean:
    return binaryRow(BinaryFunction::Add, acc, in, n, acc);
  case Reduction::Max:
    return binaryRow(BinaryFunction::Max, acc, in, n, acc);
  case Reduction::Min:
    return binaryRow(BinaryFunction::Min, acc, in, n, acc);
  case Reduction::Prod:
    return binaryRow(BinaryFunction::Mul, acc, in, n, acc);
  case Reduction::SumSquare:
    return squareStep(in, n, acc);
  case Reduction::L1:
    return magnitudeStep(in, n, acc);
  default:
    return;
  }
}

/// Chunks keep the row in the first cache level between the steps.
static inline void epilogueRow(const int64_t *acc, size_t n,
                               const EpilogueRow &params, float *out) {
  for (size_t base = 0; base < n; base += kChunk) {
    size_t count = least(kChunk, n - base);
    float *to = out + base;
    accRow(acc + base, count, params.exponent, to);
    if (params.hasScale)
      immediateRow(BinaryFunction::Mul, to, params.scale, count, to);
    if (params.hasBias)
      immediateRow(BinaryFunction::Add, to, params.bias, count, to);
    if (params.residual)
      binaryRow(BinaryFunction::Add, to, params.residual + base, count, to);
    if (params.function != Function::Copy)
      unaryRow(params.function, to, count, params.alpha, params.beta, to);
  }
}

/// All values fit 53 bits and all exponents are scalable (accRow()).
static inline void stepsNarrow(const int64_t *acc, const int32_t *exponents,
                               size_t n, float *out) {
  ASHLAR_VECTOR_LOOP
  for (size_t t = 0; t < n; ++t) {
    const double factor =
        doubleOf(static_cast<uint64_t>(int64_t(exponents[t]) + 1023) << 52);
    out[t] = static_cast<float>(static_cast<double>(acc[t]) * factor);
  }
}

/// accRow() with an exponent for each step.
static inline void accSteps(const int64_t *acc, const int32_t *exponents,
                            size_t n, float *out) {
  uint64_t used = 0;
  int32_t low = 0, high = 0;
  ASHLAR_VECTOR_LOOP
  for (size_t t = 0; t < n; ++t)
    used |= static_cast<uint64_t>(acc[t] ^ (acc[t] >> 63));
  ASHLAR_VECTOR_LOOP
  for (size_t t = 0; t < n; ++t) {
    low = least(low, exponents[t]);
    high = greatest(high, exponents[t]);
  }
  if ((used >> 53) == 0 && low >= -900 && high <= 900)
    return stepsNarrow(acc, exponents, n, out);
  for (size_t t = 0; t < n; ++t)
    out[t] = accToFloat(acc[t], exponents[t]);
}

static inline void epilogueSteps(const int64_t *acc, size_t n,
                                 const EpilogueSteps &params, float *out) {
  alignas(64) float values[kChunk];
  for (size_t base = 0; base < n; base += kChunk) {
    size_t count = least(kChunk, n - base);
    accSteps(acc + base, params.exponents + base, count, values);
    if (params.scales)
      binaryRow(BinaryFunction::Mul, values, params.scales + base, count,
                values);
    if (params.biases)
      binaryRow(BinaryFunction::Add, values, params.biases + base, count,
                values);
    if (params.residual)
      binaryRow(BinaryFunction::Add, values, params.residual + base, count,
                values);
    unaryRow(params.function, values, count, params.alpha, params.beta,
             out + base);
  }
}

/// The table of one instruction set; the caller adds the products.
template <decltype(KernelTable::gemm) Gemm>
static constexpr KernelTable
makeTable(llvm::StringRef name, decltype(KernelTable::packStationary) pack) {
  return {name,
          alignRow<int8_t, int16_t>,
          alignRow<int8_t, int32_t>,
          alignRow<int16_t, int16_t>,
          alignRow<int16_t, int32_t>,
          alignGroup,
          gatherRow<uint8_t>,
          gatherRow<uint16_t>,
          gatherRow<uint32_t>,
          pack,
          nullptr,
          nullptr,
          Gemm,
          startMovingPlain,
          packMovingPlain,
          nullptr,
          packStoredPlain<alignGroup>,
          gemmPlain<Gemm>,
          nullptr,
          nullptr,
          accRow,
          epilogueRow,
          epilogueSteps,
          drainRows<epilogueRow, encodeRows<int8_t>>,
          decodeRow<int8_t>,
          decodeRow<int16_t>,
          encodeRows<int8_t>,
          encodeRows<int16_t>,
          encodeLine,
          unaryRow,
          binaryRow,
          immediateRow,
          reduceRow,
          windowMaxima<decodeRow<int8_t>, reduceRow, gatherRow<uint32_t>>,
          nullptr,
          sumRoundingErrors};
}

} // namespace ashlar::numerics

#endif // ASHLAR_LIB_NUMERICS_ROWKERNELS_H
