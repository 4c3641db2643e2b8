// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One direction per constant element and draw: a single draw may cancel where
// roundings do not, several hardly do.

#include "ExactValues.h"

#include "dialects/NN/NNOps.h"

#include <cmath>

using namespace mlir;

namespace ashlar::pipelines {
namespace {

constexpr unsigned kDraws = 4;
/// Half a unit in the last place of binary32, relative.
constexpr double kRounding = 0x1p-24;

/// Finalising mix of SplitMix64 (Steele, Lea, Flood 2014).
uint64_t mix(uint64_t bits) {
  bits = (bits ^ (bits >> 30)) * 0xBF58476D1CE4E5B9u;
  bits = (bits ^ (bits >> 27)) * 0x94D049BB133111EBu;
  return bits ^ (bits >> 31);
}

/// Moves each element up or down by one rounding.
void round(Tensor &constant, uint64_t seed) {
  for (auto [i, element] : llvm::enumerate(constant.floats))
    element *= mix(seed + i) & 1 ? 1 + kRounding : 1 - kRounding;
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
    uint64_t constants = 0;
    auto drawn =
        evaluateModule(owner, inputs, [&](nn::ConstantOp, Tensor &constant) {
          round(constant, mix((++constants << 8) + draw));
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
