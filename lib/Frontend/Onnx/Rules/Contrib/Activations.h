// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Functions, biases and scales that operators of com.microsoft have in them.

#ifndef ASHLAR_LIB_FRONTEND_ONNX_RULES_CONTRIB_ACTIVATIONS_H
#define ASHLAR_LIB_FRONTEND_ONNX_RULES_CONTRIB_ACTIVATIONS_H

#include "lib/Frontend/Onnx/Node.h"

namespace ashlar::frontend {

/// The function of that name with its parameters, as FusedConv and FusedGemm
/// name them; x itself for an empty name.
Value activate(Node &n, Value x, StringRef name, ArrayRef<double> parameters);

/// \p x plus a bias along its last axis; \p x itself without one.
Value withBias(Node &n, Value x, Value bias);

/// Exact sums of integers times both scales in binary32, plus a bias, which may
/// be null.
Value scaledSums(Node &n, Value sums, Value left, Value right, Value bias);

} // namespace ashlar::frontend

#endif // ASHLAR_LIB_FRONTEND_ONNX_RULES_CONTRIB_ACTIVATIONS_H
