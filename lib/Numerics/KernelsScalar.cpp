// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The reference kernel table: one contract function per element, no tricks.

#include "Internal.h"
#include "RoundingErrors.h"
#include "WindowMaxima.h"

namespace ashlar::numerics {

template <typename In, typename Out>
static void alignRow(const In *mant, const int8_t *cells, size_t n,
                     Alignment alignment, Out *out, uint64_t *saturated) {
  for (size_t t = 0; t < n; ++t)
    out[t] = static_cast<Out>(align(
        fetchMantissa(loadAt(mant, t), alignment.mantissa), cells[t],
        alignment.scale, alignment.mantissa, alignment.range, *saturated));
}

static void alignGroup(PitchedRows<const int8_t> mant, size_t rows,
                       const int8_t *cells, size_t n, Alignment alignment,
                       PitchedRows<int16_t> out, uint64_t *saturated) {
  for (size_t i = 0; i < rows;
       ++i, mant.first += mant.pitch, out.first += out.pitch)
    alignRow(mant.first, cells, n, alignment, out.first, saturated);
}

template <typename T>
static void gatherRow(const void *src, ptrdiff_t stride, size_t n, void *out) {
  const char *from = static_cast<const char *>(src);
  char *to = static_cast<char *>(out);
  for (size_t t = 0; t < n; ++t, to += sizeof(T))
    __builtin_memcpy(to, from + static_cast<ptrdiff_t>(t) * stride, sizeof(T));
}

static int64_t element(const IntegerMatrix &m, size_t row, size_t column) {
  size_t index = row * m.pitch + column;
  return m.width == OperandWidth::Int16
             ? static_cast<const int16_t *>(m.data)[index]
             : static_cast<const int32_t *>(m.data)[index];
}

static void packStationary(const IntegerMatrix &values, size_t rows,
                           size_t cols, PackedStationary &out) {
  out.rows = rows;
  out.cols = cols;
  out.width = values.width;
  out.reserve(rows * cols * sizeof(int32_t));
  int32_t *to = reinterpret_cast<int32_t *>(out.bytes);
  for (size_t i = 0; i < rows; ++i)
    for (size_t c = 0; c < cols; ++c)
      *to++ = static_cast<int32_t>(element(values, i, c));
}

static void gemm(const PackedStationary &stationary,
                 const IntegerMatrix &moving, size_t steps, int64_t *acc,
                 size_t accPitch, bool accumulate) {
  const int32_t *s = reinterpret_cast<const int32_t *>(stationary.bytes);
  for (size_t c = 0; c < stationary.cols; ++c)
    for (size_t t = 0; t < steps; ++t) {
      // Unsigned: only an unproved program can wrap, and then alike everywhere.
      uint64_t sum =
          accumulate ? static_cast<uint64_t>(acc[c * accPitch + t]) : 0;
      for (size_t i = 0; i < stationary.rows; ++i)
        sum += static_cast<uint64_t>(s[i * stationary.cols + c] *
                                     element(moving, i, t));
      acc[c * accPitch + t] = static_cast<int64_t>(sum);
    }
}

static void accRow(const int64_t *acc, size_t n, int exponent, float *out) {
  for (size_t t = 0; t < n; ++t)
    out[t] = accToFloat(acc[t], exponent);
}

static void epilogueRow(const int64_t *acc, size_t n, const EpilogueRow &params,
                        float *out) {
  for (size_t t = 0; t < n; ++t) {
    float v = accToFloat(acc[t], params.exponent);
    if (params.hasScale)
      v = apply(BinaryFunction::Mul, v, params.scale);
    if (params.hasBias)
      v = apply(BinaryFunction::Add, v, params.bias);
    if (params.residual)
      v = apply(BinaryFunction::Add, v, params.residual[t]);
    out[t] = apply(params.function, v, params.alpha, params.beta);
  }
}

static void epilogueSteps(const int64_t *acc, size_t n,
                          const EpilogueSteps &params, float *out) {
  for (size_t t = 0; t < n; ++t) {
    EpilogueRow row;
    row.exponent = params.exponents[t];
    row.hasScale = params.scales;
    row.hasBias = params.biases;
    row.scale = params.scales ? params.scales[t] : 1;
    row.bias = params.biases ? params.biases[t] : 0;
    row.residual = params.residual ? params.residual + t : nullptr;
    row.function = params.function;
    row.alpha = params.alpha;
    row.beta = params.beta;
    epilogueRow(acc + t, 1, row, out + t);
  }
}

template <typename In>
static void decodeRow(const In *mant, const int8_t *cells, size_t n,
                      int mantissa, float *out) {
  for (size_t t = 0; t < n; ++t)
    out[t] =
        decode(fetchMantissa(loadAt(mant, t), mantissa), cells[t], mantissa);
}

template <typename Out>
void scalarEncode(const float *const *rows, size_t base, size_t n,
                  BlockColumns<Out> to) {
  // Whole-axis blocks may have any length: columns are gathered here.
  std::unique_ptr<float[]> values(new float[to.count]);
  std::unique_ptr<int16_t[]> mantissas(new int16_t[to.count]);
  for (size_t t = base; t < base + n; ++t) {
    for (size_t i = 0; i < to.count; ++i)
      values[i] = rows[i][t];
    to.cells[t] =
        encodeBlock(llvm::ArrayRef<float>(values.get(), to.count), to.mantissa,
                    llvm::MutableArrayRef<int16_t>(mantissas.get(), to.count),
                    to.stats->counters);
    for (size_t i = 0; i < to.count; ++i)
      storeAt(to.mant[i], t, static_cast<Out>(mantissas[i]));
    if (to.cells[t] != kZeroBlock)
      to.stats->maxExponent = mergeScale(
          to.stats->maxExponent,
          static_cast<int16_t>(stepExponent(to.cells[t], to.mantissa)));
  }
}

template void scalarEncode(const float *const *, size_t, size_t,
                           BlockColumns<int8_t>);
template void scalarEncode(const float *const *, size_t, size_t,
                           BlockColumns<int16_t>);

void scalarEncodeLine(const float *values, size_t n, size_t block, int mantissa,
                      int16_t *mant, int8_t *cells, EncodeStats *stats) {
  for (size_t base = 0; base < n; base += block, ++cells) {
    const size_t count = n - base < block ? n - base : block;
    *cells = encodeBlock(llvm::ArrayRef<float>(values + base, count), mantissa,
                         llvm::MutableArrayRef<int16_t>(mant + base, count),
                         stats->counters);
    if (*cells != kZeroBlock)
      stats->maxExponent =
          mergeScale(stats->maxExponent,
                     static_cast<int16_t>(stepExponent(*cells, mantissa)));
  }
}

template <typename Out>
static void encodeRows(const float *const *rows, size_t n,
                       BlockColumns<Out> to) {
  scalarEncode(rows, 0, n, to);
}

static void unaryRow(Function function, const float *in, size_t n, float alpha,
                     float beta, float *out) {
  for (size_t t = 0; t < n; ++t)
    out[t] = apply(function, in[t], alpha, beta);
}

static void binaryRow(BinaryFunction function, const float *a, const float *b,
                      size_t n, float *out) {
  for (size_t t = 0; t < n; ++t)
    out[t] = apply(function, a[t], b[t]);
}

static void immediateRow(BinaryFunction function, const float *a, float b,
                         size_t n, float *out) {
  for (size_t t = 0; t < n; ++t)
    out[t] = apply(function, a[t], b);
}

static void reduceRow(Reduction reduction, const float *in, size_t n,
                      float *acc) {
  for (size_t t = 0; t < n; ++t)
    acc[t] = reduceStep(reduction, acc[t], in[t]);
}

static void sweepTile(const int16_t *slots, const TileTaps &taps,
                      const TileShape &shape, int64_t *sums) {
  auto add = [&](const int16_t *slot, int64_t &sum) {
    int64_t products = 0;
    for (size_t k = 0; k < 2 * taps.pairs; ++k) {
      const auto value =
          static_cast<int16_t>(taps.values[k / 2] >> (k % 2 ? 16 : 0));
      products += int64_t(slot[taps.elements[k]]) * value;
    }
    sum = static_cast<int64_t>(static_cast<uint64_t>(sum) +
                               (static_cast<uint64_t>(products) << taps.shift));
  };
  for (size_t n = 0; n < shape.images; ++n)
    for (size_t y = 0; y < shape.rows; ++y)
      for (size_t x = 0; x < shape.cols; ++x)
        add(slots + n * shape.image + y * shape.line + x,
            sums[n * shape.sumImage + y * shape.sumLine + x]);
}

constinit const KernelTable scalarTable = {
    "scalar",
    alignRow<int8_t, int16_t>,
    alignRow<int8_t, int32_t>,
    alignRow<int16_t, int16_t>,
    alignRow<int16_t, int32_t>,
    alignGroup,
    gatherRow<uint8_t>,
    gatherRow<uint16_t>,
    gatherRow<uint32_t>,
    packStationary,
    nullptr,
    nullptr,
    gemm,
    startMovingPlain,
    packMovingPlain,
    nullptr,
    packStoredPlain<alignGroup>,
    gemmPlain<gemm>,
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
    scalarEncodeLine,
    unaryRow,
    binaryRow,
    immediateRow,
    reduceRow,
    windowMaxima<decodeRow<int8_t>, reduceRow, gatherRow<uint32_t>>,
    sweepTile,
    sumRoundingErrors};

} // namespace ashlar::numerics
