// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Bits that are neither a field nor reserved.
// REQUIRES: ashlar-tblgen
// RUN: not ashlar-tblgen -gen-json -I %src_root %s 2>&1 | FileCheck %s

include "dialects/ISA/ISAEncoding.td"

def Queue : ISA_Enum<"Queue", 4, "Queues.", [
  ISA_EnumCase<"pe", 0, "array">, ISA_EnumCase<"vec", 1, "vector unit">
]>;

// CHECK: {{invalid_gap\.td:[0-9]+:[0-9]+}}: error: instruction 'bad': word 1 has bits that are neither a field nor reserved, first bit 8
def Bad : ISA_Encoding<"bad", 1, ["pe"]> {
  let summary = "Bad.";
  let description = "Bad.";
  let isaWords = 2;
  let isaFields = [U<"a", 8, 1, 0, "unit", "a">];
  let isaReserved = [Reserved<1, 9, 55>];
}
