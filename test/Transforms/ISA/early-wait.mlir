// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A wait that stands before its signal is a program that the loader refuses:
// nothing predicts its cycles, and it stays as it is.
// REQUIRES: ashlar-opt
// RUN: ashlar-opt %s -ashlar-isa-order | FileCheck %s
// RUN: ashlar-opt %s -ashlar-isa-schedule | FileCheck %s

module attributes {ashlar.target = #ashlar.target<"a1-tiny", base = "a1-tiny">} {
isa.program "early" dram 8192 semaphores 1 {
  isa.node "node" {op_type = "", engine = "dma", macs = 0 : i64, absorbed = [], planned = []}
  // CHECK: isa.sem.wait(queue = vec)
  // CHECK-NEXT: isa.vec.map
  // CHECK-NEXT: isa.dma.fill
  // CHECK-NEXT: isa.sem.signal(queue = dma1)
  isa.sem.wait(queue = vec)
  isa.vec.map(op = relu, channels = 1, n2 = 8, aType = f32, aOffset = 8192, aStride2 = 4, dstType = f32, dstOffset = 12288, dstStride2 = 4)
  isa.dma.fill(queue = dma1, dstMem = dram, dstBase = 4096, n4 = 1024, dstStride4 = 1)
  isa.sem.signal(queue = dma1)
}
}
