// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The causes of zeros among the coefficients of a convolution or matrix
// product. A coefficient is zero if its mantissa is zero after encoding and
// alignment (docs/Numerics.md 3); these are the coefficients that zero skipping
// omits.

#ifndef ASHLAR_ANALYSIS_SPARSE_ZEROANALYSIS_H
#define ASHLAR_ANALYSIS_SPARSE_ZEROANALYSIS_H

#include "ashlar/Analysis/Array/EncodedWeights.h"

namespace ashlar::analysis {

/// Coefficients of one operation.
struct ZeroCounts {
  int64_t weights = 0;    ///< all coefficients, as stored
  int64_t structural = 0; ///< zeros that a fold of the kernel added
  int64_t exact = 0;      ///< zeros of the model
  int64_t encoded = 0;    ///< non-zero in the model, zero after alignment
  int64_t nonZero() const { return weights - structural - exact - encoded; }
};

/// Counts the zeros of a product with constant weights.
ZeroCounts countZeros(mlir::Operation *op, const EncodedWeights &weights);

} // namespace ashlar::analysis

#endif // ASHLAR_ANALYSIS_SPARSE_ZEROANALYSIS_H
