// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Counting of zeros by cause.

#include "ashlar/Analysis/ZeroAnalysis.h"

#include "ashlar/Analysis/StationaryPlan.h"
#include "ashlar/Analysis/StorageType.h"
#include "dialects/BFP/BFPOps.h"
#include "dialects/NN/NNDialect.h"
#include "dialects/NPU/NPUDialect.h"
#include "mlir/IR/BuiltinAttributes.h"

using namespace mlir;

namespace ashlar::analysis {

/// Zeros that folding a kernel added to its weights.
static int64_t structuralZeros(Operation *op, int64_t weights) {
  auto own = op->getAttrOfType<IntegerAttr>(nn::weightsAttr);
  return own ? std::max<int64_t>(weights - own.getInt(), 0) : 0;
}

ZeroCounts countZeros(Operation *op, const EncodedWeights &weights) {
  ProductShape product = productShape(op);
  int64_t channels = product.channels / product.groups;
  ZeroCounts counts;
  counts.weights = product.outputs * channels * product.taps;
  int64_t nonZero = 0;
  for (int64_t o = 0; o < product.outputs; ++o)
    for (int64_t tap = 0; tap < product.taps; ++tap)
      for (int64_t c = 0; c < channels; ++c)
        nonZero += weights.mantissa(o, tap, c) != 0;
  auto encode = op->getOperand(1).getDefiningOp<bfp::EncodeOp>();
  Value constant = encode ? encode.getInput() : op->getOperand(1);
  int64_t exact = 0;
  for (float value : constantFloats(constant))
    exact += value == 0;
  counts.structural = std::min(structuralZeros(op, counts.weights), exact);
  counts.exact = exact - counts.structural;
  counts.encoded = counts.weights - exact - nonZero;
  return counts;
}

} // namespace ashlar::analysis
