// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// `ashlarc --check`: what becomes of every node of a model.

#ifndef ASHLAR_LIB_PIPELINES_CHECKMODEL_H
#define ASHLAR_LIB_PIPELINES_CHECKMODEL_H

#include "ashlar/Pipelines/Compile.h"

namespace ashlar::pipelines {

/// What became of the nodes: by import, and where import takes all of them, by
/// the phases after it, which have refusals of their own. An operator that the
/// compilation refuses is unsupported in the list; other errors of these phases
/// (a machine that is too small) are not of concern here.
llvm::Expected<std::vector<frontend::NodeStatus>>
checkModel(const CompileOptions &options, mlir::MLIRContext &context);

} // namespace ashlar::pipelines

#endif // ASHLAR_LIB_PIPELINES_CHECKMODEL_H
