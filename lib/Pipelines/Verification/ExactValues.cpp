// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One direction per rounded element and draw: a single draw may cancel where
// roundings do not, several hardly do.

#include "ExactValues.h"

#include "dialects/NN/NNOps.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/TypeUtilities.h"

#include "llvm/ADT/APFloat.h"

#include <algorithm>
#include <cmath>

using namespace mlir;

namespace ashlar::pipelines {
namespace {

constexpr unsigned kDraws = 4;
/// Finalising mix of SplitMix64 (Steele, Lea, Flood 2014).
uint64_t mix(uint64_t bits) {
  bits = (bits ^ (bits >> 30)) * 0xBF58476D1CE4E5B9u;
  bits = (bits ^ (bits >> 27)) * 0x94D049BB133111EBu;
  return bits ^ (bits >> 31);
}

/// Half a unit in the last place of `type`, relative to the smallest number of
/// its binade.
double halfUlpOf(FloatType type) {
  const llvm::fltSemantics &format = type.getFloatSemantics();
  return std::ldexp(
      1.0, -static_cast<int>(llvm::APFloat::semanticsPrecision(format)));
}

/// The relative rounding that a rewrite may leave out or add in the result of
/// `op`: of constants, which folds round to binary32, and of what has a
/// narrower type, because the operations compute wider numbers, products round
/// these to their blocks at once, and others convert them. 0 for all others.
double freedomOf(Operation *op) {
  if (isa<nn::ConstantOp>(op))
    return 0x1p-24;
  auto type = dyn_cast<FloatType>(getElementTypeOrSelf(op->getResult(0)));
  return type && type.getWidth() < 32 ? halfUlpOf(type) : 0;
}

/// Moves each element up or down by one rounding. Integers that the type holds
/// are exact however they were computed; exponents of powers have to stay so.
void round(Tensor &tensor, double rounding, uint64_t seed) {
  for (auto [i, element] : llvm::enumerate(tensor.floats))
    if (element != std::trunc(element) || std::abs(element) * rounding >= 1)
      element *= mix(seed + i) & 1 ? 1 + rounding : 1 - rounding;
}

/// Largest finite difference of two elements at one place.
double movement(const Tensor &right, const Tensor &drawn) {
  double largest = 0;
  for (auto [a, b] : llvm::zip(right.floats, drawn.floats))
    if (double difference = std::abs(a - b); std::isfinite(difference))
      largest = std::max(largest, difference);
  return largest;
}

} // namespace

llvm::Expected<ExactValues> ExactValues::compute(ModuleOp module,
                                                 ArrayRef<HostTensor> inputs) {
  auto values = evaluateModule(module, inputs);
  if (!values)
    return values.takeError();
  return ExactValues(module, inputs, std::move(*values));
}

llvm::Error ExactValues::measureMovement() {
  if (!moved.empty())
    return llvm::Error::success();
  for (unsigned draw = 0; draw < kDraws; ++draw) {
    uint64_t rounded = 0;
    auto drawn =
        evaluateModule(owner, inputs, [&](Operation *op, Tensor &result) {
          if (const double rounding = freedomOf(op))
            round(result, rounding, mix((++rounded << 8) + draw));
        });
    if (!drawn)
      return drawn.takeError();
    for (auto &[value, tensor] : *drawn)
      moved[value] =
          std::max(moved.lookup(value), movement((*this)[value], tensor));
  }
  return llvm::Error::success();
}

} // namespace ashlar::pipelines
