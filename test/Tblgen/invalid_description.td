// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An instruction without description.
// REQUIRES: ashlar-tblgen
// RUN: not ashlar-tblgen -gen-json -I %src_root %s 2>&1 | FileCheck %s

include "dialects/ISA/ISAEncoding.td"

def Queue : ISA_Enum<"Queue", 4, "Queues.", [
  ISA_EnumCase<"pe", 0, "array">, ISA_EnumCase<"vec", 1, "vector unit">
]>;

// CHECK: {{invalid_description\.td:[0-9]+:[0-9]+}}: error: instruction 'bad': missing summary or description
def Bad : ISA_Encoding<"bad", 1, ["pe"]> {
  let isaWords = 2;
  let isaReserved = [Reserved<1, 0, 64>];
}
