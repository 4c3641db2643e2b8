// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How many inputs and outputs ONNX defines for an operator. Without the check a
// handler that does not look at the last ones would ignore them.

#ifndef ASHLAR_LIB_FRONTEND_ONNX_FLOW_ARITY_H
#define ASHLAR_LIB_FRONTEND_ONNX_FLOW_ARITY_H

#include "lib/Frontend/Onnx/Model.h"

#include <optional>

namespace ashlar::frontend {

/// The most that a node may have; the largest int stands for any number.
struct Arity {
  size_t inputs, outputs;
};

/// That of the ONNX library of the build, whose newest operator set stands for
/// those after it; nothing for an operator that it does not know.
std::optional<Arity> libraryArity(const FlatNode &node);

/// Malformed if `node` has more inputs or outputs than its operator set
/// defines. Empty names at the end do not count, and operators of other domains
/// are for their handlers.
llvm::Error checkArity(const FlatNode &node);

} // namespace ashlar::frontend

#endif // ASHLAR_LIB_FRONTEND_ONNX_FLOW_ARITY_H
