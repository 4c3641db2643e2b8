// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Two instructions with one name.
// REQUIRES: ashlar-tblgen
// RUN: not ashlar-tblgen -gen-json -I %src_root %s 2>&1 | FileCheck %s

include "dialects/ISA/ISAEncoding.td"

def Queue : ISA_Enum<"Queue", 4, "Queues.", [
  ISA_EnumCase<"pe", 0, "array">, ISA_EnumCase<"vec", 1, "vector unit">
]>;

// CHECK: {{invalid_duplicate_mnemonic\.td:[0-9]+:[0-9]+}}: error: instruction 'bad': duplicate mnemonic
def First : ISA_Encoding<"bad", 1, ["pe"]> {
  let summary = "Bad.";
  let description = "Bad.";
  let isaWords = 1;
}

def Bad : ISA_Encoding<"bad", 2, ["pe"]> {
  let summary = "Bad.";
  let description = "Bad.";
  let isaWords = 1;
}
