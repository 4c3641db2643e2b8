// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Counting of zeros by cause.

#include "ashlar/Analysis/Sparse/ZeroAnalysis.h"

#include "ashlar/Analysis/Array/StationaryPlan.h"
#include "ashlar/Analysis/Layout/StorageType.h"
#include "dialects/BFP/BFPOps.h"
#include "dialects/NN/NNDialect.h"
#include "dialects/NPU/NPUDialect.h"
#include "mlir/IR/BuiltinAttributes.h"

using namespace mlir;

namespace ashlar::analysis {

/// Zeros that folding a kernel added to its weights.
static int64_t structuralZeros(Operation *op, int64_t weights) {
  auto own = op->getAttrOfType<IntegerAttr>(records::kWeightsAttr);
  return own ? std::max<int64_t>(weights - own.getInt(), 0) : 0;
}

ZeroCounts countZeros(Operation *op, const EncodedWeights &weights) {
  ProductShape product = productShape(op);
  int64_t channels = product.channels / product.groups;
  ZeroCounts counts;
  counts.weights = product.outputs * channels * product.taps;
  const int64_t nonZero = weights.numNonZeros();
  int64_t exact = 0;
  if (auto zeros = weights.sourceZeros()) {
    exact = *zeros;
  } else {
    auto encode = op->getOperand(1).getDefiningOp<bfp::EncodeOp>();
    Value constant = encode ? encode.getInput() : op->getOperand(1);
    exact = llvm::count(constantFloats(constant), 0.0f);
  }
  counts.structural = std::min(structuralZeros(op, counts.weights), exact);
  counts.exact = exact - counts.structural;
  counts.encoded = counts.weights - exact - nonZero;
  return counts;
}

} // namespace ashlar::analysis
