// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Conflicts between queues get a semaphore, others none; what follows from an
// earlier wait is not waited for again.
// REQUIRES: ashlar-opt
// RUN: ashlar-opt %s -ashlar-isa-insert-semaphores | FileCheck %s

module attributes {ashlar.target = #ashlar.target<"a1-tiny", base = "a1-tiny">} {
// CHECK: isa.program "conflicts" dram 256 semaphores 2
isa.program "conflicts" dram 256 semaphores 0 {
  isa.node "copy" {op_type = "", engine = "dma", macs = 0 : i64, absorbed = [], planned = []}
  // A load, a function of it, a function of that on the same queue.
  // CHECK: isa.dma.copy
  // CHECK-NEXT: isa.sem.signal(queue = dma1)
  // CHECK-NEXT: isa.sem.wait(queue = vec)
  // CHECK-NEXT: isa.vec.map
  // CHECK-NEXT: isa.vec.map
  // CHECK-NEXT: isa.sem.signal(queue = vec, sem = 1)
  isa.dma.copy(queue = dma1, elemBytes = 4, srcMem = dram, dstMem = sb, n4 = 8, srcStride4 = 4, dstStride4 = 4)
  isa.vec.map(op = relu, channels = 1, n2 = 8, aType = f32, aStride2 = 4, dstType = f32, dstOffset = 64, dstStride2 = 4)
  isa.vec.map(op = neg, channels = 1, n2 = 8, aType = f32, aOffset = 64, aStride2 = 4, dstType = f32, dstOffset = 128, dstStride2 = 4)
  // Elsewhere in the buffer: no conflict.
  // CHECK-NEXT: isa.dma.fill
  isa.dma.fill(queue = dma2, elemBytes = 4, dstMem = sb, dstBase = 1024, n4 = 8, dstStride4 = 4)
  // The store waits for the second function, not again for the load.
  // CHECK-NEXT: isa.sem.wait(queue = dma2, sem = 1)
  // CHECK-NEXT: isa.dma.copy
  // CHECK-NEXT: }
  isa.dma.copy(queue = dma2, elemBytes = 4, srcMem = sb, dstMem = dram, srcBase = 128, dstBase = 128, n4 = 8, srcStride4 = 4, dstStride4 = 4)
}
}
