// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Code generation follows a sequence written by hand: other tiles first, other
// bytes, one buffer for both tiles. Tiles, buffers and order are not the choice of
// the conversion.
//
// RUN: ashlar-opt %s -ashlar-convert-npu-to-isa | FileCheck %s

!b = !tile.buffer<tensor<8x16xf32>, axis = 0>
module attributes {ashlar.target = #ashlar.target<"small", xm_group = 4, sb = {partitions = 8, bytes_per_partition = 4096}, pe = {rows = 8, columns = 4}, act = {lanes = 4}>} {
func.func @main(%x: tensor<8x32xf32> {nn.name = "x"}) -> (tensor<8x32xf32> {nn.name = "y"}) {
  %0 = npu.vec.map "relu"(%x) {layout = #npu.layout<axis = 0>, memory = #npu.memory<dram = "graph output">, tiling = #npu.tiling<tile = [8, 16], scratch = 256, slot = 128, slots = 2, ring = 512>, alpha = 0.0 : f32, beta = 0.0 : f32} : (tensor<8x32xf32>) -> tensor<8x32xf32>
  tile.sequence %0 : tensor<8x32xf32> {
    tile.for %i < 2 {
      %b = tile.alloc [384] bytes 64 : <tensor<8x16xf32>, axis = 0>
      %a = tile.alloc [%i * -64 + 320] bytes 64 : <tensor<8x16xf32>, axis = 0>
      tile.load operand 0 [0, %i * -16 + 16] sizes [8, 16] into %a : <tensor<8x16xf32>, axis = 0>
      tile.compute [0, %i * -16 + 16] sizes [8, 16] reads [0] (%a : !b) into %b : !b
      tile.free %a : !b
      tile.store %b to [0, %i * -16 + 16] sizes [8, 16] : <tensor<8x16xf32>, axis = 0>
      tile.free %b : !b
    }
  }
  return %0 : tensor<8x32xf32>
}
}

// The second half of every row comes first.
// CHECK: isa.dma.copy(queue = dma{{[0-9]}}, elemBytes = 4, dstMem = sb, srcBase = 64, dstBase = 320,
// CHECK-NEXT: isa.vec.map(op = relu, {{.*}}aOffset = 320, {{.*}}dstOffset = 384,
// CHECK-NEXT: isa.dma.copy({{.*}}srcMem = sb, srcBase = 384, dstBase = 1088,
// CHECK-NEXT: isa.dma.copy({{.*}}dstMem = sb, dstBase = 256,
// CHECK-NEXT: isa.vec.map(op = relu, {{.*}}aOffset = 256, {{.*}}dstOffset = 384,
// CHECK-NEXT: isa.dma.copy({{.*}}srcMem = sb, srcBase = 384, dstBase = 1024,
// CHECK-NOT: isa.vec.map
