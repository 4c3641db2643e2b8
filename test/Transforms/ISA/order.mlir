// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Instructions come in the order of their starts: a transfer that waits for its
// queue no longer holds DRAM back from another one. Queues and semaphores keep
// their orders, and a planned tensor stands where it is complete.
// REQUIRES: ashlar-opt
// RUN: ashlar-opt %s -ashlar-isa-order | FileCheck %s
// RUN: ashlar-opt %s -ashlar-isa-order -ashlar-isa-order > %t.twice
// RUN: ashlar-opt %s -ashlar-isa-order | diff - %t.twice

module attributes {ashlar.target = #ashlar.target<"a1-tiny", base = "a1-tiny">} {
isa.program "order" dram 8192 semaphores 1 {
  isa.node "node" {op_type = "", engine = "dma", macs = 0 : i64, absorbed = [], planned = []}
  // The first fill takes long and does not touch DRAM. The store after it
  // cannot start before; the other store is free from the beginning.
  // CHECK: isa.dma.fill(dstMem = sb
  // CHECK-NEXT: isa.dma.fill(queue = dma1, dstBase = 4096
  // CHECK-NEXT: isa.planned "later"
  // CHECK-NEXT: isa.sem.signal(queue = dma1)
  // CHECK-NEXT: isa.sem.wait(queue = vec)
  // CHECK-NEXT: isa.vec.map
  // CHECK-NEXT: isa.dma.fill(n4 = 1024
  // CHECK-NEXT: isa.planned "first"
  isa.dma.fill(queue = dma0, dstMem = sb, n3 = 8, n4 = 1024, dstStride3 = 65536, dstStride4 = 1)
  isa.dma.fill(queue = dma0, dstMem = dram, n4 = 1024, dstStride4 = 1)
  isa.planned "first" : tensor<256xf32> {in_dram, base = 0 : i64, partition = 0 : i64, channel_axis = -1 : i64, tile_stride = 0 : i64, strides = array<i64: 4>, exponent_base = 0 : i64, exponent_strides = array<i64>, xr = 0 : i64}
  isa.dma.fill(queue = dma1, dstMem = dram, dstBase = 4096, n4 = 1024, dstStride4 = 1)
  isa.sem.signal(queue = dma1)
  isa.planned "later" : tensor<256xf32> {in_dram, base = 4096 : i64, partition = 0 : i64, channel_axis = -1 : i64, tile_stride = 0 : i64, strides = array<i64: 4>, exponent_base = 0 : i64, exponent_strides = array<i64>, xr = 0 : i64}
  isa.sem.wait(queue = vec)
  isa.vec.map(op = relu, channels = 1, n2 = 8, aType = f32, aOffset = 8192, aStride2 = 4, dstType = f32, dstOffset = 12288, dstStride2 = 4)
}
}
