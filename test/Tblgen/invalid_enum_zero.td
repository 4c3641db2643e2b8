// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An enum without the default value.
// REQUIRES: ashlar-tblgen
// RUN: not ashlar-tblgen -gen-json -I %src_root %s 2>&1 | FileCheck %s

include "dialects/ISA/ISAEncoding.td"

def Queue : ISA_Enum<"Queue", 4, "Queues.", [
  ISA_EnumCase<"pe", 0, "array">, ISA_EnumCase<"vec", 1, "vector unit">
]>;

// CHECK: {{invalid_enum_zero\.td:[0-9]+:[0-9]+}}: error: enum 'Other': needs a case with value 0, the default of a field
def Bad : ISA_Enum<"Other", 1, "Other.", [
  ISA_EnumCase<"a", 1, "a">
]>;
