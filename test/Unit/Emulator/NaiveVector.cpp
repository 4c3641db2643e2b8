// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The vector unit of the naive machine, one element at a time.

#include "NaiveMachine.h"
#include "ashlar/Isa/PooledDrain.h"
#include "ashlar/Numerics/Encode.h"
#include "ashlar/Numerics/Function.h"
#include "ashlar/Support/ElementType.h"
#include "ashlar/Support/Half.h"
#include <algorithm>
#include <bit>
#include <cmath>
#include <tuple>

using namespace ashlar;
using namespace ashlar::test;
using isa::ElemType;

/// The stored bits of a binary64 value.
static int64_t wordOf(ElemType type, double value) {
  int width = static_cast<int>(8 * support::byteSize(ElementType(type)));
  switch (type) {
  case ElemType::F64:
    return std::bit_cast<int64_t>(value);
  case ElemType::F32:
    return std::bit_cast<uint32_t>(static_cast<float>(value));
  case ElemType::F16:
    return support::floatToHalf(static_cast<float>(value));
  case ElemType::Bf16:
    return support::floatToBfloat(static_cast<float>(value));
  case ElemType::Bool:
    return value != 0;
  default:
    return support::isSignedInteger(ElementType(type))
               ? numerics::toSigned(value, width)
               : static_cast<int64_t>(numerics::toUnsigned(value, width));
  }
}

static bool integral(ElemType type) {
  return type >= ElemType::I8 && type <= ElemType::Bool;
}

/// How the lanes of a feature map compute, from the types of its operands.
enum class Arithmetic { Floats, Doubles, Integers, Moves };

static Arithmetic arithmeticOf(const isa::VecMap &op) {
  const bool quantised =
      op.affine || op.limited || op.rounded || op.hasScale || op.hasBias;
  const bool tensorB = op.bMode == isa::BMode::Tensor;
  auto any = [&](ElemType type) {
    return op.aType == type || op.dstType == type ||
           (tensorB && op.bType == type);
  };
  if (!quantised && op.op == isa::Function::Copy && op.aType == op.dstType &&
      op.dstType != ElemType::Bfp)
    return Arithmetic::Moves;
  if (!quantised && integral(op.aType) && integral(op.dstType) &&
      (!tensorB || integral(op.bType)) &&
      (op.aType != ElemType::Bool || (tensorB && op.bType != ElemType::Bool)))
    return Arithmetic::Integers;
  return any(ElemType::F64) && !any(ElemType::Bfp) ? Arithmetic::Doubles
                                                   : Arithmetic::Floats;
}

/// Function codes of two operands follow those of one.
static constexpr unsigned firstBinary = 64;

static int64_t mapped(const isa::VecMap &op, int64_t x, int64_t y) {
  const auto code = static_cast<unsigned>(op.op);
  const int64_t z =
      code >= firstBinary
          ? numerics::apply(numerics::BinaryFunction(code - firstBinary), x, y)
          : numerics::apply(numerics::Function(code), x,
                            numerics::toSigned(op.alpha, 64),
                            numerics::toSigned(op.beta, 64));
  return op.dstType == ElemType::Bool ? z != 0 : z;
}

static double mapped(const isa::VecMap &op, double x, double y) {
  const auto code = static_cast<unsigned>(op.op);
  return code >= firstBinary
             ? numerics::applyWide(numerics::BinaryFunction(code - firstBinary),
                                   x, y)
             : numerics::applyWide(numerics::Function(code), x, op.alpha,
                                   op.beta);
}

/// `scale` and `bias`: of the element's channel.
static float mapped(const isa::VecMap &op, float x, float y, float scale,
                    float bias) {
  const auto code = static_cast<unsigned>(op.op);
  if (op.affine) {
    x = (x - static_cast<float>(op.aZero)) * op.aScale;
    if (op.bMode == isa::BMode::Tensor)
      y = (y - static_cast<float>(op.bZero)) * op.bScale;
  }
  if (op.hasScale)
    x *= scale;
  if (op.hasBias)
    x += bias;
  float z =
      code >= firstBinary
          ? numerics::apply(numerics::BinaryFunction(code - firstBinary), x, y)
          : numerics::apply(numerics::Function(code), x, op.alpha, op.beta);
  if (op.limited)
    z = numerics::apply(numerics::Function::Clip, z, op.alpha, op.beta);
  if (op.rounded)
    z = std::nearbyint(z / op.step) + static_cast<float>(op.zero);
  return z;
}

int64_t NaiveMachine::mappedWord(const isa::VecMap &op, const Tensor &a,
                                 const Tensor &b, uint64_t channel,
                                 const int64_t index[3]) const {
  const bool tensorB = op.bMode == isa::BMode::Tensor;
  switch (arithmeticOf(op)) {
  case Arithmetic::Moves:
    return loadInteger(a, channel, index);
  case Arithmetic::Integers:
    return mapped(op, loadInteger(a, channel, index),
                  tensorB ? loadInteger(b, channel, index)
                          : numerics::toSigned(op.beta, 64));
  default:
    return wordOf(op.dstType, mapped(op, loadDouble(a, channel, index),
                                     tensorB ? loadDouble(b, channel, index)
                                             : double(op.beta)));
  }
}

void NaiveMachine::run(const isa::VecMap &op) {
  Tensor a{op.aType,         op.aMantissa,
           op.aPart,         op.aOffset,
           op.aTileStride,   {op.aStride0, op.aStride1, op.aStride2},
           op.aBroadcastPart};
  Tensor b{op.bType,         op.bMantissa,
           op.bPart,         op.bOffset,
           op.bTileStride,   {op.bStride0, op.bStride1, op.bStride2},
           op.bBroadcastPart};
  Tensor dst{op.dstType,
             op.dstMantissa,
             op.dstPart,
             op.dstOffset,
             op.dstTileStride,
             {op.dstStride0, op.dstStride1, op.dstStride2},
             false};
  const uint64_t count[3] = {op.n0, op.n1, op.n2};
  const Exact exact = exactOf(op, dst, op.n0, op.n1, op.n2);
  if (op.op >= isa::Function::BlockAdd)
    return blockFunction(op, a, b, exact);
  const bool floats = arithmeticOf(op) == Arithmetic::Floats;
  const int64_t first[3] = {0, 0, 0};
  Tensor scale{
      ElemType::F32,      0,         op.scalePart,         op.scaleOffset,
      op.scaleTileStride, {0, 0, 0}, op.scaleBroadcastPart};
  Tensor bias{ElemType::F32,     0,         op.biasPart,         op.biasOffset,
              op.biasTileStride, {0, 0, 0}, op.biasBroadcastPart};
  std::vector<std::vector<float>> result(op.channels);
  std::vector<std::vector<int64_t>> words(op.channels);
  auto forAll = [&](auto fn) {
    for (uint64_t channel = 0; channel < op.channels; ++channel)
      for (int64_t i = 0; i < op.n0; ++i)
        for (int64_t j = 0; j < op.n1; ++j)
          for (int64_t k = 0; k < op.n2; ++k) {
            const int64_t index[3] = {i, j, k};
            fn(channel, index);
          }
  };
  forAll([&](uint64_t channel, const int64_t *index) {
    if (!floats)
      words[channel].push_back(mappedWord(op, a, b, channel, index));
    else
      result[channel].push_back(mapped(
          op, load(a, channel, index),
          op.bMode == isa::BMode::Tensor ? load(b, channel, index) : op.beta,
          op.hasScale ? load(scale, channel, first) : 1,
          op.hasBias ? load(bias, channel, first) : 0));
  });
  if (floats)
    return finishFloats(op, dst, count, result);
  std::vector<size_t> next(op.channels, 0);
  forAll([&](uint64_t channel, const int64_t *index) {
    storeRaw(dst, channel, index, words[channel][next[channel]++]);
  });
}

void NaiveMachine::run(const isa::VecPool &op) {
  Tensor src{op.srcType,
             op.srcMantissa,
             op.srcPart,
             op.srcOffset,
             op.srcTileStride,
             {op.srcStrideD, op.srcStrideH, op.srcStrideW},
             false};
  Tensor dst{op.dstType,
             op.dstMantissa,
             op.dstPart,
             op.dstOffset,
             op.dstTileStride,
             {op.dstStrideD, op.dstStrideH, op.dstStrideW},
             false};
  const uint64_t count[3] = {op.outD, op.outH, op.outW};
  const bool most = op.kind == isa::PoolKind::Max;
  const auto step = most ? numerics::Reduction::Max : numerics::Reduction::Sum;
  std::vector<std::vector<float>> result(op.channels);
  for (uint64_t channel = 0; channel < op.channels; ++channel)
    for (int64_t d = 0; d < op.outD; ++d)
      for (int64_t h = 0; h < op.outH; ++h)
        for (int64_t w = 0; w < op.outW; ++w) {
          float sum = numerics::reduceInit(step);
          uint64_t counted = 0;
          for (int64_t i = 0; i < op.kD; ++i)
            for (int64_t j = 0; j < op.kH; ++j)
              for (int64_t k = 0; k < op.kW; ++k) {
                const int64_t at[3] = {d * op.sD - op.pD + i * op.dD,
                                       h * op.sH - op.pH + j * op.dH,
                                       w * op.sW - op.pW + k * op.dW};
                counted += at[0] >= op.cloD && at[0] < op.chiD &&
                           at[1] >= op.cloH && at[1] < op.chiH &&
                           at[2] >= op.cloW && at[2] < op.chiW;
                if (at[0] < 0 || at[0] >= op.inD || at[1] < 0 ||
                    at[1] >= op.inH || at[2] < 0 || at[2] >= op.inW)
                  continue;
                sum = numerics::reduceStep(step, sum, load(src, channel, at));
              }
          if (op.kind == isa::PoolKind::Avg)
            sum = numerics::apply(
                numerics::BinaryFunction::Div, sum,
                static_cast<float>(std::max<uint64_t>(counted, 1)));
          result[channel].push_back(sum);
        }
  finishFloats(op, dst, count, result);
}

/// What a window of `at(position)` reduces to; positions outside have no value.
template <typename At>
static float reduceWindow(const isa::VecDrain &op, int64_t h, int64_t w,
                          At at) {
  const bool most = op.kind == isa::PoolKind::Max;
  const auto step = most ? numerics::Reduction::Max : numerics::Reduction::Sum;
  float sum = numerics::reduceInit(step);
  uint64_t counted = 0;
  for (int64_t j = 0; j < op.kH; ++j)
    for (int64_t k = 0; k < op.kW; ++k) {
      const int64_t y = h * op.sH - op.pH + j * op.dH;
      const int64_t x = w * op.sW - op.pW + k * op.dW;
      counted += y >= op.cloH && y < op.chiH && x >= op.cloW && x < op.chiW;
      if (y >= 0 && y < op.inH && x >= 0 && x < op.inW)
        sum = numerics::reduceStep(step, sum, at(y * op.inW + x));
    }
  return op.kind == isa::PoolKind::Avg
             ? numerics::apply(
                   numerics::BinaryFunction::Div, sum,
                   static_cast<float>(std::max<uint64_t>(counted, 1)))
             : sum;
}

void NaiveMachine::run(const isa::VecDrain &op) {
  std::vector<std::vector<float>> values;
  for (uint64_t column = 0; column < op.cols; ++column)
    values.push_back(entriesOf(op, column));
  const uint64_t entries = values.front().size();
  for (uint64_t first = 0; op.srcType == ElemType::Bfp && first < op.cols;
       first += op.srcBlock)
    for (uint64_t k = 0; k < entries; ++k) {
      std::vector<float> block;
      for (uint64_t c = first; c < op.cols && c < first + op.srcBlock; ++c)
        block.push_back(values[c][k]);
      std::vector<int16_t> words(block.size());
      numerics::EncodeCounters counters;
      const int8_t cell = numerics::encodeBlock(
          llvm::ArrayRef<float>(block), int(op.srcMantissa), words, counters);
      for (size_t i = 0; i < words.size(); ++i)
        values[first + i][k] =
            numerics::decode(words[i], cell, int(op.srcMantissa));
    }
  Tensor dst{op.dstType, op.dstMantissa,
             op.dstPart, op.dstOffset,
             0,          {0, op.dstStrideH, op.dstStrideW},
             false};
  const uint64_t count[3] = {1, op.outH, op.outW};
  std::vector<std::vector<float>> result(op.cols);
  for (uint64_t column = 0; column < op.cols; ++column)
    for (int64_t h = 0; h < op.outH; ++h)
      for (int64_t w = 0; w < op.outW; ++w)
        result[column].push_back(reduceWindow(
            op, h, w, [&](int64_t k) { return values[column][k]; }));
  finish(dst, count, result, op.dstBlock, op.dstXr, op.dstXrClear);
}

/// The entries are drained into an SB that is put back, and read from there.
void NaiveMachine::run(const isa::ActPool &op) {
  const auto before = std::tuple(sb, xm, xr);
  isa::ActDrain drain = isa::entriesDrain(op);
  // Behind what the drain still reads; nothing reads the register yet.
  drain.dstXr = op.dstXr;
  drain.dstOffset = static_cast<uint32_t>(machine.sb.bytesPerPartition -
                                          uint64_t(drain.dstStride1) * op.inH);
  run(drain);
  const Tensor map{drain.dstType,
                   drain.dstMantissa,
                   0,
                   drain.dstOffset,
                   0,
                   {0, drain.dstStride1, drain.dstStride2},
                   false};
  isa::VecDrain windows;
  windows.inH = op.inH, windows.inW = op.inW;
  windows.kH = op.kH, windows.kW = op.kW;
  windows.sH = op.sH, windows.sW = op.sW;
  windows.pH = op.pH, windows.pW = op.pW;
  std::vector<std::vector<float>> result(op.cols);
  for (uint64_t lane = 0; lane < op.cols; ++lane)
    for (int64_t h = 0; h < op.outH; ++h)
      for (int64_t w = 0; w < op.outW; ++w)
        result[lane].push_back(reduceWindow(windows, h, w, [&](int64_t k) {
          const int64_t at[3] = {0, k / op.inW, k % op.inW};
          return load(map, lane, at);
        }));
  std::tie(sb, xm, xr) = before;
  const Tensor dst{op.dstType, op.dstMantissa,
                   op.dstPart, op.dstOffset,
                   0,          {0, op.dstStrideH, op.dstStrideW},
                   false};
  const uint64_t count[3] = {1, op.outH, op.outW};
  finish(dst, count, result, op.dstBlock, op.dstXr, op.dstXrClear);
}

/// A whole reduction over values in order.
static float reduce(isa::ReduceKind code, bool selectLast,
                    const std::vector<float> &values) {
  auto kind = static_cast<numerics::Reduction>(code);
  if (kind != numerics::Reduction::ArgMax &&
      kind != numerics::Reduction::ArgMin) {
    float sum = numerics::reduceInit(kind);
    for (float v : values)
      sum = numerics::reduceStep(kind, sum, v);
    return numerics::reduceFinish(kind, sum, values.size());
  }
  size_t best = 0;
  for (size_t i = 1; i < values.size(); ++i)
    if (numerics::argBetter(kind, values[best], values[i], selectLast))
      best = i;
  return static_cast<float>(best);
}

template <typename Op>
static bool reducesIntegers(const Op &op) {
  auto integer = [](ElemType type) {
    return integral(type) && type != ElemType::Bool;
  };
  return integer(op.srcType) && integer(op.dstType) &&
         op.kind != isa::ReduceKind::Mean;
}

/// By the definition of each kind, over all values at once.
static int64_t reduceIntegers(isa::ReduceKind kind, bool selectLast,
                              const std::vector<int64_t> &values) {
  uint64_t sum = 0, product = 1, squares = 0, magnitudes = 0;
  for (int64_t value : values) {
    auto word = static_cast<uint64_t>(value);
    sum += word;
    product *= word;
    squares += word * word;
    magnitudes += value < 0 ? 0 - word : word;
  }
  auto least = std::min_element(values.begin(), values.end());
  auto most = std::max_element(values.begin(), values.end());
  auto indexOf = [&](int64_t value) {
    auto first = std::find(values.begin(), values.end(), value);
    auto last = std::find(values.rbegin(), values.rend(), value);
    return selectLast ? values.rend() - last - 1 : first - values.begin();
  };
  switch (kind) {
  case isa::ReduceKind::Max:
    return *most;
  case isa::ReduceKind::Min:
    return *least;
  case isa::ReduceKind::Prod:
    return static_cast<int64_t>(product);
  case isa::ReduceKind::SumSquare:
    return static_cast<int64_t>(squares);
  case isa::ReduceKind::L1:
    return static_cast<int64_t>(magnitudes);
  case isa::ReduceKind::Argmax:
    return indexOf(*most);
  case isa::ReduceKind::Argmin:
    return indexOf(*least);
  default:
    return static_cast<int64_t>(sum);
  }
}

void NaiveMachine::run(const isa::VecReduce &op) {
  Tensor dst{
      op.dstType,   op.dstMantissa,   op.dstPart,
      op.dstOffset, op.dstTileStride, {0, op.dstStrideO0, op.dstStrideO1},
      false};
  const uint64_t count[3] = {1, op.o0, op.o1};
  std::vector<std::vector<float>> result(op.channels);
  for (uint64_t channel = 0; channel < op.channels; ++channel)
    for (int64_t i = 0; i < op.o0; ++i)
      for (int64_t j = 0; j < op.o1; ++j) {
        Tensor src{op.srcType,
                   op.srcMantissa,
                   op.srcPart,
                   static_cast<uint64_t>(int64_t(op.srcOffset) +
                                         i * op.srcStrideO0 +
                                         j * op.srcStrideO1),
                   op.srcTileStride,
                   {0, op.srcStrideR0, op.srcStrideR1},
                   false};
        std::vector<float> values;
        std::vector<int64_t> integers;
        for (int64_t r = 0; r < op.r0; ++r)
          for (int64_t s = 0; s < op.r1; ++s) {
            const int64_t index[3] = {0, r, s};
            values.push_back(load(src, channel, index));
            integers.push_back(loadInteger(src, channel, index));
          }
        const int64_t to[3] = {0, i, j};
        if (reducesIntegers(op)) {
          storeRaw(dst, channel, to,
                   reduceIntegers(op.kind, op.selectLast, integers));
          continue;
        }
        result[channel].push_back(reduce(op.kind, op.selectLast, values));
      }
  if (!reducesIntegers(op))
    finishFloats(op, dst, count, result);
}

void NaiveMachine::run(const isa::VecReduceChannels &op) {
  Tensor src{op.srcType,
             op.srcMantissa,
             op.srcPart,
             op.srcOffset,
             op.srcTileStride,
             {op.srcStride0, op.srcStride1, op.srcStride2},
             false};
  Tensor dst{op.dstType, op.dstMantissa,
             op.dstPart, op.dstOffset,
             0,          {op.dstStride0, op.dstStride1, op.dstStride2},
             false};
  const uint64_t count[3] = {op.n0, op.n1, op.n2};
  std::vector<std::vector<float>> result(1);
  for (int64_t i = 0; i < op.n0; ++i)
    for (int64_t j = 0; j < op.n1; ++j)
      for (int64_t k = 0; k < op.n2; ++k) {
        const int64_t index[3] = {i, j, k};
        std::vector<float> values;
        std::vector<int64_t> integers;
        for (uint64_t channel = 0; channel < op.channels; ++channel) {
          values.push_back(load(src, channel, index));
          integers.push_back(loadInteger(src, channel, index));
        }
        if (reducesIntegers(op)) {
          storeRaw(dst, 0, index,
                   reduceIntegers(op.kind, op.selectLast, integers));
          continue;
        }
        result[0].push_back(reduce(op.kind, op.selectLast, values));
      }
  if (!reducesIntegers(op))
    finish(dst, count, result, op.dstBlock, op.dstXr, op.dstXrClear);
}

void NaiveMachine::run(const isa::VecGather &op) {
  const Tensor indices{op.indexType,
                       0,
                       op.indexPart,
                       op.indexOffset,
                       op.indexTileStride,
                       {op.indexStride0, op.indexStride1, op.indexStride2},
                       op.indexBroadcastPart != 0};
  const Tensor result{op.type,
                      0,
                      op.dstPart,
                      op.dstOffset,
                      op.dstTileStride,
                      {op.dstStride0, op.dstStride1, op.dstStride2},
                      false};
  Tensor source{op.type,
                0,
                op.srcPart,
                op.srcOffset,
                op.srcTileStride,
                {op.srcStride0, op.srcStride1, op.srcStride2},
                op.srcBroadcastPart != 0};
  const unsigned bytes = op.type == ElemType::F32 ? 4 : 1;
  for (uint64_t channel = 0; channel < op.channels; ++channel)
    for (int64_t i = 0; i < op.n0; ++i)
      for (int64_t j = 0; j < op.n1; ++j)
        for (int64_t k = 0; k < op.n2; ++k) {
          const int64_t at[3] = {i, j, k};
          int64_t index = loadInteger(indices, channel, at);
          index += index < 0 ? int64_t(op.size) : 0;
          const Place from = placeOf(source, channel, at);
          const uint64_t bits = rawElement(
              from.partition, from.offset + index * op.axisStride, bytes);
          storeRaw(result, channel, at, static_cast<int64_t>(bits));
        }
}
