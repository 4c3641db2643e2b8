// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// vec.map: elementwise functions, conversions, encode.

#include "../Engine.h"
#include "../TensorRows.h"
#include "ashlar/Isa/ElementBytes.h"
#include <algorithm>
#include <cstring>

using namespace ashlar;
using namespace ashlar::emulator;
using isa::BMode;
using isa::ElemType;

/// Binary functions have codes from here on (dialects/ISA/ISAEnums.td).
static constexpr unsigned firstBinary = 64;

namespace {

struct Map {
  Engine &engine;
  const isa::VecMap &op;
  TensorView a, b, dst, scale, bias;

  bool isBinary() const { return static_cast<unsigned>(op.op) >= firstBinary; }
  numerics::Function unary() const {
    return static_cast<numerics::Function>(op.op);
  }
  numerics::BinaryFunction binary() const {
    return static_cast<numerics::BinaryFunction>(static_cast<unsigned>(op.op) -
                                                 firstBinary);
  }

  /// Has steps before or after the function, all in binary32.
  bool hasSteps() const {
    return op.affine || op.limited || op.rounded || op.hasScale || op.hasBias;
  }

  /// A copy between equal plain types moves bits: NaN payloads survive.
  bool isMovement() const {
    return !hasSteps() && op.op == isa::Function::Copy &&
           op.aType == op.dstType && !isa::isBlock(op.dstType);
  }

  bool hasTensorB() const { return isBinary() && op.bMode == BMode::Tensor; }

  /// Integers compute in int64 if the result is an integer or a truth value
  /// (docs/Numerics.md 8.5).
  bool isIntegral() const {
    auto integral = [](ElemType type) {
      return isInteger(type) || type == ElemType::Bool;
    };
    return !hasSteps() && integral(op.aType) && integral(op.dstType) &&
           (!hasTensorB() || integral(op.bType)) &&
           (isInteger(op.aType) || (hasTensorB() && isInteger(op.bType)));
  }

  /// Whatever reads or makes binary64 computes in it, but for blocks.
  bool isDouble() const {
    auto any = [&](ElemType type) {
      return op.aType == type || op.dstType == type ||
             (hasTensorB() && op.bType == type);
    };
    return any(ElemType::F64) && !any(ElemType::Bfp) && !any(ElemType::Ubfp);
  }

  /// Long rows one by one, which may be read where they are.
  void floatRows(const RowRange &range, float *out) const {
    if (range.count == 1 || range.steps() < shortRow)
      return floatRange(range, out);
    for (uint64_t i = 0; i < range.count; ++i)
      floatRange({range.first + i, 1, range.k0, range.k1},
                 out + i * range.steps());
  }

  void floatRange(const RowRange &range, float *out) const {
    Scratch &scratch = Scratch::ofThisThread();
    const uint64_t n = range.elements();
    const float *x = loadOperand(a, range, op.aZero, op.aScale,
                                 scratch.get<float>(Scratch::RowA, n));
    const numerics::KernelTable &kernels = *engine.kernels;
    x = withParameters(range, x, scratch);
    if (!isBinary())
      kernels.unary(unary(), x, n, op.alpha, op.beta, out);
    else if (op.bMode == BMode::Immediate)
      kernels.binaryImmediate(binary(), x, op.beta, n, out);
    else
      kernels.binary(binary(), x,
                     loadOperand(b, range, op.bZero, op.bScale,
                                 scratch.get<float>(Scratch::RowB, n)),
                     n, out);
    if (op.limited)
      kernels.unary(numerics::Function::Clip, out, n, op.alpha, op.beta, out);
    if (op.rounded)
      quantise(out, n);
  }

  /// The parameter of a channel; its view has no positions.
  float parameter(const TensorView &view, uint64_t channel) const {
    const TensorView::Place place =
        view.place(channel, engine.machine->sb.partitions);
    float value = 0;
    std::memcpy(&value, engine.memory.sb(place.partition, place.offset),
                sizeof(value));
    return value;
  }

  /// `x * scale + bias`; the result may lie in the buffer of the first operand.
  const float *withParameters(const RowRange &range, const float *x,
                              Scratch &scratch) const {
    if (op.hasScale)
      x = withParameter<numerics::BinaryFunction::Mul>(scale, range, x,
                                                       scratch);
    if (op.hasBias)
      x = withParameter<numerics::BinaryFunction::Add>(bias, range, x, scratch);
    return x;
  }

  /// One instance for each parameter: hosts fetch ahead what one instruction
  /// loads from partition after partition, but not two views in turn.
  template <numerics::BinaryFunction function>
  const float *withParameter(const TensorView &view, const RowRange &range,
                             const float *x, Scratch &scratch) const {
    const numerics::KernelTable &kernels = *engine.kernels;
    const uint64_t n = range.elements();
    float *row = scratch.get<float>(Scratch::RowA, n);
    if (range.count == 1) {
      kernels.binaryImmediate(function, x, parameter(view, range.first), n,
                              row);
      return row;
    }
    // The second operand comes after the parameters.
    float *repeated = scratch.get<float>(Scratch::RowB, n);
    for (uint64_t i = 0; i < range.count; ++i)
      std::fill_n(repeated + i * range.steps(), range.steps(),
                  parameter(view, range.first + i));
    kernels.binary(function, x, repeated, n, row);
    return row;
  }

  /// Floats of an operand, with `affine` (x - zero) * scale; they may lie in
  /// \p buffer.
  const float *loadOperand(const TensorView &view, const RowRange &range,
                           int64_t zero, float scale, float *buffer) const {
    const float *x = loadRows(engine, view, range, buffer);
    if (!op.affine)
      return x;
    const auto shift = static_cast<float>(zero);
    for (uint64_t i = 0; i < range.elements(); ++i)
      buffer[i] = (x[i] - shift) * scale;
    return buffer;
  }

  /// After the function of `rounded`; storing converts the whole numbers.
  void quantise(float *values, uint64_t n) const {
    const auto zero = static_cast<float>(op.zero);
    for (uint64_t i = 0; i < n; ++i)
      values[i] /= op.step;
    engine.kernels->unary(numerics::Function::Round, values, n, 0, 0, values);
    for (uint64_t i = 0; i < n; ++i)
      values[i] += zero;
  }

  /// The exact functions of encoded operands (docs/Numerics.md 2).
  bool isBlockFunction() const {
    return op.op >= isa::Function::BlockAdd && op.op <= isa::Function::BlockDiv;
  }

  void exactRow(uint64_t channel, uint64_t k0, uint64_t k1,
                numerics::WideValue *out) const {
    const auto function = static_cast<numerics::BlockFunction>(
        static_cast<unsigned>(op.op) -
        static_cast<unsigned>(isa::Function::BlockAdd));
    const uint64_t n = k1 - k0;
    Scratch &scratch = Scratch::ofThisThread();
    auto *x = scratch.get<EncodedElement>(Scratch::RowA, n);
    auto *y = scratch.get<EncodedElement>(Scratch::RowB, n);
    loadEncoded(engine, a, channel, k0, k1, x);
    loadEncoded(engine, b, channel, k0, k1, y);
    for (uint64_t i = 0; i < n; ++i)
      out[i] = numerics::blockApply(function, x[i].mantissa, x[i].exponent,
                                    y[i].mantissa, y[i].exponent);
  }

  void integerRow(uint64_t channel, uint64_t k0, uint64_t k1) const {
    Scratch &scratch = Scratch::ofThisThread();
    const uint64_t n = k1 - k0;
    auto *x = scratch.get<int64_t>(Scratch::RowA, n);
    auto *y = scratch.get<int64_t>(Scratch::RowB, n);
    loadIntegers(engine, a, channel, k0, k1, x);
    if (hasTensorB())
      loadIntegers(engine, b, channel, k0, k1, y);
    else
      std::fill_n(y, n, numerics::toSigned(op.beta, 64));
    const int64_t alpha = numerics::toSigned(op.alpha, 64);
    const int64_t beta = numerics::toSigned(op.beta, 64);
    for (uint64_t i = 0; i < n; ++i)
      x[i] = isBinary() ? numerics::apply(binary(), x[i], y[i])
                        : numerics::apply(unary(), x[i], alpha, beta);
    storeIntegers(engine, dst, channel, k0, k1, x);
  }

  void doubleRow(uint64_t channel, uint64_t k0, uint64_t k1) const {
    Scratch &scratch = Scratch::ofThisThread();
    const uint64_t n = k1 - k0;
    auto *x = scratch.get<double>(Scratch::RowA, n);
    auto *y = scratch.get<double>(Scratch::RowB, n);
    loadDoubles(engine, a, channel, k0, k1, x);
    if (hasTensorB())
      loadDoubles(engine, b, channel, k0, k1, y);
    else
      std::fill_n(y, n, op.beta);
    for (uint64_t i = 0; i < n; ++i)
      x[i] = isBinary() ? numerics::applyWide(binary(), x[i], y[i])
                        : numerics::applyWide(unary(), x[i], op.alpha, op.beta);
    storeDoubles(engine, dst, channel, k0, k1, x);
  }

  void moveRow(uint64_t channel, uint64_t k0, uint64_t k1) const {
    const uint64_t partitions = engine.machine->sb.partitions;
    const unsigned bytes = storedBytes(op.aType, op.aMantissa);
    TensorView::Place from = a.place(channel, partitions);
    TensorView::Place to = dst.place(channel, partitions);
    auto *row =
        Scratch::ofThisThread().get<uint8_t>(Scratch::RowA, (k1 - k0) * bytes);
    gatherElements(*engine.kernels,
                   engine.memory.sb(from.partition, from.offset), a.pattern,
                   bytes, k0, k1, row);
    scatterElements(engine.memory.sb(to.partition, to.offset), dst.pattern,
                    bytes, k0, k1, row);
  }

  /// Rows that no float passes through, in chunks that stay in cache.
  template <typename Row>
  void forRows(Row row) const {
    constexpr uint64_t chunk = 4096;
    const uint64_t size = dst.pattern.size();
    const uint64_t chunks = (size + chunk - 1) / chunk;
    engine.split(op.channels * chunks, op.channels * size,
                 [&](uint64_t begin, uint64_t end) {
                   for (uint64_t unit = begin; unit < end; ++unit) {
                     uint64_t k0 = unit % chunks * chunk;
                     row(unit / chunks, k0, std::min(size, k0 + chunk));
                   }
                 });
  }
};

} // namespace

void Engine::execute(const isa::VecMap &op) {
  const Map map{*this,
                op,
                viewOf(operandA(op)),
                viewOf(operandB(op)),
                viewOf(operandDst(op)),
                viewOf(operandScale(op)),
                viewOf(operandBias(op))};
  const EncodeTarget target = encodeTarget(op);
  if (map.isBlockFunction())
    return produceExact(
        *this, map.dst, target, op.channels,
        [&](uint64_t channel, uint64_t k0, uint64_t k1,
            numerics::WideValue *out) { map.exactRow(channel, k0, k1, out); });
  if (map.isMovement())
    return map.forRows([&](uint64_t channel, uint64_t k0, uint64_t k1) {
      map.moveRow(channel, k0, k1);
    });
  if (map.isIntegral())
    return map.forRows([&](uint64_t channel, uint64_t k0, uint64_t k1) {
      map.integerRow(channel, k0, k1);
    });
  if (map.isDouble())
    return map.forRows([&](uint64_t channel, uint64_t k0, uint64_t k1) {
      map.doubleRow(channel, k0, k1);
    });
  produceRows(
      *this, map.dst, target, op.channels, 2,
      [&](const RowRange &range, float *out) { map.floatRows(range, out); });
}
