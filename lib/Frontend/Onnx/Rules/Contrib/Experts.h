// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Mixtures of experts.

#ifndef ASHLAR_LIB_FRONTEND_ONNX_RULES_CONTRIB_EXPERTS_H
#define ASHLAR_LIB_FRONTEND_ONNX_RULES_CONTRIB_EXPERTS_H

#include "lib/Frontend/Onnx/Node.h"

namespace ashlar::frontend {

/// The rule of MoE.
void mixtureOfExperts(Node &n);
/// The rule of QMoE.
void mixtureOfPackedExperts(Node &n);

} // namespace ashlar::frontend

#endif // ASHLAR_LIB_FRONTEND_ONNX_RULES_CONTRIB_EXPERTS_H
