// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which flags of ashlarc go together. All errors are usage errors.

#ifndef ASHLAR_LIB_PIPELINES_ARGUMENTRULES_H
#define ASHLAR_LIB_PIPELINES_ARGUMENTRULES_H

#include "Arguments.h"
#include "ashlar/Support/OptionTable.h"

namespace ashlar::pipelines {

/// --format=auto and the flags that only it reads come together.
llvm::Error checkSearch(const CompilerArguments &arguments);

/// With --compile-from: nothing that was decided before, no phase that is over.
llvm::Error checkStart(const CompilerArguments &arguments,
                       llvm::ArrayRef<support::GivenOption> given);

/// Something is requested, and the compilation gets as far as that needs.
llvm::Error checkOutputs(const CompilerArguments &arguments);

} // namespace ashlar::pipelines

#endif // ASHLAR_LIB_PIPELINES_ARGUMENTRULES_H
