// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Mixtures of experts.

#ifndef ASHLAR_LIB_FRONTEND_ONNXREFERENCE_CONTRIB_EXPERTS_H
#define ASHLAR_LIB_FRONTEND_ONNXREFERENCE_CONTRIB_EXPERTS_H

#include "lib/Frontend/OnnxReference/Call.h"

namespace ashlar::onnxref {

/// The definition of MoE.
void mixtureOfExperts(Call &call);
/// The definition of QMoE.
void mixtureOfPackedExperts(Call &call);

} // namespace ashlar::onnxref

#endif // ASHLAR_LIB_FRONTEND_ONNXREFERENCE_CONTRIB_EXPERTS_H
