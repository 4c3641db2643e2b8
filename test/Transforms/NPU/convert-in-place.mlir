// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A movement that encodes and leaves every element where it was is a
// conversion, unless its result lies in lanes.
//
// RUN: ashlar-opt --ashlar-npu-convert-in-place --split-input-file %s | FileCheck %s

!y = tensor<1x3x4x6x8x!bfp.block<mantissa = 8, block = 16, range = 7, axis = 1>>
!w = tensor<8x3x1x1x3x!bfp.block<mantissa = 8, block = 16, range = 7, axis = 1>>
module attributes {ashlar.target = #ashlar.target<"a1">} {
// CHECK-LABEL: func.func @identity(
// CHECK: npu.vec.map "copy"(%arg0)
// CHECK-SAME: layout = #npu.layout<axis = 1>
// CHECK-SAME: origin = #npu.origin<name = "stem", op = "im2col">
// CHECK-NOT: npu.dma.move
func.func @identity(%x: tensor<1x3x4x6x8xf32>) -> !y {
  %0 = npu.dma.move "im2col"(%x) {layout = #npu.layout<axis = 1>, origin = #npu.origin<name = "stem", op = "im2col">, patterns = [array<i64: 0, 8, 5, 1, 0, 1, 0, 1, 3, 1, 1, 1, 1, 1, 2, 1, 1, 1, 1, 3, 1, 1, 1, 1, 4, 1, 1, 1, 4, 2, 1, 2, 1, 6, 3, 1, 3, 1, 8, 4, 1, 4, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0>]} : (tensor<1x3x4x6x8xf32>) -> !y
  return %0 : !y
}

// The array reads it in lanes.
// CHECK-LABEL: func.func @lanes(
// CHECK: npu.dma.move "im2col"
func.func @lanes(%x: tensor<1x3x4x6x8xf32>) -> tensor<1x8x4x6x8xf32> {
  %0 = npu.dma.move "im2col"(%x) {layout = #npu.layout<axis = 1, lanes = 8, pitch = 16>, patterns = [array<i64: 0, 5, 5, 1, 0, 1, 0, 1, 3, 1, 1, 1, 1, 4, 2, 1, 2, 1, 6, 3, 1, 3, 1, 8, 4, 1, 4, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0>]} : (tensor<1x3x4x6x8xf32>) -> !y
  %k = nn.constant dense<1.0> : tensor<8x3x1x1x3xf32>
  %w = bfp.encode %k weights : tensor<8x3x1x1x3xf32> -> !w
  %1 = npu.pe.conv(%0, %w) {layout = #npu.layout<axis = 1>, strides = array<i64: 1, 1, 1>, pads = array<i64: 0, 0, 1, 0, 0, 1>, dilations = array<i64: 1, 1, 1>, group = 1 : i64, function = "copy", alpha = 0.0 : f32, beta = 0.0 : f32} : (!y, !w) -> tensor<1x8x4x6x8xf32>
  return %1 : tensor<1x8x4x6x8xf32>
}

// Two axes change places, extents being equal.
// CHECK-LABEL: func.func @transposed(
// CHECK: npu.dma.move "transpose"
func.func @transposed(%x: tensor<1x8x6x6xf32>) -> tensor<1x8x6x6x!bfp.block<mantissa = 8, block = 8, range = 7, axis = 1>> {
  %0 = npu.dma.move "transpose"(%x) {layout = #npu.layout<axis = 1>, patterns = [array<i64: 0, 4, 4, 1, 0, 1, 0, 1, 8, 1, 1, 1, 1, 6, 2, 1, 3, 1, 6, 3, 1, 2, 1, 0, 0, 0, 0, 0, 0, 0, 0>]} : (tensor<1x8x6x6xf32>) -> tensor<1x8x6x6x!bfp.block<mantissa = 8, block = 8, range = 7, axis = 1>>
  return %0 : tensor<1x8x6x6x!bfp.block<mantissa = 8, block = 8, range = 7, axis = 1>>
}

// A shift by one column.
// CHECK-LABEL: func.func @shifted(
// CHECK: npu.dma.move "pad"
func.func @shifted(%x: tensor<1x8x6x6xf32>) -> tensor<1x8x6x6x!bfp.block<mantissa = 8, block = 8, range = 7, axis = 1>> {
  %0 = npu.dma.move "pad"(%x) {fill = 0.0 : f64, layout = #npu.layout<axis = 1>, patterns = [array<i64: 0, 4, 4, 1, 0, 1, 0, 1, 8, 1, 1, 1, 1, 6, 2, 1, 2, 1, 5, 3, 1, 3, 1, 0, 0, 0, 1, 0, 0, 0, 0>]} : (tensor<1x8x6x6xf32>) -> tensor<1x8x6x6x!bfp.block<mantissa = 8, block = 8, range = 7, axis = 1>>
  return %0 : tensor<1x8x6x6x!bfp.block<mantissa = 8, block = 8, range = 7, axis = 1>>
}

// Nothing is converted: a copy that the user asked for.
// CHECK-LABEL: func.func @copied(
// CHECK: npu.dma.move "copy"
func.func @copied(%x: tensor<1x8x6x6xf32>) -> tensor<1x8x6x6xf32> {
  %0 = npu.dma.move "copy"(%x) {layout = #npu.layout<axis = 1>, patterns = [array<i64: 0, 4, 4, 1, 0, 1, 0, 1, 8, 1, 1, 1, 1, 6, 2, 1, 2, 1, 6, 3, 1, 3, 1, 0, 0, 0, 0, 0, 0, 0, 0>]} : (tensor<1x8x6x6xf32>) -> tensor<1x8x6x6xf32>
  return %0 : tensor<1x8x6x6xf32>
}
}
