// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The queue field outside the header.
// REQUIRES: ashlar-tblgen
// RUN: not ashlar-tblgen -gen-json -I %src_root %s 2>&1 | FileCheck %s

include "dialects/ISA/ISAEncoding.td"

def Queue : ISA_Enum<"Queue", 4, "Queues.", [
  ISA_EnumCase<"pe", 0, "array">, ISA_EnumCase<"vec", 1, "vector unit">
]>;

// CHECK: {{invalid_queue_place\.td:[0-9]+:[0-9]+}}: error: instruction 'bad': field 'queue' must be at word 0, bits 8-11, of an instruction with several queues
def Bad : ISA_Encoding<"bad", 1, ["pe", "vec"]> {
  let summary = "Bad.";
  let description = "Bad.";
  let isaWords = 2;
  let isaFields = [E<"queue", 4, Queue, 1, 8, "queue">];
}
