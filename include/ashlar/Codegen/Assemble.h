// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// From generated instructions to a finished program.

#ifndef ASHLAR_CODEGEN_ASSEMBLE_H
#define ASHLAR_CODEGEN_ASSEMBLE_H

#include "ashlar/Container/Container.h"
#include "ashlar/Conversion/NPUToISA/NPUToISA.h"

namespace ashlar::codegen {

/// Encodes the instructions into `program.code`. A value that does not fit its
/// field is an error that names node, instruction and field.
llvm::Expected<container::Program> assemble(GeneratedProgram generated);

} // namespace ashlar::codegen

#endif // ASHLAR_CODEGEN_ASSEMBLE_H
