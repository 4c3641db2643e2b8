// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The drain, one sum at a time: what a lane adds, multiplies and rounds.

#include "NaiveMachine.h"
#include "ashlar/Isa/PooledDrain.h"
#include "ashlar/Numerics/Function.h"
#include "ashlar/Support/ElementType.h"

#include <algorithm>
#include <cmath>

using namespace ashlar;
using namespace ashlar::test;
using isa::ElemType;
using numerics::BinaryFunction;

void NaiveMachine::run(const isa::ActDrain &op) {
  if (!op.fromTcu && op.groupLanes > 0)
    return drainGroups(op);
  op.fromTcu ? drainTiles(op) : drainPart(op);
  if (op.counted)
    countDrained(op);
}

/// The columns of results that follow each other along dimension 1, one result
/// of a step at a time.
void NaiveMachine::drainGroups(const isa::ActDrain &op) {
  const auto groups = static_cast<int64_t>(op.cols / op.groupLanes);
  for (int64_t g = 0; g < groups && g < op.validN1; ++g) {
    isa::ActDrain one = op;
    one.groupLanes = one.validN1 = 0;
    while (g + (one.n1 - 1) * groups >= op.validN1)
      --one.n1;
    one.cols = op.groupLanes;
    one.dstXrClear = op.dstXrClear && g == 0;
    one.paramPart += static_cast<uint32_t>(g * op.groupLanes);
    one.dstOffset = static_cast<uint32_t>(op.dstOffset + g * op.dstStride1);
    one.resOffset = static_cast<uint32_t>(op.resOffset + g * op.resStride1);
    one.counts = static_cast<uint32_t>(op.counts + g * op.countStride1);
    one.dstStride1 = static_cast<int32_t>(op.dstStride1 * groups);
    one.resStride1 = static_cast<int32_t>(op.resStride1 * groups);
    one.countStride1 = static_cast<uint32_t>(op.countStride1 * groups);
    firstColumn = static_cast<uint64_t>(g * op.groupLanes);
    drainPart(one);
    if (op.counted)
      countDrained(one);
  }
  firstColumn = 0;
}

/// Word k of the parameters of a lane, or of a step.
uint32_t NaiveMachine::parameter(const isa::ActDrain &op, uint64_t lane,
                                 int64_t step, int64_t k) const {
  const int64_t at = op.paramOffset + (op.paramAlongSteps ? 16 * step : 0);
  return static_cast<uint32_t>(rawElement(
      op.paramPart + (op.paramAlongSteps ? 0 : lane), at + 4 * k, 4));
}

/// The sum that a lane takes for the result at `index`.
int64_t NaiveMachine::sumOf(const isa::ActDrain &op, uint64_t lane,
                            const int64_t index[3]) const {
  const auto entry = static_cast<uint64_t>(
      int64_t(op.psum) + index[0] * op.psumStride0 + index[1] * op.psumStride1 +
      index[2] * op.psumStride2);
  if (!drained)
    return static_cast<int64_t>(
        psum[(firstColumn + lane) * machine.psum.entries() + entry]);
  const uint64_t source =
      op.mapped ? static_cast<uint32_t>(
                      rawElement(op.paramPart + lane, op.paramOffset + 12, 4))
                : lane;
  return (*drained)[entry + source * op.regionStride];
}

/// A number of steps of quantisation as an integer of the type; NaN is 0.
static int64_t saturated(double y, ElemType type) {
  const int bits =
      static_cast<int>(8 * support::byteSize(static_cast<ElementType>(type)));
  const bool isSigned = support::isSignedInteger(ElementType(type));
  const double low = isSigned ? -std::ldexp(1.0, bits - 1) : 0;
  const double top = std::ldexp(1.0, bits - int(isSigned));
  if (y != y)
    return 0;
  // 2^63 and 2^64 are no values of their types.
  if (y >= top && bits == 64)
    return isSigned ? INT64_MAX : -1;
  if (y >= top)
    return int64_t(top) - 1;
  if (y <= low)
    return isSigned && bits == 64 ? INT64_MIN : int64_t(low);
  return isSigned ? int64_t(y) : int64_t(uint64_t(y));
}

/// A drain of integers, maybe requantised.
int64_t NaiveMachine::drainInteger(const isa::ActDrain &op, uint64_t lane,
                                   int64_t step, int64_t acc) const {
  if (op.hasBias)
    acc += static_cast<int32_t>(parameter(op, lane, step, 1));
  if (op.mode != isa::DrainMode::Int)
    return acc;
  if (op.hasScale) {
    float v =
        numerics::apply(BinaryFunction::Mul, static_cast<float>(acc),
                        std::bit_cast<float>(parameter(op, lane, step, 0)));
    if (op.function == isa::Function::Relu)
      v = v > 0 ? v : v != v ? v : 0.0f;
    return saturated(std::nearbyint(double(v)) + op.shift, op.dstType);
  }
  const auto type = static_cast<ElementType>(op.dstType);
  if (op.overflow == isa::Overflow::Wrap)
    return acc;
  return numerics::saturateTo(acc, int(8 * support::byteSize(type)),
                              support::isSignedInteger(type));
}

/// The value of a sum with what is aligned to it: all in steps of the exponent
/// of the entry, or of a larger one in which the others have 61 bits. 64 bits
/// of mantissa hold every step. In mode block its function is applied, too.
long double NaiveMachine::alignedSum(const isa::ActDrain &op, const Tensor &res,
                                     uint64_t lane, const int64_t index[3],
                                     int64_t step, int64_t acc,
                                     int exponent) const {
  const bool block = op.mode == isa::DrainMode::Block;
  std::vector<std::pair<long double, int>> terms{{acc, exponent}};
  if (op.biasAligned) {
    const uint32_t word = parameter(op, lane, step, 1);
    terms.push_back(
        {static_cast<int16_t>(word), static_cast<int32_t>(word) >> 16});
  }
  if (block && op.resMode) {
    // A float of a whole number of steps of its cell.
    int e = 0;
    const double v = load(res, lane, index), m = std::frexp(v, &e);
    const Place at = placeOf(res, lane, index);
    const int own =
        xm[at.partition / machine.xmGroup * machine.sb.bytesPerPartition +
           static_cast<uint64_t>(at.offset)] -
        (int(res.mantissa) - 2);
    terms.push_back({std::ldexp(m, e - own), own});
  }
  int unit = exponent;
  for (size_t i = 1; i < terms.size(); ++i)
    if (terms[i].first != 0)
      unit = std::max(unit, terms[i].second - 46);
  long double sum = 0;
  for (auto [m, e] : terms)
    sum += std::nearbyint(std::ldexp(m, e - unit));
  if (block && op.function == isa::Function::Relu)
    sum = std::max(sum, 0.0L);
  // Beyond 63 bits a limit is the largest integer (docs/Numerics.md 6).
  auto limit = [&](float v) {
    const long double most = 0x7fff'ffff'ffff'ffffL;
    return std::clamp(
        std::nearbyint(std::ldexp(static_cast<long double>(v), -unit)), -most,
        most);
  };
  if (block && op.function == isa::Function::Clip)
    sum = std::min(std::max(sum, limit(op.alpha)), limit(op.beta));
  // What is beyond every cell saturates, or is 0; long double must hold it.
  return std::ldexp(sum, std::clamp(unit, -10000, 10000));
}

/// The epilogue in binary32: 64 bits of mantissa hold the sum, which is rounded
/// once; the steps after it are one operation each, NaN made canonical.
float NaiveMachine::epilogue(const isa::ActDrain &op, const Tensor &res,
                             uint64_t lane, const int64_t index[3],
                             int64_t step, long double sum) const {
  auto number = [&](int64_t k) {
    return std::bit_cast<float>(parameter(op, lane, step, k));
  };
  auto v = static_cast<float>(sum);
  if (op.hasScale)
    v = numerics::apply(BinaryFunction::Mul, v, number(0));
  if (op.hasBias && !op.biasAligned)
    v = numerics::apply(BinaryFunction::Add, v, number(1));
  if (op.resMode)
    v = numerics::apply(BinaryFunction::Add, v, load(res, lane, index));
  return numerics::apply(static_cast<numerics::Function>(op.function), v,
                         op.alphaFromParam ? number(3) : op.alpha, op.beta);
}

/// A value that is stored and loaded again.
float NaiveMachine::stored(ElemType type, float value) {
  const Tensor cell{type, 0, 0, 0, 0, {0, 0, 0}, false};
  const int64_t first[3] = {0, 0, 0};
  const std::vector<uint8_t> before(sb.begin(), sb.begin() + 8);
  store(cell, 0, first, value);
  value = load(cell, 0, first);
  std::copy(before.begin(), before.end(), sb.begin());
  return value;
}

std::vector<float> NaiveMachine::entriesOf(const isa::VecDrain &op,
                                           uint64_t column) {
  const isa::ActDrain drain = isa::entriesDrain(op);
  auto scale = [&](unsigned r) { return xr[r] == cleared ? -142 : xr[r]; };
  std::vector<float> values;
  for (int64_t y = 0; y < op.inH; ++y)
    for (int64_t x = 0; x < op.inW; ++x) {
      const int64_t index[3] = {0, y, x};
      const int64_t acc = sumOf(drain, column, index);
      if (op.mode == isa::DrainMode::Int) {
        values.push_back(
            static_cast<float>(drainInteger(drain, column, 0, acc)));
        continue;
      }
      const int exponent =
          scale(op.xrA) + scale(op.xrS) + op.shift +
          (op.hasExp ? static_cast<int>(parameter(drain, column, 0, 2)) : 0);
      const float v =
          epilogue(drain, {}, column, index, 0,
                   std::ldexp(static_cast<long double>(acc), exponent));
      values.push_back(op.srcType == ElemType::Bfp ? v : stored(op.srcType, v));
    }
  return values;
}

void NaiveMachine::drainPart(const isa::ActDrain &op) {
  Tensor dst{op.dstType, op.dstMantissa,
             op.dstPart, op.dstOffset,
             0,          {op.dstStride0, op.dstStride1, op.dstStride2},
             false};
  Tensor res{op.resType, op.resMantissa,
             op.resPart, op.resOffset,
             0,          {op.resStride0, op.resStride1, op.resStride2},
             false};
  const uint64_t count[3] = {op.n0, op.n1, op.n2};
  std::vector<std::vector<float>> result(op.cols);
  std::vector<std::vector<long double>> exact(op.cols);
  const bool block = op.mode == isa::DrainMode::Block;
  const bool words =
      op.mode == isa::DrainMode::Int || op.mode == isa::DrainMode::Raw64;
  auto scale = [&](unsigned r) { return xr[r] == cleared ? -142 : xr[r]; };
  const int given = scale(op.xrA) + scale(op.xrS) + op.shift;
  const int64_t steps = int64_t(op.n0) * op.n1 * op.n2;
  for (uint64_t lane = 0; lane < op.cols; ++lane)
    for (int64_t step = 0; step < steps; ++step) {
      const int64_t index[3] = {step / op.n2 / op.n1, step / op.n2 % op.n1,
                                step % op.n2};
      int64_t acc = sumOf(op, lane, index);
      if (words) {
        storeRaw(dst, lane, index, drainInteger(op, lane, step, acc));
        continue;
      }
      const int exponent =
          given +
          (op.hasExp ? static_cast<int>(parameter(op, lane, step, 2)) : 0);
      const long double sum =
          alignedSum(op, res, lane, index, step, acc, exponent);
      if (block)
        exact[lane].push_back(sum);
      else
        result[lane].push_back(epilogue(op, res, lane, index, step, sum));
    }
  const bool along = op.dstOrientation == isa::Orientation::F && !words;
  if ((op.cellFromXr || along) && !block)
    for (uint64_t lane = 0; lane < op.cols; ++lane)
      exact[lane].assign(result[lane].begin(), result[lane].end());
  if (along)
    finishAlong(op, dst, exact);
  else if (block || op.cellFromXr)
    finishExact(exactOf(op, dst, op.n0, op.n1, op.n2), exact);
  else if (op.mode == isa::DrainMode::F32)
    finish(dst, count, result, op.dstBlock, op.dstXr, op.dstXrClear);
}
