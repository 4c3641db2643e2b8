// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// From the `isa` dialect to a program for the container.

#ifndef ASHLAR_CODEGEN_ASSEMBLE_H
#define ASHLAR_CODEGEN_ASSEMBLE_H

#include "ashlar/Container/Container.h"
#include "mlir/IR/BuiltinOps.h"

namespace ashlar::codegen {

/// Where the program has the bytes of its constants from.
enum class ConstantBytes {
  Copied, ///< Its own.
  Shared, ///< The module's: the program must not outlive the context.
  Taken,  ///< The module's, which has none from then on.
};

/// Encodes the one `isa.program` of `module` with its tables; the plan and the
/// decisions are the caller's to add. A value that does not fit its field is an
/// error that names node, instruction and field.
llvm::Expected<container::Program>
assemble(mlir::ModuleOp module,
         ConstantBytes constants = ConstantBytes::Copied);

} // namespace ashlar::codegen

#endif // ASHLAR_CODEGEN_ASSEMBLE_H
