// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tiles that differ only in their place become loops, whatever the reason for the
// others is: the last one is short here.
//
// RUN: ashlar-opt %s -ashlar-tile --split-input-file | FileCheck %s

module attributes {ashlar.target = #ashlar.target<"small", xm_group = 4, sb = {partitions = 8, bytes_per_partition = 4096}, pe = {rows = 8, columns = 4}, act = {lanes = 4}>} {
func.func @main(%x: tensor<8x40xf32> {nn.name = "x"}) -> (tensor<8x40xf32> {nn.name = "y"}) {
  %0 = npu.vec.map "relu"(%x) {layout = #npu.layout<axis = 0>, memory = #npu.memory<dram = "graph output">, tiling = #npu.tiling<tile = [8, 16], scratch = 256, slot = 128, slots = 2, ring = 512>, alpha = 0.0 : f32, beta = 0.0 : f32} : (tensor<8x40xf32>) -> tensor<8x40xf32>
  return %0 : tensor<8x40xf32>
}
}

// CHECK-LABEL: func.func @main
// CHECK: %[[Y:.*]] = npu.vec.map "relu"
// CHECK-NEXT: tile.sequence %[[Y]] : tensor<8x40xf32> {
// CHECK-NEXT:   tile.for %[[I:.*]] < 2 {
// CHECK-NEXT:     %[[X:.*]] = tile.alloc [(%[[I]] mod 2) * 128 + 256] bytes 64 : <tensor<8x16xf32>, axis = 0>
// CHECK-NEXT:     %[[R:.*]] = tile.alloc [(%[[I]] mod 2) * 128 + 320] bytes 64 : <tensor<8x16xf32>, axis = 0>
// CHECK-NEXT:     tile.load operand 0 [0, %[[I]] * 16] sizes [8, 16] into %[[X]]
// CHECK-NEXT:     tile.compute [0, %[[I]] * 16] sizes [8, 16] reads [0](%[[X]] : {{.*}}) into %[[R]]
// CHECK-NEXT:     tile.store %[[R]] to [0, %[[I]] * 16] sizes [8, 16]
// CHECK-NEXT:     tile.free %[[X]], %[[R]]
// CHECK-NEXT:   }
// CHECK-NEXT:   %{{.*}} = tile.alloc [256] bytes 64 : <tensor<8x8xf32>, axis = 0>
// CHECK-NEXT:   %{{.*}} = tile.alloc [320] bytes 64 : <tensor<8x8xf32>, axis = 0>
// CHECK-NEXT:   tile.load operand 0 [0, 32] sizes [8, 8]
// CHECK-NEXT:   tile.compute [0, 32] sizes [8, 8]
// CHECK-NEXT:   tile.store %{{.*}} to [0, 32] sizes [8, 8]
// CHECK-NEXT:   tile.free
// CHECK-NEXT: }

// -----

// A result in the state buffer has no buffer and no store.
module attributes {ashlar.target = #ashlar.target<"small", xm_group = 4, sb = {partitions = 8, bytes_per_partition = 4096}, pe = {rows = 8, columns = 4}, act = {lanes = 4}>} {
func.func @main(%x: tensor<8x32xf32> {nn.name = "x"}) -> (tensor<8x32xf32> {nn.name = "y"}) {
  %0 = npu.vec.map "relu"(%x) {layout = #npu.layout<axis = 0>, memory = #npu.memory<sb = 0>, tiling = #npu.tiling<tile = [8, 16], scratch = 256, slot = 64, slots = 2, ring = 512>, alpha = 0.0 : f32, beta = 0.0 : f32} : (tensor<8x32xf32>) -> tensor<8x32xf32>
  return %0 : tensor<8x32xf32>
}
}

// CHECK-LABEL: func.func @main
// CHECK: tile.for %[[I:.*]] < 2 {
// CHECK-NEXT: %[[X:.*]] = tile.alloc [(%[[I]] mod 2) * 64 + 256] bytes 64
// CHECK-NEXT: tile.load operand 0 [0, %[[I]] * 16] sizes [8, 16] into %[[X]]
// CHECK-NEXT: %[[R:.*]] = tile.view result [0, %[[I]] * 16] sizes [8, 16] : <tensor<8x16xf32>, axis = 0>
// CHECK-NEXT: tile.compute {{.*}} into %[[R]]
// CHECK-NEXT: tile.free %[[X]]
// CHECK-NEXT: }

// -----

// An operand with padding around it: the first and the last tile are clipped,
// those between are a loop. Copies of a move lie wherever it reads them.
module attributes {ashlar.target = #ashlar.target<"small", xm_group = 4, sb = {partitions = 8, bytes_per_partition = 4096}, pe = {rows = 8, columns = 4}, act = {lanes = 4}>} {
func.func @main(%x: tensor<1x8x32xf32> {nn.name = "x"}) -> (tensor<1x8x32xf32> {nn.name = "y"}) {
  %0 = npu.vec.pool "max"(%x) {kernel = array<i64: 3>, strides = array<i64: 1>, pads = array<i64: 1, 1>, dilations = array<i64: 1>, count_include_pad = false, layout = #npu.layout<axis = 1>, memory = #npu.memory<dram = "graph output">, tiling = #npu.tiling<tile = [1, 8, 4], scratch = 256, slot = 128, slots = 2, ring = 512>} : (tensor<1x8x32xf32>) -> tensor<1x8x32xf32>
  return %0 : tensor<1x8x32xf32>
}
}

// CHECK-LABEL: func.func @main
// CHECK: tile.sequence
// CHECK: tile.load operand 0 [0, 0, 0] sizes [1, 8, 5]
// CHECK: tile.for %[[I:.*]] < 6 {
// CHECK: tile.alloc [((%[[I]] + 1) mod 2) * 128 + 256]
// CHECK: tile.load operand 0 [0, 0, %[[I]] * 4 + 3] sizes [1, 8, 6]
// CHECK: tile.compute [0, 0, %[[I]] * 4 + 4] sizes [1, 8, 4]
// CHECK: }
// CHECK: tile.load operand 0 [0, 0, 27] sizes [1, 8, 5]
// CHECK: tile.compute [0, 0, 28] sizes [1, 8, 4]
