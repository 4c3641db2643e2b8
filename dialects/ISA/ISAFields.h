// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The text of an instruction's fields in the `isa` dialect, which the generated
// printers and parsers of its ops call (custom<Fields> in ISABase.td).

#ifndef ASHLAR_DIALECTS_ISA_ISAFIELDS_H
#define ASHLAR_DIALECTS_ISA_ISAFIELDS_H

#include "ashlar/Isa/Instruction.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/OpImplementation.h"

namespace ashlar::isadialect {

/// Prints field values as `(name = value, ...)`, defaults omitted as in
/// assembly.
void printFields(mlir::OpAsmPrinter &printer, mlir::Operation *,
                 isa::Opcode opcode, mlir::DenseI64ArrayAttr fields);

/// Reads what printFields() prints, fields in any order. An unknown name, a
/// name given twice and text that is not a value of its field are errors.
mlir::ParseResult parseFields(mlir::OpAsmParser &parser, isa::Opcode opcode,
                              mlir::DenseI64ArrayAttr &fields);

} // namespace ashlar::isadialect

#endif // ASHLAR_DIALECTS_ISA_ISAFIELDS_H
