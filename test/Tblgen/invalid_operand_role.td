// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An operand without a field that it needs.
// REQUIRES: ashlar-tblgen
// RUN: not ashlar-tblgen -gen-json -I %src_root %s 2>&1 | FileCheck %s

include "dialects/ISA/ISAEncoding.td"

def Queue : ISA_Enum<"Queue", 4, "Queues.", [
  ISA_EnumCase<"pe", 0, "array">, ISA_EnumCase<"vec", 1, "vector unit">
]>;

// CHECK: {{invalid_operand_role\.td:[0-9]+:[0-9]+}}: error: instruction 'bad': linear operand 'src' needs the field 'srcMem'
def Bad : ISA_Encoding<"bad", 1, ["pe"]> {
  let summary = "Bad.";
  let description = "Bad.";
  let isaWords = 2;
  let isaFields = [
    Count<"n0", 8, 1, 0, "elements", "count">,
    U<"srcBase", 40, 1, 8, "bytes", "address">,
    S<"srcStride0", 8, 1, 48, "bytes", "stride">
  ];
  let isaReserved = [Reserved<1, 56, 8>];
  let isaOperands = [Linear<"src", Read, "source", ISA_Loops<["$n0"], ["0"]>,
                         bytes="4">];
}
