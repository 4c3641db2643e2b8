// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A whole program as text: instructions as in ashlar/Isa/Text.h and directives
// for everything else (docs/BinaryFormat.md 4). Disassembling then assembling
// gives the same file, byte for byte.

#ifndef ASHLAR_CONTAINER_ASSEMBLY_H
#define ASHLAR_CONTAINER_ASSEMBLY_H

#include "ashlar/Container/Container.h"

namespace ashlar::container {

/// Parses a program text. Malformed errors start with "\p name:LINE:COLUMN: ".
/// Without `.machine` it is a1-ideal; without `.memory` the program uses all
/// DRAM up to the last byte that a binding or segment names.
llvm::Expected<Program> assemble(llvm::StringRef text, llvm::StringRef name);

/// The text of a program. Malformed if its code does not decode.
llvm::Expected<std::string> disassemble(const Program &program);

} // namespace ashlar::container

#endif // ASHLAR_CONTAINER_ASSEMBLY_H
