// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Files of tensors that a model keeps outside of itself.

#ifndef ASHLAR_LIB_FRONTEND_ONNX_FILES_EXTERNALFILES_H
#define ASHLAR_LIB_FRONTEND_ONNX_FILES_EXTERNALFILES_H

#include "../Proto.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

namespace ashlar::frontend {

/// A usage error if the command line writes a file that `model` has tensors in.
/// Their paths start at `folder`, that of the model.
llvm::Error checkExternalFiles(const onnx::ModelProto &model,
                               llvm::StringRef folder);

} // namespace ashlar::frontend

#endif // ASHLAR_LIB_FRONTEND_ONNX_FILES_EXTERNALFILES_H
