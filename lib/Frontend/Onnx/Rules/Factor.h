// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A factor that is known at compile time, often 1.

#ifndef ASHLAR_LIB_FRONTEND_ONNX_RULES_FACTOR_H
#define ASHLAR_LIB_FRONTEND_ONNX_RULES_FACTOR_H

#include "lib/Frontend/Onnx/Node.h"

#include "dialects/NN/NNOps.h"

namespace ashlar::frontend {

/// \p x times \p factor; \p x itself if that is 1.
inline Value scaled(Node &n, Value x, double factor) {
  if (!x || factor == 1)
    return x;
  return n.binary<nn::MulOp>(x, n.splat(factor, elementOf(x)));
}

} // namespace ashlar::frontend

#endif // ASHLAR_LIB_FRONTEND_ONNX_RULES_FACTOR_H
