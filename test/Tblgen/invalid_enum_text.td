// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An enum without description.
// REQUIRES: ashlar-tblgen
// RUN: not ashlar-tblgen -gen-json -I %src_root %s 2>&1 | FileCheck %s

include "dialects/ISA/ISAEncoding.td"

def Queue : ISA_Enum<"Queue", 4, "Queues.", [
  ISA_EnumCase<"pe", 0, "array">, ISA_EnumCase<"vec", 1, "vector unit">
]>;

// CHECK: {{invalid_enum_text\.td:[0-9]+:[0-9]+}}: error: enum 'Other': missing description
def Bad : ISA_Enum<"Other", 1, "", [
  ISA_EnumCase<"a", 0, "a">
]>;
