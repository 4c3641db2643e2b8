// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A program that has its semaphores is scheduled no more, and gets no others: the
// times of orders, and what new semaphores prove, hold for programs without any.
// REQUIRES: ashlar-opt
// RUN: ashlar-opt %s -ashlar-isa-schedule | FileCheck %s
// RUN: not ashlar-opt %s -ashlar-isa-insert-semaphores 2>&1 | FileCheck %s --check-prefix=INSERT
// INSERT: error: 'isa.sem.signal' op is in the program already, expected a program without semaphores

module attributes {ashlar.target = #ashlar.target<"a1-tiny", base = "a1-tiny">} {
// CHECK-NOT: ashlar.decision.schedule
isa.program "synchronised" dram 8192 semaphores 2 {
  isa.node "node" {op_type = "", engine = "vec", macs = 0 : i64, absorbed = [], planned = []}
  // CHECK: isa.dma.fill
  // CHECK-NEXT: isa.sem.signal
  // CHECK-NEXT: isa.sem.wait
  // CHECK-NEXT: isa.vec.map(op = relu
  // CHECK-NEXT: isa.dma.fill
  // CHECK-NEXT: isa.sem.signal
  // CHECK-NEXT: isa.sem.wait
  // CHECK-NEXT: isa.vec.map(op = sigmoid
  isa.dma.fill(queue = dma0, dstMem = sb, n3 = 8, n4 = 1024, dstStride3 = 65536, dstStride4 = 1)
  isa.sem.signal(queue = dma0)
  isa.sem.wait(queue = vec)
  isa.vec.map(op = relu, channels = 8, n2 = 8, aType = f32, aStride2 = 4, dstType = f32, dstOffset = 12288, dstStride2 = 4)
  isa.dma.fill(queue = dma1, dstMem = sb, dstBase = 4096, n3 = 8, n4 = 32, dstStride3 = 65536, dstStride4 = 1)
  isa.sem.signal(queue = dma1, sem = 1)
  isa.sem.wait(queue = vec, sem = 1)
  isa.vec.map(op = sigmoid, channels = 8, n2 = 8, aType = f32, aOffset = 4096, aStride2 = 4, dstType = f32, dstOffset = 8192, dstStride2 = 4)
}
}
