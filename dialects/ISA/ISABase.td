// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The `isa` dialect and the base class of its ops: an MLIR op that is an
// encoding at the same time.

#ifndef ASHLAR_ISA_BASE
#define ASHLAR_ISA_BASE

include "mlir/IR/OpBase.td"
include "dialects/ISA/ISAEnums.td"

def ISA_Dialect : Dialect {
  let name = "isa";
  let cppNamespace = "::ashlar::isadialect";
  let summary = "Instructions of the Ashlar machine, one op each.";
  let description = [{
    Every op is one machine instruction with its fields as encoded. The records
    of this dialect are the only place where opcodes, fields and their limits
    are written; ashlar-tblgen derives everything else from them.
  }];
  // Decisions and other records may lie on every operation.
  let dependentDialects = ["::ashlar::records::AshlarDialect"];
}

/// One instruction. The op holds its field values in declaration order in one
/// array (binary32 fields as their bits): one uniqued attribute per op keeps
/// programs of tens of thousands of instructions cheap. `toInstruction` gives the
/// struct with named members, `createOp` takes it (ISADialect.h).
class ISA_Op<string structName, string mnemonic, int opcode,
             list<string> queues>
    : Op<ISA_Dialect, mnemonic>, ISA_Encoding<mnemonic, opcode, queues> {
  string summary = "";
  string description = "";
  let arguments = (ins DenseI64ArrayAttr:$fields);
  let assemblyFormat = "`` custom<Fields>(\"::ashlar::isa::Opcode::" # structName
                       # "\", $fields) attr-dict";
  let hasVerifier = 1;
}

#endif // ASHLAR_ISA_BASE
