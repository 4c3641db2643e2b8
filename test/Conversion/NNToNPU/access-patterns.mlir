// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The access patterns of every data movement: [operand, dims, source rank, then per dim
// (extent, source axis, source step, result axis, result step), then starts].
//
// RUN: ashlar-opt --ashlar-convert-nn-to-npu --split-input-file %s | FileCheck %s

// CHECK: npu.dma.move "transpose"({{.*}}patterns = [array<i64: 0, 2, 2, 3, 1, 1, 0, 1, 2, 0, 1, 1, 1, 0, 0, 0, 0>]
func.func @main(%x: tensor<2x3xf32>) -> tensor<3x2xf32> {
  %0 = nn.transpose %x {perm = array<i64: 1, 0>} : (tensor<2x3xf32>) -> tensor<3x2xf32>
  return %0 : tensor<3x2xf32>
}

// -----

// Common factors of both shapes: 4 and 3 of the source, 2 x 2 of the result.
// CHECK: npu.dma.move "reshape"({{.*}}patterns = [array<i64: 0, 3, 2, 2, 0, 2, 0, 1, 2, 0, 1, 1, 3, 3, 1, 1, 1, 1, 0, 0, 0, 0>]
func.func @main(%x: tensor<4x3xf32>) -> tensor<2x6xf32> {
  %0 = nn.reshape %x : (tensor<4x3xf32>) -> tensor<2x6xf32>
  return %0 : tensor<2x6xf32>
}

// -----

// 6 and 4 have no common refinement: no patterns, elements keep their order.
// CHECK: npu.dma.move "reshape"({{.*}}patterns = []
func.func @main(%x: tensor<2x6xf32>) -> tensor<3x4xf32> {
  %0 = nn.reshape %x : (tensor<2x6xf32>) -> tensor<3x4xf32>
  return %0 : tensor<3x4xf32>
}

// -----

// CHECK: npu.dma.move "concat"({{.*}}patterns = [array<i64: 0, 2, 2, 1, 0, 1, 0, 1, 2, 1, 1, 1, 1, 0, 0, 0, 0>, array<i64: 1, 2, 2, 1, 0, 1, 0, 1, 3, 1, 1, 1, 1, 0, 0, 0, 2>]
func.func @main(%x: tensor<1x2xf32>, %y: tensor<1x3xf32>) -> tensor<1x5xf32> {
  %0 = nn.concat %x, %y {axis = 1 : i64} : (tensor<1x2xf32>, tensor<1x3xf32>) -> tensor<1x5xf32>
  return %0 : tensor<1x5xf32>
}

// -----

// Every third element from the sixth backwards.
// CHECK: npu.dma.move "slice"({{.*}}patterns = [array<i64: 0, 1, 1, 2, 0, -3, 0, 1, 6, 0>]
func.func @main(%x: tensor<7xf32>) -> tensor<2xf32> {
  %0 = nn.slice %x {starts = array<i64: 6>, steps = array<i64: -3>} : (tensor<7xf32>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}

// -----

// One pattern per run of indices: 4 5 6 | 1 1 (repeated) | 3 2.
// CHECK: npu.dma.move "gather"({{.*}}patterns = [array<i64: 0, 1, 1, 3, 0, 1, 0, 1, 4, 0>, array<i64: 0, 1, 1, 2, -1, 0, 0, 1, 1, 3>, array<i64: 0, 1, 1, 2, 0, -1, 0, 1, 3, 5>]
func.func @main(%x: tensor<7xf32>) -> tensor<7xf32> {
  %0 = nn.gather %x {axis = 0 : i64, indices = array<i64: 4, 5, 6, 1, 1, 3, 2>} : (tensor<7xf32>) -> tensor<7xf32>
  return %0 : tensor<7xf32>
}

// -----

// A pad that crops below and inserts zeros between elements.
// CHECK: npu.dma.move "pad"({{.*}}fill = 1.500000e+00 : f64{{.*}}patterns = [array<i64: 0, 1, 1, 3, 0, 1, 0, 2, 1, 1>]
func.func @main(%x: tensor<4xf32>) -> tensor<7xf32> {
  %0 = nn.pad %x {mode = 0 : i32, low = array<i64: -1>, high = array<i64: 1>, interior = array<i64: 1>, value = 1.5 : f64} : (tensor<4xf32>) -> tensor<7xf32>
  return %0 : tensor<7xf32>
}

// -----

// 2 1 | 0 1 2 | 1: the mirror does not repeat the border.
// CHECK: npu.dma.move "pad"({{.*}}patterns = [array<i64: 0, 1, 1, 3, 0, -1, 0, 1, 2, 0>, array<i64: 0, 1, 1, 2, 0, 1, 0, 1, 1, 3>, array<i64: 0, 1, 1, 1, 0, 1, 0, 1, 1, 5>]
func.func @main(%x: tensor<3xf32>) -> tensor<6xf32> {
  %0 = nn.pad %x {mode = 1 : i32, low = array<i64: 2>, high = array<i64: 1>, value = 0.0 : f64} : (tensor<3xf32>) -> tensor<6xf32>
  return %0 : tensor<6xf32>
}

// -----

// CHECK: npu.dma.move "broadcast"({{.*}}patterns = [array<i64: 0, 3, 2, 2, -1, 1, 0, 1, 3, -1, 1, 1, 1, 4, 1, 1, 2, 1, 0, 0, 0, 0, 0>]
func.func @main(%x: tensor<1x4xf32>) -> tensor<2x3x4xf32> {
  %0 = nn.broadcast %x : (tensor<1x4xf32>) -> tensor<2x3x4xf32>
  return %0 : tensor<2x3x4xf32>
}

// -----

// Taps become channels ordered (c, kh, kw); starts are minus the padding.
// CHECK: npu.dma.move "im2col"({{.*}}patterns = [array<i64: 0, 6, 4, 1, 0, 1, 0, 1, 2, 1, 1, 1, 9, 3, 2, 2, 1, 3, 3, 3, 1, 1, 1, 4, 2, 2, 2, 1, 8, 3, 1, 3, 1, 0, 0, -2, -1, 0, 0, 0, 0>]
func.func @main(%x: tensor<1x2x8x8xf32>) -> tensor<1x18x4x8xf32> {
  %0 = nn.im2col %x {kernel = array<i64: 3, 3>, strides = array<i64: 2, 1>, pads = array<i64: 2, 1, 2, 1>, dilations = array<i64: 2, 1>} : (tensor<1x2x8x8xf32>) -> tensor<1x18x4x8xf32>
  return %0 : tensor<1x18x4x8xf32>
}
