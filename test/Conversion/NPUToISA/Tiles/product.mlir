// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An encode and a product in two tiles of eight outputs, written by hand: the
// last outputs come first, with their weights. Without a release of the weights
// between them the sequence is refused.
//
// RUN: ashlar-opt %s -ashlar-convert-npu-to-isa | FileCheck %s
// RUN: sed '/tile.release_weights/d' %s > %t.mlir
// RUN: not ashlar-opt %t.mlir -ashlar-convert-npu-to-isa 2>&1 | FileCheck %s --check-prefix=KEPT

!x = tensor<8x8x!bfp.block<mantissa = 8, block = 8, range = 7, axis = 1>>
!w = tensor<8x16x!bfp.block<mantissa = 8, block = 8, range = 7, axis = 0>>
!a = !tile.buffer<tensor<8x8x!bfp.block<mantissa = 8, block = 8, range = 7, axis = 1>>, axis = 1>
!b = !tile.buffer<tensor<8x8xf32>, axis = 1>
module attributes {ashlar.target = #ashlar.target<"small", xm_group = 4, sb = {partitions = 8, bytes_per_partition = 4096}, pe = {rows = 8, columns = 4}, act = {lanes = 4}>} {
func.func @main(%x: tensor<8x8xf32> {nn.name = "x"}) -> (tensor<8x16xf32> {nn.name = "y"}) {
  %c = nn.constant dense<0.5> : tensor<8x16xf32>
  %w = bfp.encode %c weights : tensor<8x16xf32> -> !w
  %0 = npu.vec.map "copy"(%x) {alpha = 0.0 : f32, beta = 0.0 : f32, layout = #npu.layout<axis = 1>, memory = #npu.memory<sb = 0>, tiling = #npu.tiling<tile = [8, 8], scratch = 64, slot = 64, slots = 1, ring = 256>} : (tensor<8x8xf32>) -> !x
  tile.sequence %0 : !x {
    %b = tile.alloc [64] bytes 64 : <tensor<8x8xf32>, axis = 1>
    tile.load operand 0 [0, 0] sizes [8, 8] into %b : <tensor<8x8xf32>, axis = 1>
    %r = tile.view result [0, 0] sizes [8, 8] : <tensor<8x8x!bfp.block<mantissa = 8, block = 8, range = 7, axis = 1>>, axis = 1>
    tile.compute [0, 0] sizes [8, 8] reads [0] (%b : !b) into %r : !a
    tile.free %b : !b
  }
  %1 = npu.pe.matmul(%0, %w) {function = "relu", alpha = 0.0 : f32, beta = 0.0 : f32, layout = #npu.layout<axis = 1>, memory = #npu.memory<dram = "graph output">, tiling = #npu.tiling<tile = [8, 8], scratch = 128, slot = 64, slots = 1, ring = 256>} : (!x, !w) -> tensor<8x16xf32>
  tile.sequence %1 : tensor<8x16xf32> {
    %a = tile.view operand 0 [0, 0] sizes [8, 8] : <tensor<8x8x!bfp.block<mantissa = 8, block = 8, range = 7, axis = 1>>, axis = 1>
    %b = tile.alloc [128] bytes 64 : <tensor<8x8xf32>, axis = 1>
    tile.compute [0, 8] sizes [8, 8] reads [0] (%a : !a) into %b : !b
    tile.store %b to [0, 8] sizes [8, 8] : <tensor<8x8xf32>, axis = 1>
    tile.release_weights
    tile.compute [0, 0] sizes [8, 8] reads [0] (%a : !a) into %b : !b
    tile.store %b to [0, 0] sizes [8, 8] : <tensor<8x8xf32>, axis = 1>
    tile.free %b : !b
  }
  return %1 : tensor<8x16xf32>
}
}

// CHECK: isa.program
// CHECK: isa.vec.map(
// CHECK: isa.pe.matmul(
// CHECK: isa.act.drain(
// Outputs 8 to 15 come first, then 0 to 7.
// CHECK: isa.dma.copy({{.*}}srcMem = sb, srcBase = 128, dstBase = [[#%d,FIRST:]],
// CHECK: isa.pe.matmul(
// CHECK: isa.act.drain(
// CHECK: isa.dma.copy({{.*}}srcMem = sb, srcBase = 128, dstBase = [[#FIRST-32]],

// KEPT: makes the tile of [8, 8] at [0, 0], but the weights of other outputs have not been released before
