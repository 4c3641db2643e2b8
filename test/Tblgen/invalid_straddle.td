// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A field beyond the end of its word.
// REQUIRES: ashlar-tblgen
// RUN: not ashlar-tblgen -gen-json -I %src_root %s 2>&1 | FileCheck %s

include "dialects/ISA/ISAEncoding.td"

def Queue : ISA_Enum<"Queue", 4, "Queues.", [
  ISA_EnumCase<"pe", 0, "array">, ISA_EnumCase<"vec", 1, "vector unit">
]>;

// CHECK: {{invalid_straddle\.td:[0-9]+:[0-9]+}}: error: instruction 'bad': field 'a' at word 1, bits 60-67 lies outside its 2 words
def Bad : ISA_Encoding<"bad", 1, ["pe"]> {
  let summary = "Bad.";
  let description = "Bad.";
  let isaWords = 2;
  let isaFields = [U<"a", 8, 1, 60, "unit", "a">];
}
