// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The sums of a convolution, for its float and its integer operators.

#ifndef ASHLAR_LIB_FRONTEND_ONNXREFERENCE_CONVOLUTION_H
#define ASHLAR_LIB_FRONTEND_ONNXREFERENCE_CONVOLUTION_H

#include "Call.h"

namespace ashlar::onnxref {

/// Sums of products of the maps x [N, C, ...] and the weights w [M, C / group,
/// ...], with the window and the group of the node's attributes. Padding is 0.
/// The elements are binary64: integers of up to 16 bits and their sums are
/// exact. Sums run over channel, then tap.
Tensor convolve(Call &call, const Tensor &x, const Tensor &w);

/// Products of matrices with batch dimensions that broadcast, as numpy.matmul:
/// a vector on the left is a row, on the right a column. Exact as above.
Tensor multiplyMatrices(Call &call, const Tensor &a, const Tensor &b);

} // namespace ashlar::onnxref

#endif // ASHLAR_LIB_FRONTEND_ONNXREFERENCE_CONVOLUTION_H
