// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An enum of absurd width.
// REQUIRES: ashlar-tblgen
// RUN: not ashlar-tblgen -gen-json -I %src_root %s 2>&1 | FileCheck %s

include "dialects/ISA/ISAEncoding.td"

def Queue : ISA_Enum<"Queue", 4, "Queues.", [
  ISA_EnumCase<"pe", 0, "array">, ISA_EnumCase<"vec", 1, "vector unit">
]>;

// CHECK: {{invalid_enum_width\.td:[0-9]+:[0-9]+}}: error: enum 'Other': width 17 must be in [1, 16]
def Bad : ISA_Enum<"Other", 17, "Other.", [
  ISA_EnumCase<"a", 0, "a">
]>;
