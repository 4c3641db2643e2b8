// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the developer's tools on textual IR register.

#ifndef ASHLAR_PIPELINES_REGISTRATION_H
#define ASHLAR_PIPELINES_REGISTRATION_H

#include "mlir/IR/DialectRegistry.h"

namespace ashlar::pipelines {

/// Registers the dialects that compilation uses.
void registerDialects(mlir::DialectRegistry &registry);

/// Registers the passes and pipelines of all phases, and the canonicalizer,
/// which runs the folders.
void registerPasses();

} // namespace ashlar::pipelines

#endif // ASHLAR_PIPELINES_REGISTRATION_H
