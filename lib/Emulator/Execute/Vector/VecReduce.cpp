// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// vec.reduce and vec.reduce_channels: reductions in index order.

#include "../Engine.h"
#include "../TensorRows.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include <algorithm>
#include <array>

using namespace ashlar;
using namespace ashlar::emulator;
using numerics::Reduction;

static bool isArg(Reduction kind) {
  return kind == Reduction::ArgMax || kind == Reduction::ArgMin;
}

/// The sum of n values, or of their squares, in order. A NaN stays one: making
/// it canonical in the last step is enough.
template <bool Squares>
static float sumRow(Reduction kind, const float *values, uint64_t n) {
  float sum = numerics::reduceInit(kind);
  if (n == 0)
    return sum;
  for (uint64_t i = 0; i + 1 < n; ++i)
    sum += Squares ? values[i] * values[i] : values[i];
  return numerics::reduceStep(kind, sum, values[n - 1]);
}

/// Rows whose sums are taken side by side: an addition takes some four cycles
/// of the host, and each waits for the one before it in its row.
static constexpr uint64_t rowsAtOnce = 8;

/// The sums of `rowsAtOnce` rows, each in order as sumRow() takes it.
template <bool Squares>
static void sumRows(Reduction kind, const float *const *rows, uint64_t n,
                    float *sums) {
  std::fill_n(sums, rowsAtOnce, numerics::reduceInit(kind));
  if (n == 0)
    return;
  for (uint64_t i = 0; i + 1 < n; ++i)
    for (uint64_t r = 0; r < rowsAtOnce; ++r)
      sums[r] += Squares ? rows[r][i] * rows[r][i] : rows[r][i];
  for (uint64_t r = 0; r < rowsAtOnce; ++r)
    sums[r] = numerics::reduceStep(kind, sums[r], rows[r][n - 1]);
}

/// One reduction over n values in order.
static float reduceRow(Reduction kind, bool selectLast, const float *values,
                       uint64_t n) {
  if (kind == Reduction::Sum || kind == Reduction::Mean)
    return numerics::reduceFinish(kind, sumRow<false>(kind, values, n), n);
  if (kind == Reduction::SumSquare)
    return sumRow<true>(kind, values, n);
  if (!isArg(kind)) {
    float accumulator = numerics::reduceInit(kind);
    for (uint64_t i = 0; i < n; ++i)
      accumulator = numerics::reduceStep(kind, accumulator, values[i]);
    return numerics::reduceFinish(kind, accumulator, n);
  }
  uint64_t best = 0;
  for (uint64_t i = 1; i < n; ++i)
    if (numerics::argBetter(kind, values[best], values[i], selectLast))
      best = i;
  return numerics::fromUnsigned(best);
}

/// One reduction of each of at most `rowsAtOnce` rows.
static void reduceRows(Reduction kind, bool selectLast,
                       llvm::ArrayRef<const float *> rows, uint64_t n,
                       float *out) {
  const bool squares = kind == Reduction::SumSquare;
  const bool isSum =
      squares || kind == Reduction::Sum || kind == Reduction::Mean;
  if (!isSum || rows.size() == 1) {
    for (const float *row : rows)
      *out++ = reduceRow(kind, selectLast, row, n);
    return;
  }
  // The last rows are joined by repetitions of one of them.
  std::array<const float *, rowsAtOnce> all;
  all.fill(rows.front());
  llvm::copy(rows, all.begin());
  float sums[rowsAtOnce];
  if (squares)
    sumRows<true>(kind, all.data(), n, sums);
  else
    sumRows<false>(kind, all.data(), n, sums);
  for (size_t r = 0; r < rows.size(); ++r)
    out[r] = numerics::reduceFinish(kind, sums[r], n);
}

namespace {

/// One reduction in int64 (docs/Numerics.md 9).
class IntegerReducer {
public:
  IntegerReducer(Reduction kind, bool selectLast)
      : kind(kind), selectLast(selectLast) {}

  void add(int64_t x) {
    // Unsigned arithmetic wraps; two's complement makes it the signed result.
    const auto a = static_cast<uint64_t>(accumulator);
    const auto b = static_cast<uint64_t>(x);
    const bool more = kind == Reduction::ArgMax || kind == Reduction::Max;
    if (isArg(kind) || kind == Reduction::Max || kind == Reduction::Min) {
      bool wins = more ? x > accumulator : x < accumulator;
      if (count == 0 || wins || (selectLast && x == accumulator)) {
        accumulator = x;
        best = count;
      }
    } else if (kind == Reduction::Prod) {
      accumulator = count == 0 ? x : static_cast<int64_t>(a * b);
    } else {
      uint64_t term = kind == Reduction::SumSquare     ? b * b
                      : kind == Reduction::L1 && x < 0 ? 0 - b
                                                       : b;
      accumulator = static_cast<int64_t>(a + term);
    }
    ++count;
  }

  int64_t result() const {
    return isArg(kind) ? static_cast<int64_t>(best) : accumulator;
  }

private:
  Reduction kind;
  bool selectLast;
  int64_t accumulator = 0;
  uint64_t count = 0, best = 0;
};

/// Many reductions side by side: rows arrive in index order.
class RowReducer {
public:
  RowReducer(Engine &engine, Reduction kind, bool selectLast, uint64_t n,
             float *out)
      : engine(engine), kind(kind), selectLast(selectLast), n(n), out(out) {
    if (isArg(kind))
      best = Scratch::ofThisThread().get<float>(Scratch::Accums, n);
    else
      std::fill_n(out, n, numerics::reduceInit(kind));
  }

  void add(const float *row) {
    if (!isArg(kind)) {
      engine.kernels->reduceStep(kind, row, n, out);
    } else {
      for (uint64_t i = 0; i < n; ++i)
        if (count == 0 ||
            numerics::argBetter(kind, best[i], row[i], selectLast)) {
          best[i] = row[i];
          out[i] = numerics::fromUnsigned(count);
        }
    }
    ++count;
  }

  void finish() {
    for (uint64_t i = 0; !isArg(kind) && i < n; ++i)
      out[i] = numerics::reduceFinish(kind, out[i], count);
  }

private:
  Engine &engine;
  Reduction kind;
  bool selectLast;
  uint64_t n, count = 0;
  float *out, *best = nullptr;
};

} // namespace

/// Integers reduce to integers exactly; a mean is a quotient of floats.
template <typename Op>
static bool isIntegral(const Op &op) {
  return isInteger(op.srcType) && isInteger(op.dstType) &&
         static_cast<Reduction>(op.kind) != Reduction::Mean;
}

/// Rows of integer results in chunks: \p compute(channel, k) is one of them.
static void
produceIntegers(Engine &engine, const TensorView &view, uint64_t channels,
                uint64_t cost,
                llvm::function_ref<int64_t(uint64_t, uint64_t)> compute) {
  constexpr uint64_t chunk = 1024;
  const uint64_t size = view.pattern.size();
  engine.split(channels, channels * size * cost,
               [&](uint64_t begin, uint64_t end) {
                 Scratch &scratch = Scratch::ofThisThread();
                 for (uint64_t channel = begin; channel < end; ++channel)
                   for (uint64_t k0 = 0; k0 < size; k0 += chunk) {
                     uint64_t k1 = std::min(size, k0 + chunk);
                     auto *out = scratch.get<int64_t>(Scratch::RowB, chunk);
                     for (uint64_t k = k0; k < k1; ++k)
                       out[k - k0] = compute(channel, k);
                     storeIntegers(engine, view, channel, k0, k1, out);
                   }
               });
}

// Floats and indices are stored through binary32. Indices up to 2^20 and more
// are exact in it, so arg reductions need no integer path.

void Engine::execute(const isa::VecReduce &op) {
  const auto kind = static_cast<Reduction>(op.kind);
  const uint64_t reduced = uint64_t(op.r0) * op.r1;
  // One view for each result: the outer loops choose it.
  isa::TensorOperand operand = operandSrc(op);
  operand.loops.erase(operand.loops.begin(), operand.loops.begin() + 2);
  const TensorView source = viewOf(operand);
  const TensorView result = viewOf(operandDst(op));
  auto offsetOf = [&](uint64_t k) {
    return static_cast<int64_t>(k / op.o1) * op.srcStrideO0 +
           static_cast<int64_t>(k % op.o1) * op.srcStrideO1;
  };
  // Buffers of longer rows would leave the first cache level.
  constexpr uint64_t longestOfSeveral = 1024;
  const uint64_t atOnce = reduced <= longestOfSeveral ? rowsAtOnce : 1;
  auto compute = [&](const RowRange &range, float *out) {
    auto *buffer =
        Scratch::ofThisThread().get<float>(Scratch::RowA, atOnce * reduced);
    TensorView view = source;
    llvm::SmallVector<const float *, rowsAtOnce> rows;
    for (uint64_t i = 0; i < range.elements(); ++i) {
      const uint64_t k = range.k0 + i % range.steps();
      view.offset = source.offset + static_cast<uint64_t>(offsetOf(k));
      rows.push_back(loadFloats(*this, view, range.first + i / range.steps(), 0,
                                reduced, buffer + rows.size() * reduced));
      if (rows.size() < atOnce && i + 1 < range.elements())
        continue;
      reduceRows(kind, op.selectLast, rows, reduced, out);
      out += rows.size();
      rows.clear();
    }
  };
  auto computeInteger = [&](uint64_t channel, uint64_t k) {
    TensorView view = source;
    view.offset = source.offset + static_cast<uint64_t>(offsetOf(k));
    auto *row = Scratch::ofThisThread().get<int64_t>(Scratch::RowA, reduced);
    loadIntegers(*this, view, channel, 0, reduced, row);
    IntegerReducer reducer(kind, op.selectLast);
    std::for_each(row, row + reduced, [&](int64_t x) { reducer.add(x); });
    return reducer.result();
  };
  if (isIntegral(op))
    return produceIntegers(*this, result, op.channels, reduced, computeInteger);
  // Elements of a row wait for each other: of a single one some 1.5 ns each.
  const uint64_t elementCost = atOnce > 1 ? 1 : 4;
  produceRows(*this, result, encodeTarget(op), op.channels,
              reduced * elementCost, compute);
}

void Engine::execute(const isa::VecReduceChannels &op) {
  const auto kind = static_cast<Reduction>(op.kind);
  const TensorView source = viewOf(operandSrc(op));
  const TensorView result = viewOf(operandDst(op));
  auto compute = [&](uint64_t, uint64_t k0, uint64_t k1, float *out) {
    RowReducer reducer(*this, kind, op.selectLast, k1 - k0, out);
    auto *buffer = Scratch::ofThisThread().get<float>(Scratch::RowA, k1 - k0);
    for (uint64_t channel = 0; channel < op.channels; ++channel)
      reducer.add(loadFloats(*this, source, channel, k0, k1, buffer));
    reducer.finish();
  };
  auto computeInteger = [&](uint64_t, uint64_t k) {
    IntegerReducer reducer(kind, op.selectLast);
    for (uint64_t channel = 0; channel < op.channels; ++channel) {
      int64_t x = 0;
      loadIntegers(*this, source, channel, k, k + 1, &x);
      reducer.add(x);
    }
    return reducer.result();
  };
  if (isIntegral(op))
    return produceIntegers(*this, result, 1, op.channels, computeInteger);
  produceFloats(*this, result, encodeTarget(op), 1, op.channels, compute);
}
