// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Picks the exponent range. The longest product decides for the whole module,
// because tensors are shared between products and have one range each.

#include "AccumulatorProof.h"

#include "ashlar/Analysis/NodeNames.h"
#include "dialects/BFP/BFPOps.h"

#include <fmt/format.h>

using namespace mlir;

namespace ashlar::bfp {

int64_t getProductLength(Operation *op) {
  if (auto conv = dyn_cast<ConvOp>(op))
    return conv.getAccumulationLength();
  if (auto matmul = dyn_cast<MatmulOp>(op))
    return matmul.getAccumulationLength();
  return 0;
}

int getAccumulatorBits(const numerics::BlockFormat &format, int64_t length) {
  return numerics::accumulatorBits(format.mantissa, format.range,
                                   format.mantissa, format.range,
                                   static_cast<uint64_t>(length));
}

static Operation *findLongestProduct(ModuleOp module) {
  Operation *longest = nullptr;
  module.walk([&](Operation *op) {
    if (!isa<ConvOp, MatmulOp>(op))
      return;
    if (!longest || getProductLength(op) > getProductLength(longest))
      longest = op;
  });
  return longest;
}

FailureOr<ProvenFormat> proveFormat(ModuleOp module,
                                    const numerics::BlockFormat &requested,
                                    bool strict) {
  Operation *longest = findLongestProduct(module);
  if (!longest)
    return ProvenFormat{requested, ""};
  int64_t length = getProductLength(longest);
  int bits = getAccumulatorBits(requested, length);
  if (bits <= 63)
    return ProvenFormat{requested, ""};
  std::string problem = fmt::format(
      "'{}' sums {} products, which with {} needs {} accumulator bits of 63",
      analysis::getNodeName(longest->getLoc()), length,
      numerics::toString(requested), bits);
  if (strict)
    return longest->emitError(problem) << "; use a smaller range or mantissa";
  for (int range : {15, 7, 3, 1, 0}) {
    numerics::BlockFormat lowered = requested;
    lowered.range = range;
    if (range < requested.range && getAccumulatorBits(lowered, length) <= 63)
      return ProvenFormat{lowered,
                          fmt::format("range lowered from {} to {}: {}",
                                      requested.range, range, problem)};
  }
  return longest->emitError(problem)
         << "; no range is small enough, use a smaller mantissa";
}

} // namespace ashlar::bfp
