// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A queue starts what it can start: the second operation's map does not wait
// after the first one's, whose operand takes long to load. What reads the
// result of another, or writes what another still reads, stays behind it.
// REQUIRES: ashlar-opt
// RUN: ashlar-opt %s -ashlar-isa-schedule | FileCheck %s
// RUN: ashlar-opt %s -ashlar-isa-schedule=mode=off | FileCheck %s --check-prefix=OFF
// RUN: ashlar-opt %s -ashlar-isa-schedule=mode=search | FileCheck %s
// RUN: ashlar-opt %s -ashlar-isa-schedule | grep -v decision | grep -c vec.map | FileCheck %s --check-prefix=COUNT
// RUN: not ashlar-opt %s -ashlar-isa-schedule=mode=best 2>&1 | FileCheck %s --check-prefix=MODE
// COUNT: 3
// MODE: mode is 'best', expected list, search or off

module attributes {ashlar.target = #ashlar.target<"a1-tiny", base = "a1-tiny">} {
// CHECK: isa.program "schedule"
// CHECK-SAME: ashlar.decision.schedule
// CHECK-SAME: fewer than as emitted
// OFF-NOT: ashlar.decision
isa.program "schedule" dram 8192 semaphores 0 {
  isa.node "late" {op_type = "", engine = "vec", macs = 0 : i64, absorbed = [], planned = []}
  // CHECK: isa.vec.map{{.*}}op = sigmoid
  // CHECK: isa.vec.map{{.*}}op = tanh
  // CHECK: isa.vec.map{{.*}}op = relu
  // CHECK: isa.planned "late"
  // CHECK: isa.dma.fill{{.*}}value = "0x5"

  // OFF: isa.vec.map{{.*}}op = relu
  // OFF: isa.dma.fill{{.*}}value = "0x5"
  // OFF: isa.vec.map{{.*}}op = sigmoid
  // OFF: isa.vec.map{{.*}}op = tanh
  isa.dma.fill(queue = dma0, dstMem = sb, n3 = 8, n4 = 1024, dstStride3 = 65536, dstStride4 = 1)
  isa.vec.map(op = relu, channels = 8, n2 = 8, aType = f32, aStride2 = 4, dstType = f32, dstOffset = 12288, dstStride2 = 4)
  isa.dma.fill(queue = dma0, dstMem = sb, n3 = 8, n4 = 32, dstStride3 = 65536, dstStride4 = 1, value = 5)
  isa.dma.fill(queue = dma1, dstMem = sb, dstBase = 4096, n3 = 8, n4 = 32, dstStride3 = 65536, dstStride4 = 1)
  isa.vec.map(op = sigmoid, channels = 8, n2 = 8, aType = f32, aOffset = 4096, aStride2 = 4, dstType = f32, dstOffset = 8192, dstStride2 = 4)
  isa.vec.map(op = tanh, channels = 8, n2 = 8, aType = f32, aOffset = 8192, aStride2 = 4, dstType = f32, dstOffset = 8256, dstStride2 = 4)
  isa.planned "late" : tensor<8x8xf32> {base = 12288 : i64, partition = 0 : i64, channel_axis = 0 : i64, tile_stride = 0 : i64, strides = array<i64: 0, 4>, exponent_base = 0 : i64, exponent_strides = array<i64>, xr = 0 : i64}
}
}
