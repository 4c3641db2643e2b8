// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Drains and loads of the sparse cluster touch what the tiles of their table
// need alone: readers follow the drains, loads the producer. Where a run cuts
// the tiles they may be anywhere.
// REQUIRES: ashlar-opt
// RUN: ashlar-opt %s -ashlar-isa-insert-semaphores | FileCheck %s

module attributes {ashlar.target = #ashlar.target<"a1-tiny", base = "a1-tiny">} {
// CHECK-LABEL: isa.program "drains"
isa.program "drains" dram 256 semaphores 0 {
  isa.node "conv" {op_type = "", engine = "tcu", macs = 0 : i64, absorbed = [], planned = []}
  isa.tcc.tile(clear = 1, tileH = 4, tileW = 8, endN = 1, endH = 8, endW = 8)
  isa.tcc.tile(table = 1, clear = 1, y0 = 4, tileH = 4, tileW = 8, endN = 1, endH = 8, endW = 8)
  // CHECK: isa.act.drain
  // CHECK-NEXT: isa.sem.signal(queue = act, sem = [[FIRST:[0-9]+]])
  // CHECK: isa.act.drain
  // CHECK-NEXT: isa.sem.signal(queue = act, sem = [[FIRST]])
  // CHECK-NEXT: isa.sem.wait(queue = vec, sem = [[FIRST]])
  // CHECK-NEXT: isa.vec.map
  // CHECK-NEXT: isa.sem.wait(queue = vec, sem = [[FIRST]])
  // CHECK-NEXT: isa.vec.map
  isa.act.drain(fromTcu = 1, cols = 4, n1 = 8, n2 = 8, dstType = f32, dstStride1 = 32, dstStride2 = 4)
  isa.act.drain(fromTcu = 1, table = 1, cols = 4, n1 = 8, n2 = 8, dstType = f32, dstStride1 = 32, dstStride2 = 4)
  isa.vec.map(op = relu, channels = 4, n2 = 32, aType = f32, aStride2 = 4, dstType = f32, dstOffset = 1024, dstStride2 = 4)
  isa.vec.map(op = relu, channels = 4, n2 = 32, aType = f32, aOffset = 128, aStride2 = 4, dstType = f32, dstOffset = 1152, dstStride2 = 4)
}
// CHECK-LABEL: isa.program "cuts"
isa.program "cuts" dram 256 semaphores 0 {
  isa.node "conv" {op_type = "", engine = "tcu", macs = 0 : i64, absorbed = [], planned = []}
  isa.tcc.tile(clear = 1, tileH = 4, tileW = 8, endN = 1, endH = 8, endW = 8)
  isa.tcc.part(table = 1, tileH = 4, tileW = 8, endN = 1, endH = 8, endW = 8, inH = 8, inW = 8, pitch = 8, units = 2)
  // The reader of the first rows waits for both drains at once.
  // CHECK: isa.act.drain
  // CHECK: isa.act.drain
  // CHECK-NEXT: isa.sem.signal(queue = act, sem = [[LAST:[0-9]+]])
  // CHECK-NEXT: isa.sem.wait(queue = vec, sem = [[LAST]])
  // CHECK-NEXT: isa.vec.map
  // CHECK-NEXT: isa.vec.map
  isa.act.drain(fromTcu = 1, cols = 4, n1 = 8, n2 = 8, dstType = f32, dstStride1 = 32, dstStride2 = 4)
  isa.act.drain(fromTcu = 1, table = 1, cols = 4, n1 = 8, n2 = 8, dstType = f32, dstStride1 = 32, dstStride2 = 4)
  isa.vec.map(op = relu, channels = 4, n2 = 32, aType = f32, aStride2 = 4, dstType = f32, dstOffset = 1024, dstStride2 = 4)
  isa.vec.map(op = relu, channels = 4, n2 = 32, aType = f32, aOffset = 128, aStride2 = 4, dstType = f32, dstOffset = 1152, dstStride2 = 4)
}
// CHECK-LABEL: isa.program "loads"
isa.program "loads" dram 256 semaphores 0 {
  isa.node "conv" {op_type = "", engine = "tcu", macs = 0 : i64, absorbed = [], planned = []}
  // Rows 0 to 3 need rows 0 to 4 of the input: what is made of the last three
  // is not waited for.
  // CHECK: isa.vec.map
  // CHECK-NEXT: isa.sem.signal(queue = vec, sem = [[MADE:[0-9]+]])
  // CHECK-NEXT: isa.vec.map
  // CHECK-NEXT: isa.tcc.tile
  // CHECK: isa.sem.wait(queue = dma1, sem = [[MADE]])
  // CHECK: isa.dma.tile
  isa.vec.map(op = relu, channels = 4, n2 = 40, aType = f32, aOffset = 1024, aStride2 = 4, dstType = f32, dstStride2 = 4)
  isa.vec.map(op = relu, channels = 4, n2 = 24, aType = f32, aOffset = 1184, aStride2 = 4, dstType = f32, dstOffset = 160, dstStride2 = 4)
  isa.tcc.tile(clear = 1, tileH = 4, tileW = 8, endN = 1, endH = 8, endW = 8)
  isa.dma.tile(queue = dma1, channels = 4, type = f32, kH = 3, kW = 3, tileH = 4, tileW = 8, pH = 1, pW = 1, inH = 8, inW = 8, srcStrideH = 32, srcStrideW = 4)
}
}
