// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Every backend on one small instruction set.
// REQUIRES: ashlar-tblgen
// RUN: ashlar-tblgen -gen-enums -I %src_root %s | FileCheck --check-prefix=ENUMS %s
// RUN: ashlar-tblgen -gen-structs -I %src_root %s | FileCheck --check-prefix=STRUCTS %s
// RUN: ashlar-tblgen -gen-dispatch -I %src_root %s | FileCheck --check-prefix=DISPATCH %s
// RUN: ashlar-tblgen -gen-encode -I %src_root %s | FileCheck --check-prefix=ENCODE %s
// RUN: ashlar-tblgen -gen-decode -I %src_root %s | FileCheck --check-prefix=DECODE %s
// RUN: ashlar-tblgen -gen-verify -I %src_root %s | FileCheck --check-prefix=VERIFY %s
// RUN: ashlar-tblgen -gen-tables -I %src_root %s | FileCheck --check-prefix=TABLES %s
// RUN: ashlar-tblgen -gen-dialect -I %src_root %s | FileCheck --check-prefix=DIALECT %s
// RUN: ashlar-tblgen -gen-docs -I %src_root %s | FileCheck --check-prefix=DOCS %s
// RUN: ashlar-tblgen -gen-json -I %src_root %s | FileCheck --check-prefix=JSON %s
// RUN: ashlar-tblgen -gen-operands -I %src_root %s | FileCheck --check-prefix=OPERANDS %s
// RUN: ashlar-tblgen -gen-sv -I %src_root %s | FileCheck --check-prefix=SV %s

include "dialects/ISA/ISAEncoding.td"

def Version : ISA_VersionBase<1, 2>;

def Queue : ISA_Enum<"Queue", 4, "Queues.", [
  ISA_EnumCase<"pe", 0, "array">, ISA_EnumCase<"vec", 3, "vector unit">
]>;

def T_AddOp : ISA_Encoding<"vec.add_all", 0x12, ["pe", "vec"]> {
  let summary = "Add.";
  let description = "Adds.";
  let isaWords = 2;
  let isaSince = 1;
  let isaFields = [
    E<"queue", 4, Queue, 0, 8, "queue">,
    Count<"n", 12, 1, 0, "elements", "count">,
    S<"stride", 40, 1, 12, "bytes", "stride">,
    Flag<"clear", 1, 52, "clear first">,
    U<"base", 8, 1, 53, "bytes", "address">
  ];
  let isaReserved = [Reserved<1, 61, 3>];
  let isaOperands = [
    Linear<"", Read, "source", StridedBy<["$n"], ["$stride"]>,
           "Memory::Sb", "4", via="moved">,
    Xr<Write, "$n", merge="!$clear">,
    Computed<Write, "sums", "sums", "$clear">
  ];
}

// ENUMS: inline constexpr uint16_t versionMinor = 2;
// ENUMS: enum class Queue : uint8_t {
// ENUMS-NEXT: Pe = 0, ///< array
// ENUMS-NEXT: Vec = 3, ///< vector unit
// ENUMS: enum class Opcode : uint8_t {
// ENUMS-NEXT: VecAddAll = 0x12, ///< vec.add_all

// STRUCTS: struct VecAddAll {
// STRUCTS-NEXT: static constexpr Opcode opcode = Opcode::VecAddAll;
// STRUCTS-NEXT: static constexpr unsigned words = 2;
// STRUCTS-NEXT: Queue queue = Queue::Pe;
// STRUCTS-NEXT: uint32_t n = 1; ///< count (elements)
// STRUCTS-NEXT: int64_t stride = 0;
// STRUCTS-NEXT: bool clear = false;
// STRUCTS: using Instruction = std::variant<VecAddAll>;

// DISPATCH: ASHLAR_ISA_INSTRUCTION(VecAddAll, "vec.add_all", 0x12)

// ENCODE: static llvm::Error encodeOne(const VecAddAll &x
// ENCODE: writer.put(2, static_cast<int64_t>(x.stride)); // stride

// DECODE: x.stride = static_cast<int64_t>(reader.get(2));
// DECODE: x.clear = reader.get(3) != 0;

// VERIFY: bool operator==(const VecAddAll &a, const VecAddAll &b)

// TABLES: {"n", FieldKind::Unsigned, 1, 0, 12, INT64_C(1), INT64_C(4095), INT64_C(1), {}, nullptr, "elements", "count"},
// TABLES: static constexpr uint64_t reservedVecAddAll[] = {
// TABLES-NEXT: 0x00fffffffffff000,
// TABLES-NEXT: 0xe000000000000000,
// TABLES: {Opcode::VecAddAll, "vec.add_all", 2, 0x0009, fieldsVecAddAll, reservedVecAddAll, "Add."},

// DIALECT: ASHLAR_ISA_OP(AddOp, VecAddAll)

// DOCS: ### vec.add_all
// DOCS: Opcode `0x12`, 2 words, queue pe, vec, since 1.1.
// DOCS: | `stride` | 1 | 12-51 | s40 | -549755813888 .. 549755813887 | 0 | bytes | stride |
// DOCS: Reserved bits, which are zero: word 1 bits 61-63.
// DOCS: | source | read | linear, mem `Memory::Sb`, base `base`, bytes `4`; loops `n` x `stride`; as moved reaches it |
// DOCS-NEXT: |  | write | registers, space `Space::Xr`, index `n`, merge `!clear` |
// DOCS-NEXT: | sums | write | sums; if `clear` |

// JSON: "mnemonic": "vec.add_all",
// JSON: "kind": "linear",
// JSON-NEXT: "effect": "Read",
// JSON-NEXT: "what": "source",

// OPERANDS: inline LinearOperand operandOf(const VecAddAll &x) {
// OPERANDS: o.base = x.base;
// OPERANDS: o.loops.push_back({static_cast<uint64_t>(x.n), static_cast<int64_t>(x.stride)});
// OPERANDS: void visitOperands({{.*}} const VecAddAll &x, {{.*}} Visitor &v) {
// OPERANDS-NEXT: v.moved(x, operandOf(x));
// OPERANDS: o.merge = !x.clear;
// OPERANDS: v.registers(o);
// OPERANDS: if (x.clear) v.sums(x, Effect::Write);

// SV: package ashlar_isa;
// SV: localparam int MAX_WORDS = 2;
// SV: localparam int QUEUE_VEC = 3;
// SV: localparam logic [7:0] OP_VEC_ADD_ALL = 8'd18;
// SV: endpackage
// SV: `define VEC_ADD_ALL_queue(w) w[0][11:8]
// SV-NEXT: `define VEC_ADD_ALL_n(w) w[1][11:0]
// SV-NEXT: `define VEC_ADD_ALL_stride(w) $signed(w[1][51:12])
// SV-NEXT: `define VEC_ADD_ALL_clear(w) w[1][52:52]
// SV-NEXT: `define VEC_ADD_ALL_base(w) w[1][60:53]
