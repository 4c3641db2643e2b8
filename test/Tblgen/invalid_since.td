// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A field newer than the set.
// REQUIRES: ashlar-tblgen
// RUN: not ashlar-tblgen -gen-json -I %src_root %s 2>&1 | FileCheck %s

include "dialects/ISA/ISAEncoding.td"

def Queue : ISA_Enum<"Queue", 4, "Queues.", [
  ISA_EnumCase<"pe", 0, "array">, ISA_EnumCase<"vec", 1, "vector unit">
]>;

// CHECK: {{invalid_since\.td:[0-9]+:[0-9]+}}: error: instruction 'bad': field 'a' is newer than the instruction set
class New<string n> : U<n, 8, 1, 0, "unit", "a"> {
  let since = 1;
}

def Bad : ISA_Encoding<"bad", 1, ["pe"]> {
  let summary = "Bad.";
  let description = "Bad.";
  let isaWords = 2;
  let isaFields = [New<"a">];
}
