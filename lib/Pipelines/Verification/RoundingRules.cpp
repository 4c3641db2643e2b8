// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One short rule per family of operations. A sum of n terms in index order
// loses at most n half units in the last place of the sum of magnitudes.

#include "RoundingRules.h"

#include "ashlar/Numerics/Bound.h"
#include "dialects/BFP/BFPOps.h"
#include "dialects/BFP/EncodeEvents.h"
#include "dialects/NN/NNOps.h"

#include "llvm/ADT/TypeSwitch.h"

#include <cmath>

using namespace mlir;

namespace ashlar::pipelines {
namespace {

using Operands = ArrayRef<const Tensor *>;
using Bounds = std::vector<double>;

/// Half a unit in the last place of binary32 relative to the value, with room
/// for the reference's own roundings.
constexpr double halfUlp = 0x1.00001p-24;
/// Any few roundings of values below the normal range.
constexpr double tiny = 0x1p-140;

/// True if the operation gives one of its operands' values, or an integer.
bool isSelection(Operation *op) {
  if (auto reduce = dyn_cast<nn::ReduceOp>(op))
    return reduce.getKind() == nn::ReduceKind::Max ||
           reduce.getKind() == nn::ReduceKind::Min;
  return bfp::isMovement(op) ||
         isa<bfp::EncodeOp, bfp::DecodeOp, nn::MaxOp, nn::MinOp, nn::CompareOp,
             nn::LogicalOp, nn::WhereOp, nn::MaxPoolOp, nn::ArgReduceOp,
             nn::ModOp>(op);
}

/// One rounding of the result.
Bounds roundedOnce(const Tensor &exact, double factor = 1) {
  Bounds bounds;
  for (double v : exact.floats)
    bounds.push_back(factor * halfUlp * std::abs(v) + tiny);
  return bounds;
}

/// A sum in index order over at most `terms`, maybe divided.
llvm::Expected<Bounds> summed(Operation *op, const Tensor &x, int64_t terms) {
  Tensor sizes = x;
  for (double &v : sizes.floats)
    v = std::abs(v);
  auto magnitude = evaluateWide(op, {&sizes});
  if (!magnitude)
    return magnitude.takeError();
  return roundedOnce(*magnitude, static_cast<double>(terms + 2));
}

int64_t productOf(ArrayRef<int64_t> values) {
  return reference::elementCount(values);
}

Bounds boundUnary(nn::UnaryOp op, const Tensor &x) {
  auto function = static_cast<numerics::Function>(op.getFunction());
  double alpha = op.getAlpha().convertToDouble();
  double beta = op.getBeta().convertToDouble();
  Bounds bounds;
  for (double v : x.floats)
    bounds.push_back(numerics::applied({v, 0}, function, alpha, beta).bound);
  return bounds;
}

/// Bound of a power of a base that is known up to `error`; none where the base
/// may change its sign.
double boundPower(double base, double error, double exponent) {
  if (!(base > error))
    return HUGE_VAL;
  auto power = [&](double x) {
    return numerics::applyWide(numerics::BinaryFunction::Pow, x, exponent);
  };
  return std::abs(power(base + error) - power(base - error)) +
         4 * halfUlp * power(base) + tiny;
}

/// The roundings of product and sum reach the result through the function.
llvm::Expected<Bounds> boundAffine(bfp::AffineOp op, Operands operands) {
  auto linear = cast<bfp::AffineOp>(op->clone());
  linear.setFunction("copy");
  auto sums = evaluateWide(linear, operands);
  linear->destroy();
  if (!sums)
    return sums.takeError();
  const auto function = numerics::parseFunction(op.getFunction())
                            .value_or(numerics::Function::Copy);
  const double alpha = op.getAlpha().convertToDouble();
  const double beta = op.getBeta().convertToDouble();
  const bool biased = bool(op.getBias());
  const Tensor *bias = biased ? operands[op.getScale() ? 2 : 1] : nullptr;
  double most = 0;
  for (int64_t i = 0, e = biased ? bias->size() : 0; i < e; ++i)
    most = std::max(most, std::abs(bias->floats[i]));
  // An exponent that varies is left out.
  const Tensor *exponent = op.getExponent() ? operands.back() : nullptr;
  Bounds bounds;
  for (double v : sums->floats) {
    // The product is the sum minus the bias.
    const double error = halfUlp * (2 * std::abs(v) + most) + tiny;
    if (exponent) {
      bounds.push_back(exponent->size() == 1
                           ? boundPower(v, error, exponent->floats[0])
                           : HUGE_VAL);
      continue;
    }
    bounds.push_back(
        numerics::applied({v, error}, function, alpha, beta).bound);
  }
  return bounds;
}

/// Distances from the row's maximum decide: d = x - m rounds by an amount that
/// grows with |d|, and exp turns that into a relative error.
Bounds boundSoftmax(const Tensor &x, const Tensor &exact, int64_t axis,
                    bool logarithm) {
  int64_t extent = x.shape[axis];
  int64_t inner =
      reference::elementCount(ArrayRef<int64_t>(x.shape).drop_front(axis + 1));
  Bounds bounds(exact.floats.size());
  for (int64_t i = 0, e = exact.size(); i < e; ++i) {
    int64_t first = i / (inner * extent) * inner * extent + i % inner;
    double most = -HUGE_VAL, least = HUGE_VAL;
    for (int64_t k = 0; k < extent; ++k) {
      most = std::max(most, x.floats[first + k * inner]);
      least = std::min(least, x.floats[first + k * inner]);
    }
    double own = most - x.floats[i];
    double sum = most - least + static_cast<double>(extent) + 8;
    double relative = 1.01 * halfUlp * (own + sum);
    double value = std::abs(exact.floats[i]);
    bounds[i] = logarithm ? relative + 4 * halfUlp * (value + own)
                          : relative * value + tiny;
    if (!(relative < 0.01))
      bounds[i] = HUGE_VAL;
  }
  return bounds;
}

llvm::Expected<Bounds> boundReduce(nn::ReduceOp op, const Tensor &x,
                                   const Tensor &exact) {
  int64_t terms = exact.size() ? x.size() / exact.size() : 0;
  switch (op.getKind()) {
  case nn::ReduceKind::Sum:
  case nn::ReduceKind::Mean:
    return summed(op, x, terms);
  case nn::ReduceKind::SumSquare:
  case nn::ReduceKind::L1:
    return roundedOnce(exact, static_cast<double>(terms + 2));
  default:
    return Bounds(exact.size(), HUGE_VAL);
  }
}

/// Float results of float operands.
llvm::Expected<Bounds> boundFloats(Operation *op, Operands operands,
                                   const Tensor &exact) {
  const Tensor &x = *operands[0];
  return llvm::TypeSwitch<Operation *, llvm::Expected<Bounds>>(op)
      .Case<nn::AddOp, nn::SubOp, nn::MulOp, nn::DivOp, nn::PReluOp,
            bfp::ArithmeticOp>([&](auto) { return roundedOnce(exact); })
      .Case([&](nn::PowOp) { return roundedOnce(exact, 4); })
      .Case([&](nn::UnaryOp unary) { return boundUnary(unary, x); })
      .Case([&](bfp::AffineOp affine) { return boundAffine(affine, operands); })
      .Case([&](nn::AvgPoolOp pool) {
        return summed(op, x, productOf(pool.getKernel()));
      })
      .Case([&](nn::ReduceOp reduce) { return boundReduce(reduce, x, exact); })
      .Case([&](nn::SoftmaxOp softmax) {
        return boundSoftmax(x, exact, softmax.getAxis(), false);
      })
      .Case([&](nn::LogSoftmaxOp softmax) {
        return boundSoftmax(x, exact, softmax.getAxis(), true);
      })
      .Default([&](Operation *) { return Bounds(exact.size(), HUGE_VAL); });
}

} // namespace

llvm::Expected<std::vector<double>> roundingOf(Operation *op, Operands operands,
                                               const Tensor &exact) {
  // Requantisation is computed in the machine's own steps.
  if (!exact.isFloat() || isSelection(op) || isa<bfp::RequantiseOp>(op))
    return Bounds(exact.size(), 0.0);
  if (isa<nn::CastOp>(op))
    return roundedOnce(exact);
  return boundFloats(op, operands, exact);
}

} // namespace ashlar::pipelines
