// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Products' lengths, and the proof that their accumulators hold the sums.

#include "AccumulatorProof.h"

#include "ashlar/Analysis/Module/NodeNames.h"
#include "dialects/BFP/BFPOps.h"

#include <fmt/format.h>

using namespace mlir;

namespace ashlar::bfp {

using numerics::BlockFormat;

int64_t getProductLength(Operation *op) {
  if (auto conv = dyn_cast<ConvOp>(op))
    return conv.getAccumulationLength();
  if (auto matmul = dyn_cast<MatmulOp>(op))
    return matmul.getAccumulationLength();
  return 0;
}

/// The next smaller range, or nothing below 0.
static std::optional<int> lowerRange(int range) {
  if (range == 0)
    return std::nullopt;
  return (range + 1) / 2 - 1;
}

FailureOr<std::string> proveProduct(Operation *op, BlockFormat &activations,
                                    BlockFormat &weights, bool strict) {
  auto length = static_cast<uint64_t>(getProductLength(op));
  auto bits = [&] {
    return numerics::accumulatorBits(activations.mantissa, activations.range,
                                     weights.mantissa, weights.range, length);
  };
  if (bits() <= 63)
    return std::string();
  std::string problem = fmt::format(
      "'{}' sums {} products, which with {} and {} needs {} accumulator bits "
      "of 63",
      analysis::getNodeName(op->getLoc()), length,
      numerics::toString(activations), numerics::toString(weights), bits());
  if (strict)
    return op->emitError(problem) << "; use a smaller range or mantissa";
  while (bits() > 63) {
    // Of two equal ranges that of the weights: their channels own a scale
    // exponent each.
    BlockFormat &larger =
        activations.range > weights.range ? activations : weights;
    std::optional<int> range = lowerRange(larger.range);
    if (!range)
      return op->emitError(problem)
             << "; no range is small enough, use a smaller mantissa";
    larger.range = *range;
  }
  return fmt::format("ranges lowered to {} and {}: {}", activations.range,
                     weights.range, problem);
}

} // namespace ashlar::bfp
