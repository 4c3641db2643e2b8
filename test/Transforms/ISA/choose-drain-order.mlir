// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A drain follows its stream in the order that ends first, where the loader
// proves that it may.
// REQUIRES: ashlar-opt
// RUN: ashlar-opt %s -ashlar-isa-insert-semaphores -ashlar-isa-choose-drain-order --split-input-file | FileCheck %s

// Four steps into four columns: row by row, the drain ends three cycles earlier.
// CHECK-LABEL: isa.program "row"
// CHECK: isa.act.drain({{.*}}order = row
module attributes {ashlar.target = #ashlar.target<"a1-tiny", base = "a1-tiny">} {
isa.program "row" dram 256 semaphores 0 {
  isa.node "product" {op_type = "", engine = "pe", macs = 0 : i64, absorbed = [], planned = []}
  isa.pe.load(rows = 4, cols = 4, colStride = 1, type = u8)
  isa.pe.swap
  isa.pe.matmul(rows = 4, cols = 4, offset = 64, type = u8, n2 = 4, stride2 = 1, psumStride2 = 1, hi0 = 1, hi1 = 1, hi2 = 4)
  isa.act.drain(cols = 4, n2 = 4, psumStride2 = 1, mode = int, dstType = i32, dstOffset = 128, dstStride2 = 4)
}
}

// -----

// The same entries in the same order, though in other loops.
// CHECK-LABEL: isa.program "loops"
// CHECK: isa.act.drain({{.*}}order = row
module attributes {ashlar.target = #ashlar.target<"a1-tiny", base = "a1-tiny">} {
isa.program "loops" dram 256 semaphores 0 {
  isa.node "product" {op_type = "", engine = "pe", macs = 0 : i64, absorbed = [], planned = []}
  isa.pe.load(rows = 4, cols = 4, colStride = 1, type = u8)
  isa.pe.swap
  isa.pe.matmul(rows = 4, cols = 4, offset = 64, type = u8, n2 = 4, stride2 = 1, psumStride2 = 1, hi0 = 1, hi1 = 1, hi2 = 4)
  isa.act.drain(cols = 4, n1 = 2, n2 = 2, psumStride1 = 2, psumStride2 = 1, mode = int, dstType = i32, dstOffset = 128, dstStride1 = 16, dstStride2 = 4)
}
}

// -----

// One lane for four columns of two entries: after its column each of them is
// complete long before the array is done with the last one.
// CHECK-LABEL: isa.program "partition"
// CHECK: isa.act.drain({{.*}}order = partition
module attributes {ashlar.target = #ashlar.target<"one-lane", base = "a1-tiny", act = {lanes = 1}>} {
isa.program "partition" dram 256 semaphores 0 {
  isa.node "product" {op_type = "", engine = "pe", macs = 0 : i64, absorbed = [], planned = []}
  isa.pe.load(rows = 4, cols = 4, colStride = 1, type = u8)
  isa.pe.swap
  isa.pe.matmul(rows = 4, cols = 4, offset = 64, type = u8, n2 = 2, stride2 = 1, psumStride2 = 1, hi0 = 1, hi1 = 1, hi2 = 2)
  isa.act.drain(cols = 4, n2 = 2, psumStride2 = 1, mode = int, dstType = i32, dstOffset = 128, dstStride2 = 4)
}
}

// -----

// Only some of the entries, a result over what the stream still reads, and a
// drain of what two streams made: after the stream.
// CHECK-LABEL: isa.program "block"
// CHECK-NOT: order =
// CHECK: {{^  }}}
module attributes {ashlar.target = #ashlar.target<"a1-tiny", base = "a1-tiny">} {
isa.program "block" dram 256 semaphores 0 {
  isa.node "product" {op_type = "", engine = "pe", macs = 0 : i64, absorbed = [], planned = []}
  isa.pe.load(rows = 4, cols = 4, colStride = 1, type = u8)
  isa.pe.swap
  isa.pe.matmul(rows = 4, cols = 4, offset = 64, type = u8, n2 = 8, stride2 = 1, psumStride2 = 1, hi0 = 1, hi1 = 1, hi2 = 8)
  isa.act.drain(cols = 4, n2 = 4, psumStride2 = 1, mode = int, dstType = i32, dstOffset = 128, dstStride2 = 4)
  isa.pe.matmul(rows = 4, cols = 4, offset = 64, type = u8, n2 = 4, stride2 = 1, psum = 16, psumStride2 = 1, hi0 = 1, hi1 = 1, hi2 = 4)
  isa.act.drain(cols = 4, n2 = 4, psum = 16, psumStride2 = 1, mode = int, dstType = i32, dstOffset = 64, dstStride2 = 4)
  isa.pe.matmul(rows = 4, cols = 4, offset = 64, type = u8, n2 = 4, stride2 = 1, psum = 32, psumStride2 = 1, hi0 = 1, hi1 = 1, hi2 = 4)
  isa.pe.matmul(rows = 4, cols = 4, offset = 64, type = u8, n2 = 4, stride2 = 1, psum = 36, psumStride2 = 1, hi0 = 1, hi1 = 1, hi2 = 4)
  isa.act.drain(cols = 4, n2 = 8, psum = 32, psumStride2 = 1, mode = int, dstType = i32, dstOffset = 256, dstStride2 = 4)
}
}
